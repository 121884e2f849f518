//! Every rule of the book is held to its examples: what breaks it is found at the marked lines and
//! nowhere else, what keeps it is not found at all.

mod admitted;
mod azure_fields;
mod cluster_api;
mod contract;
mod fields;
mod fixture;
mod hyper_shift_fields;
mod installer;
mod oracle;
mod reviewed;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use capstan::model::{Finding, Severity};
use capstan::rules::book::{self, Example};

use crate::cli::capstan;
use crate::fleet::{self, directory, tree};
use crate::real;
use fixture::{
    DEFINITION, by_arm_id, by_hand, changed, found, is_ids, marked, merged, over, overlay, reported,
};

/// The surroundings of an example, as a person would write them.
fn around(of: &str, yaml: &str) -> String {
    match of {
        "documents" | "alone" => yaml.to_owned(),
        "spec" => merged(yaml),
        kind => overlay(kind, yaml),
    }
}

/// The fleets that an example is held against: what is of resources alone counts however they are
/// written.
fn bases(example: &Example) -> Vec<String> {
    match example.of {
        "alone" => vec![String::new()],
        "documents" | "spec" => vec![DEFINITION.to_owned()],
        _ => vec![DEFINITION.to_owned(), by_arm_id()],
    }
}

#[test]
fn the_base_has_no_faults() {
    for base in [DEFINITION, &by_hand(), &by_arm_id()] {
        assert_eq!(found(base, "", ""), BTreeSet::new(), "{base}");
    }
}

#[test]
fn every_rule_keeps_to_its_examples() {
    let mut wrong = String::new();
    let examples = book::pages().iter().flat_map(|page| {
        let shown = page.examples.iter().enumerate();
        shown.map(move |(number, example)| (page.id, number, example))
    });
    for (id, number, example) in examples.filter(|(_, _, example)| example.of != "words") {
        let text = around(example.of, example.yaml);
        let before = example.before.map(|yaml| around(example.of, yaml));
        let expected = marked(&text);
        let own = expected.iter().any(|mark| mark.ends_with(id));
        for base in bases(example) {
            let found = match &before {
                None => reported(&over(&base, &text, example.fleet).findings, &text, id),
                Some(before) => changed(&base, before, &text),
            };
            if found != expected || own != example.breaks {
                let _ = writeln!(
                    wrong,
                    "{id} example {number}: expected {expected:?}, found {found:?} in\n{text}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_rule_has_the_severity_of_its_page() {
    for page in book::pages() {
        // Experiments make some worse: their pages say so.
        let shown = page.examples.iter();
        let shown = shown.filter(|one| !one.fleet.contains("experimental"));
        let shown = shown.filter(|one| one.breaks && one.of != "words" && one.before.is_none());
        for example in shown {
            let text = around(example.of, example.yaml);
            let findings = over(&bases(example)[0], &text, example.fleet)
                .checked
                .findings
                .into_iter();
            let own = findings.filter(|finding| finding.id == page.id);
            let reported: BTreeSet<_> = own.map(|finding| finding.severity).collect();
            assert_eq!(reported, BTreeSet::from([page.severity]), "{}", page.id);
        }
    }
}

#[test]
fn every_help_says_what_to_write() {
    let mut silent = BTreeSet::new();
    for page in book::pages() {
        let shown = page.examples.iter();
        let shown = shown.filter(|one| one.breaks && one.of != "words" && one.before.is_none());
        for example in shown {
            let text = around(example.of, example.yaml);
            let findings = over(&bases(example)[0], &text, example.fleet)
                .checked
                .findings;
            for finding in findings.iter().filter(|finding| finding.id == page.id) {
                let help = finding.help.as_deref().unwrap_or_default();
                let of_azure = page.id.starts_with(['C', 'E', 'N']);
                if help.contains("run `capstan rules") || of_azure && help.is_empty() {
                    silent.insert(format!("{} {}", page.id, finding.message));
                }
            }
        }
    }
    assert_eq!(silent, BTreeSet::new());
}

/// What is found in `text` over the fleet `base`, with the helps.
fn said(base: &str, text: &str) -> String {
    let findings = over(base, text, "").checked.findings.into_iter();
    let say = |finding: Finding| {
        let help = finding.help.unwrap_or_default();
        format!("{} {} ({help})\n", finding.id, finding.message)
    };
    findings.map(say).collect()
}

#[test]
fn a_field_is_named_as_the_document_has_it() {
    const CLUSTER: &str = "HcpOpenShiftCluster";
    const POOL: &str = "HcpOpenShiftClustersNodePool";
    const AUTH: &str = "HcpOpenShiftClustersExternalAuth";
    // A line of the definition without faults, what a person writes instead, and what it is called; then the
    // same in a patch.
    for ([from, to, called], kind, [patch, own]) in [
        (
            [
                "    replicas: 2",
                "    replicas: 2\n  network: {podCIDR: 10.0.0.1/14}",
                "C13 podCIDR ",
            ],
            CLUSTER,
            ["network: {podCidr: 10.0.0.1/14}", "C13 podCidr "],
        ),
        (
            [
                "    replicas: 2",
                "    replicas: 2\n  properties: {network: {podCidr: 10.0.0.1/14}}",
                "C13 podCidr ",
            ],
            CLUSTER,
            ["network: {machineCidr: 10.0.0.1/14}", "C13 machineCidr "],
        ),
        (
            [
                "    replicas: 2",
                "    replicas: 2\n  network: {machineCIDR: 10.128.0.0/16}",
                "give machineCIDR a ",
            ],
            CLUSTER,
            [
                "network: {machineCidr: 10.128.0.0/16}",
                "give machineCidr a ",
            ],
        ),
        (
            [
                "    replicas: 2",
                "    replicas: 2\n  api: {authorizedCIDRs: [a]}",
                "C18 authorizedCIDRs[0] ",
            ],
            CLUSTER,
            ["api: {authorizedCidrs: [a]}", "C18 authorizedCidrs[0] "],
        ),
        (
            [
                "    replicas: 2",
                "    replicas: 2\n  dnsBaseDomainPrefix: A",
                "C11 dnsBaseDomainPrefix ",
            ],
            CLUSTER,
            ["dns: {baseDomainPrefix: A}", "C11 baseDomainPrefix "],
        ),
        (
            [
                "    replicas: 2",
                "    osDisk: {storageAccountType: a}",
                "N13 storageAccountType ",
            ],
            POOL,
            [
                "platform: {osDisk: {diskStorageAccountType: a}}",
                "N13 diskStorageAccountType ",
            ],
        ),
        (
            [
                "version: 4.20.17",
                "version: \"4.20\"",
                "N02 version \"4.20\"",
            ],
            POOL,
            ["version: {id: \"4.20\"}", "N02 version.id \"4.20\""],
        ),
        (
            [
                "    replicas: 2",
                "    autoscaling: {min: 5, max: 3}",
                "N18 autoscaling.max ",
            ],
            POOL,
            [
                "{replicas: null, autoScaling: {min: 5, max: 3}}",
                "N18 autoScaling.max ",
            ],
        ),
        (
            [
                "clientID: app",
                "clientID: app, usernameClaim: \"\"",
                "E10 usernameClaim ",
            ],
            AUTH,
            ["claim: {mappings: {username: {claim: \"\"}}}", "E10 claim "],
        ),
    ] {
        let definition = DEFINITION.replace(from, to);
        let written = said(&definition, "");
        assert!(written.contains(called), "{called}: {written}");
        let patch = match patch.strip_prefix('{') {
            Some(_) => format!("spec:\n  properties: {patch}\n"),
            None => format!("spec:\n  properties:\n    {patch}\n"),
        };
        let patched = said(DEFINITION, &overlay(kind, &patch));
        assert!(patched.contains(own), "{own}: {patched}");
    }
}

/// Rules whose examples cannot be shown in YAML: limits and names of files, and rules of schemas that a fleet does
/// not bring.
const IN_WORDS: [&str; 12] = [
    "H11", "Y03", "Y04", "Y07", "Y08", "Y13", "Y14", "Y15", "Y16", "Y17", "Y18", "Y24",
];

#[test]
fn what_yaml_can_show_is_shown_in_yaml() {
    let words = |page: &&book::Page| page.examples.iter().any(|example| example.of == "words");
    let ids: Vec<_> = book::pages()
        .iter()
        .filter(words)
        .map(|page| page.id)
        .collect();
    assert_eq!(ids, IN_WORDS);
}

/// The rules of Azure's API that can be kept by looking at a fleet alone: kinds S and X of
/// facts/aro-rules.md §3 and facts/aro-2026-09-01.md §1.2 and §3, E02, and C38. C06 is a switch of others, and C09, N04 and N05 are judged by
/// Azure when a version changes: N08 warns of what they will refuse.
const STATIC: [&str; 81] = [
    "C01", "C02", "C03", "C04", "C05", "C11", "C12", "C13", "C14", "C15", "C16", "C17", "C18",
    "C19", "C20", "C21", "C22", "C23", "C24", "C25", "C26", "C27", "C28", "C29", "C30", "C31",
    "C32", "C33", "C34", "C35", "C36", "C37", "C38", "C39", "C40", "C41", "C42", "C43", "C45",
    "C46", "C48", "C49", "C50", "C51", "C52", "C54", "C55", "C56", "E01", "E02", "E03", "E04",
    "E05", "E06", "E07", "E08", "E09", "E10", "E11", "E12", //
    "N01", "N02", "N03", "N08", "N09", "N10", "N11", "N12", "N13", "N14", "N15", "N16", "N17",
    "N18", "N19", "N20", "N21", "N22", "N25", "N26", "N27",
];

#[test]
fn every_rule_of_azure_that_a_fleet_alone_can_break_has_a_page() {
    let azures = |page: &&book::Page| page.id.starts_with(['C', 'E', 'N']);
    let ids: BTreeSet<&str> = book::pages()
        .iter()
        .filter(azures)
        .map(|page| page.id)
        .collect();
    let expected: BTreeSet<&str> = STATIC.into_iter().collect();
    assert_eq!(ids, expected);
    let ours = ["C16", "N08", "N25", "N27"].map(|id| book::find(id).map(|page| page.severity));
    assert_eq!(ours, [Some(Severity::Warning); 4]);
}

#[test]
fn every_reported_id_has_a_page() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut reported = BTreeSet::new();
    ids_in(&source, &mut reported);
    let known: BTreeSet<String> = book::pages()
        .iter()
        .map(|page| page.id.to_owned())
        .collect();
    assert_eq!(reported, known);
}

/// Whether the module of a file or directory is for tests alone, as the module around it says.
fn is_for_tests(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let around = std::fs::read_to_string(path.with_file_name("mod.rs")).unwrap_or_default();
    name == "tests" || around.contains(&format!("#[cfg(test)]\nmod {name};"))
}

/// The texts in Rust files that are ids, but for those of tests.
fn ids_in(path: &Path, ids: &mut BTreeSet<String>) {
    if is_for_tests(path) {
        return;
    }
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("readable") {
            ids_in(&entry.expect("an entry").path(), ids);
        }
    } else if path.extension().is_some_and(|ending| ending == "rs") {
        let text = std::fs::read_to_string(path).expect("text");
        let text = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let quoted = text
            .split('"')
            .filter(|text| text.len() == 3 && is_ids(text));
        ids.extend(quoted.map(str::to_owned));
    }
}

#[test]
fn a_secret_is_reported_without_its_value() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n}\nstringData: {password: hunter2}\n";
    let fleet = directory([("secret.yaml", secret)]);
    for format in ["text", "json"] {
        let output = capstan(&["validate", "--format", format])
            .arg(fleet.path())
            .output()
            .expect("it runs");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        assert_eq!(output.status.code(), Some(1), "{printed}");
        assert!(
            printed.contains("P01") && printed.contains("password"),
            "{printed}"
        );
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}

#[test]
fn credentials_beside_a_cluster_are_found() {
    let Some(file) = real::shared("samples/credentials-in-git/credentials.yaml") else {
        return;
    };
    let text = std::fs::read(file).expect("readable");
    let tree = tree([("credentials.yaml", text)]);
    let findings = fleet::compiled(&tree, &[]).checked.findings.into_iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    let reported: Vec<_> = errors
        .map(|finding| (finding.id, finding.object.expect("an object").name))
        .collect();
    let name = |name: &str| ("P01", name.to_owned());
    assert_eq!(
        reported,
        [name("cluster-identity-secret"), name("aso-credential")]
    );
}
