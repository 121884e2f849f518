//! A definition and overlays, all in one file: merging and patching end, an empty patch changes
//! nothing, and what is merged once more on itself stays as it is.
#![no_main]

use capstan_fuzz::api::overlay;
use capstan_fuzz::model::{Finding, Map, Node, Object, Value};
use capstan_fuzz::overlay::Overlays;
use capstan_fuzz::schema::json_patch;
use capstan_fuzz::schema::strategic::{self, ListKeys};
use capstan_fuzz::{can_be_mended, documents};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let (documents, _) = documents("a.yaml", text);
    let Some((first, rest)) = documents.split_first() else {
        return;
    };
    with_overlays(first, rest);
    for patch in rest {
        patched(first, patch);
    }
});

/// As compiling does it: overlays merge with a definition and patch an object.
fn with_overlays(first: &Node, rest: &[Node]) {
    let overlays = rest.iter().map(|node| overlay::read(node).0);
    let mut overlays = Overlays::new(overlays.collect(), ListKeys::default());
    let (merged, findings) = overlays.merge(first.clone());
    findings.iter().for_each(can_be_mended);
    let (again, _) = overlays.merge(merged.clone());
    // What comes again is there already, but for what a directive takes away first.
    if !holds_directives(rest) && findings.is_empty() {
        assert_eq!(merged.to_json(), again.to_json());
    }
    let mut objects: Vec<Object> = Object::from_node(first.clone(), "").into_iter().collect();
    let before: Vec<_> = objects.iter().map(|object| object.id.clone()).collect();
    let findings = overlays.patch(&mut objects);
    findings.iter().for_each(can_be_mended);
    let after: Vec<_> = objects.iter().map(|object| object.id.clone()).collect();
    assert_eq!(before, after);
}

fn patched(base: &Node, patch: &Node) {
    let mut findings = Vec::new();
    match &patch.value {
        Value::List(operations) => drop(json_patch::apply(base.clone(), operations, &mut findings)),
        _ => drop(strategic::merge(base.clone(), patch, &ListKeys::default(), &mut findings)),
    }
    findings.iter().for_each(can_be_mended);
    if base.as_map().is_some() {
        let nothing = Node::new(Value::Map(Map::default()), &patch.origin);
        let mut none: Vec<Finding> = Vec::new();
        let same = strategic::merge(base.clone(), &nothing, &ListKeys::default(), &mut none);
        assert_eq!(&same, base);
    }
}

fn holds_directives(documents: &[Node]) -> bool {
    documents.iter().any(|node| match &node.value {
        Value::Map(map) => map
            .iter()
            .any(|(key, node)| key.name.starts_with('$') || holds_directives(std::slice::from_ref(node))),
        Value::List(items) => holds_directives(items),
        _ => false,
    })
}
