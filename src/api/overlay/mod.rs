//! `Overlay`: a partial definition and patches that apply to many definitions (DESIGN §3).
//!
//! In: a document. Out: the overlay with the origin of every part, and findings. Of a broken document, the
//! overlay is what can be read of it, and knows what is lost. It does not know how definitions are merged or
//! patched.

mod selector;
mod target;

use std::sync::LazyLock;

use schemars::{JsonSchema, Schema as Generated, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value as Json, json};

pub use selector::{NotASelector, Operator, Requirement, Selector};
use target::TargetSpec;
pub use target::{Pattern, Patterns, Target};

use super::cluster_definition::{ClusterDefinitionSpec, HyperShiftSpec, Platform};
use super::document;
use super::structural::{self, Properties, any_object, any_objects};
use crate::model::{Finding, Map, Node, ObjectId, Origin, Path, Segment, Value, rule_id};
use crate::schema::Repair;
use kube_schema::Schema;

/// A partial definition, and patches for the objects that definitions expand to.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// `metadata.name`.
    pub name: String,
    /// The origin of the name.
    pub origin: Origin,
    /// The definitions and raw objects to which it applies.
    pub selector: Selector,
    /// The origin of the selector, or of the name if it has none.
    pub selector_origin: Origin,
    /// Whether the definition or `merge` takes precedence.
    pub precedence: Precedence,
    /// Lower is applied first within one precedence.
    pub order: i64,
    /// A partial `ClusterDefinition.spec`.
    pub merge: Option<Node>,
    /// Patches for expanded and raw objects.
    pub patches: Vec<Patch>,
    /// The fields of a definition that it may set, but that cannot be read. The empty path means that nothing is
    /// known, not even what it selects.
    pub lost: Vec<Path>,
}

/// What takes precedence if an overlay's `merge` and a definition set the same field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
pub enum Precedence {
    /// The definition.
    #[default]
    Default,
    /// The overlay.
    Enforced,
}

/// A change to every object that `target` matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    /// The objects to change.
    pub target: Target,
    /// A map is a strategic merge patch, a list is a JSON patch (RFC 6902).
    pub patch: Node,
    /// The origin of the patch.
    pub origin: Origin,
}

const KIND: &str = "Overlay";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| document::compiled(&schema()));

/// The JSON schema of a whole document.
pub(super) fn schema() -> Json {
    document::schema(KIND, &structural::of::<OverlaySpec>())
}

/// A partial definition and patches that apply to many definitions.
#[derive(Deserialize, JsonSchema)]
struct OverlaySpec {
    /// The definitions to which the overlay applies, by their labels; patches apply to raw objects too. An
    /// empty selector matches everything.
    #[serde(default)]
    selector: Selector,
    /// Whether the definition or `merge` takes precedence if both set a field.
    #[serde(default)]
    precedence: Precedence,
    /// Lower is applied first within one precedence; equal ones are ordered by path.
    #[serde(default)]
    order: i64,
    /// A partial ClusterDefinition spec. `null` removes a field; a node pool named `*` stands for every node pool.
    #[serde(default, rename = "merge")]
    #[schemars(schema_with = "partial_definition")]
    _merge: Option<Properties>,
    /// Changes to expanded and raw objects.
    #[serde(default)]
    patches: Vec<PatchSpec>,
}

/// A change to every object that `target` matches.
#[derive(Deserialize, JsonSchema)]
struct PatchSpec {
    /// The objects to change.
    #[serde(default)]
    target: TargetSpec,
    /// A strategic merge patch.
    #[serde(default, rename = "patch")]
    #[schemars(schema_with = "any_object")]
    _patch: Option<Properties>,
    /// A JSON patch (RFC 6902), as an alternative to `patch`.
    #[serde(default, rename = "json6902")]
    #[schemars(schema_with = "any_objects")]
    _json6902: Option<Vec<Properties>>,
}

/// The schema of a definition of any platform without required fields, and with node pools that may be named `*`.
fn partial_definition(_: &mut SchemaGenerator) -> Generated {
    let mut partial = structural::of::<ClusterDefinitionSpec>();
    add_fields(&mut partial, &structural::of::<HyperShiftSpec>());
    partial["properties"]["platform"] =
        json!({"type": "string", "enum": Platform::ALL.map(Platform::name)});
    structural::each(&mut partial, &|fields| {
        fields
            .retain(|keyword, _| !matches!(keyword.as_str(), "required" | "minItems" | "default"));
    });
    let pool = &mut partial["properties"]["nodePools"]["items"];
    pool["required"] = ["name"].as_slice().into();
    pool["properties"]["name"]["pattern"] = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$".into();
    Generated::try_from(partial).unwrap_or_else(|_| json_schema!({}))
}

/// Adds the fields of another schema that one lacks, also below fields that both have.
fn add_fields(schema: &mut Json, other: &Json) {
    if let Some(items) = other.get("items") {
        add_fields(&mut schema["items"], items);
    }
    let others = other.get("properties").and_then(Json::as_object);
    for (name, field) in others.into_iter().flatten() {
        match schema["properties"].get_mut(name) {
            Some(own) => add_fields(own, field),
            None => schema["properties"][name] = field.clone(),
        }
    }
}

/// The names of the fields of `spec`.
#[must_use]
pub fn spec_fields() -> Vec<&'static str> {
    document::spec_fields(&SCHEMA)
}

/// Reads an overlay, as far as it can be read. Without errors among the findings it is complete.
#[must_use]
pub fn read(node: &Node) -> (Overlay, Vec<Finding>) {
    read_within(node, &mut Patterns::default())
}

/// The same as one of the overlays of a tree, whose expressions are counted.
pub fn read_within(node: &Node, patterns: &mut Patterns) -> (Overlay, Vec<Finding>) {
    let (id, origin) = document::identity(node, KIND);
    let mut node = node.clone();
    let mut findings = bare_versions(&mut node);
    let mut lost = Vec::new();
    let mut readable = plain(node.clone());
    let (mut document, found) = document::typed::<Document>(&readable, &SCHEMA);
    findings.extend(found);
    if document.is_none() {
        let repair = Repair::of(&SCHEMA, &readable);
        repair.apply(&mut readable);
        repair.apply(&mut node);
        document = serde_json::from_value(readable.to_json()).ok();
        lost.extend(repair.lost.iter().filter_map(of_definition));
    }
    let unreadable = Overlay::unreadable(&id, &origin);
    let overlay = match document.filter(|_| !lost.contains(&Path::default())) {
        None => unreadable,
        Some(document) => {
            let (overlay, found) = assemble(&id, origin, document.spec, &node, patterns);
            let selects = !found.iter().any(is_of_selector);
            findings.extend(found);
            match selects {
                true => Overlay { lost, ..overlay },
                false => unreadable,
            }
        }
    };
    patch_beside_its_item(&mut findings);
    let findings = findings.into_iter().map(|found| found.of(&id)).collect();
    (overlay, findings)
}

/// Reads what is left of an overlay after an error of syntax, which is reported already.
pub fn read_rest(node: &Node, patterns: &mut Patterns) -> Overlay {
    let (id, origin) = document::identity(node, KIND);
    let spec = node.get("spec").and_then(Node::as_map);
    let last = spec.and_then(|spec| spec.iter().last());
    // The selector is complete if something follows it.
    let selects = spec.is_some_and(|spec| spec.get("selector").is_some())
        && last.is_some_and(|(key, _)| key.name != "selector");
    let (overlay, _) = read_within(node, patterns);
    match selects && overlay.lost != [Path::default()] {
        true => Overlay {
            lost: vec![Path::dotted("spec")],
            ..overlay
        },
        false => Overlay::unreadable(&id, &origin),
    }
}

/// A patch that is not indented like its target is reported once.
fn patch_beside_its_item(findings: &mut Vec<Finding>) {
    let is_at = |finding: &Finding, fields: &[&str]| {
        let field = finding.field.as_ref();
        field.is_some_and(|field| fields.iter().any(|one| *field == Path::dotted(one)))
    };
    let is_beside = |one: &Finding| {
        one.id == rule_id::UNKNOWN_FIELD && is_at(one, &["spec.patch", "spec.json6902"])
    };
    let Some(at) = findings.iter().position(is_beside) else {
        return;
    };
    findings[at].help = Some("indent it like the `target` of its patch, below `patches`".into());
    let patches = Path::dotted("spec.patches");
    let is_in_item = |one: &Finding| {
        let field = one.field.as_ref();
        one.id == rule_id::INVALID_VALUE
            && field.is_some_and(|field| field.0.starts_with(&patches.0))
    };
    findings.retain(|one| !is_in_item(one));
}

impl Overlay {
    /// Records that the value of a field of the document could not be read.
    pub fn lose(&mut self, field: &Path) {
        self.lost.extend(of_definition(field));
    }

    /// An overlay of which nothing is known.
    fn unreadable(id: &ObjectId, origin: &Origin) -> Self {
        Self {
            name: id.name.clone(),
            origin: origin.clone(),
            selector: Selector::default(),
            selector_origin: origin.clone(),
            precedence: Precedence::Default,
            order: 0,
            merge: None,
            patches: Vec::new(),
            lost: vec![Path::default()],
        }
    }
}

/// The fields of a definition that are unknown without this field of an overlay.
fn of_definition(lost: &Path) -> Option<Path> {
    let keys = lost.0.iter().map(|step| match step {
        Segment::Key(name) => name.as_str(),
        Segment::Index(_) => "",
    });
    match keys.collect::<Vec<_>>().as_slice() {
        ["spec", "merge", ..] => {
            let spec = Segment::Key("spec".to_owned());
            Some(Path([&[spec], &lost.0[2..]].concat()))
        }
        ["spec", "selector", ..] => Some(Path::default()),
        ["spec", "precedence" | "order" | "patches", ..] => None,
        ["spec", ..] => Some(Path::dotted("spec")),
        // Nobody knows what is meant by other fields: `merge`, for example, belongs below `spec`.
        ["apiVersion" | "kind" | "metadata", ..] => None,
        _ => Some(Path::default()),
    }
}

fn is_of_selector(finding: &Finding) -> bool {
    let selector = Path::dotted("spec.selector");
    let field = finding.field.as_ref();
    field.is_some_and(|field| field.0.starts_with(&selector.0))
}

#[derive(Deserialize)]
struct Document {
    spec: OverlaySpec,
}

fn bare_versions(node: &mut Node) -> Vec<Finding> {
    let merge = document::child(node, "spec").and_then(|spec| document::child(spec, "merge"));
    let at = Path::dotted("spec.merge");
    merge.map_or_else(Vec::new, |merge| document::quote_versions(merge, &at))
}

/// The document without `null`s and directives such as `$patch`, which only merging understands.
fn plain(node: Node) -> Node {
    without_directives(document::without_nulls(node))
}

fn without_directives(node: Node) -> Node {
    let value = match node.value {
        Value::Map(map) => Value::Map(
            map.into_iter()
                .filter(|(key, _)| !key.name.starts_with('$'))
                .map(|(key, node)| (key, without_directives(node)))
                .collect::<Map>(),
        ),
        Value::List(items) => Value::List(items.into_iter().map(without_directives).collect()),
        scalar => scalar,
    };
    Node::new(value, &node.origin)
}

fn assemble(
    id: &ObjectId,
    origin: Origin,
    spec: OverlaySpec,
    node: &Node,
    patterns: &mut Patterns,
) -> (Overlay, Vec<Finding>) {
    let mut findings = selector::findings(&spec.selector, node);
    let at = Path::dotted("spec.patches");
    let mut patches = Vec::new();
    for (index, patch) in spec.patches.iter().enumerate() {
        match assemble_patch(patch, node, &at.index(index), patterns) {
            Ok(patch) => patches.push(patch),
            Err(finding) => findings.push(*finding),
        }
    }
    let selector = node.at(&["spec", "selector"]);
    let selector = selector.filter(|node| node.value != Value::Null);
    let overlay = Overlay {
        name: id.name.clone(),
        selector_origin: selector.map_or_else(|| origin.clone(), |node| node.origin.clone()),
        origin,
        selector: spec.selector,
        precedence: spec.precedence,
        order: spec.order,
        merge: node.at(&["spec", "merge"]).cloned(),
        patches,
        lost: Vec::new(),
    };
    (overlay, findings)
}

fn assemble_patch(
    patch: &PatchSpec,
    node: &Node,
    at: &Path,
    patterns: &mut Patterns,
) -> Result<Patch, Box<Finding>> {
    let refused = |path: &Path, message: &str| {
        let span = node.nearest(path).span();
        let help = "add `patch` with the fields to change, or `json6902` with a list of operations";
        Box::new(
            Finding::error(rule_id::INVALID_VALUE, message)
                .at(span)
                .field(path)
                .help(help),
        )
    };
    let written = node.nearest(at);
    let body = match (written.get("patch"), written.get("json6902")) {
        (Some(body), None) | (None, Some(body)) => body,
        _ => return Err(refused(at, "a patch needs either `patch` or `json6902`")),
    };
    let target = patch.target.read(node, &at.key("target"), patterns)?;
    Ok(Patch {
        target,
        patch: body.clone(),
        origin: body.origin.clone(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::api::document::tests::{document, places};

    fn read_spec(spec: &str) -> (Overlay, Vec<Finding>) {
        let head = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: base}\n";
        read(&document(&format!("{head}spec:{spec}\n")))
    }

    #[test]
    fn an_empty_overlay_selects_everything_and_lies_beneath() {
        let (overlay, findings) = read_spec(" {}");
        assert_eq!(findings, []);
        assert_eq!(overlay.name, "base");
        assert_eq!(overlay.selector, Selector::default());
        assert_eq!(overlay.precedence, Precedence::Default);
        assert_eq!(
            (overlay.order, overlay.merge, overlay.patches),
            (0, None, vec![])
        );
    }

    #[test]
    fn everything_the_design_shows_is_read() {
        let (overlay, findings) = read_spec(
            "
  selector: {matchLabels: {env: prod}, matchExpressions: [{key: tier, operator: In, values: [a]}]}
  precedence: Enforced
  order: 10
  merge: {version: {channelGroup: stable}, nodePools: [{name: '*', osDisk: null}]}
  patches:
  - target: {kind: AROMachinePool, labelSelector: 'env=prod'}
    patch: {metadata: {annotations: {owner: sre}}}
  - target: {kind: Vault}
    json6902: [{op: remove, path: /spec/tags}]",
        );
        assert_eq!(findings, []);
        assert_eq!(overlay.selector.match_labels["env"], "prod");
        assert_eq!(overlay.selector.match_expressions[0].operator, Operator::In);
        assert_eq!(
            (overlay.precedence, overlay.order),
            (Precedence::Enforced, 10)
        );
        let merge = overlay.merge.unwrap();
        assert_eq!(merge.text(&["version", "channelGroup"]), Some("stable"));
        let pool = &merge.get("nodePools").unwrap().as_list().unwrap()[0];
        assert_eq!(pool.get("osDisk").unwrap().value, Value::Null);
        let [strategic, json] = overlay.patches.as_slice() else {
            unreachable!("two patches")
        };
        assert!(strategic.patch.as_map().is_some() && json.patch.as_list().is_some());
        assert_eq!(strategic.target.kind, Pattern::new("AROMachinePool").ok());
        let selector = strategic.target.label_selector.as_ref().unwrap();
        assert_eq!(selector.match_expressions[0].key, "env");
        assert_eq!(strategic.origin.span().start.line, 11);
    }

    #[test]
    fn directives_are_left_for_the_merge() {
        let (overlay, findings) =
            read_spec(" {merge: {network: {$patch: replace, hostPrefix: 24}}}");
        assert_eq!(findings, []);
        let merge = overlay.merge.unwrap();
        assert_eq!(merge.text(&["network", "$patch"]), Some("replace"));
    }

    #[test]
    fn faults_point_at_the_overlays_own_lines() {
        let (overlay, findings) = read_spec(
            "
  merge:
    version: {id: 4.20}
    networks: {}
  selector: {matchExpressions: [{key: a, operator: Is}]}",
        );
        assert_eq!(overlay.lost, [Path::default()]);
        assert_eq!(
            places(&findings),
            [
                "Y11 6:19 spec.merge.version.id",
                "S01 7:5 spec.merge.networks",
                "S04 8:52 spec.selector.matchExpressions[0].operator",
            ]
        );
    }

    #[test]
    fn what_a_schema_cannot_say_is_found_too() {
        let (overlay, findings) = read_spec(
            "
  selector: {matchExpressions: [{key: a, operator: In}, {key: b, operator: Exists, values: [c]}]}
  patches:
  - {target: {labelSelector: 'a=b=c'}, patch: {}}
  - {target: {}}
  - {patch: {}, json6902: []}
  - {target: {name: '*'}, patch: {}}
  - {target: {annotationSelector: 'a=b=c'}, patch: {}}",
        );
        assert_eq!(overlay.patches, []);
        assert_eq!(
            places(&findings),
            [
                "S04 5:33 spec.selector.matchExpressions[0].values",
                "S04 5:92 spec.selector.matchExpressions[1].values",
                "S04 7:30 spec.patches[0].target.labelSelector",
                "S04 8:5 spec.patches[1]",
                "S04 9:5 spec.patches[2]",
                "S04 10:21 spec.patches[3].target.name",
                "S04 11:35 spec.patches[4].target.annotationSelector",
            ]
        );
    }

    /// The fields that an overlay with this spec may set but that cannot be read, and what it sets.
    fn lost(spec: &str) -> (Vec<String>, Json) {
        let (overlay, findings) = read_spec(spec);
        assert!(!findings.is_empty(), "{spec}");
        let merge = overlay.merge.map_or(Json::Null, |merge| merge.to_json());
        (overlay.lost.iter().map(Path::to_string).collect(), merge)
    }

    #[test]
    fn the_rest_of_a_broken_overlay_is_used() {
        for (spec, expected, merge) in [
            (
                " {merge: {version: {id: 4.20}}}",
                vec![],
                json!({"version": {"id": "4.20"}}),
            ),
            (
                " {merge: {locaton: uksouth, tags: null}}",
                vec![],
                json!({"location": "uksouth", "tags": null}),
            ),
            (
                " {merge: {location: [a], network: {hostPrefix: 24}}}",
                vec!["spec.location"],
                json!({"network": {"hostPrefix": 24}}),
            ),
            (" {merge: {colour: a}}", vec!["spec.colour"], json!({})),
            (" {merge: {spec: {location: a}}}", vec!["spec"], json!({})),
            (
                " {merges: {}, more: {location: a}}",
                vec!["spec"],
                json!({}),
            ),
            (" {patches: 3, merge: {}}", vec![], json!({})),
            (" {selector: 3, merge: {location: a}}", vec![""], Json::Null),
        ] {
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(lost(spec), (expected, merge), "{spec}");
        }
    }

    #[test]
    fn a_selector_is_known_if_something_follows_it() {
        for (spec, expected) in [
            (" {selector: {matchLabels: {env: prod}}, order: 1}", "spec"),
            (" {selector: {matchLabels: {env: prod}}}", ""),
            (" {merge: {location: uksouth}}", ""),
        ] {
            let head = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: a}\n";
            let overlay = read_rest(
                &document(&format!("{head}spec:{spec}\n")),
                &mut Patterns::default(),
            );
            assert_eq!(overlay.lost, [Path::dotted(expected)], "{spec}");
        }
    }
}
