//! Requests of the gateway's own: for keys, tokens, spans.

use std::sync::Arc;

use gateway_egress::{Authorities, Egress, EgressConfig, Fetch};

use crate::config::{Config, Grant, KeySource, Reach};

/// Makes them. What a document names may be a private address only if the configuration names it too.
///
/// # Errors
/// A sentence about the certificates that are trusted.
pub(crate) fn fetch(config: &Config) -> anyhow::Result<Arc<dyn Fetch>> {
    let authorities = authorities(config);
    let config = EgressConfig { authorities, ..EgressConfig::default() };
    Ok(Arc::new(Egress::new(&config).map_err(anyhow::Error::msg)?))
}

fn authorities(config: &Config) -> Authorities {
    let mut authorities = Authorities::default();
    // One that cannot be read is refused where it is used.
    let mut add = |url: &str| drop(authorities.add(url));
    for downstream in &config.downstreams {
        match &downstream.reach {
            Reach::Command(_) => {}
            Reach::Api(api) => add(&api.base_url.uri().to_string()),
            Reach::Url(remote) => {
                add(&remote.url.to_string());
                if let Some(Grant::EnterpriseManaged { provider, .. }) = &remote.outgoing.grant {
                    add(&provider.token_url.to_string());
                }
                if let Some(client) = remote.outgoing.grant.as_ref().and_then(Grant::client) {
                    client.issuer.iter().for_each(|issuer| add(issuer));
                    client.token_url.iter().for_each(|url| add(&url.to_string()));
                }
            }
        }
    }
    for issuer in config.security.oauth.iter().flat_map(|oauth| &oauth.issuers) {
        add(&issuer.issuer);
        match &issuer.keys {
            KeySource::Url(url) => add(&url.to_string()),
            KeySource::Introspection { endpoint, .. } => add(&endpoint.to_string()),
            KeySource::Discovery | KeySource::File(_) => {}
        }
    }
    authorities
}
