use http::{Uri, uri::Scheme};

use crate::engine::request::has_dots;

/// Where tokens are fetched: where the operator says, or else where the API's description says, if that is the
/// operator's word as well because it is on the scheme, host and port of the base URL.
pub(super) fn choose(configured: Option<&Uri>, named: Option<&str>, base: &Uri) -> Result<Uri, &'static str> {
    match (configured, named) {
        (Some(url), _) if is_fetchable(url) => Ok(url.clone()),
        (Some(_), _) => Err("`token_url` has to be an http or https URL with a host, without a user or dot segments"),
        (None, None) => Err("the API does not say where tokens are given; write `token_url`"),
        (None, Some(named)) => resolve(named, base).filter(|url| is_fetchable(url) && is_at(url, base)).ok_or(
            "the API names a token URL that is not on the base URL's scheme, host and port, where secrets are not \
             sent on its word alone; if it is right, write it as `token_url`",
        ),
    }
}

/// An absolute path is taken at the base URL's authority.
fn resolve(named: &str, base: &Uri) -> Option<Uri> {
    if !named.starts_with('/') || named.starts_with("//") {
        return named.parse().ok();
    }
    let builder = Uri::builder().scheme(base.scheme()?.clone()).authority(base.authority()?.clone());
    builder.path_and_query(named).build().ok()
}

fn is_fetchable(url: &Uri) -> bool {
    matches!(url.scheme_str(), Some("http" | "https"))
        && !has_dots(url.path())
        && url
            .authority()
            .is_some_and(|authority| !authority.as_str().contains('@') && !authority.host().is_empty())
}

fn is_at(url: &Uri, base: &Uri) -> bool {
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    url.scheme() == base.scheme() && host(url) == host(base) && port(url) == port(base)
}

fn port(url: &Uri) -> Option<u16> {
    let default = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    // A port that is no number is nobody's.
    let written = url.authority().map(|authority| authority.as_str().len() > authority.host().len())?;
    if written { url.port_u16() } else { Some(default) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://api.example/v1";

    #[track_caller]
    fn check(named: &str, expected: Option<&str>) {
        let chosen = choose(None, Some(named), &BASE.parse().unwrap());
        assert_eq!(chosen.ok().map(|url| url.to_string()).as_deref(), expected, "{named}");
    }

    #[test]
    fn a_description_sends_secrets_nowhere_but_to_the_api() {
        check("https://api.example/token", Some("https://api.example/token"));
        check("https://API.example:443/token?x=1", Some("https://API.example:443/token?x=1"));
        check("/oauth/token", Some("https://api.example/oauth/token"));
        // No authority, whatever browsers make of it.
        check("/\\evil/token", Some("https://api.example/\\evil/token"));
        for elsewhere in [
            "http://api.example/token",
            "https://api.example:444/token",
            "https://api.example:/token",
            "https://api.example:x/token",
            "https://api.example.evil/token",
            "https://evil/api.example/token",
            "https://api.example@evil/token",
            "https://user@api.example/token",
            "https://evil\\@api.example/token",
            "//evil/token",
            "/v1/../token",
            "https://api.example/a/%2E%2e/token",
            "https://api.example/.%2ftoken",
            "ftp://api.example/token",
            "api.example",
            "token",
            "",
        ] {
            check(elsewhere, None);
        }
    }

    #[test]
    fn the_operators_word_goes_first() {
        let url: Uri = "http://id.internal:8080/token".parse().unwrap();
        let base = BASE.parse().unwrap();
        assert_eq!(choose(Some(&url), Some("https://api.example/token"), &base).unwrap(), url);
        assert!(choose(Some(&"https://me:pw@id.example/".parse().unwrap()), None, &base).is_err());
        assert!(choose(Some(&"https://id.example/a/../token".parse().unwrap()), None, &base).is_err());
        assert!(choose(Some(&"/token".parse().unwrap()), None, &base).is_err());
        assert!(choose(None, None, &base).unwrap_err().contains("write `token_url`"));
    }
}
