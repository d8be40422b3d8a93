//! What one end of the wire took and sent, in order.

use std::{fs, io::Write as _, sync::Mutex};

use crate::engine::locked;

/// The direction of a message, as the end that keeps the record sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It came in.
    In,
    /// It went out.
    Out,
}

/// One message as it stood on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// In or out.
    pub way: Way,
    /// Who kept the record: the process of a stdio fake, otherwise 0.
    pub keeper: u32,
    /// The message.
    pub text: String,
}

/// Where a fake keeps its record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Recording {
    /// Nowhere.
    #[default]
    Off,
    /// In memory.
    Kept,
    /// In a file that several processes may append to.
    File(String),
}

/// A record in the making.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    recording: Recording,
    lines: Mutex<Vec<Line>>,
}

impl Transcript {
    pub(crate) fn new(recording: Recording) -> Self {
        Self { recording, lines: Mutex::default() }
    }

    pub(crate) fn note(&self, way: Way, text: &str) {
        match &self.recording {
            Recording::Off => {}
            Recording::Kept => {
                locked(&self.lines).push(Line { way, keeper: 0, text: text.to_owned() });
            }
            Recording::File(file) => append(file, way, text),
        }
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        locked(&self.lines).clone()
    }
}

/// One write for one line: lines of several processes do not mix.
fn append(file: &str, way: Way, text: &str) {
    let mark = if way == Way::In { '<' } else { '>' };
    let line = format!("{} {mark} {text}\n", std::process::id());
    if let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(file) {
        // Whoever reads the record misses the line and fails.
        drop(file.write_all(line.as_bytes()));
    }
}

/// The record in a file; empty if there is none yet. A line that is still being written is left out.
pub fn read(file: &std::path::Path) -> Vec<Line> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(line).collect()
}

fn line(text: &str) -> Option<Line> {
    let (keeper, rest) = text.split_once(' ')?;
    let (mark, text) = rest.split_once(' ')?;
    let way = if mark == "<" { Way::In } else { Way::Out };
    Some(Line { way, keeper: keeper.parse().ok()?, text: text.to_owned() })
}
