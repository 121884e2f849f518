//! Files that are for other tools: charts and kustomizations, which are rendered first, and configuration.
//!
//! In: the files of a tree. Out: which of them are not read as objects, and one finding for each chart,
//! kustomization and file of another tool (Y15, Y16). It does not render anything. Whatever its name, a file that
//! looks like an object is read as one, and so is a broken file, which may have been one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::model::{Budget, Finding, Map, Node, Severity, Span, Value, message, rule_id};
use crate::yaml;
use kube_schema::nearest;

type Files = BTreeMap<Arc<str>, Arc<[u8]>>;

/// What is not for us.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    /// The files that are not read as objects.
    pub(super) files: HashSet<Arc<str>>,
    pub(super) findings: Vec<Finding>,
}

/// What renders the files of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Renderer {
    Helm,
    Kustomize,
}

/// Files by the beginning and the end of their names, and whose they are: each tool's own documentation.
const CONFIGURATION: &[(&str, &str, &str)] = &[
    (".gitlab-ci", ".yml", "GitLab CI"),
    (".golangci", ".yml", "golangci-lint"),
    (".markdownlint", ".yaml", "markdownlint"),
    (".pre-commit-config", ".yaml", "pre-commit"),
    (".travis", ".yml", "Travis CI"),
    (".yamllint", ".yaml", "yamllint"),
    (".yamllint", ".yml", "yamllint"),
    ("Taskfile", ".yml", "Task"),
    ("Taskfile", ".yaml", "Task"),
    ("azure-pipelines", ".yml", "Azure Pipelines"),
    ("bitbucket-pipelines", ".yml", "Bitbucket Pipelines"),
    ("compose", ".yaml", "Docker Compose"),
    ("compose", ".yml", "Docker Compose"),
    ("docker-compose", ".yaml", "Docker Compose"),
    ("docker-compose", ".yml", "Docker Compose"),
    ("mkdocs", ".yml", "MkDocs"),
    ("package", ".json", "npm"),
    ("package-lock", ".json", "npm"),
    ("renovate", ".json", "Renovate"),
    ("tsconfig", ".json", "TypeScript"),
];
/// What a chart consists of, below its directory. Other files beside it are not Helm's.
const OF_A_CHART: &[&str] = &["charts/", "ci/", "crds/", "templates/"];
/// The fields of every object; one of them alone is in files of other tools, too.
const OF_AN_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];
/// Fields of a kustomization that name whole objects or directories, not parts of objects.
const WHOLE: &[&str] = &["bases", "components", "crds", "resources"];

/// Finds what is for other tools. Reads as much as `budget` allows.
pub(super) fn of(files: &Files, budget: &Budget) -> Foreign {
    let read = |path: &Arc<str>, text: &[u8]| yaml::read_within(path, text, budget);
    let mut foreign = Foreign::default();
    for (path, text) in files {
        if foreign.files.contains(path) {
            continue;
        }
        match split(path).1 {
            "Chart.yaml" => {
                let file = read(path, text).unwrap_or_default();
                if !holds_an_object(&file.documents) {
                    foreign.chart(path, files);
                }
            }
            "kustomization.yaml" | "kustomization.yml" => {
                let file = read(path, text).unwrap_or_default();
                foreign.kustomization(path, &file.documents, files);
            }
            _ => {}
        }
    }
    for (path, text) in files {
        if !foreign.files.contains(path) {
            foreign.single(path, || read(path, text).unwrap_or_default());
        }
    }
    foreign
}

impl Foreign {
    fn add(&mut self, path: &Arc<str>, finding: Finding) {
        self.files.insert(Arc::clone(path));
        self.findings.push(finding.at(&Span::top(path)));
    }

    fn chart(&mut self, path: &Arc<str>, files: &Files) {
        let directory = split(path).0;
        self.add(path, not_rendered(Renderer::Helm, directory));
        let below = below(directory, files).filter(|(inner, _)| {
            OF_A_CHART.iter().any(|part| inner.starts_with(part)) || is_part_of_chart(inner)
        });
        self.files.extend(below.map(|(_, path)| Arc::clone(path)));
    }

    fn kustomization(&mut self, path: &Arc<str>, documents: &[Node], files: &Files) {
        if documents.iter().any(is_object_of_others) {
            return;
        }
        let directory = split(path).0;
        self.add(path, not_rendered(Renderer::Kustomize, directory));
        let mut named = Vec::new();
        documents.iter().for_each(|node| texts(node, &mut named));
        for name in named {
            // A generator may give a file another name: `name=path`.
            let name = name.rsplit('=').next().unwrap_or(name);
            let named = joined(directory, name).and_then(|path| files.get_key_value(&*path));
            self.files.extend(named.map(|(path, _)| Arc::clone(path)));
        }
    }

    fn single(&mut self, path: &Arc<str>, read: impl FnOnce() -> yaml::File) {
        let name = split(path).1;
        let is_values = is_values(name);
        let of = CONFIGURATION.iter().find(|(begins, ends, _)| {
            let middle = name
                .strip_prefix(begins)
                .and_then(|rest| rest.strip_suffix(ends));
            middle.is_some_and(|middle| middle.is_empty() || middle.starts_with('.'))
        });
        if !(is_values || name == "helmfile.yaml" || of.is_some()) || !is_plain(&read()) {
            return;
        }
        let finding = match of {
            Some((.., tool)) => of_tool(path, tool),
            None if is_values => values(path),
            None => helmfile(path),
        };
        self.add(path, finding);
    }
}

/// The directory and the name of a file.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Whether nothing in a file is a Kubernetes object or may have been one before a mistake.
fn is_plain(file: &yaml::File) -> bool {
    let mut findings = file.findings.iter();
    let is_broken = findings.any(|finding| finding.severity == Severity::Error);
    !is_broken && file.broken.is_empty() && !holds_an_object(&file.documents)
}

/// Whether a document has two of the fields that every object has, misspelt or not.
fn holds_an_object(documents: &[Node]) -> bool {
    let is_object = |node: &Node| {
        let keys = node.as_map().into_iter().flat_map(Map::iter);
        // Other tools have a `version` of their own, which is near to `apiVersion`.
        let keys = keys.filter(|(key, _)| key.name != "version");
        let fields = keys.filter_map(|(key, _)| nearest(&key.name, OF_AN_OBJECT));
        fields.collect::<HashSet<_>>().len() > 1
    };
    documents.iter().any(is_object)
}

/// Whether a document in a file with the name of a kustomization is something else, such as a Kustomization of
/// Flux.
fn is_object_of_others(document: &Node) -> bool {
    let version = document.text(&["apiVersion"]);
    version.is_some_and(|version| !version.starts_with("kustomize.config.k8s.io/"))
}

fn is_values(name: &str) -> bool {
    let stem = [".yaml", ".yml"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    let words = |stem: &str| stem.split(['-', '.', '_']).any(|word| word == "values");
    stem.is_some_and(words)
}

/// Files directly beside `Chart.yaml` that are the chart's.
fn is_part_of_chart(inner: &str) -> bool {
    let is_beside = !inner.contains('/');
    is_beside && (is_values(inner) || matches!(inner, "values.schema.json" | "requirements.yaml"))
}

/// The files below a directory, with their paths seen from there.
fn below<'f>(directory: &str, files: &'f Files) -> impl Iterator<Item = (&'f str, &'f Arc<str>)> {
    let prefix = match directory {
        "" => String::new(),
        directory => format!("{directory}/"),
    };
    let from: Arc<str> = prefix.as_str().into();
    let paths = files.range(from..).map(|(path, _)| path);
    paths.map_while(move |path| Some((path.strip_prefix(prefix.as_str())?, path)))
}

/// Every text below `node` that may name a part of an object.
fn texts<'n>(node: &'n Node, found: &mut Vec<&'n str>) {
    match &node.value {
        Value::String(text) => found.push(text),
        Value::List(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Map(map) => {
            let parts = map.iter().filter(|(key, _)| !WHOLE.contains(&&*key.name));
            parts.for_each(|(_, node)| texts(node, found));
        }
        _ => {}
    }
}

/// The path of `name` seen from `directory`; none if it leaves the tree.
fn joined(directory: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn not_rendered(renderer: Renderer, directory: &str) -> Finding {
    let directory = if directory.is_empty() { "." } else { directory };
    let (what, command, more) = match renderer {
        Renderer::Helm => ("Helm chart", "helm template", ""),
        Renderer::Kustomize => (
            "kustomization",
            "kustomize build",
            "; if its resources are complete as they are, exclude only the kustomization",
        ),
    };
    let message = message!(
        "`{directory}` is a {what}, which is not rendered",
        directory,
        what
    );
    Finding::error("Y15", message).help(format!(
        "commit the output of `{command} {directory}`, and exclude its files with .capstanignore{more}"
    ))
}

fn values(path: &str) -> Finding {
    let message = message!("`{path}` holds values for a Helm chart, not objects", path);
    Finding::error("Y15", message).help(format!(
        "commit the output of `helm template` with these values, and add `{path}` to .capstanignore"
    ))
}

fn helmfile(path: &str) -> Finding {
    let message = message!("`{path}` lists Helm charts, which are not rendered", path);
    Finding::error("Y15", message).help(format!(
        "commit the output of `helmfile template`, and add `{path}` to .capstanignore"
    ))
}

fn of_tool(path: &str, tool: &str) -> Finding {
    let message = message!(
        "`{path}` is a file of {tool}, not a Kubernetes object",
        path,
        tool
    );
    Finding::warning(rule_id::FOREIGN_FILE, message).help(format!("add `{path}` to .capstanignore"))
}

#[cfg(test)]
mod tests {
    use crate::compile::compile;
    use crate::model::Tree;

    const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: ns}\n";

    fn object(name: &str) -> String {
        OBJECT.replace("NAME", name)
    }

    /// The findings and the names of the objects.
    fn compiled(files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let files = files.iter();
        let files = files.map(|(path, text)| ((*path).into(), text.as_bytes().into()));
        let tree = Tree {
            files: files.collect(),
            ..Tree::default()
        };
        let compiled = compile(&tree, &[]);
        let told = compiled.findings.iter().filter(|found| found.id != "R04");
        let told = told.map(|found| {
            let span = found.span.as_ref().map(ToString::to_string);
            format!(
                "{} {} {}",
                found.id,
                span.unwrap_or_default(),
                found.message
            )
        });
        let objects = compiled.objects.iter();
        (
            told.collect(),
            objects.map(|object| object.id.name.clone()).collect(),
        )
    }

    #[test]
    fn a_chart_gives_one_finding() {
        let (told, objects) = compiled(&[
            (
                "app/Chart.yaml",
                "apiVersion: v2\nname: app\nversion: 1.0.0\n",
            ),
            ("app/values.yaml", "replicas: 3\n"),
            ("app/values-prod.yaml", "replicas: 4\n"),
            (
                "app/templates/a.yaml",
                "kind: {{ .Values.kind }}\n{{- if true }}\n",
            ),
            ("app/charts/sub/Chart.yaml", "name: sub\n"),
            ("app/fleet/a.yaml", &object("a")),
            ("apple/b.yaml", &object("b")),
        ]);
        assert_eq!(
            told,
            ["Y15 app/Chart.yaml:1:1 `app` is a Helm chart, which is not rendered"]
        );
        assert_eq!(objects, ["a", "b"]);
    }

    #[test]
    fn a_kustomization_gives_one_finding_and_its_resources_are_read() {
        let kustomization = "\
resources: [a.yaml, ../base]
patches:
- path: ./patch.yaml
- patch: |
    kind: ConfigMap
configMapGenerator:
- {name: c, files: [settings.yaml=../c.yaml]}
";
        let (told, objects) = compiled(&[
            ("k/prod/kustomization.yaml", kustomization),
            ("k/prod/a.yaml", &object("a")),
            ("k/prod/patch.yaml", "kind: ConfigMap\ndata: {a: b}\n"),
            ("k/c.yaml", "a: b\n"),
        ]);
        let place = "k/prod/kustomization.yaml:1:1";
        assert_eq!(
            told,
            [format!(
                "Y15 {place} `k/prod` is a kustomization, which is not rendered"
            )]
        );
        assert_eq!(objects, ["a"]);
        let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
        let (told, _) = compiled(&[("kustomization.yml", head)]);
        assert_eq!(
            told,
            ["Y15 kustomization.yml:1:1 `.` is a kustomization, which is not rendered"]
        );
        let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: f, namespace: ns}\n";
        let (told, objects) = compiled(&[("kustomization.yaml", flux)]);
        assert_eq!((told, objects), (vec![], vec!["f".to_owned()]));
    }

    #[test]
    fn files_of_other_tools_give_one_finding_each() {
        let two = "services: {a: {image: b}}\n---\nservices: {}\n";
        for (path, text, expected) in [
            (
                "values.yaml",
                "a: 1\n",
                "Y15 values.yaml:1:1 `values.yaml` holds values for a Helm chart, not objects",
            ),
            (
                "helmfile.yaml",
                "releases: []\n---\na: b\n",
                "Y15 helmfile.yaml:1:1 `helmfile.yaml` lists Helm charts, which are not rendered",
            ),
            (
                "docker-compose.prod.yml",
                two,
                "Y16 docker-compose.prod.yml:1:1 `docker-compose.prod.yml` is a file of Docker Compose, not a Kubernetes object",
            ),
            (
                ".gitlab-ci.yml",
                two,
                "Y16 .gitlab-ci.yml:1:1 `.gitlab-ci.yml` is a file of GitLab CI, not a Kubernetes object",
            ),
            (
                "docs/mkdocs.yml",
                "site_name: x\ny: !!python/name:z.a\n",
                "Y16 docs/mkdocs.yml:1:1 `docs/mkdocs.yml` is a file of MkDocs, not a Kubernetes object",
            ),
        ] {
            let (told, _) = compiled(&[(path, text), ("b.yaml", &object("b"))]);
            assert_eq!(told, [expected]);
        }
        for path in ["values.yaml", "mkdocs.yml", "package.json", "compose.yaml"] {
            let (told, objects) = compiled(&[(path, &object("a"))]);
            assert_eq!((told, objects), (vec![], vec!["a".to_owned()]), "{path}");
        }
        let (told, _) = compiled(&[("notvalues.yaml", "a: 1\n")]);
        assert!(told.len() == 1 && told[0].starts_with("Y09"), "{told:?}");
    }

    #[test]
    fn a_broken_object_is_not_for_another_tool() {
        let misspelt = object("a").replace("apiVersion", "apiVerson");
        let lacking = object("a").replace("apiVersion: v1\n", "");
        let broken = format!("\tkey: value\n{}", object("a"));
        let twice = object("a").replace("kind: ConfigMap", "a: b\na: c");
        for path in ["compose.yaml", "values-ns.yaml"] {
            for text in [&misspelt, &lacking, &broken, &twice] {
                let (told, _) = compiled(&[(path, text), ("b.yaml", &object("b"))]);
                let skipped = |line: &String| line.starts_with("Y15") || line.starts_with("Y16");
                let is_read = !told.is_empty() && !told.iter().any(skipped);
                assert!(is_read, "{path}: {text}: {told:?}");
            }
        }
    }

    #[test]
    fn a_file_of_another_tool_can_be_allowed() {
        let text = "site_name: x # capstan:allow Y16 the directory is mounted as it is\n";
        let (told, _) = compiled(&[("mkdocs.yml", text), ("b.yaml", &object("b"))]);
        assert_eq!(told.len(), 0, "{told:?}");
    }

    #[test]
    fn a_fleet_of_other_tools_files_is_empty() {
        let ids = |path: &str, text: &str| {
            let told = compiled(&[(path, text)]).0.into_iter();
            told.map(|line| line.chars().take(3).collect())
                .collect::<Vec<String>>()
        };
        let mut found = ids("package.json", "{\"name\": \"a\", \"version\": \"1.0.0\"}");
        found.sort();
        assert_eq!(found, ["Y10", "Y16"]);
        assert_eq!(ids("values.yaml", "a: 1\n"), ["Y15"]);
    }
}
