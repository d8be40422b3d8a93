//! `${…}` in the settings of editors.

use std::path::{Path, PathBuf};

use super::layers::Environment;
use super::problem::Fault;

/// What a text may refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) environment: &'a Environment,
    /// The folder of the file.
    pub(super) folder: &'a Path,
}

/// A text with every reference replaced, and the variables that it names.
#[derive(Debug)]
pub(super) struct Expanded {
    pub(super) text: String,
    pub(super) variables: Vec<String>,
}

impl Surroundings<'_> {
    /// Replaces `${env:NAME}` (VS Code, Cursor, Windsurf), `${NAME}` and `${NAME:-default}` (Claude),
    /// `${userHome}` and `${workspaceFolder}`. Other text stays as it is.
    pub(super) fn expand(self, text: &str) -> Result<Expanded, Fault> {
        let mut expanded = Expanded { text: String::with_capacity(text.len()), variables: Vec::new() };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((reference, behind)) = after.split_once('}') else { break };
            expanded.text += before;
            let value = self.value(reference, &mut expanded.variables)?;
            match value {
                Some(value) => expanded.text += &value,
                None => expanded.text.extend(["${", reference, "}"]),
            }
            rest = behind;
        }
        expanded.text += rest;
        Ok(expanded)
    }

    /// `None` if it is no reference that anybody writes.
    fn value(self, reference: &str, variables: &mut Vec<String>) -> Result<Option<String>, Fault> {
        if let Some(id) = reference.strip_prefix("input:") {
            let fault = Fault::new(format!(
                "the editor asks its user for ${{input:{id}}}; the gateway has nobody to ask"
            ));
            return Err(fault.hint("put the value into an environment variable and write ${env:NAME}"));
        }
        match reference {
            "workspaceFolder" => return Ok(Some(workspace(self.folder).display().to_string())),
            "userHome" => return self.variable("HOME", None, variables).map(Some),
            "pathSeparator" | "/" => return Ok(Some(std::path::MAIN_SEPARATOR_STR.to_owned())),
            _ => {}
        }
        let (name, default) = match reference.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (reference.strip_prefix("env:").unwrap_or(reference), None),
        };
        if !is_variable(name) {
            return Ok(None);
        }
        self.variable(name, default, variables).map(Some)
    }

    fn variable(
        self,
        name: &str,
        default: Option<&str>,
        variables: &mut Vec<String>,
    ) -> Result<String, Fault> {
        variables.push(name.to_owned());
        self.environment.get(name).or(default).map(str::to_owned).ok_or_else(|| {
            let fault = Fault::new(format!("the environment variable {name} is not set or empty"));
            fault.hint(format!("set {name} before the gateway starts"))
        })
    }
}

/// Editors keep their settings in a folder of their own inside the project.
fn workspace(folder: &Path) -> PathBuf {
    let is_editors = folder.file_name().is_some_and(|name| name == ".vscode" || name == ".cursor");
    match folder.parent() {
        Some(project) if is_editors => project.to_owned(),
        _ => folder.to_owned(),
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
