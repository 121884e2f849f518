//! An object in the form in which it is sent.

use serde_json::Value as Json;

use super::Packed;

/// A whole object, next to the parts that are often needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    object: Packed,
    api_version: Box<str>,
    hash: Box<str>,
    cluster: Box<str>,
}

impl Payload {
    /// Keeps `object`, which has the hash `hash` and belongs to the Cluster `cluster`, or to none if that is empty.
    #[must_use]
    pub fn new(object: &Json, hash: &str, cluster: &str) -> Self {
        Self {
            object: Packed::new(object),
            api_version: object["apiVersion"].as_str().unwrap_or_default().into(),
            hash: hash.into(),
            cluster: cluster.into(),
        }
    }

    /// The object.
    #[must_use]
    pub fn json(&self) -> Json {
        self.object.json()
    }

    /// Its `apiVersion`; empty if absent.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// The version in its `apiVersion`, without the group.
    #[must_use]
    pub fn version(&self) -> &str {
        let (_, version) = self
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &self.api_version));
        version
    }

    /// The hash of itself that it carries; empty if absent.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The name of its Cluster; empty if it belongs to none.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_kept_is_what_comes_back() {
        let object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "metadata": {"name": "a"},
        });
        let payload = Payload::new(&object, "h", "c");
        assert_eq!(payload.json(), object);
        assert_eq!(payload.version(), "v1beta2");
        assert_eq!(
            Payload::new(&json!({"apiVersion": "v1"}), "", "").version(),
            "v1"
        );
        assert_eq!(Payload::default().json(), Json::Null);
    }
}
