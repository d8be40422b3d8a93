use std::time::Duration;

use gateway_egress::EgressError;

/// Why there is no token. Texts are for the operator: they name the part at fault and what to do, never a secret, and
/// nothing that a server wrote but codes of the letters that the standard allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OauthError {
    /// What is configured cannot work.
    #[error("the configuration of auth is wrong: {0}")]
    Misconfigured(&'static str),
    /// A server that takes part in it was not reached.
    #[error("the {part} {cause}")]
    Unreachable {
        /// Which one.
        part: &'static str,
        /// How.
        cause: EgressError,
    },
    /// Where to authorize cannot be found out.
    #[error("it cannot be found out where to authorize: {0}")]
    Undiscovered(&'static str),
    /// The server's metadata is about another server (RFC 9728 §3.3).
    #[error("the protected resource metadata is for another server than the one that is called")]
    OtherResource,
    /// No document of the authorization server names itself by the issuer it was looked for with (RFC 8414 §3.3).
    #[error("no metadata of the authorization server has exactly its issuer")]
    OtherIssuer,
    /// The authorization server is not the configured one.
    #[error("the server does not name the configured issuer as its authorization server")]
    IssuerNotNamed,
    /// The authorization server does not say that it does PKCE with S256.
    #[error("the authorization server does not announce PKCE with S256")]
    NoPkce,
    /// There is no way to be known to the authorization server.
    #[error(
        "the authorization server registers no clients: register one there and configure client_id, or a \
         client_metadata_url"
    )]
    NoClient,
    /// It refused to register a client.
    #[error(
        "the authorization server refused to register a client ({code}): register one there and configure client_id"
    )]
    RegistrationRefused {
        /// Its code, or the status.
        code: String,
    },
    /// Nothing the client can prove itself with is what the token endpoint takes.
    #[error("the token endpoint takes none of the ways in which the client can authenticate")]
    NoClientAuthentication,
    /// What came back to the redirect URI belongs to no flow of ours, or to one that is over.
    #[error("this answer belongs to no authorization that is under way; begin again")]
    UnknownState,
    /// What came back is not from the authorization server that was asked (RFC 9207).
    #[error("the answer is not from the authorization server that was asked")]
    MixedUp,
    /// The authorization server, or whoever sat in front of it, said no.
    #[error("the authorization was refused ({code})")]
    Denied {
        /// Its code.
        code: String,
    },
    /// The token endpoint said no.
    #[error("the token endpoint refused ({code})")]
    TokenRefused {
        /// Its code, or the status.
        code: String,
    },
    /// The token endpoint did not exchange a caller's token.
    #[error("the token endpoint did not exchange the caller's token ({code})")]
    ExchangeRefused {
        /// Its code, or the status.
        code: String,
    },
    /// The token that says who acts for the caller cannot be had.
    #[error("there is no actor token: {reason}")]
    NoActor {
        /// Why.
        reason: String,
    },
    /// The assertion that a token is to be granted for cannot be had.
    #[error("there is no assertion: {reason}")]
    NoAssertion {
        /// Why.
        reason: String,
    },
    /// The token of the gateway's own that an identity provider is to be given cannot be had.
    #[error("there is no subject token: {reason}")]
    NoSubject {
        /// Why.
        reason: String,
    },
    /// The identity provider gave nothing for the gateway's own token.
    #[error("the identity provider did not exchange the gateway's subject token ({code})")]
    ProviderRefused {
        /// Its code, or the status.
        code: String,
    },
    /// A document is not what its standard says.
    #[error("the {0} is not understood")]
    Malformed(&'static str),
    /// A person has to authorize first.
    #[error("the gateway is not authorized, or not any more")]
    LoginNeeded,
    /// A person has to authorize again, because a request needs more than what was authorized.
    #[error("the server wants more scopes than the gateway is authorized for")]
    ScopesNeeded,
    /// Tokens do not help: the server wants the scopes that were already asked for, too often.
    #[error("the server goes on asking for scopes that authorizing did not bring")]
    ScopesInVain,
    /// The call is for no user, and only a user's token will do.
    #[error("the call is made for no user whose token could be used")]
    NoUser,
    /// Too many flows are under way.
    #[error("too many authorizations are under way; try again later")]
    Busy,
    /// Nobody came back in time.
    #[error("nobody authorized within {after:?}")]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The loopback address could not be listened at.
    #[error("cannot listen at the redirect URI: {0}")]
    Listen(String),
    /// Tokens cannot be kept or read.
    #[error("the token store {0}")]
    Store(#[from] super::store::StoreError),
    /// What went wrong a moment ago is not tried again yet.
    #[error("{cause} (not tried again for a moment)")]
    Again {
        /// What it was.
        cause: Box<Self>,
    },
    /// Our side failed.
    #[error("internal: {0}")]
    Internal(&'static str),
}

/// A code of an OAuth error (RFC 6749 §5.2), if it is one that may be shown: short, and of letters, digits, `_`, `-`,
/// `.` only.
pub(super) fn shown_code(code: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if !code.is_empty() && code.len() <= 64 && code.bytes().all(plain) {
        code.to_owned()
    } else {
        "unknown".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_code_is_shown() {
        let (most, more) = ("x".repeat(64), "x".repeat(65));
        let rows = [
            ("invalid_grant", "invalid_grant"),
            ("A-1.b", "A-1.b"),
            (&most, &most),
            (&more, "unknown"),
            ("", "unknown"),
            ("two words", "unknown"),
            ("<b>", "unknown"),
            ("\u{fc}", "unknown"),
        ];
        for (code, shown) in rows {
            assert_eq!(shown_code(code), shown, "{code}");
        }
    }
}
