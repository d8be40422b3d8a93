//! What the user behind a peer says.

use std::{fmt, sync::Arc};

use serde_json::Value;

use super::Speaks;

/// One question as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// `elicitation/create`, `sampling/createMessage`, `roots/list`, `ping`.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// Raw id, or the key in `inputRequests`.
    pub id: String,
}

/// What is said to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Raw JSON of the result.
    Result(String),
    /// An error; modern clients leave the answer out.
    Error(i64, String),
    /// Nothing, for ever.
    Nothing,
}

/// Says something to each question.
pub type Script = Arc<dyn Fn(&Asked) -> Said + Send + Sync>;

/// How a peer speaks, what it declares, what its user says.
#[derive(Clone)]
pub struct Manner {
    /// Era and revision. The capabilities in it do not count.
    pub speaks: Speaks,
    /// Raw JSON of the client capabilities.
    pub capabilities: String,
    /// The user.
    pub script: Script,
}

impl fmt::Debug for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manner")
            .field("speaks", &self.speaks)
            .field("capabilities", &self.capabilities)
            .finish_non_exhaustive()
    }
}

impl Manner {
    /// Declares every kind of question and agrees to all.
    pub fn willing(speaks: Speaks) -> Self {
        Self { speaks, capabilities: EVERYTHING.to_owned(), script: Arc::new(agree) }
    }

    /// Declares nothing.
    pub fn mute(speaks: Speaks) -> Self {
        Self { capabilities: "{}".to_owned(), ..Self::willing(speaks) }
    }

    /// Declares this raw JSON instead.
    #[must_use]
    pub fn declaring(self, capabilities: &str) -> Self {
        Self { capabilities: capabilities.to_owned(), ..self }
    }

    /// With this user instead.
    #[must_use]
    pub fn saying(self, script: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), ..self }
    }

    /// The era with what is declared in it.
    pub(crate) fn speaks_declaring(&self) -> Speaks {
        match &self.speaks {
            Speaks::Legacy(revision) => Speaks::Legacy(revision.clone()),
            Speaks::Modern(_) => Speaks::Modern(self.capabilities.clone()),
        }
    }
}

/// The friendly user, whose name is Ada.
fn agree(asked: &Asked) -> Said {
    let result = match asked.method.as_str() {
        "elicitation/create" if asked.params["mode"] == "url" => r#"{"action":"accept"}"#,
        "elicitation/create" if asked.params["requestedSchema"]["properties"]["age"].is_object() => {
            r#"{"action":"accept","content":{"age":36}}"#
        }
        "elicitation/create" => r#"{"action":"accept","content":{"name":"Ada"}}"#,
        "sampling/createMessage" if asked.params["tools"].is_array() => {
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"lookup","input":{"q":"x"}}],"model":"m-1","stopReason":"toolUse"}"#
        }
        "sampling/createMessage" => {
            r#"{"role":"assistant","content":{"type":"text","text":"hello"},"model":"m-1","stopReason":"endTurn"}"#
        }
        "roots/list" => r#"{"roots":[{"uri":"file:///home/ada","name":"home"}]}"#,
        "ping" => "{}",
        _ => return Said::Error(-32601, "no such method".to_owned()),
    };
    Said::Result(result.to_owned())
}

const EVERYTHING: &str =
    r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}"#;
