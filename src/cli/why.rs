//! `capstan why`: what one object waits for in the end, since when, and what usually helps.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::Exit;
use super::args::{DataFormat, WhyArgs};
use super::standing::{Look, word, wrapped};
use super::ui::Ui;
use crate::model::ObjectId;
use crate::plan::standing::{Chain, Phase, Scene};
use crate::settings::Environment;

/// How many more blockers are listed.
const OTHERS: usize = 10;
/// How many near names are told.
const NEAR: usize = 3;

/// Exit 1 when what blocks it failed so that waiting is in vain.
pub(super) fn run(args: &WhyArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let wanted = Wanted::read(&args.object)?;
    let look = Look::take(&args.access, None, environment)?;
    let at = wanted.find(&look.scene, &args.object)?;
    let chain = look.scene.blocked(at);
    ui.data(&match args.format {
        DataFormat::Text => text(&look, at, chain.as_ref()),
        DataFormat::Json => format!("{:#}\n", report(&look, at, chain.as_ref())),
    })?;
    let phase = chain.map(|chain| look.scene.standing(chain.blocker()).phase);
    Ok(Exit::failed_if(phase == Some(Phase::Failed)))
}

/// An object as people write it.
#[derive(Debug, PartialEq, Eq)]
struct Wanted<'a> {
    kind: &'a str,
    group: Option<&'a str>,
    namespace: Option<&'a str>,
    name: &'a str,
}

impl<'a> Wanted<'a> {
    /// `Kind/namespace/name` or `Kind/name`; the kind with its group behind a dot where one must be told
    /// from another.
    fn read(text: &'a str) -> anyhow::Result<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, None, *name),
            [kind, namespace, name] => (*kind, Some(*namespace), *name),
            _ => ("", None, ""),
        };
        if kind.is_empty() || name.is_empty() {
            anyhow::bail!("`{text}` is not written Kind/namespace/name, Kind//name or Kind/name");
        }
        let split = kind.split_once('.');
        let (kind, group) = split.map_or((kind, None), |(kind, group)| (kind, Some(group)));
        Ok(Self {
            kind,
            group,
            namespace,
            name,
        })
    }

    fn is(&self, id: &ObjectId) -> bool {
        id.kind.eq_ignore_ascii_case(self.kind)
            && id.name == self.name
            && self.group.is_none_or(|group| group == id.group)
            && self
                .namespace
                .is_none_or(|namespace| namespace == id.namespace)
    }

    fn find(&self, scene: &Scene, text: &str) -> anyhow::Result<usize> {
        let found: Vec<(usize, &ObjectId)> = scene.ids().filter(|(_, id)| self.is(id)).collect();
        match found.as_slice() {
            [(at, _)] => Ok(*at),
            [] => anyhow::bail!("no fleet of this cluster has `{text}`{}", near(scene, text)),
            several => {
                let full = |(_, id): &(usize, &ObjectId)| match id.group.as_str() {
                    "" => id.to_string(),
                    group => format!("{}.{group}/{}/{}", id.kind, id.namespace, id.name),
                };
                let several: Vec<String> = several.iter().map(full).collect();
                anyhow::bail!("`{text}` may be each of {}", several.join(", "))
            }
        }
    }
}

/// The names most like `text`.
fn near(scene: &Scene, text: &str) -> String {
    let text = text.to_lowercase();
    let like = |id: &ObjectId| {
        let whole = strsim::jaro_winkler(&text, &id.to_string().to_lowercase());
        let short = format!("{}/{}", id.kind, id.name).to_lowercase();
        whole.max(strsim::jaro_winkler(&text, &short))
    };
    let mut near: Vec<(f64, &ObjectId)> = scene.ids().map(|(_, id)| (like(id), id)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let near: Vec<String> = near
        .iter()
        .take(NEAR)
        .map(|(_, id)| id.to_string())
        .collect();
    match near.as_slice() {
        [] => String::new(),
        near => format!("; the nearest are {}", near.join(", ")),
    }
}

fn text(look: &Look, at: usize, chain: Option<&Chain>) -> String {
    let mut out = String::new();
    let id = look.scene.id(at);
    let Some(chain) = chain else {
        let _ = writeln!(out, "{id} is ready");
        return out;
    };
    let standing = look.scene.standing(at);
    let state = format!("{} {}", word(standing.phase), look.age(at));
    let _ = writeln!(out, "{id}: {}", state.trim_end());
    out.push_str(&wrapped("  ", &standing.words()));
    if chain.way.len() > 1 {
        let _ = writeln!(out, "\nwaits for");
        out.push_str(&lines(look, &chain.way));
    }
    let blocker = chain.blocker();
    let cause = look.scene.standing(blocker);
    let _ = writeln!(out, "\nblocked by {}", look.scene.id(blocker));
    if let Some(since) = cause.since {
        let _ = writeln!(out, "  since      {since}, {}", look.age(blocker));
    }
    if !cause.condition.is_empty() {
        let _ = writeln!(out, "  condition  {}", cause.condition);
    }
    out.push_str(&wrapped("  says       ", &cause.words()));
    let help = look.scene.help(blocker, look.now);
    if !help.is_empty() {
        out.push_str(&wrapped("  help       ", &help));
    }
    if !chain.others.is_empty() {
        let _ = writeln!(out, "\nand by {} more", chain.others.len());
        let shown = chain.others.len().min(OTHERS);
        out.push_str(&lines(look, &chain.others[..shown]));
    }
    for unseen in look.unseen() {
        let _ = write!(out, "\n{}", wrapped("not seen: ", &unseen));
    }
    out
}

/// One line for each object.
fn lines(look: &Look, objects: &[usize]) -> String {
    let line = |at: &usize| {
        let phase = word(look.scene.standing(*at).phase);
        let line = format!("  {phase:<11} {}  {}", look.scene.id(*at), look.age(*at));
        format!("{}\n", line.trim_end())
    };
    objects.iter().map(line).collect()
}

fn report(look: &Look, at: usize, chain: Option<&Chain>) -> Json {
    let links =
        |objects: &[usize]| -> Vec<Json> { objects.iter().map(|at| look.link(*at)).collect() };
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Why",
        "at": look.now.to_string(),
        "object": look.scene.id(at).to_string(),
        "ready": chain.is_none(),
        "chain": chain.map_or_else(Vec::new, |chain| links(&chain.way)),
        "blocker": chain.map_or(Json::Null, |chain| look.blocker(chain.blocker())),
        "otherBlockers": chain.map_or_else(Vec::new, |chain| links(&chain.others)),
        "notSeen": look.unseen(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::plan::standing::Found;

    fn scene(ids: &[(&str, &str, &str)]) -> Scene {
        let mut found = Found::default();
        for (api_version, kind, name) in ids {
            found.insert(json!({"apiVersion": api_version, "kind": kind,
                "metadata": {"name": name, "namespace": "default"}}));
        }
        Scene::new(&found)
    }

    fn found(scene: &Scene, text: &str) -> Result<String, String> {
        let at = Wanted::read(text).and_then(|wanted| wanted.find(scene, text));
        at.map(|at| scene.id(at).to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_object_may_be_written_in_several_ways() {
        let scene = scene(&[
            ("v1", "ConfigMap", "a"),
            ("v1", "Secret", "a"),
            ("x.dev/v1", "Secret", "b"),
        ]);
        for text in ["ConfigMap/default/a", "ConfigMap/a", "configmap/a"] {
            assert_eq!(found(&scene, text).unwrap(), "ConfigMap/default/a");
        }
        assert_eq!(found(&scene, "Secret.x.dev/b").unwrap(), "Secret/default/b");
        assert!(found(&scene, "ConfigMap//a").is_err(), "it has a namespace");
        for text in ["a", "a/b/c/d", "/b", "ConfigMap/"] {
            assert!(
                found(&scene, text).unwrap_err().contains("is not written"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_there_or_not_clear_is_told_with_names() {
        let scene = scene(&[
            ("v1", "Thing", "abc"),
            ("x.dev/v1", "Thing", "abc"),
            ("v1", "Thing", "xyz"),
        ]);
        let error = found(&scene, "Thing/abd").unwrap_err();
        assert!(
            error.contains("; the nearest are Thing/default/abc, "),
            "{error}"
        );
        let error = found(&scene, "Thing/abc").unwrap_err();
        assert_eq!(
            error,
            "`Thing/abc` may be each of Thing/default/abc, Thing.x.dev/default/abc"
        );
    }
}
