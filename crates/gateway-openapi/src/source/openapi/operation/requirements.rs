//! Security: which credentials operations need, and what there are (E-44, E-W10).

use std::{borrow::Cow, collections::BTreeMap};

use gateway_domain::{JsonKind, RawJson, RawObject};

use crate::{
    ir::{Location, Requirement, SchemeUse, SecurityScheme},
    source::openapi::{
        fault::Fault,
        library::{Node, Resolver},
        object::object,
    },
};

/// The most alternatives, and schemes in one of them.
const MOST: usize = 64;

/// The alternatives in their order, which is one of preference; within one by name, each once.
pub(super) fn read(list: &RawJson) -> Result<Vec<Requirement>, Fault> {
    let wrong = || Fault::new("what it says of security is not understood");
    let alternatives = list.elements(MOST).ok_or_else(wrong)?;
    let mut found = Vec::with_capacity(alternatives.len().max(1));
    for alternative in &alternatives {
        let members = object(alternative).filter(|members| members.len() <= MOST).ok_or_else(wrong)?;
        let mut uses = Vec::with_capacity(members.len());
        for (name, scopes) in members.iter() {
            let scopes = match scopes.kind() {
                // What YAML makes of a key with nothing behind it.
                JsonKind::Null => Vec::new(),
                _ => scopes.elements(MOST).ok_or_else(wrong)?,
            };
            let scopes = scopes.iter().filter_map(|scope| scope.to_text().map(Into::into)).collect();
            uses.push(SchemeUse { name: name.into_owned(), scopes });
        }
        uses.sort_by(|one, other| one.name.cmp(&other.name));
        let requirement = Requirement(uses);
        if !found.contains(&requirement) {
            found.push(requirement);
        }
    }
    // An empty list takes away what all operations need otherwise: nothing is needed.
    if found.is_empty() {
        found.push(Requirement::default());
    }
    Ok(found)
}

/// The security schemes of a document, by name. One that is not understood is there, so that it is known to be needed.
pub(crate) fn schemes(components: Option<Node>, resolver: &Resolver<'_>) -> BTreeMap<String, SecurityScheme> {
    let section = components.and_then(|components| {
        let schemes = object(&components.value)?.get("securitySchemes")?;
        Some(components.with(schemes))
    });
    let Some(section) = section else { return BTreeMap::new() };
    let Some(members) = object(&section.value) else { return BTreeMap::new() };
    let read = |(name, value): (Cow<'_, str>, RawJson)| {
        let item = resolver.item(&section.with(value));
        let unreadable = || SecurityScheme::Other("one that cannot be read".into());
        (name.into_owned(), item.map_or_else(|_| unreadable(), |item| scheme(item.object())))
    };
    members.iter().take(MOST_SCHEMES).map(read).collect()
}

const MOST_SCHEMES: usize = 1_000;

fn scheme(scheme: &RawObject) -> SecurityScheme {
    let text = |name| scheme.get_text(name).unwrap_or_default();
    match text("type").as_str() {
        "apiKey" => api_key(&text("in"), text("name")),
        "http" => match text("scheme").to_ascii_lowercase().as_str() {
            "basic" => SecurityScheme::Basic,
            "bearer" => SecurityScheme::Bearer,
            other => SecurityScheme::Other(format!("http {}", short(other))),
        },
        "oauth2" => SecurityScheme::OAuth2 { token_url: token_url(scheme) },
        "openIdConnect" => SecurityScheme::OpenIdConnect,
        other => SecurityScheme::Other(short(other)),
    }
}

fn api_key(place: &str, name: String) -> SecurityScheme {
    let location = match place {
        "header" => Location::Header,
        "query" => Location::Query,
        "cookie" => Location::Cookie,
        _ => return SecurityScheme::Other("apiKey".into()),
    };
    SecurityScheme::ApiKey { location, name }
}

fn token_url(scheme: &RawObject) -> Option<String> {
    scheme.get_object("flows")?.get_object("clientCredentials")?.get_text("tokenUrl")
}

fn short(word: &str) -> String {
    word.chars().take(64).collect()
}
