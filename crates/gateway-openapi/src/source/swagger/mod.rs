//! Swagger 2.0 as OpenAPI 3.0 (E-46): one document made into another, so that there is one reader.

mod body;
mod object;
mod parameter;
mod path;
mod refs;
mod response;
mod security;
#[cfg(test)]
mod tests;

use gateway_domain::{RawJson, RawObject};

use self::object::ObjectText;
use super::SourceError;

/// Whether this document is a Swagger 2.0 one.
pub fn is_swagger(document: &RawObject) -> bool {
    let version = document.get("swagger");
    version.is_some_and(|version| matches!(version.as_str().trim_matches('"').trim(), "2.0" | "2"))
}

/// The same API as an OpenAPI 3.0 document. What is not understood is passed on as it is, so that the reader of
/// OpenAPI skips the operation it belongs to and no other. Nothing is resolved but references to parameters and
/// responses of the document itself, where OpenAPI has another place for them.
///
/// # Errors
/// The document nests so deep that the other form of it would nest too deep.
pub fn to_openapi(document: &RawObject, source_name: &str) -> Result<RawJson, SourceError> {
    let text = refs::rewritten(&Swagger::new(document).openapi());
    RawJson::parse(text).map_err(|error| SourceError::Invalid {
        source_name: source_name.to_owned(),
        reason: format!("as OpenAPI 3 it is {error}"),
    })
}

/// A Swagger document, and what its operations look up in it.
struct Swagger<'a> {
    document: &'a RawObject,
    parameters: RawObject,
    responses: RawObject,
    consumes: Vec<String>,
    produces: Vec<String>,
}

impl<'a> Swagger<'a> {
    fn new(document: &'a RawObject) -> Self {
        Self {
            parameters: document.get_object("parameters").unwrap_or_default(),
            responses: document.get_object("responses").unwrap_or_default(),
            consumes: texts(document, "consumes").unwrap_or_default(),
            produces: texts(document, "produces").unwrap_or_default(),
            document,
        }
    }

    /// The document in the other form, with references still as they were.
    fn openapi(&self) -> Vec<u8> {
        let mut out = ObjectText::default();
        out.set("openapi", r#""3.0.3""#);
        for (name, value) in self.document.iter() {
            match name.as_ref() {
                "swagger"
                | "openapi"
                | "host"
                | "basePath"
                | "schemes"
                | "consumes"
                | "produces"
                | "definitions"
                | "parameters"
                | "responses"
                | "securityDefinitions"
                | "components"
                | "servers" => {}
                "paths" => out.set("paths", self.paths(&value)),
                _ => out.set(&name, value.as_bytes()),
            }
        }
        out.set("servers", self.servers());
        out.set("components", self.components());
        out.finish()
    }

    fn components(&self) -> Vec<u8> {
        let mut out = ObjectText::default();
        if let Some(definitions) = self.document.get("definitions") {
            out.set("schemas", definitions.as_bytes());
        }
        let mut parameters = ObjectText::default();
        for (name, value) in self.parameters.iter() {
            match RawObject::try_from(value) {
                Ok(parameter) if !parameter::is_of_body(&parameter) => {
                    parameters.set(&name, parameter::converted(&parameter));
                }
                _ => {}
            }
        }
        out.set("parameters", parameters.finish());
        if let Some(schemes) = self.document.get_object("securityDefinitions") {
            out.set("securitySchemes", security::schemes(&schemes));
        }
        out.finish()
    }

    fn servers(&self) -> Vec<u8> {
        let text = |name| self.document.get_text(name).unwrap_or_default();
        let scheme = texts(self.document, "schemes").and_then(|schemes| schemes.into_iter().next());
        let scheme = scheme.map(|scheme| format!("{scheme}:")).unwrap_or_default();
        let url = match text("host") {
            host if host.is_empty() => text("basePath"),
            host => format!("{scheme}//{host}{}", text("basePath")),
        };
        let mut server = ObjectText::default();
        server.set("url", RawJson::string(if url.is_empty() { "/" } else { &url }).as_bytes());
        [b"[".as_slice(), &server.finish(), b"]"].concat()
    }
}

/// The strings of an array, which has no more than a document can reasonably name media types.
fn texts(object: &RawObject, name: &str) -> Option<Vec<String>> {
    const LIMIT: usize = 64;
    let items = object.get(name)?.elements(LIMIT)?;
    Some(items.iter().filter_map(|item| item.to_text()).map(|text| text.into_owned()).collect())
}
