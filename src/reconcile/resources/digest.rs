//! A short digest of a JSON value.
//!
//! In: values. Out: a number in hex that is the same for the same values on every machine and in every release. It tells
//! versions of one object apart; it is no protection against somebody who looks for two values with one digest.

use serde_json::Value;

/// An odd number without a pattern.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A digest in the making.
pub(super) struct Digest(u64);

impl Digest {
    /// Of nothing.
    pub(super) const fn new() -> Self {
        Self(FACTOR)
    }

    fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(FACTOR);
        self.0 = mixed ^ (mixed >> 29);
    }

    /// Adds a text.
    pub(super) fn text(&mut self, text: &str) {
        for chunk in text.as_bytes().chunks(8) {
            let mut bytes = [0; 8];
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(bytes));
        }
        self.word(text.len() as u64);
    }

    /// Adds a value.
    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.word(1),
            Value::Bool(held) => self.word(2 + u64::from(*held)),
            Value::Number(number) => {
                self.word(4);
                self.text(&number.to_string());
            }
            Value::String(text) => {
                self.word(5);
                self.text(text);
            }
            Value::Array(list) => {
                self.word(6);
                list.iter().for_each(|value| self.value(value));
                self.word(list.len() as u64);
            }
            Value::Object(map) => {
                self.word(7);
                for (key, value) in map {
                    self.text(key);
                    self.value(value);
                }
                self.word(map.len() as u64);
            }
        }
    }

    /// The digest.
    pub(super) fn finish(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(value: &Value) -> String {
        let mut digest = Digest::new();
        digest.value(value);
        digest.finish()
    }

    #[test]
    fn values_that_differ_have_digests_that_differ() {
        let values = [
            json!(null),
            json!(false),
            json!(true),
            json!(1),
            json!("1"),
            json!(1.5),
            json!([]),
            json!({}),
            json!([1]),
            json!([[1]]),
            json!({"a": 1}),
            json!({"a": 2}),
            json!({"b": 1}),
            json!(["ab", "c"]),
            json!(["a", "bc"]),
            json!("a long text of more than eight bytes"),
            json!("a long text of more than eight byte"),
        ];
        let digests: std::collections::BTreeSet<String> = values.iter().map(digest).collect();
        assert_eq!(digests.len(), values.len());
    }

    #[test]
    fn the_digest_of_a_value_stays_the_same() {
        let value = json!({"spec": {"location": "uksouth", "n": [1, null, true]}});
        assert_eq!(digest(&value), digest(&value.clone()));
        assert_eq!(digest(&json!({"a": "b"})), "709ba978d5e26f01");
    }
}
