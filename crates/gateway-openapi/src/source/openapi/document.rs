use gateway_domain::{JsonKind, RawJson, RawObject};

use super::object::{kind, object};
use crate::source::{SourceError, swagger};

/// What of OpenAPI's history a document follows. Later ones of a kind are the same to this reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    /// 3.0, and what Swagger 2.0 is converted to.
    V30,
    V31,
    V32,
}

/// The document as OpenAPI, whose outlines have been checked (E-W22): what is wrong in them makes all of it unusable.
pub(super) fn open(json: RawJson, source_name: &str) -> Result<(RawJson, Version), SourceError> {
    let invalid = |reason: String| SourceError::Invalid { source_name: source_name.to_owned(), reason };
    let mut root = whole(&json).map_err(invalid)?;
    if swagger::is_swagger(&root) {
        let converted = swagger::to_openapi(&root, source_name)?;
        root = whole(&converted).map_err(invalid)?;
    }
    let version = version(&root).map_err(invalid)?;
    check(&root, version).map_err(invalid)?;
    Ok((root.raw().clone(), version))
}

fn whole(json: &RawJson) -> Result<RawObject, String> {
    match object(json) {
        Some(root) => Ok(root),
        None if json.kind() == JsonKind::Object => Err("it has a member twice".into()),
        None => Err(format!("it is {}", kind(json))),
    }
}

fn version(root: &RawObject) -> Result<Version, String> {
    let Some(value) = root.get("openapi") else {
        return Err(match root.get("swagger") {
            Some(version) => format!("/swagger: {version} is no version that is read; 2.0 is"),
            None => "it has neither \"openapi\" nor \"swagger\"".into(),
        });
    };
    // YAML makes a number of `3.1`.
    let text = value.to_text().unwrap_or_else(|| value.as_str().into());
    let mut parts = text.trim().split('.');
    match (parts.next(), parts.next()) {
        (Some("3"), Some("0")) => Ok(Version::V30),
        (Some("3"), Some("1")) => Ok(Version::V31),
        (Some("3"), Some("2")) => Ok(Version::V32),
        _ => {
            let shown: String = text.chars().take(MOST_SHOWN).collect();
            Err(format!("/openapi: {shown:?} is no version that is read; 3.0, 3.1 and 3.2 are"))
        }
    }
}

const MOST_SHOWN: usize = 40;

fn check(root: &RawObject, version: Version) -> Result<(), String> {
    let info = member(root, "", "info", JsonKind::Object)?.ok_or("/info is missing")?;
    let info = object(&info).ok_or("/info has a member twice")?;
    member(&info, "/info", "title", JsonKind::String)?;
    let mut content = Vec::new();
    for name in ["paths", "components"] {
        content.push(member(root, "", name, JsonKind::Object)?);
    }
    // Servers, tags and webhooks are not used, whatever they are.
    content.push(root.get("webhooks").filter(|value| value.kind() != JsonKind::Null));
    member(root, "", "security", JsonKind::Array)?;
    match (version, content.as_slice()) {
        (Version::V30, [None, ..]) => return Err("/paths is missing".into()),
        (_, [None, None, None]) => return Err("/paths, /components and /webhooks are missing".into()),
        _ => {}
    }
    for (name, value) in ["paths", "components"].iter().zip(&content) {
        let Some(value) = value else { continue };
        let Some(members) = object(value) else {
            return Err(format!("/{name} has a member twice, or too many"));
        };
        if *name == "components" {
            components(&members)?;
        }
    }
    Ok(())
}

fn components(components: &RawObject) -> Result<(), String> {
    for section in SECTIONS {
        if let Some(value) = member(components, "/components", section, JsonKind::Object)?
            && object(&value).is_none()
        {
            return Err(format!("/components/{section} has a member twice, or too many"));
        }
    }
    Ok(())
}

const SECTIONS: [&str; 11] = [
    "schemas",
    "responses",
    "parameters",
    "examples",
    "requestBodies",
    "headers",
    "securitySchemes",
    "links",
    "callbacks",
    "pathItems",
    "mediaTypes",
];

/// A member that is not there, or what it should be. Null is what YAML makes of a key with nothing behind it.
fn member(
    parent: &RawObject,
    pointer: &str,
    name: &str,
    wanted: JsonKind,
) -> Result<Option<RawJson>, String> {
    let Some(value) = parent.get(name) else { return Ok(None) };
    match value.kind() {
        found if found == wanted => Ok(Some(value)),
        JsonKind::Null => Ok(None),
        _ => Err(format!("{pointer}/{name} is {}", kind(&value))),
    }
}
