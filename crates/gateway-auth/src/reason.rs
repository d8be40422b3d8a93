/// Why a token was refused: a closed set of codes for logs, records and metrics, none with anything of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// More than 8 KiB.
    TooLarge,
    /// Characters that no token has, or not three parts of base64url with JSON objects in them.
    Malformed,
    /// A JWE (RFC 7516).
    Encrypted,
    /// A token in a token (RFC 7519 §5.2).
    Nested,
    /// A header member of the wrong type, or too long.
    Header,
    /// Extensions that have to be understood (RFC 7515 §4.1.11).
    Critical,
    /// Not one of the issuer's algorithms.
    Algorithm,
    /// Not an access token's media type (RFC 9068 §4).
    Type,
    /// No `iss`.
    IssuerMissing,
    /// None of the issuers that the view has.
    Issuer,
    /// No key of that name, or none at all.
    KeyUnknown,
    /// Several keys fit.
    KeyAmbiguous,
    /// The key is for something else.
    KeyUnfit,
    /// The signature is not the key's.
    Signature,
    /// A claim of the wrong type, or out of all bounds.
    Claim,
    /// No `exp`.
    ExpiryMissing,
    /// Over.
    Expired,
    /// Not before a time that is still to come.
    NotYetValid,
    /// Issued in the future.
    IssuedLater,
    /// A maximum age is set, and the token does not say when it was issued.
    IssuedMissing,
    /// Issued too long ago.
    TooOld,
    /// No `aud`.
    AudienceMissing,
    /// For somebody else.
    Audience,
    /// Neither `sub` nor `client_id`.
    SubjectMissing,
    /// An ID token (OpenID Connect Core §2).
    IdToken,
    /// Good only together with a proof that is not asked for here (`cnf`, RFC 7800).
    Bound,
    /// On the deny list.
    Denied,
    /// The authorization server says that it is not active (RFC 7662 §2.2).
    Inactive,
    /// Not a JWT, and nobody to ask about it.
    Opaque,
}

impl Reason {
    /// The code.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::Encrypted => "encrypted",
            Self::Nested => "nested",
            Self::Header => "header",
            Self::Critical => "critical_extension",
            Self::Algorithm => "algorithm",
            Self::Type => "type",
            Self::IssuerMissing => "issuer_missing",
            Self::Issuer => "issuer",
            Self::KeyUnknown => "key_unknown",
            Self::KeyAmbiguous => "key_ambiguous",
            Self::KeyUnfit => "key_unfit",
            Self::Signature => "signature",
            Self::Claim => "claim",
            Self::ExpiryMissing => "expiry_missing",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::IssuedLater => "issued_later",
            Self::IssuedMissing => "issued_missing",
            Self::TooOld => "too_old",
            Self::AudienceMissing => "audience_missing",
            Self::Audience => "audience",
            Self::SubjectMissing => "subject_missing",
            Self::IdToken => "id_token",
            Self::Bound => "sender_constrained",
            Self::Denied => "denied",
            Self::Inactive => "inactive",
            Self::Opaque => "opaque",
        }
    }
}

/// Why there is no verdict of good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The token is bad.
    Bad(Reason),
    /// It cannot be told; why, for the operator.
    Unknown(String),
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self::Bad(reason)
    }
}

impl From<Failure> for gateway_domain::TokenError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Bad(reason) => Self::Invalid { reason: reason.code() },
            Failure::Unknown(reason) => Self::Unavailable { reason },
        }
    }
}
