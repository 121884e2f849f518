//! `capstan create`: the definition of a cluster from flags.
//!
//! The definition is made of what is given, and checked like any other one. Only one without errors is written.

mod args;
mod commit;
mod definition;
mod fault;
mod flags;
mod output;

use std::sync::Arc;

use super::exit::Exit;
use super::report::{self, Report, Style};
use super::ui::Ui;
use crate::api::cluster_definition;
use crate::compile::{Checked, Compiled, compile};
use crate::model::{Finding, Node, ObjectId, Severity, Tree, words};
use crate::yaml;
use args::{Common, Infrastructure, What};
use definition::Draft;
use fault::{in_flags, tell};

pub(super) use args::CreateArgs;

/// Exit 2 when a flag is wrong.
pub(super) fn run(args: &CreateArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let What::Cluster { infrastructure } = &args.what;
    let (draft, common) = match infrastructure {
        Infrastructure::Azure(args) => (definition::azure(args), &args.common),
        Infrastructure::KubeVirt(args) => (definition::kube_virt(args), &args.common),
        Infrastructure::Agent(args) => (definition::agent(args), &args.common),
        Infrastructure::Other(words) => {
            let name = words
                .first()
                .map(|word| word.to_string_lossy())
                .unwrap_or_default();
            let name = words::said(&name);
            anyhow::bail!("unknown infrastructure `{name}`: use azure, kubevirt or agent");
        }
    };
    let definition = Definition::of(&draft)?;
    let (mut faults, others) = in_flags(&definition.compiled.findings, &definition.node);
    faults.extend(draft.faults);
    let has_errors = others.iter().any(|other| other.severity == Severity::Error);
    if !faults.is_empty() {
        tell(&faults, ui);
        return Ok(Exit::Refused);
    }
    if has_errors {
        ui.coloured_message(definition.findings(others, common, ui).trim_end());
        return Ok(Exit::Failed);
    }
    if common.target.commit {
        return commit::run(
            &common.target,
            &definition.id,
            &definition.node,
            &definition.text,
            ui,
        );
    }
    let findings = definition.findings(others, common, ui);
    output::write(&common.target, &definition.text, ui)?;
    ui.coloured_message(findings.trim_end());
    Ok(Exit::Fine)
}

/// A definition as a fleet of its own.
struct Definition {
    text: String,
    tree: Tree,
    node: Node,
    id: ObjectId,
    compiled: Compiled,
}

impl Definition {
    /// # Errors
    /// When the text would not be read as what was meant, which is a bug.
    fn of(draft: &Draft) -> anyhow::Result<Self> {
        /// No file of another tool is called so.
        const FILE: &str = "definition.yaml";
        let text = draft.document.document();
        let path: Arc<str> = FILE.into();
        let (documents, _) = yaml::read(&path, text.as_bytes());
        let node = match <[Node; 1]>::try_from(documents) {
            Ok([node]) if node.to_json() == draft.document.to_json() => node,
            _ => anyhow::bail!(
                "a bug in capstan: the definition cannot be written; please report it"
            ),
        };
        let tree = Tree {
            files: [(path, text.as_bytes().into())].into(),
            ..Tree::default()
        };
        Ok(Self {
            compiled: compile(&tree, &[]),
            id: cluster_definition::id(&node),
            node,
            tree,
            text,
        })
    }

    /// These of its findings as `capstan validate` shows them.
    fn findings(&self, findings: Vec<Finding>, common: &Common, ui: &Ui) -> String {
        let checked = Checked {
            findings,
            ..self.compiled.checked.clone()
        };
        let shown = common.target.output.as_ref();
        let shown = shown.map_or_else(|| "<stdout>".to_owned(), |path| path.display().to_string());
        let style = Style {
            colour: ui.colours_messages(),
            place: &|_| shown.clone(),
        };
        report::text(&Report::of(&checked), &[&self.tree], &style)
    }
}
