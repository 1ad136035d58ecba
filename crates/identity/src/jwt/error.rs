//! Why a token is refused.

use super::token::MAX_TOKEN_BYTES;

/// Why a token couldn't be verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token proves nothing. Another attempt with the same token fails too.
    #[error("the token is refused: {0}")]
    Invalid(#[from] InvalidToken),
    /// The issuer's keys could not be loaded, so nobody can tell. Another attempt may succeed.
    #[error("the keys of the token's issuer, {issuer}, are not available; try again later")]
    KeysUnavailable {
        /// The issuer, as configured.
        issuer: String,
    },
}

/// What is wrong with a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToken {
    /// It is longer than [`MAX_TOKEN_BYTES`].
    #[error("it is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// It isn't a JSON Web Token in compact form.
    #[error("it is no JSON Web Token: {0}")]
    Malformed(&'static str),
    /// Its header names another algorithm than the accepted ones.
    #[error("its signature algorithm is not accepted; use RS256, ES256 or EdDSA")]
    Algorithm,
    /// A claim is missing, or has a value of the wrong type.
    #[error("its claim `{0}` is missing or not valid")]
    Claim(&'static str),
    /// Its issuer isn't configured.
    #[error("this server does not trust its issuer")]
    Issuer,
    /// It was made for somebody else.
    #[error("it is meant for another audience")]
    Audience,
    /// Its time is over.
    #[error("it has expired")]
    Expired,
    /// Its `nbf` or `iat` lies in the future, by more than the leeway.
    #[error("it is not valid yet; check the clocks of the issuer and of this server")]
    NotYetValid,
    /// None of its issuer's keys has the id in its header, and a type that fits the algorithm.
    #[error("its issuer has no such key")]
    UnknownKey,
    /// The key didn't make the signature.
    #[error("its signature is wrong")]
    Signature,
}
