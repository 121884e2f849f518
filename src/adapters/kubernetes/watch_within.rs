//! One watch of a kind in several namespaces, for an account that may not watch it in the whole cluster.
//!
//! In: a watch for each namespace. Out: the events of one watch: all objects are listed once those of every namespace are. It
//! does not know which namespaces a fleet needs.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use futures::stream::BoxStream;

use super::per_namespace::{Awaited, each};
use crate::apply::WatchEvent;
use crate::model::ObjectId;

/// The events of a watch.
pub(super) type Watch = BoxStream<'static, WatchEvent>;

/// The namespaces of a set, and whether its plan has objects there.
pub(super) type Namespaces = BTreeMap<String, bool>;

/// Makes one watch of one for each of these namespaces. One that the plan does not need and that may not be watched counts as empty: objects
/// of an earlier revision would hold up the plan for ever.
pub(super) fn within(namespaces: &Namespaces, watch: impl Fn(&str) -> Watch) -> Watch {
    let events = each(namespaces.keys(), |namespace| {
        let (name, is_needed) = (namespace.to_owned(), namespaces[namespace]);
        let events = watch(namespace).map(move |event| match event {
            WatchEvent::Interrupted(scope, kind, why) if why.denied && !is_needed => {
                tracing::debug!(namespace = name, kind = kind.2, "objects of earlier revisions are not looked for where the account may not watch them");
                WatchEvent::Listed(scope, kind, BTreeSet::new())
            }
            event => event,
        });
        events.boxed()
    });
    let mut merged = Merged {
        awaited: Awaited::of(namespaces.keys()),
        there: BTreeMap::new(),
    };
    let mut is_lost = false;
    let events = events
        .filter_map(move |(namespace, event)| std::future::ready(merged.event(&namespace, event)));
    let events = events.take_while(move |event| {
        let goes_on = !is_lost;
        is_lost = matches!(event, WatchEvent::Lost(_));
        std::future::ready(goes_on)
    });
    events.boxed()
}

struct Merged {
    awaited: Awaited,
    /// The objects of those that were listed.
    there: BTreeMap<String, BTreeSet<ObjectId>>,
}

impl Merged {
    fn event(&mut self, namespace: &str, event: WatchEvent) -> Option<WatchEvent> {
        match event {
            WatchEvent::Object(scope, id, live) => {
                if let Some(there) = self.there.get_mut(namespace) {
                    if live.is_some() {
                        there.insert(id.clone());
                    } else {
                        there.remove(&id);
                    }
                }
                Some(WatchEvent::Object(scope, id, live))
            }
            WatchEvent::Listed(scope, kind, there) => {
                self.there.insert(namespace.to_owned(), there);
                self.awaited.listed(namespace).then(|| {
                    let all = self.there.values().flatten().cloned().collect();
                    WatchEvent::Listed(scope, kind, all)
                })
            }
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, stream};

    use super::*;
    use crate::apply::{Interruption, Kind, WatchScope};

    fn id(namespace: &str, name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", namespace, name)
    }

    fn kind() -> Kind {
        (String::new(), "v1".to_owned(), "ConfigMap".to_owned())
    }

    fn listed(ids: &[ObjectId]) -> WatchEvent {
        let there = ids.iter().cloned().collect();
        WatchEvent::Listed(WatchScope::Members, kind(), there)
    }

    fn shown(event: &WatchEvent) -> String {
        match event {
            WatchEvent::Object(_, id, live) => format!("{id} {}", live.is_some()),
            WatchEvent::Listed(_, _, there) => {
                let ids: Vec<String> = there.iter().map(ToString::to_string).collect();
                format!("all: {}", ids.join(" "))
            }
            WatchEvent::Lost(_) => "lost".to_owned(),
            _ => "another".to_owned(),
        }
    }

    #[test]
    fn objects_are_listed_once_they_are_in_every_namespace() {
        let namespaces = ["a", "b"].map(|name| (name.to_owned(), true)).into();
        let gone = |id| WatchEvent::Object(WatchScope::Members, id, None);
        let watch = |namespace: &str| {
            let events = match namespace {
                "a" => vec![listed(&[id("a", "1"), id("a", "2")]), gone(id("a", "1"))],
                _ => vec![
                    listed(&[id("b", "1")]),
                    listed(&[id("b", "2")]),
                    WatchEvent::Lost(kind()),
                    listed(&[]),
                ],
            };
            // The second comes after the first.
            let wait = usize::from(namespace == "b") * 10;
            let slow = stream::iter(events).then(move |event| async move {
                for _ in 0..wait {
                    tokio::task::yield_now().await;
                }
                event
            });
            slow.boxed()
        };
        let events = within(&namespaces, watch).map(|event| shown(&event));
        let events: Vec<String> = futures::executor::block_on(events.collect());
        let expected = [
            "ConfigMap/a/1 false",
            "all: ConfigMap/a/2 ConfigMap/b/1",
            "all: ConfigMap/a/2 ConfigMap/b/2",
            "lost",
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn a_namespace_that_the_plan_does_not_need_and_that_is_forbidden_is_empty() {
        for (is_needed, expected) in [(true, "another"), (false, "all: ConfigMap/a/1")] {
            let namespaces = [("a".to_owned(), true), ("b".to_owned(), is_needed)].into();
            let denied = Interruption {
                why: "no".to_owned(),
                denied: true,
            };
            let denied = WatchEvent::Interrupted(WatchScope::Members, kind(), denied);
            let watch = |namespace: &str| match namespace {
                "a" => stream::iter([listed(&[id("a", "1")])]).boxed(),
                _ => stream::iter([denied.clone()]).boxed(),
            };
            let events = within(&namespaces, watch).map(|event| shown(&event));
            let events: Vec<String> = futures::executor::block_on(events.collect());
            assert_eq!(events, [expected]);
        }
    }

    #[test]
    fn nothing_is_listed_while_a_namespace_is_not() {
        let namespaces = ["a", "b"].map(|name| (name.to_owned(), true)).into();
        let watch = |namespace: &str| match namespace {
            "a" => stream::iter([listed(&[id("a", "1")])])
                .chain(stream::pending())
                .boxed(),
            _ => stream::pending().boxed(),
        };
        assert!(within(&namespaces, watch).next().now_or_never().is_none());
    }
}
