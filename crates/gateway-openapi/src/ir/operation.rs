use std::fmt;

use gateway_domain::RawJson;

use super::{Body, Definitions, Param, Requirement};

/// One thing that the API can be asked to do (E-1).
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Its id: letters, digits and `_` (E-42). Two operations may have the same one; tools do not.
    pub id: String,
    /// How it is asked.
    pub method: Method,
    /// The path below the base URL, beginning with `/`, with placeholders as `{name}`.
    pub path: String,
    /// In a few words.
    pub summary: Option<String>,
    /// At length.
    pub description: Option<String>,
    /// Words to choose operations by.
    pub tags: Vec<String>,
    /// Whether it is not to be used any more.
    pub deprecated: bool,
    /// In the order of the source; a name stands once for each location (E-W5).
    pub params: Vec<Param>,
    /// What is sent with it.
    pub body: Option<Body>,
    /// The JSON Schema of what it answers on success, if every success is JSON and has one.
    pub output: Option<RawJson>,
    /// Alternative sets of credentials, one of which it needs; an empty set needs none, and no set at all says
    /// nothing (E-44, E-W10).
    pub security: Vec<Requirement>,
    /// What the schemas of this operation refer to as `#/$defs/NAME`.
    pub definitions: Definitions,
    /// What of it could not be understood and is left out, for the operator.
    pub notes: Vec<String>,
}

impl Operation {
    /// An operation without inputs, for callers that make operations by hand.
    pub fn new(id: impl Into<String>, method: Method, path: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            method,
            path: path.into(),
            summary: None,
            description: None,
            tags: Vec::new(),
            deprecated: false,
            params: Vec::new(),
            body: None,
            output: None,
            security: Vec::new(),
            definitions: Definitions::default(),
            notes: Vec::new(),
        }
    }

    /// Whether it only reads: GET or HEAD (E-3).
    pub fn is_read_only(&self) -> bool {
        self.method.is_read_only()
    }
}

/// The methods whose operations become tools (E-41), in the order in which a path lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// HEAD.
    Head,
}

impl Method {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Head];

    /// The method of this name, in any case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name))
    }

    /// As HTTP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
        }
    }

    /// Whether it only reads (E-3).
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
