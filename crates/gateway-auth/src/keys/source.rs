use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use gateway_domain::RawObject;
use gateway_egress::{Answer, Bounds, Fetch, Named};
use http::{HeaderMap, Request, StatusCode, Uri, header};

use crate::{KeySource, files};

/// How much one document may be.
const BOUNDS: Bounds = Bounds { bytes: 512 * 1024, time: Duration::from_secs(5) };

/// Where the keys of one issuer come from.
pub(crate) struct Source {
    pub(crate) issuer: String,
    pub(crate) keys: KeySource,
    pub(crate) fetch: Arc<dyn Fetch>,
}

/// A key set as it was read.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) body: Bytes,
    /// What it says about how long it is good.
    pub(super) max_age: Option<Duration>,
}

impl Source {
    /// How long the whole of a reading may take.
    pub(super) const TIME: Duration = BOUNDS.time;

    /// The pause between two readings, where it is fixed.
    pub(super) fn pause(&self) -> Option<Duration> {
        matches!(self.keys, KeySource::File(_)).then_some(files::LOOK_EVERY)
    }

    /// Reads the key set; says why not for the operator. Cancel-safe.
    pub(super) async fn read(&self) -> Result<Document, String> {
        match &self.keys {
            KeySource::File(path) => {
                Ok(Document { body: files::read(path.clone(), BOUNDS.bytes).await?, max_age: None })
            }
            KeySource::Url(url) => self.keys_at(url, Named::ByOperator).await,
            KeySource::Discovery { metadata } => {
                let url = self.discover(metadata.as_deref()).await?;
                self.keys_at(&url, Named::ByDocument).await
            }
        }
    }

    async fn keys_at(&self, url: &str, named: Named) -> Result<Document, String> {
        let answer = self.get(url, named).await?;
        if answer.status != StatusCode::OK {
            return Err(format!("the key set was answered with status {}", answer.status.as_u16()));
        }
        Ok(Document { max_age: max_age(&answer.headers), body: answer.body })
    }

    /// The `jwks_uri` of the issuer's metadata: of the first place that has some.
    async fn discover(&self, metadata: Option<&str>) -> Result<String, String> {
        let places = metadata.map_or_else(|| well_known(&self.issuer), |url| vec![url.to_owned()]);
        for place in places {
            let answer = self.get(&place, Named::ByOperator).await?;
            if answer.status == StatusCode::OK {
                return self.key_set_url(answer.body);
            }
        }
        Err("the issuer's metadata is at none of the places where it is looked for".into())
    }

    fn key_set_url(&self, metadata: Bytes) -> Result<String, String> {
        let metadata =
            RawObject::parse(metadata).map_err(|_| "the issuer's metadata is not a JSON object")?;
        if metadata.get_text("issuer").as_deref() != Some(&self.issuer) {
            return Err("the metadata names another issuer".into());
        }
        metadata.get_text("jwks_uri").ok_or_else(|| "the issuer's metadata has no jwks_uri".into())
    }

    async fn get(&self, url: &str, named: Named) -> Result<Answer, String> {
        let request = Request::get(url).header(header::ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|_| "it names a URL that is none".to_owned())?;
        self.fetch.fetch(request, named, BOUNDS).await.map_err(|error| error.to_string())
    }
}

/// Whether a text is a URL with a scheme and a host.
pub(crate) fn is_url(url: &str) -> bool {
    url.parse::<Uri>()
        .is_ok_and(|url| url.scheme().is_some() && url.host().is_some_and(|host| !host.is_empty()))
}

/// Where an issuer's metadata may be, in the order of protocol.md §18.3 (RFC 8414 §3.1, §5).
fn well_known(issuer: &str) -> Vec<String> {
    let (scheme, rest) = issuer.split_once("://").unwrap_or_default();
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = path.trim_end_matches('/');
    let mut places = vec![
        format!("{scheme}://{authority}/.well-known/oauth-authorization-server{path}"),
        format!("{scheme}://{authority}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{scheme}://{authority}{path}/.well-known/openid-configuration"));
    }
    places
}

/// `max-age` of `Cache-Control` (RFC 9111 §5.2.2.1).
fn max_age(headers: &HeaderMap) -> Option<Duration> {
    let values = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let mut directives =
        values.flat_map(|value| value.split(',')).filter_map(|one| one.trim().split_once('='));
    let (_, seconds) = directives.find(|(name, _)| name.eq_ignore_ascii_case("max-age"))?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_the_documents_say() {
        let rows: [(&str, &[&str]); 3] = [
            (
                "https://as",
                &[
                    "https://as/.well-known/oauth-authorization-server",
                    "https://as/.well-known/openid-configuration",
                ],
            ),
            (
                "https://as/",
                &[
                    "https://as/.well-known/oauth-authorization-server",
                    "https://as/.well-known/openid-configuration",
                ],
            ),
            (
                "https://as:1/a/b",
                &[
                    "https://as:1/.well-known/oauth-authorization-server/a/b",
                    "https://as:1/.well-known/openid-configuration/a/b",
                    "https://as:1/a/b/.well-known/openid-configuration",
                ],
            ),
        ];
        for (issuer, places) in rows {
            assert_eq!(well_known(issuer), places, "{issuer}");
        }
    }

    #[test]
    fn the_age_of_an_answer_is_read_among_other_directives() {
        let rows = [
            (&["max-age=60"][..], Some(60)),
            (&["public, Max-Age=\"61\", immutable"], Some(61)),
            (&["no-cache", "max-age=62"], Some(62)),
            (&["max-age=-1"], None),
            (&["s-maxage=5"], None),
            (&[], None),
        ];
        for (values, expected) in rows {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CACHE_CONTROL, value.parse().unwrap());
            }
            assert_eq!(max_age(&headers), expected.map(Duration::from_secs), "{values:?}");
        }
    }

    #[test]
    fn a_url_has_a_scheme_and_a_host() {
        for (url, expected) in [
            ("https://as/keys", true),
            ("http://127.0.0.1:8/", true),
            ("/keys", false),
            ("as", false),
            ("as:443", false),
            ("https://", false),
            ("https://:8/", false),
            ("ht tp://as", false),
        ] {
            assert_eq!(is_url(url), expected, "{url}");
        }
    }
}
