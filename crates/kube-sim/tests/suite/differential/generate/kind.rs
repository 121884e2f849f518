//! The kinds of objects that sequences are about.

use serde_json::{Value as Json, json};

use super::shapes::Make;
use super::{built_in, metadata, things};
use crate::random::Random;
use crate::session::GROUP;

/// A kind, and how parts of its objects are made.
pub(super) struct Kind {
    pub(super) plural: &'static str,
    pub(super) api_version: fn() -> String,
    pub(super) kind: &'static str,
    /// What every object needs.
    pub(super) base: fn() -> Json,
    /// How many configurations in a hundred have it.
    pub(super) based: usize,
    /// A few fields, metadata and status aside.
    pub(super) parts: Make,
    /// A few fields of the status, where that is a subresource.
    pub(super) status: Option<Make>,
    /// A status that no other step has, of the step at this place.
    pub(super) mark: fn(usize) -> Json,
    /// Places besides those in metadata, and values for them.
    pub(super) places: &'static [(usize, (&'static str, Make))],
}

impl Kind {
    /// A place in an object, and a value for it.
    pub(super) fn place(&self, random: &mut Random) -> (String, Json) {
        let places = match random.chance(30) {
            true => metadata::PLACES,
            false => self.places,
        };
        let (path, make) = random.weighed(places);
        let value = super::shapes::value(random, *make);
        ((*path).to_owned(), value)
    }

    /// Whether it is one of the server's own, whose wrong values are not of interest here.
    pub(super) fn is_built_in(&self) -> bool {
        self.plural != THING.plural
    }
}

const THING: Kind = Kind {
    plural: "things",
    api_version: || format!("{GROUP}/v1"),
    kind: "Thing",
    base: || json!({}),
    based: 0,
    parts: |random| json!({"spec": things::spec(random)}),
    status: Some(things::status),
    mark: |at| json!({"phase": format!("s{at}")}),
    places: things::PLACES,
};

/// All kinds, by how often they come.
pub(super) const KINDS: &[(usize, Kind)] = &[
    (70, THING),
    (
        6,
        Kind {
            plural: "configmaps",
            api_version: || "v1".into(),
            kind: "ConfigMap",
            base: || json!({}),
            based: 0,
            parts: built_in::config_map,
            status: None,
            mark: |_| json!({}),
            places: built_in::CONFIG_MAP_PLACES,
        },
    ),
    (
        6,
        Kind {
            plural: "secrets",
            api_version: || "v1".into(),
            kind: "Secret",
            base: || json!({}),
            based: 0,
            parts: built_in::secret,
            status: None,
            mark: |_| json!({}),
            places: built_in::SECRET_PLACES,
        },
    ),
    (
        8,
        Kind {
            plural: "services",
            api_version: || "v1".into(),
            kind: "Service",
            base: built_in::service_base,
            based: 100,
            parts: built_in::service,
            status: Some(built_in::service_status),
            mark: built_in::service_mark,
            places: built_in::SERVICE_PLACES,
        },
    ),
    (
        10,
        Kind {
            plural: "statefulsets",
            api_version: || "apps/v1".into(),
            kind: "StatefulSet",
            base: built_in::stateful_set_base,
            based: 70,
            parts: built_in::stateful_set,
            status: Some(built_in::stateful_set_status),
            mark: |at| json!({"replicas": 0, "observedGeneration": at}),
            places: built_in::STATEFUL_SET_PLACES,
        },
    ),
];
