//! Replays the fuzzer's corpus, so that what was once found stays found. New inputs come from `fuzz`
//! (docs/fuzzing.md).

#[path = "../properties/mod.rs"]
mod properties;

use std::{fs, panic::catch_unwind, path::Path};

#[test]
fn every_file_of_the_fuzzers_corpus_keeps_its_property() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/workflow");
    let files: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 10, "there are only {} files", files.len());
    let breaks = |data: &[u8]| catch_unwind(|| properties::workflow(data)).is_err();
    let broken: Vec<_> = files.iter().filter(|file| breaks(&fs::read(file).unwrap())).collect();
    assert!(broken.is_empty(), "these break the property: {broken:#?}");
}
