//! Replays the fuzzers' corpus, so that what was once found stays found. New inputs come from `fuzz`
//! (docs/fuzzing.md).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod properties;

use std::{
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

/// Folders of other crates, which replay them themselves.
const ELSEWHERE: [&str; 1] = ["workflow"];

#[test]
fn every_file_of_the_corpus_keeps_its_property() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut broken = Vec::new();
    for (name, property) in properties::ALL {
        let files = files(&corpus.join(name));
        assert!(files.len() >= 10, "{name} has only {} files", files.len());
        for file in files {
            let data = fs::read(&file).unwrap();
            if catch_unwind(|| property(&data)).is_err() {
                broken.push(file);
            }
        }
    }
    assert!(broken.is_empty(), "these break the property of their folder: {broken:#?}");
}

#[test]
fn every_folder_of_the_corpus_has_a_property() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folders = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut folders: Vec<_> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    folders.sort_unstable();
    let mut known: Vec<_> = properties::ALL.map(|(name, _)| name).into_iter().chain(ELSEWHERE).collect();
    known.sort_unstable();
    assert_eq!(folders, known);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_unstable();
    files
}
