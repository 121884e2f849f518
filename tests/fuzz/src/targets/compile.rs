//! A small fleet, files parted by a line `%%%`: compiling ends, every finding can be mended, and
//! what is rendered reads as what was rendered.
#![no_main]

use std::sync::Arc;

use capstan_fuzz::compile::compile;
use capstan_fuzz::model::{Node, Tree};
use capstan_fuzz::{can_be_mended, is_a_fixed_point};
use libfuzzer_sys::fuzz_target;

const BETWEEN: &[u8] = b"%%%\n";

fuzz_target!(|text: &[u8]| {
    let tree = tree(text);
    let compiled = compile(&tree, &[]);
    compiled.findings.iter().for_each(can_be_mended);
    let objects: Vec<Node> = compiled.objects.iter().map(|object| object.node.clone()).collect();
    is_a_fixed_point(&objects);
});

fn tree(text: &[u8]) -> Tree {
    let mut files = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(BETWEEN.len()).position(|part| part == BETWEEN) {
        files.push(&rest[..at]);
        rest = &rest[at + BETWEEN.len()..];
    }
    files.push(rest);
    let files = files.into_iter().enumerate();
    let file = |(at, text): (usize, &[u8])| (Arc::from(format!("{at}.yaml")), Arc::from(text));
    Tree {
        files: files.map(file).collect(),
        ..Tree::default()
    }
}
