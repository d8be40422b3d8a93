//! Workflows that run: each file beside this one holds a definition, what its tools answer, what the user says, and
//! what comes of it.
//!
//! `tools` holds, by the name that clients call, what each tool answers, one after the other; the last answer is given
//! again and again. `calls` are all calls in their order, or in any order if `anyOrder`. `asks` are the questions and
//! what is said to them. `output`, `error` and `steps` are those of the result, byte for byte.

mod case;
mod script;
mod timing;

use std::{fs, path::Path};

use gateway_domain::{Era, RawObject};

use self::case::{Case, Told};

#[tokio::test(start_paused = true)]
async fn every_workflow_of_the_corpus_does_what_is_written_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/composite/corpus");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(files.len() >= 25, "only {} files", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let case = RawObject::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for era in [Era::Legacy, Era::Modern] {
            let case = Case::read(&name, &case);
            let (told, expected) = (case.tell(era).await, case.expected());
            if told != expected {
                wrong.push(format!("{name}, {}:\n{}", era.as_str(), Told::difference(&told, &expected)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
