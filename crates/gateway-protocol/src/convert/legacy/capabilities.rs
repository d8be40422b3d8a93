use gateway_domain::{ClientCapabilities, RawJson, RawObject};

use crate::{Revision, meta};

/// What a client that shook hands in this revision can do: nothing that came later, whatever it says. The Tasks
/// extension is for modern requests only.
pub fn of_client(revision: Revision, declared: &RawObject) -> ClientCapabilities {
    let mut edit = declared.edit();
    if revision < Revision::V2025_06_18 {
        edit = edit.remove("elicitation");
    } else if revision < Revision::V2025_11_25 && declared.contains("elicitation") {
        edit = edit.set("elicitation", r#"{"form":{}}"#);
    }
    if revision < Revision::V2025_11_25 && declared.contains("sampling") {
        edit = edit.set("sampling", "{}");
    }
    if let Some(extensions) = declared.get_object("extensions") {
        edit = edit.set("extensions", extensions.edit().remove(meta::TASKS).finish().as_bytes());
    }
    RawObject::try_from(edit.finish()).map_or_else(|_| ClientCapabilities::none(), ClientCapabilities::from)
}

/// The `capabilities` of an `initialize` result: what is offered, as a server of this revision writes it.
pub fn of_server(revision: Revision, offered: &RawObject) -> RawJson {
    let mut edit = offered.edit().remove("tasks");
    if revision < Revision::V2025_03_26 {
        edit = edit.remove("completions");
    }
    if let Some(extensions) = offered.get_object("extensions").filter(|own| own.contains(meta::TASKS)) {
        let rest = extensions.edit().remove(meta::TASKS).finish();
        edit = if extensions.len() == 1 {
            edit.remove("extensions")
        } else {
            edit.set("extensions", rest.as_bytes())
        };
    }
    edit.finish()
}
