//! The rules at the API server: what a fleet without errors has is admitted in whatever order it arrives, and what
//! breaks a rule about one object is refused.

use std::sync::Arc;

use capstan::api::fleet::FleetPolicy;
use capstan::compile::Compiled;
use capstan::model::{Node, Object, Origin, Severity, Span};
use capstan::rules::{book, check_live};

use super::fixture::over;
use super::{around, bases};

/// An object as a cluster has it: where it was written is lost.
fn live(object: &Object) -> Object {
    let origin = Origin::new(Span::top(&Arc::from(object.id.to_string())));
    let node = Node::from_json(&object.node.to_json(), &origin);
    Object::from_node(node, &object.id.namespace).expect("an object")
}

/// Whether the webhook is asked about it.
fn is_judged(object: &Object) -> bool {
    let kind = object.id.kind.as_str();
    ["ARO", "AzureClusterIdentity", "Hcp"]
        .iter()
        .any(|name| kind.starts_with(name))
}

/// What is refused if the objects arrive in this order.
fn refused<'a>(objects: impl Iterator<Item = &'a Object>) -> Vec<String> {
    let policy = FleetPolicy::default();
    let (mut there, mut refused) = (Vec::new(), Vec::new());
    for object in objects {
        let found = match is_judged(object) {
            true => check_live(object, &there, &policy),
            false => Vec::new(),
        };
        let errors = found
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        refused.extend(errors.map(|error| format!("{} {} {}", error.id, object.id, error.message)));
        there.push(object.clone());
    }
    refused
}

fn examples(breaks: bool) -> impl Iterator<Item = (&'static str, Compiled)> {
    let examples = book::pages().iter().flat_map(move |page| {
        let shown = page.examples.iter();
        let shown = shown
            .filter(move |one| one.breaks == breaks && one.of != "words" && one.fleet.is_empty());
        shown.map(move |example| (page.id, example))
    });
    examples.map(|(id, example)| {
        let text = around(example.of, example.yaml);
        (id, over(&bases(example)[0], &text, ""))
    })
}

#[test]
fn what_validate_accepts_is_admitted_in_any_order() {
    for (id, compiled) in examples(false).filter(|(_, compiled)| !compiled.has_errors()) {
        let objects: Vec<Object> = compiled.objects.iter().map(live).collect();
        assert_eq!(refused(objects.iter()), [""; 0], "{id}");
        assert_eq!(
            refused(objects.iter().rev()),
            [""; 0],
            "{id}, the last one first"
        );
    }
}

/// The rules that judge one object, or one beside those of its cluster.
const REFUSED: [&str; 19] = [
    "C01", "C11", "C15", "C23", "C35", "C46", "E03", "E10", "N02", "N09", "N18", "T07", "V01",
    "V02", "V03", "V04", "V05", "V06", "V09",
];

#[test]
fn what_breaks_a_rule_about_one_object_is_refused() {
    for (id, compiled) in examples(true).filter(|(id, _)| REFUSED.contains(id)) {
        let objects: Vec<Object> = compiled.objects.iter().map(live).collect();
        // An identity that comes after its user cannot be asked.
        let refused = [refused(objects.iter()), refused(objects.iter().rev())].concat();
        assert!(
            refused.iter().any(|error| error.starts_with(id)),
            "{id}: {refused:?}"
        );
    }
}
