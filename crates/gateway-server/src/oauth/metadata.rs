use bytes::Bytes;
use gateway_domain::RawJson;

use super::{OauthConfig, check::parse};
use crate::config::BindError;

/// Where metadata of protected resources is (RFC 9728 §3).
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// One resource and its metadata.
#[derive(Debug)]
pub(super) struct Place {
    /// Where clients find the metadata.
    pub(super) url: String,
    /// The path in that.
    pub(super) path: String,
    pub(super) document: Bytes,
}

impl Place {
    pub(super) fn new(resource: &str, config: &OauthConfig) -> Result<Self, BindError> {
        let uri = parse(resource)?;
        // A slash at the end of the host alone is left out (RFC 9728 §3.1).
        let own = if uri.path() == "/" { "" } else { uri.path() };
        let path = format!("{WELL_KNOWN}{own}");
        let (scheme, host) =
            (uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", |a| a.as_str()));
        Ok(Self { url: format!("{scheme}://{host}{path}"), path, document: document(resource, config) })
    }
}

fn document(resource: &str, config: &OauthConfig) -> Bytes {
    let list = |texts: &[String]| RawJson::array(texts.iter().map(|text| RawJson::string(text)));
    let servers = list(&config.authorization_servers);
    let scopes = match config.scopes_supported.is_empty() {
        true => String::new(),
        false => format!(r#","scopes_supported":{}"#, list(&config.scopes_supported)),
    };
    let resource = RawJson::string(resource);
    format!(
        r#"{{"resource":{resource},"authorization_servers":{servers}{scopes},"bearer_methods_supported":["header"]}}"#
    )
    .into()
}
