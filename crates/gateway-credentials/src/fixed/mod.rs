//! Values that are the gateway's own: from the configuration or the environment, a file, or what a command says.

mod command;
mod file;

use async_trait::async_trait;
use gateway_domain::{Incoming, Secret};
use gateway_egress::{Challenge, CredentialError, Credentials, Reaction};
use http::{HeaderName, HeaderValue, header};

pub use command::CommandSource;
pub use file::FileSource;

use crate::names::is_framing;

/// The most bytes of a value.
const MOST_BYTES: usize = 64 << 10;

/// One header with a value that is the gateway's own, the same for every caller.
#[derive(Debug)]
pub struct Fixed {
    header: Header,
    source: Source,
}

/// Where a value comes from.
#[derive(Debug)]
pub enum Source {
    /// The configuration, or a variable of the environment that it names.
    Value(Secret),
    /// A file, which may change.
    File(FileSource),
    /// What a command prints.
    Command(CommandSource),
}

/// Why a header cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixedError {
    /// It is no header.
    #[error("{name:?} is not a header name")]
    Invalid {
        /// What was configured.
        name: String,
    },
    /// It belongs to the connection, the body or the protocol.
    #[error("the header `{name}` cannot be configured; the gateway sets it")]
    Reserved {
        /// The header.
        name: HeaderName,
    },
    /// The value cannot stand in it; it is not told.
    #[error("{0}")]
    Value(&'static str),
}

impl Fixed {
    /// `Authorization: Bearer` with a token.
    ///
    /// # Errors
    /// [`FixedError::Value`]: the token that is known already is none (RFC 6750 §2.1).
    pub fn bearer(source: Source) -> Result<Self, FixedError> {
        Self::with(Header { name: header::AUTHORIZATION, is_bearer: true }, source)
    }

    /// Another header.
    ///
    /// # Errors
    /// [`FixedError`]: the name, or the value that is known already.
    pub fn header(name: &str, source: Source) -> Result<Self, FixedError> {
        let invalid = |_| FixedError::Invalid { name: name.to_owned() };
        let name: HeaderName = name.parse().map_err(invalid)?;
        if is_framing(&name) {
            return Err(FixedError::Reserved { name });
        }
        Self::with(Header { name, is_bearer: false }, source)
    }

    fn with(header: Header, source: Source) -> Result<Self, FixedError> {
        if let Source::Value(value) = &source {
            header.value(value).map_err(FixedError::Value)?;
        }
        Ok(Self { header, source })
    }

    async fn value(&self) -> Result<HeaderValue, CredentialError> {
        let value = self.source.value().await?;
        let origin = self.source.origin();
        self.header.value(&value).map_err(|wrong| unavailable(format!("{origin}: {wrong}")))
    }
}

impl Source {
    /// What it says now, with the white space around it.
    pub(crate) async fn value(&self) -> Result<Secret, CredentialError> {
        match self {
            Self::Value(value) => Ok(value.clone()),
            Self::File(file) => file.read().await,
            Self::Command(command) => command.output().await,
        }
    }

    /// What it says now, without the white space around it; or why that is nothing.
    pub(crate) async fn word(&self) -> Result<Secret, String> {
        let value = self.value().await.map_err(|error| error.to_string())?;
        match value.expose().trim_ascii() {
            "" => Err(format!("{} is empty", self.origin())),
            word => Ok(Secret::new(word)),
        }
    }

    /// What it is called in an error.
    pub(crate) fn origin(&self) -> String {
        match self {
            Self::Value(_) => "the configured value".to_owned(),
            Self::File(file) => file.origin(),
            Self::Command(command) => command.origin(),
        }
    }

    /// Has it asked anew, since what it said was refused. Whether it can say something else.
    pub(crate) async fn forget(&self) -> bool {
        match self {
            Self::Value(_) => return false,
            Self::File(file) => file.forget().await,
            Self::Command(command) => command.forget().await,
        }
        true
    }
}

#[async_trait]
impl Credentials for Fixed {
    async fn headers(&self, _: Option<&Incoming>) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        Ok(vec![(self.header.name.clone(), self.value().await?)])
    }

    /// A file is read and a command run again; if that gives another value than was sent, it is worth another try.
    async fn refused(
        &self,
        _: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        if !self.source.forget().await {
            return Ok(Reaction::GiveUp);
        }
        let value = self.value().await?;
        let is_the_same =
            |(name, sent): &(HeaderName, HeaderValue)| *name == self.header.name && *sent == value;
        Ok(if challenge.sent.iter().any(is_the_same) { Reaction::GiveUp } else { Reaction::Retry })
    }
}

#[derive(Debug)]
struct Header {
    name: HeaderName,
    is_bearer: bool,
}

impl Header {
    /// What is sent; or what is wrong with the value, without the value.
    fn value(&self, value: &Secret) -> Result<HeaderValue, &'static str> {
        let value = value.expose().trim_ascii();
        if value.is_empty() {
            return Err("the value is empty");
        }
        if self.is_bearer && !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token is of visible ASCII characters without spaces");
        }
        let prefix = if self.is_bearer { "Bearer " } else { "" };
        let mut value = HeaderValue::try_from(format!("{prefix}{value}"))
            .map_err(|_| "the value has characters that no header can have")?;
        value.set_sensitive(true);
        Ok(value)
    }
}

fn unavailable(reason: impl Into<String>) -> CredentialError {
    CredentialError::Unavailable { reason: reason.into() }
}

#[cfg(test)]
mod tests;
