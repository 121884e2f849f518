//! Entries of `metadata.managedFields`.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::{Element, FieldSet};

/// How a manager came to own its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// A manager and the fields it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// Its name.
    pub manager: String,
    /// How it wrote.
    pub operation: Operation,
    /// The version it wrote, `group/version`.
    pub api_version: String,
    /// The subresource it wrote to; empty for the object itself.
    pub subresource: String,
    /// What it owns.
    pub fields: FieldSet,
    /// When it last changed something, RFC 3339 in UTC and whole seconds; empty when nobody wrote it
    /// down.
    pub time: String,
}

impl Managed {
    /// Whether the two entries are the same manager's: an applier is one whatever version it applies,
    /// an updater is another at each version.
    #[must_use]
    pub fn is_same_manager(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// Whether it owns the field at `path`, something in it, or all of what it is part of.
    #[must_use]
    pub fn owns(&self, path: &[Element]) -> bool {
        let mut set = &self.fields;
        for element in path {
            match set.below(element) {
                Some(below) => set = below,
                None => return set.has(element),
            }
        }
        true
    }

    /// Reads `metadata.managedFields` of `object`; none when it has none. Of two entries of one
    /// manager the second counts.
    ///
    /// # Errors
    /// Says which entry is none.
    pub fn read(object: &Value) -> Result<Vec<Self>, String> {
        let entries = object.pointer("/metadata/managedFields");
        let Some(entries) = entries.filter(|entries| !entries.is_null()) else {
            return Ok(Vec::new());
        };
        let entries = entries
            .as_array()
            .ok_or("metadata.managedFields must be a list")?;
        let read = |(at, entry): (usize, &Value)| {
            Self::from_json(entry).map_err(|why| format!("metadata.managedFields[{at}]: {why}"))
        };
        let mut known: Vec<Self> = Vec::with_capacity(entries.len());
        for entry in entries.iter().enumerate().map(read) {
            let entry = entry?;
            known.retain(|before| !before.is_same_manager(&entry));
            known.push(entry);
        }
        Ok(known)
    }

    /// Writes `metadata.managedFields` of `object`, in the order the API server keeps; takes it out
    /// when there is no entry.
    pub fn write(managers: &[Self], object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        if managers.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let mut sorted: Vec<&Self> = managers.iter().collect();
        sorted.sort_by(|a, b| a.rank().cmp(&b.rank()));
        let entries = sorted.into_iter().map(Self::to_json).collect();
        metadata.insert("managedFields".into(), entries);
    }

    /// Brings entries into the order the API server keeps.
    pub fn sort(managers: &mut [Self]) {
        managers.sort_by(|a, b| a.rank().cmp(&b.rank()));
    }

    fn rank(&self) -> impl Ord + '_ {
        let Self {
            operation,
            time,
            manager,
            api_version,
            subresource,
            ..
        } = self;
        (operation, time, manager, api_version, subresource)
    }

    /// Reads one entry.
    ///
    /// # Errors
    /// Says why `json` is no entry.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        let text = |name| json.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".into()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".into());
        }
        if text("fieldsType") != "FieldsV1" {
            return Err(format!(
                "fieldsType must be FieldsV1, not {:?}",
                text("fieldsType")
            ));
        }
        let fields = json.get("fieldsV1").map(FieldSet::from_json);
        Ok(Self {
            manager: text("manager").into(),
            operation,
            api_version: text("apiVersion").into(),
            subresource: text("subresource").into(),
            fields: fields.transpose()?.unwrap_or_default(),
            time: text("time").into(),
        })
    }

    /// Writes one entry.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("its keys are texts")
    }
}

/// As an entry of `managedFields`.
impl Serialize for Managed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", &self.api_version)?;
        map.serialize_entry("fieldsType", "FieldsV1")?;
        map.serialize_entry("fieldsV1", &self.fields)?;
        map.serialize_entry("manager", &self.manager)?;
        map.serialize_entry("operation", self.operation.name())?;
        for (name, text) in [("subresource", &self.subresource), ("time", &self.time)] {
            if !text.is_empty() {
                map.serialize_entry(name, text)?;
            }
        }
        map.end()
    }
}

/// As conflicts name a manager: `"kubectl" using apps/v1`, appliers without a version.
impl fmt::Display for Managed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.manager)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        match self.operation {
            Operation::Update => write!(f, " using {}", self.api_version),
            Operation::Apply => Ok(()),
        }
    }
}
