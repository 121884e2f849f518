//! Read, merge, expand, validate, render.

use std::sync::Arc;

use capstan::api::cluster_definition::{self, ClusterDefinition};
use capstan::api::overlay::{self, Overlay};
use capstan::compile::compile;
use capstan::model::{Node, Tree};
use capstan::overlay::Overlays;
use capstan::schema::strategic::ListKeys;
use capstan::{expand, yaml};
use divan::{Bencher, black_box};

use crate::generate::fleet;

const COUNTS: [usize; 3] = [1, 100, 500];

fn documents(tree: &Tree) -> Vec<Node> {
    tree.files
        .iter()
        .flat_map(|(path, text)| yaml::read(path, text).0)
        .collect()
}

fn split(tree: &Tree) -> (Vec<Node>, Vec<Overlay>) {
    let is_definition = |node: &Node| node.text(&["kind"]) == Some("ClusterDefinition");
    let (definitions, overlays): (Vec<Node>, Vec<Node>) =
        documents(tree).into_iter().partition(is_definition);
    (
        definitions,
        overlays.iter().map(|node| overlay::read(node).0).collect(),
    )
}

fn merged((definitions, overlays): (Vec<Node>, Vec<Overlay>)) -> Vec<Node> {
    let overlays = Overlays::new(overlays, ListKeys::default());
    definitions
        .into_iter()
        .map(|node| overlays.merge(node).0)
        .collect()
}

fn definitions(tree: &Tree) -> Vec<ClusterDefinition> {
    merged(split(tree))
        .iter()
        .filter_map(|node| cluster_definition::read(node).0)
        .collect()
}

#[divan::bench(args = COUNTS, sample_count = 20)]
fn a_read(bencher: Bencher<'_, '_>, count: usize) {
    let tree = fleet(count);
    bencher.bench(|| documents(black_box(&tree)));
}

#[divan::bench(args = COUNTS, sample_count = 20)]
fn b_merge(bencher: Bencher<'_, '_>, count: usize) {
    let parts = split(&fleet(count));
    bencher.with_inputs(|| parts.clone()).bench_values(merged);
}

#[divan::bench(args = COUNTS, sample_count = 20)]
fn c_expand(bencher: Bencher<'_, '_>, count: usize) {
    let definitions = definitions(&fleet(count));
    bencher.bench(|| definitions.iter().map(expand::expand).collect::<Vec<_>>());
}

#[divan::bench(args = COUNTS, sample_count = 20)]
fn d_validate(bencher: Bencher<'_, '_>, count: usize) {
    let tree = fleet(count);
    bencher.bench(|| {
        let compiled = compile(black_box(&tree), &[]);
        assert!(!compiled.has_errors());
        compiled
    });
}

#[divan::bench(args = COUNTS, sample_count = 20)]
fn e_render(bencher: Bencher<'_, '_>, count: usize) {
    let tree: Arc<Tree> = Arc::new(fleet(count));
    bencher.bench(|| {
        let compiled = compile(black_box(&tree), &[]);
        let objects: Vec<_> = compiled
            .objects
            .iter()
            .map(|object| object.node.to_json())
            .collect();
        yaml::write(&objects)
    });
}
