//! A JSON value that is kept for later.

use std::sync::Arc;

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};
use serde_json::Value as Json;

/// A JSON value as compressed text. As a tree of maps, a ConfigMap with one key takes 3 KB; those of ten thousand clusters are
/// kept between two revisions, and few of them are read. Copies share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed(Arc<[u8]>);

impl Packed {
    /// Keeps a value.
    #[must_use]
    pub fn new(json: &Json) -> Self {
        Self(compress_prepend_size(json.to_string().as_bytes()).into())
    }

    /// The value; null if none was kept.
    #[must_use]
    pub fn json(&self) -> Json {
        let text = decompress_size_prepended(&self.0).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_kept_is_what_comes_back() {
        let value = json!({
            "numbers": [0, -1, u64::MAX, i64::MIN, 0.1, 1.0, 1e300],
            "text": "\u{0}\"\\ \u{1F40B} \n",
            "none": null,
            "empty": [{}, []],
            "long": "a".repeat(100_000),
        });
        let packed = Packed::new(&value);
        assert_eq!(packed.json(), value);
        assert_eq!(packed.json().to_string(), value.to_string());
        assert!(packed.0.len() < 1_000);
        assert_eq!(Packed::default().json(), Json::Null);
    }
}
