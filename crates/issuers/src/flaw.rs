//! The reasons why a token of an issuer is refused. Pure.
//! Must not know: how a refusal is sent.

/// The reason why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It does not have three parts, or is too long.
    #[error("it is not a signed JWT of at most 8 KiB")]
    Malformed,
    /// Its algorithm is symmetric, or does not fit its key.
    #[error("its algorithm is not accepted; asymmetric ones are")]
    Algorithm,
    /// Its `typ` does not fit the use.
    #[error("its `typ` is that of another kind of token")]
    Type,
    /// The issuer has no such key.
    #[error("its issuer has no such key")]
    UnknownKey,
    /// The signature is invalid.
    #[error("its signature is wrong")]
    Signature,
    /// Its issuer is not configured here.
    #[error("its issuer is not known here")]
    Issuer,
    /// It is for another audience.
    #[error("it is for another audience")]
    Audience,
    /// It has expired.
    #[error("it has expired")]
    Expired,
    /// It is not valid yet.
    #[error("it is not valid yet")]
    NotYet,
    /// A required claim is absent or malformed.
    #[error("its claims `iss`, `sub`, `aud` and `exp` are not as they must be")]
    Claims,
    /// It belongs to another sign-in attempt.
    #[error("its nonce is that of another attempt")]
    Nonce,
    /// No rule admits its bearer.
    #[error("it is valid, and no rule admits it")]
    NotAdmitted,
    /// The issuer refused the code.
    #[error("the issuer did not accept the code")]
    Code,
    /// The issuer is unreachable, or its answer is invalid.
    #[error("the issuer cannot be asked now")]
    Unavailable,
}

impl Flaw {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Malformed => "token_malformed",
            Self::Algorithm => "algorithm_refused",
            Self::Type => "token_type_wrong",
            Self::UnknownKey => "key_unknown",
            Self::Signature => "signature_invalid",
            Self::Issuer => "issuer_unknown",
            Self::Audience => "audience_wrong",
            Self::Expired => "token_expired",
            Self::NotYet => "token_not_yet_valid",
            Self::Claims => "claims_invalid",
            Self::Nonce => "nonce_wrong",
            Self::NotAdmitted => "not_admitted",
            Self::Code => "code_refused",
            Self::Unavailable => "issuer_unavailable",
        }
    }
}
