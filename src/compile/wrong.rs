//! What may be wrong with a document as a whole, as findings.
//!
//! In: documents, files without any, and overlays. Out: findings (R03, S02, S03, Y09, Y12, Y13, O03, O05). It does not know
//! what becomes of them.

use std::sync::Arc;

use crate::api::kinds::CAPSTAN;
use crate::api::overlay::Overlay;
use crate::model::{
    Budget, Finding, Node, ObjectId, Path, Problem, Span, Tree, Value, message, rule_id,
};
use crate::yaml;

/// The finding for a list without valid `items`.
pub(super) fn no_items(list: &Node, items: Option<&Node>) -> Finding {
    let finding = match items {
        Some(items) => {
            let message = "`items` must be a list: its objects were not read";
            Finding::error(rule_id::WRONG_TYPE, message).at(items.span())
        }
        None => Finding::error(
            rule_id::MISSING_FIELD,
            "`items` is missing: this list has no objects",
        )
        .at(list.span()),
    };
    let help = "write each object below `items:`, after `- `; for an empty list, write `items: []`";
    finding.field(&Path::dotted("items")).help(help)
}

/// Reads a file. One that is larger than others may be has as many CustomResourceDefinitions as it was taken for, or nothing.
/// `None` if the tree has too many values.
pub(super) fn read(path: &Arc<str>, text: &[u8], budget: &Budget) -> Option<yaml::File> {
    let file = yaml::read_within(path, text, budget)?;
    let is_definition = |node: &Node| node.text(&["kind"]) == Some("CustomResourceDefinition");
    let size = text.len() as u64;
    let definitions = file.documents.iter().filter(|one| is_definition(one));
    if size <= Tree::MAX_FILE_BYTES || definitions.count() >= Tree::definitions(text).0 {
        return Some(file);
    }
    let tree = Tree {
        problems: [(Arc::clone(path), Problem::TooLarge(size))].into(),
        ..Tree::default()
    };
    Some(yaml::File {
        documents: Vec::new(),
        broken: vec![super::lost::nothing(&Span::top(path))],
        findings: yaml::problems(&tree),
    })
}

/// The finding for a file without a document. Comments are left on purpose; nothing at all is an accident.
pub(super) fn no_document(path: &Arc<str>, text: &[u8]) -> Finding {
    let finding = match text.trim_ascii().is_empty() {
        true => Finding::error(rule_id::NO_DOCUMENT, "the file is empty").help(format!(
            "restore its content; if it is no longer needed, remove the file: `git rm {path}`"
        )),
        false => Finding::warning(
            rule_id::NO_DOCUMENT,
            "the file contains no document, only comments",
        )
        .help("delete the file, or restore its content: without it, its objects leave the fleet"),
    };
    finding.at(&Span::top(path))
}

/// Overlays with the name of another one (O03).
pub(super) fn same_names(overlays: &[Overlay]) -> Vec<Finding> {
    let mut sorted: Vec<&Overlay> = overlays.iter().collect();
    sorted.retain(|overlay| !overlay.name.is_empty());
    sorted.sort_by_key(|overlay| (&overlay.name, overlay.origin.span()));
    let again = |same: &[&Overlay]| {
        let mut same = same.to_vec();
        // The one in the file of its name is the original.
        same.sort_by_key(|overlay| !is_named_after(overlay.origin.span(), &overlay.name));
        let first = same[0].origin.span().clone();
        let finding = |overlay: &&Overlay| {
            let message = message!(
                "`{name}` is also the name of the overlay at {first}",
                name = overlay.name
            );
            Finding::warning("O03", message)
                .at(overlay.origin.span())
                .help("rename one of them: both apply, and messages name them")
        };
        same[1..].iter().map(finding).collect::<Vec<_>>()
    };
    let same = sorted.chunk_by(|one, other| one.name == other.name);
    same.flat_map(again).collect()
}

/// Overlays that select everything because nobody wrote a selector (O05). Of one with errors it is not known.
pub(super) fn without_selector(overlays: &[Overlay]) -> impl Iterator<Item = Finding> {
    let unselective = overlays
        .iter()
        .filter(|overlay| overlay.lost.is_empty() && overlay.selector_origin == overlay.origin);
    unselective.map(|overlay| {
        let message = message!(
            "the overlay `{name}` has no `selector`, so it selects every definition and object",
            name = overlay.name
        );
        Finding::warning("O05", message)
            .at(overlay.origin.span())
            .help("add a selector, or write `selector: {}` to select all")
    })
}

/// Whether the file at `span` has the name of what it defines.
fn is_named_after(span: &Span, name: &str) -> bool {
    let file = span.path.rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').is_some_and(|(stem, _)| stem == name)
}

/// A document without a text for a field that every object has.
pub(super) fn not_an_object(document: &Node) -> Finding {
    let fields = ["apiVersion", "kind", "metadata.name"].map(Path::dotted);
    let other = |field: &Path| {
        document
            .lookup(field)
            .filter(|node| is_bare(node))
            .map(Node::span)
    };
    if let Some((field, span)) = fields.iter().find_map(|field| Some((field, other(field)?))) {
        let message = message!("`{field}` must be a string", field);
        let help =
            "put quotes around it: without quotes, YAML reads it as a number, or as true or false";
        return Finding::error(rule_id::WRONG_TYPE, message)
            .at(span)
            .field(field)
            .help(help);
    }
    let missing: Vec<&str> = ["apiVersion", "kind", "metadata.name"]
        .into_iter()
        .filter(|field| {
            let text = document.lookup(&Path::dotted(field)).and_then(Node::as_str);
            text.is_none_or(str::is_empty)
        })
        .collect();
    let missing = missing.join(", no ");
    let message = message!(
        "this document is not a Kubernetes object: it has no {missing}",
        missing
    );
    Finding::error("Y09", message)
        .at(document.span())
        .help("add the missing fields, or exclude the file with .capstanignore")
}

/// Whether quotes would make a text of a value.
fn is_bare(node: &Node) -> bool {
    matches!(
        node.value,
        Value::Bool(_) | Value::Int(_) | Value::Float(..)
    )
}

pub(super) fn not_allowed_in_a_fleet(document: &Node, kind: &str) -> Finding {
    let at = document.get("kind").unwrap_or(document);
    let help =
        "a fleet may contain ClusterDefinition and Overlay documents and plain Kubernetes objects";
    let message = match kind {
        "Fleet" => "a Fleet document may not be in the tree it describes: a pull request must not be able to extend its own tenancy".into(),
        _ => message!("the kind `{kind}` of {CAPSTAN} is not allowed in a fleet", kind),
    };
    Finding::error("Y12", message).at(at.span()).help(help)
}

/// The finding for two objects with one id. The one in the file of its name is the original, or else the first.
pub(super) fn duplicate(id: &ObjectId, second: &Span, first: &Span) -> Finding {
    let is_copied = is_named_after(second, &id.name) && !is_named_after(first, &id.name);
    let (second, first) = if is_copied {
        (first, second)
    } else {
        (second, first)
    };
    let message = message!("duplicate {id}: it is also defined at {first}", id);
    Finding::error(rule_id::DEFINED_TWICE, message)
        .at(second)
        .of(id)
        .help("remove or rename one of them")
}
