//! The fields of a request, in any spelling.
//!
//! In: JSON. Out: typed values, and a mistake for each value that is not one. A field is named in camelCase here and found in snake_case as
//! well; mistakes name it as the client wrote it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

/// The most mistakes that are listed.
const MOST_MISTAKES: usize = 20;

/// A group of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ControlPlane,
    Worker,
}

/// The fields of a request, and the mistakes that were found in them.
pub(super) struct Fields<'a> {
    root: &'a Json,
    mistakes: Vec<String>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(root: &'a Json) -> Self {
        let mut fields = Self {
            root,
            mistakes: Vec::new(),
        };
        if !root.is_object() {
            fields.note("request body: must be an object".to_owned());
        }
        fields
    }

    pub(super) fn into_mistakes(self) -> Vec<String> {
        self.mistakes
    }

    /// Notes that the field at `path` is not as it must be.
    pub(super) fn mistake(&mut self, path: &[&'static str], must: &str) {
        let name = self.written(path);
        self.note(format!("{name} {must}"));
    }

    fn note(&mut self, mistake: String) {
        if self.mistakes.len() < MOST_MISTAKES && !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    /// A text that must be this one.
    pub(super) fn constant(&mut self, path: &[&'static str], value: &str, is_required: bool) {
        let text = self.text(path, 64);
        let is_missing = text.is_none() && self.found(path).is_none();
        if is_missing && is_required || text.is_some_and(|text| text != value) {
            self.mistake(path, &format!("must be \"{value}\""));
        }
    }

    pub(super) fn required_text(&mut self, path: &[&'static str], most: usize) -> Option<String> {
        let text = self.text(path, most);
        let is_empty = text.as_ref().is_some_and(String::is_empty);
        if is_empty || text.is_none() && self.found(path).is_none() {
            self.mistake(path, "is required");
        }
        text
    }

    pub(super) fn text(&mut self, path: &[&'static str], most: usize) -> Option<String> {
        let value = self.find(path)?;
        let text = value.as_str();
        match text {
            None => self.mistake(path, "must be a string"),
            Some(text) if text.chars().count() > most => {
                self.mistake(path, &format!("must have at most {most} characters"));
            }
            Some(text) if text.contains(char::is_control) => {
                self.mistake(path, "must not have control characters");
            }
            Some(text) => return Some(text.to_owned()),
        }
        None
    }

    pub(super) fn number(&mut self, path: &[&'static str], least: u32) -> Option<u32> {
        /// More than any cluster has.
        const MOST: u32 = 100_000;
        let value = self.find(path)?;
        // `3.0` is an integer, too.
        let whole = value.as_f64().filter(|number| number.fract() == 0.0);
        let number = whole.and_then(|whole| format!("{whole:.0}").parse::<u32>().ok());
        let number = number.filter(|number| *number <= MOST);
        match number {
            Some(number) if number >= least => return Some(number),
            _ if whole.is_some_and(|number| number > 0.0 && number >= f64::from(least)) => {
                self.mistake(path, &format!("must be <= {MOST}"));
            }
            _ if whole.is_some() => self.mistake(path, &format!("must be >= {least}")),
            _ => self.mistake(path, "must be an integer"),
        }
        None
    }

    /// A map of texts.
    pub(super) fn texts(&mut self, path: &[&'static str], most: usize) -> BTreeMap<String, String> {
        let Some(value) = self.find(path) else {
            return BTreeMap::new();
        };
        let map = value.as_object().map(|map| {
            let pairs = map
                .iter()
                .map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
            pairs.collect::<Option<BTreeMap<_, _>>>()
        });
        match map.flatten() {
            Some(map) if map.len() > most => {
                self.mistake(path, &format!("must have at most {most} entries"));
                BTreeMap::new()
            }
            Some(map) => map,
            None => {
                self.mistake(path, "must be an object whose values are strings");
                BTreeMap::new()
            }
        }
    }

    /// The path of a group of machines, if it is given: DCM has two names for the workers.
    pub(super) fn machines(&mut self, kind: Kind) -> Option<[&'static str; 2]> {
        let names: &[&'static str] = match kind {
            Kind::ControlPlane => &["controlPlane"],
            Kind::Worker => &["worker", "workers"],
        };
        let mut given = names
            .iter()
            .filter(|name| self.found(&["nodes", name]).is_some());
        let first = given.next();
        let second = given.next();
        if let Some(second) = second {
            self.mistake(&["nodes", second], "is given under two names");
        }
        let Some(first) = first else {
            // Something that is no object has no fields.
            self.find(&["nodes"])
                .filter(|nodes| !nodes.is_object())
                .is_some()
                .then(|| {
                    self.mistake(&["nodes"], "must be an object");
                });
            return None;
        };
        let path = ["nodes", *first];
        if !self.find(&path)?.is_object() {
            self.mistake(&path, "must be an object");
            return None;
        }
        Some(path)
    }

    /// The value at `path`; a field that is given in two spellings with two values is a mistake.
    fn find(&mut self, path: &[&'static str]) -> Option<&'a Json> {
        let mut value = self.root;
        for (depth, field) in path.iter().enumerate() {
            let snake = snake(field);
            let given = |name: &str| value.get(name).filter(|value| !value.is_null());
            let spellings = [given(field), given(&snake)];
            if snake != *field
                && let [Some(one), Some(other)] = spellings
                && one != other
            {
                let at = path.get(..=depth).unwrap_or(path);
                let name = self.written(at);
                let other = if name.ends_with(field) {
                    &*snake
                } else {
                    field
                };
                self.note(format!(
                    "{name} is also given as {other}, with another value"
                ));
            }
            value = spellings.into_iter().flatten().next()?;
            if depth + 1 < path.len() && !value.is_object() && !value.is_null() {
                let at = path.get(..=depth).unwrap_or(path);
                self.mistake(at, "must be an object");
                return None;
            }
        }
        Some(value).filter(|value| !value.is_null())
    }

    /// The same without a mistake.
    fn found(&self, path: &[&'static str]) -> Option<&'a Json> {
        let step = |value: &'a Json, field: &&'static str| {
            let given = |name: &str| value.get(name).filter(|value| !value.is_null());
            given(field).or_else(|| given(&snake(field)))
        };
        let value = path.iter().try_fold(self.root, step)?;
        Some(value).filter(|value| !value.is_null())
    }

    /// The path as the client spelled it.
    fn written(&self, path: &[&'static str]) -> String {
        let mut value = Some(self.root);
        // As the rest is spelled, unless the field is there.
        let is_snake =
            self.root.get("service_type").is_some() || self.root.get("provider_hints").is_some();
        let names = path.iter().map(|field| {
            let snake = snake(field);
            let has = |name: &str| value.is_some_and(|value| value.get(name).is_some());
            let name = if has(&snake) || is_snake && !has(field) {
                snake
            } else {
                (*field).to_owned()
            };
            value = value.and_then(|value| value.get(&name));
            name
        });
        names.collect::<Vec<_>>().join(".")
    }
}

/// The name of a field in snake_case.
fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
