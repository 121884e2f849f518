//! Mistakes in terms of flags.
//!
//! In: findings about a definition that was made of flags. Out: for each error the flag that it is about, and the rest. The
//! schema and the rules decide what is wrong; only the words for fields are replaced here.

use super::flags;
use crate::api::kinds::CAPSTAN;
use crate::cli::ui::Ui;
use crate::model::cut::shortened;
use crate::model::{Finding, Node, Path, Position, Severity, Value, rule_id, words};

/// The most characters of a value that are repeated.
const SHOWN: usize = 80;
/// The field of the workload identities.
const IDENTITIES: &str = "spec.hyperShift.azure.workloadIdentities";

/// A mistake, with the flag to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Fault {
    /// A flag may have anything in it: the message is one line.
    pub(super) fn new(message: impl AsRef<str>, help: Option<&str>) -> Self {
        Self {
            message: words::said(message.as_ref()),
            help: help.map(str::to_owned),
        }
    }

    /// As it is printed.
    fn text(&self) -> String {
        match &self.help {
            Some(help) => format!("{}\n  help: {help}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Says what is wrong with flags.
pub(super) fn tell(faults: &[Fault], ui: &Ui) {
    faults.iter().for_each(|fault| ui.error(&fault.text()));
}

/// The errors that are about a flag, and all other findings.
pub(super) fn in_flags(findings: &[Finding], document: &Node) -> (Vec<Fault>, Vec<Finding>) {
    let (mut faults, mut others, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for finding in findings {
        let field = field(finding, document).map(|field| (field.to_string(), field));
        let flag = field.as_ref().and_then(|(name, _)| flags::of(name));
        let (Some((name, field)), Some(flag), Severity::Error) = (&field, flag, finding.severity)
        else {
            others.push(finding.clone());
            continue;
        };
        let is_identity =
            |name: &str| finding.id == rule_id::MISSING_FIELD && name.starts_with(IDENTITIES);
        match name.rsplit_once('.') {
            Some((_, identity)) if is_identity(name) => missing.push(identity.to_owned()),
            _ => faults.push(told(finding, flag, name, document.lookup(field))),
        }
    }
    faults.extend(without(&missing));
    let mut told: Vec<Fault> = Vec::new();
    for fault in faults {
        // Every object of a cluster has its name, and its labels.
        if told.iter().all(|one| one.message != fault.message) {
            told.push(fault);
        }
    }
    (told, others)
}

/// The identities that are missing, in one message.
fn without(missing: &[String]) -> Option<Fault> {
    let first = missing.first()?;
    let message = format!("--workload-identity is missing for {}", missing.join(", "));
    let help = format!("add `--workload-identity {first}=CLIENT_ID`, and so on for each");
    Some(Fault::new(message, Some(&help)))
}

/// The field of the definition that a finding is about: its own, or the one whose value it points at.
fn field(finding: &Finding, document: &Node) -> Option<Path> {
    let of_definition = finding.object.as_ref();
    let of_definition = of_definition.is_some_and(|id| id.is(CAPSTAN, "ClusterDefinition"));
    let own = finding.field.as_ref().filter(|_| of_definition).cloned();
    let span = finding
        .span
        .as_ref()
        .filter(|span| span.path == document.span().path);
    own.or_else(|| at(document, &Path::default(), span?.start))
}

/// The path of the value that starts at a position, or of that of the key there.
fn at(node: &Node, path: &Path, start: Position) -> Option<Path> {
    let inner = match &node.value {
        Value::Map(map) => map.iter().find_map(|(key, value)| {
            let inner = path.key(key.name.clone());
            let is_key = key.origin.span().start == start;
            at(value, &inner, start).or_else(|| is_key.then_some(inner))
        }),
        Value::List(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| at(item, &path.index(index), start))
        }
        _ => None,
    };
    inner.or_else(|| (node.span().start == start).then(|| path.clone()))
}

/// A finding in the words of flags.
fn told(finding: &Finding, flag: &'static str, field: &str, value: Option<&Node>) -> Fault {
    let text = value.and_then(|value| match &value.value {
        Value::String(text) => Some(text.to_string()),
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    });
    let text = text.map(|text| shortened(&text, SHOWN, "…"));
    let message = &finding.message;
    let identity = field
        .strip_prefix(IDENTITIES)
        .map(|name| name.trim_start_matches('.'));
    if let Some((_, values)) = message.split_once("supported values: ") {
        let message = format!("{flag} must be one of: {}", values.replace('"', ""));
        return Fault::new(message, finding.help.as_deref());
    }
    if let (rule_id::UNKNOWN_FIELD, Some(name)) = (finding.id, identity) {
        let name = shortened(name, SHOWN, "…");
        let help = finding.help.as_deref().unwrap_or_default();
        let help = help.replace("known fields: ", "the identities are ");
        return Fault::new(format!("{flag}: unknown identity `{name}`"), Some(&help));
    }
    let is_pattern = message.contains("should match '") || message.contains("must match ");
    let is_mistyped = finding.id == rule_id::WRONG_TYPE;
    let form = flags::form(flag, is_mistyped).filter(|_| finding.id != rule_id::UNKNOWN_FIELD);
    if let (Some(text), true) = (text, is_pattern || is_mistyped || form.is_some()) {
        let help = form.or(finding.help.as_deref());
        return Fault::new(format!("{flag}: `{text}` is not valid"), help);
    }
    let told = flags::words(&message.replace(&format!("`{field}`"), flag));
    let message = match told.starts_with("--") {
        true => told,
        false => format!("{flag}: {told}"),
    };
    let help = finding.help.as_deref().map(flags::words);
    Fault::new(message, help.as_deref())
}
