//! How much a definition becomes, before it is expanded.
//!
//! In: a definition. Out: a number of values that its objects do not exceed. It does not know which objects.

use std::iter::Sum;

use crate::api::cluster_definition::ClusterDefinition;
use crate::model::{Node, Value};

/// The values of what every cluster has: the objects, and the resources in them.
const CLUSTER: u64 = 4_000;
/// How many keys and values are usual outside of node pools; the rest may be copied into each object and resource.
const USUAL: u64 = 150;
/// In how many objects and resources of a cluster without node pools a value may be, such as a tag.
const COPIES: u64 = 60;
/// The same for a text, which may be in several values of each, such as the name.
const TEXT_COPIES: u64 = 500;
/// In how many places of a node pool's objects something may be.
const POOL_COPIES: u64 = 10;
/// The values of a node pool's objects, without its own.
const POOL: u64 = 400;

/// The number of values that the objects of a definition have at most; long texts count as several.
#[must_use]
pub fn weight(definition: &ClusterDefinition) -> u64 {
    let spec = definition.node.get("spec");
    let field = |name| {
        let field = spec.and_then(|spec| spec.get(name));
        field.map_or_else(Weight::default, Weight::of)
    };
    let (pools, properties) = (field("nodePools"), field("properties"));
    let all = Weight::of(&definition.node);
    let values = all.values - pools.values - properties.values;
    let texts = all.texts - pools.texts - properties.texts;
    let in_pools = POOL_COPIES * definition.spec.pools() as u64;
    CLUSTER
        + values.saturating_sub(USUAL) * (COPIES + in_pools)
        + texts * (TEXT_COPIES + in_pools)
        + (pools.values + pools.texts) * POOL_COPIES
        + (properties.values + properties.texts) * 2
        + definition.spec.pools() as u64 * POOL
}

/// The keys and values of a part of a definition, and as how many more its long texts count.
#[derive(Clone, Copy, Default)]
struct Weight {
    values: u64,
    texts: u64,
}

impl Weight {
    fn of(node: &Node) -> Self {
        let inner: Self = match &node.value {
            Value::Map(map) => map.iter().map(|(_, node)| Self::of(node).and_one()).sum(),
            Value::List(items) => items.iter().map(Self::of).sum(),
            _ => Self {
                values: 0,
                texts: node.weight() - 1,
            },
        };
        inner.and_one()
    }

    const fn and_one(self) -> Self {
        Self {
            values: self.values + 1,
            ..self
        }
    }
}

impl Sum for Weight {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            values: sum.values + one.values,
            texts: sum.texts + one.texts,
        })
    }
}
