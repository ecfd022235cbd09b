//! The reasons why a token of an issuer is refused. Pure.
//! Must not know: how a refusal is sent.

/// Why a token is not accepted, or its issuer cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It is not a signed token in three parts, or too long.
    #[error("it is not a signed JWT of at most 8 KiB")]
    Malformed,
    /// It is signed by none of the asymmetric algorithms, or by one that its key is not for.
    #[error("its algorithm is not accepted; asymmetric ones are")]
    Algorithm,
    /// It is of a kind that is not for this use.
    #[error("its `typ` is that of another kind of token")]
    Type,
    /// The issuer has no such key.
    #[error("its issuer has no such key")]
    UnknownKey,
    /// The signature is not the key's.
    #[error("its signature is wrong")]
    Signature,
    /// It is from an issuer that is not configured here.
    #[error("its issuer is not known here")]
    Issuer,
    /// It is for somebody else.
    #[error("it is for another audience")]
    Audience,
    /// It has ended.
    #[error("it has expired")]
    Expired,
    /// It begins later.
    #[error("it is not valid yet")]
    NotYet,
    /// A claim is absent that every token must have, or is of another form.
    #[error("its claims `iss`, `sub`, `aud` and `exp` are not as they must be")]
    Claims,
    /// It answers another attempt to sign in.
    #[error("its nonce is that of another attempt")]
    Nonce,
    /// No rule admits its bearer.
    #[error("it is valid, and no rule admits it")]
    NotAdmitted,
    /// The issuer refused the code.
    #[error("the issuer did not accept the code")]
    Code,
    /// The issuer did not answer as it must.
    #[error("the issuer cannot be asked now")]
    Unavailable,
}

impl Flaw {
    /// The stable code.
    #[must_use]
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
