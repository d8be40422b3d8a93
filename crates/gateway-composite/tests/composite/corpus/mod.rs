//! Workflows that run: each file beside this one holds a definition, what its tools answer, what the user says, and
//! what comes of it.
//!
//! `tools` holds, by the name that clients call, what each tool answers, one after the other; the last answer is given
//! again and again. `calls` are all calls in their order, or in any order if `anyOrder`. `asks` are the questions and
//! what is said to them. `output`, `error` and `steps` are those of the result, byte for byte.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod case;
mod script;
mod timing;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use gateway_domain::{Era, RawObject};

use self::case::{Case, Told};

#[tokio::test(start_paused = true)]
async fn every_workflow_of_the_corpus_does_what_is_written_beside_it() {
    let mut wrong = Vec::new();
    for (name, file) in corpus() {
        for era in [Era::Legacy, Era::Modern] {
            let case = Case::read(&name, &file);
            let (told, expected) = (case.tell(era).await, case.expected());
            if told != expected {
                wrong.push(format!("{name}, {}:\n{}", era.as_str(), Told::difference(&told, &expected)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The weaknesses that single files would show (requirements §6d). C-W12, results that are changed while others read
/// them, cannot be written down in this language.
#[test]
fn every_weakness_that_a_workflow_can_show_has_a_workflow() {
    let named: BTreeSet<_> = corpus().iter().flat_map(|(_, file)| texts(file, "regressions")).collect();
    let weaknesses = ["W1", "W3", "W4", "W5", "W6", "W7", "W8", "W11", "W13", "W14", "W17", "W18"];
    for weakness in weaknesses {
        assert!(named.contains(&format!("C-{weakness}")), "no workflow for C-{weakness}");
    }
}

/// All files, by their names.
fn corpus() -> Vec<(String, RawObject)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/composite/corpus");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let object = RawObject::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, object)
    };
    files.iter().map(read).collect()
}

fn texts(file: &RawObject, name: &str) -> Vec<String> {
    let list = file.get(name).and_then(|list| list.elements(usize::MAX)).unwrap_or_default();
    list.iter().map(|text| text.to_text().expect("a text").into_owned()).collect()
}
