//! The embedded resources of an AROMachinePool as they are to be applied.
//!
//! In: its spec. Out: one node pool, which belongs to the HCP cluster, and whatever else is embedded; or what a person has to
//! change. A value of the user's that differs is refused, never replaced.

use serde_json::{Value, json};

use super::super::conditions::{NewCondition, Typed};
use super::super::resources;
use super::names::NODE_POOL;
use crate::api::conditions as c;
use crate::health::Live;
use crate::rules::of_azure;

/// The longest name of a node pool in Azure.
const LONGEST: usize = 15;

/// Resources as they are to be applied.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wanted {
    /// All of them.
    pub(super) items: Vec<Value>,
    /// The place of the node pool among them.
    place: usize,
}

impl Wanted {
    /// The resources of an AROMachinePool whose node pool belongs to the HCP cluster `hcp`.
    pub(super) fn of(live: Live<'_>, hcp: &str) -> Result<Self, Typed> {
        let mut items = resources::wanted(live);
        let places = items.iter().enumerate();
        let places: Vec<usize> = places
            .filter(|(_, item)| Live(item).kind() == NODE_POOL)
            .map(|(place, _)| place)
            .collect();
        let place = match places.as_slice() {
            [] => return refuse(c::NODE_POOL_INVALID, c::NO_NODE_POOL),
            [place] => *place,
            [_, ..] => return refuse(c::NODE_POOL_INVALID, &several(&items, &places)),
        };
        if Live(&items[place]).name().is_empty() {
            let message = format!("spec.resources[{place}]: {}", c::NO_NAME);
            return refuse(c::NODE_POOL_INVALID, &message);
        }
        set_owner(&mut items[place], place, hcp)?;
        check_name(Live(&items[place]), place)?;
        Ok(Self { items, place })
    }

    /// The node pool.
    pub(super) fn node_pool(&self) -> Live<'_> {
        Live(&self.items[self.place])
    }

    /// Passes the number of nodes of the MachinePool on, unless the node pool says how many it has.
    pub(super) fn scale(&mut self, pool: Live<'_>) {
        let asked = pool.number(&["spec", "replicas"]);
        let Some(asked) = asked.filter(|_| !self.scales() && self.replicas().is_none()) else {
            return;
        };
        let properties = &mut self.items[self.place]["spec"]["properties"];
        if !properties.is_object() {
            *properties = json!({});
        }
        properties["replicas"] = json!(asked);
    }

    /// That the node pool decides, if the MachinePool asks for another number of nodes.
    pub(super) fn overrules(&self, pool: Live<'_>) -> Option<String> {
        let asked = pool.number(&["spec", "replicas"])?;
        let set = self.replicas()?;
        let path = format!("spec.resources[{}].spec.properties.replicas", self.place);
        let differs = asked != set && !self.scales();
        differs.then(|| c::replicas_not_used(pool.name(), asked, &path, set))
    }

    fn replicas(&self) -> Option<i64> {
        self.node_pool().number(&["spec", "properties", "replicas"])
    }

    /// Whether Azure scales the pool.
    pub(super) fn scales(&self) -> bool {
        let scaling = self.node_pool().at(&["spec", "properties", "autoScaling"]);
        let fields = scaling.and_then(Value::as_object);
        fields.is_some_and(|fields| !fields.is_empty())
    }
}

fn refuse<T>(reason: &str, message: &str) -> Result<T, Typed> {
    Err((c::NODE_POOL_READY, NewCondition::no(reason, message)))
}

fn several(items: &[Value], places: &[usize]) -> String {
    let named =
        |place: &usize| format!("spec.resources[{place}] ({})", Live(&items[*place]).name());
    let names: Vec<String> = places.iter().map(named).collect();
    format!(
        "an AROMachinePool has one HcpOpenShiftClustersNodePool, and this one has {}: move all but one to machine pools of their own",
        names.join(" and ")
    )
}

/// A node pool belongs to the HCP cluster of its Cluster.
fn set_owner(item: &mut Value, place: usize, hcp: &str) -> Result<(), Typed> {
    let set = Live(item).text(&["spec", "owner", "name"]);
    if !set.is_empty() && set != hcp {
        let path = format!("spec.resources[{place}].spec.owner.name");
        let reason = "since it belongs to the HcpOpenShiftCluster of its Cluster";
        return refuse(
            c::INCOMPATIBLE_VALUE,
            &c::incompatible(&path, set, hcp, reason),
        );
    }
    if !item["spec"].is_object() {
        item["spec"] = json!({});
    }
    item["spec"]["owner"] = json!({"name": hcp});
    Ok(())
}

/// Azure rejects a name that is too long only when the cluster is up, half an hour later.
fn check_name(item: Live<'_>, place: usize) -> Result<(), Typed> {
    let (field, name) = match item.text(&["spec", "azureName"]) {
        "" => ("metadata.name", item.name()),
        name => ("spec.azureName", name),
    };
    match of_azure(name, LONGEST) {
        None => Ok(()),
        Some(why) => {
            let message = format!(
                "spec.resources[{place}].{field}: the name {name:?} {why}; set spec.azureName"
            );
            refuse(c::NODE_POOL_INVALID, &message)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value)]

    use super::*;

    fn node_pool(spec: Value) -> Value {
        json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": NODE_POOL,
            "metadata": {"name": "c-np1"}, "spec": spec})
    }

    fn wanted(resources: Value) -> Result<Wanted, (String, String)> {
        let live = json!({"spec": {"resources": resources}});
        let wanted = Wanted::of(Live(&live), "c");
        wanted.map_err(|(_, why)| (why.reason().to_owned(), why.message().to_owned()))
    }

    /// Cases of CAPZ's own suite (facts/aro-controllers.md §9).
    #[test]
    fn the_owner_is_the_hcp_cluster_unless_a_person_names_another() {
        for spec in [
            json!({}),
            Value::Null,
            json!({"owner": {"name": "c"}}),
            json!({"owner": {"armId": "/x"}}),
        ] {
            let wanted = wanted(json!([node_pool(spec)])).expect("it is valid");
            assert_eq!(wanted.items[0]["spec"]["owner"], json!({"name": "c"}));
        }
        let other = wanted(json!([node_pool(json!({"owner": {"name": "d"}}))]));
        let text = "incompatible value: value at spec.resources[0].spec.owner.name set by user to d but CAPZ must set it to c since it belongs to the HcpOpenShiftCluster of its Cluster. The user-defined value must not be defined, or must match CAPZ's desired value.";
        assert_eq!(
            other,
            Err((c::INCOMPATIBLE_VALUE.to_owned(), text.to_owned()))
        );
    }

    #[test]
    fn there_is_one_node_pool() {
        let mut second = node_pool(json!({}));
        second["metadata"]["name"] = json!("c-np2");
        let other = json!({"apiVersion": "resources.azure.com/v1", "kind": "ResourceGroup", "metadata": {"name": "rg"}});
        let cases = [
            (json!([]), c::NODE_POOL_INVALID, c::NO_NODE_POOL),
            (json!([other]), c::NODE_POOL_INVALID, c::NO_NODE_POOL),
            (
                json!([node_pool(json!({})), second]),
                c::NODE_POOL_INVALID,
                "an AROMachinePool has one HcpOpenShiftClustersNodePool, and this one has spec.resources[0] (c-np1) and spec.resources[1] (c-np2): move all but one to machine pools of their own",
            ),
            (
                json!([{"apiVersion": "x/v1", "kind": NODE_POOL}]),
                c::NODE_POOL_INVALID,
                "spec.resources[0]: resource must have metadata.name",
            ),
        ];
        for (resources, reason, message) in cases {
            assert_eq!(
                wanted(resources),
                Err((reason.to_owned(), message.to_owned()))
            );
        }
        let two_kinds = wanted(json!([other, node_pool(json!({}))])).expect("it is valid");
        assert_eq!(two_kinds.node_pool().name(), "c-np1");
    }

    /// Facts §8 (j).
    #[test]
    fn case_8j_a_name_that_azure_would_reject_half_an_hour_later_is_refused_at_once() {
        let cases = [
            (json!({"azureName": "a".repeat(15)}), None),
            (
                json!({"azureName": "a".repeat(16)}),
                Some("spec.resources[0].spec.azureName: the name"),
            ),
            (
                json!({"azureName": "-a"}),
                Some("spec.resources[0].spec.azureName: the name"),
            ),
            (json!({}), None),
        ];
        for (spec, expected) in cases {
            let refused = wanted(json!([node_pool(spec)])).err();
            let starts = refused.as_ref().is_some_and(|(_, message)| {
                expected.is_some_and(|expected| message.starts_with(expected))
            });
            assert_eq!(starts, expected.is_some(), "{refused:?}");
        }
        let mut long = node_pool(json!({}));
        long["metadata"]["name"] = json!("a-name-that-is-too-long");
        let refused = wanted(json!([long])).err().unwrap_or_default();
        assert!(
            refused
                .1
                .starts_with("spec.resources[0].metadata.name: the name"),
            "{refused:?}"
        );
    }

    /// Cases of CAPZ's own suite (facts/aro-controllers.md §9).
    #[test]
    fn azure_scales_a_pool_with_any_field_of_autoscaling() {
        let cases = [
            (json!({}), false),
            (json!({"properties": {"autoScaling": null}}), false),
            (json!({"properties": {"autoScaling": {}}}), false),
            (json!({"properties": {"autoScaling": {"min": 1}}}), true),
            (json!({"properties": {"autoScaling": {"max": 3}}}), true),
            (
                json!({"properties": {"autoScaling": {"min": 1, "max": 3}}}),
                true,
            ),
        ];
        for (spec, expected) in cases {
            let wanted = wanted(json!([node_pool(spec.clone())])).expect("it is valid");
            assert_eq!(wanted.scales(), expected, "{spec}");
        }
    }
}
