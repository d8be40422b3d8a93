use http::Uri;

use super::OauthConfig;
use crate::config::BindError;

/// What a client must not be advised to ask for (protocol.md §18.2).
const OFFLINE: &str = "offline_access";

/// Whether a configuration says what clients can be told.
pub(super) fn check(config: &OauthConfig) -> Result<(), BindError> {
    if config.authorization_servers.is_empty() {
        return Err(refused("no authorization server is named"));
    }
    let resources = config.resources.iter().map(|(_, resource)| resource).chain([&config.resource]);
    for url in resources.chain(&config.authorization_servers) {
        parse(url)?;
    }
    if config.scopes_supported.iter().any(|scope| scope == OFFLINE) {
        return Err(refused("`offline_access` is not a scope of a resource"));
    }
    let needed = config.scopes.iter().flat_map(|rule| &rule.scopes);
    for scope in needed.chain(&config.scopes_supported) {
        if !is_scope(scope) {
            return Err(refused(&format!("{scope:?} is not a scope")));
        }
    }
    Ok(())
}

/// An absolute `http` or `https` URL without query, fragment and user.
pub(super) fn parse(url: &str) -> Result<Uri, BindError> {
    let parsed = url.parse::<Uri>().ok().filter(|parsed| {
        let is_web = matches!(parsed.scheme_str(), Some("http" | "https"));
        let names_host = parsed.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        is_web && names_host && parsed.query().is_none() && !url.contains(['#', '?', '"', '\\'])
    });
    parsed.ok_or_else(|| refused(&format!("{url:?} is not a URL of a resource or an issuer")))
}

/// RFC 6749 §3.3.
pub(super) fn is_scope(text: &str) -> bool {
    let fits = |byte: u8| byte == 0x21 || (0x23..=0x5b).contains(&byte) || (0x5d..=0x7e).contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

fn refused(reason: &str) -> BindError {
    BindError::Oauth { reason: reason.to_owned() }
}
