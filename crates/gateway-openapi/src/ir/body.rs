use gateway_domain::RawJson;

use super::ParamFormat;

/// What is sent with an operation (E-2), in the one media type that was chosen for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Whether the API needs it.
    pub required: bool,
    /// What it means.
    pub description: Option<String>,
    /// The `Content-Type` that is sent, such as `application/merge-patch+json`. That of a multipart body has no
    /// boundary.
    pub media_type: String,
    /// Its JSON Schema (2020-12), where files and binary bodies are strings in base64; `None` if nothing is known.
    pub schema: Option<RawJson>,
    /// How the argument becomes bytes.
    pub format: BodyFormat,
}

impl Body {
    /// A JSON body that nothing is known of, for callers that make bodies by hand.
    pub fn json(schema: Option<RawJson>) -> Self {
        Self {
            required: false,
            description: None,
            media_type: "application/json".into(),
            schema,
            format: BodyFormat::Json,
        }
    }
}

/// How a body's argument becomes bytes (E-W7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyFormat {
    /// The argument's own bytes: `application/json` and all `+json`.
    Json,
    /// An object as `application/x-www-form-urlencoded`. Fields that are not named are exploded forms, objects in
    /// them JSON.
    Form(Vec<Field>),
    /// An object as `multipart/form-data`. Fields that are not named: text as it is, objects as JSON, arrays as a part
    /// for each item.
    Multipart(Vec<Field>),
    /// A string as it is: `text/*`, XML and other text.
    Text,
    /// A string in base64, decoded.
    Binary,
}

/// How one member of a form is written (OpenAPI's encoding object).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The member.
    pub name: String,
    /// The media type of its part, if the source gives one.
    pub media_type: Option<String>,
    /// Whether it is a file, or an array of files: base64, or `{"data": base64, "filename": …, "mediaType": …}`.
    pub is_file: bool,
    /// How its value is written if not by media type.
    pub format: Option<ParamFormat>,
}
