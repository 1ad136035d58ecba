//! Tokens in compact form: `header.claims.signature`, each part in base64url.

use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use super::claims::Claims;
use super::error::InvalidToken;
use super::jwks::Jwk;
use super::permissions::PermissionRules;
use crate::grants::Grants;

/// The longest token that is read, in bytes.
pub const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A token whose signature nobody has verified: its claims prove nothing.
///
/// Keys in the header (`jwk`, `jku`, `x5c`, `x5u`) are never used.
pub struct UnverifiedToken<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

/// The members of a header that have a meaning here.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

impl<'a> UnverifiedToken<'a> {
    /// Reads a token.
    pub fn parse(token: &'a str) -> Result<Self, InvalidToken> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(InvalidToken::TooLong);
        }
        let parts = "it has to have three parts with dots between";
        let (signed, signature) = token.rsplit_once('.').ok_or(InvalidToken::Malformed(parts))?;
        let (header, claims) = signed.split_once('.').ok_or(InvalidToken::Malformed(parts))?;
        let header: Header = object(header).ok_or(InvalidToken::Malformed(
            "its header is no JSON object with `alg`, in base64url without padding",
        ))?;
        let algorithm = Algorithm::from_name(&header.alg).ok_or(InvalidToken::Algorithm)?;
        // RFC 7515 demands that extensions which the reader doesn't know refuse the token, and none is known here.
        if header.crit.is_some() {
            return Err(InvalidToken::Malformed("its header demands an unknown extension"));
        }
        let claims = object(claims).ok_or(InvalidToken::Malformed(
            "its claims are no JSON object in base64url without padding",
        ))?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| {
            InvalidToken::Malformed("its signature is not base64url without padding")
        })?;
        Ok(Self { algorithm, key_id: header.kid, claims, signed, signature })
    }

    /// Whether a key has made the signature. A key of a type that doesn't fit the token's algorithm never has.
    pub fn is_signed_by(&self, key: &Jwk) -> bool {
        key.public.algorithm() == self.algorithm
            && key.public.verifies(self.signed.as_bytes(), &self.signature)
    }

    /// Reads and checks the claims that every token needs. They prove nothing as long as the signature isn't verified.
    pub fn check_claims(
        &self,
        audiences: &[String],
        leeway: Duration,
        now: SystemTime,
    ) -> Result<Claims<'_>, InvalidToken> {
        Claims::check(&self.claims, audiences, leeway, now)
    }

    /// The permissions among the claims. They prove nothing as long as the signature isn't verified.
    pub fn permissions(&self, rules: &PermissionRules) -> Grants {
        rules.grants(&self.claims)
    }

    /// Whether its header allows a key to be tried.
    pub(super) fn may_use(&self, key: &Jwk) -> bool {
        key.public.algorithm() == self.algorithm && (self.key_id.is_none() || self.key_id == key.id)
    }

    /// The issuer that it claims to be from.
    pub(super) fn issuer(&self) -> Result<&str, InvalidToken> {
        self.claims.get("iss").and_then(Value::as_str).ok_or(InvalidToken::Claim("iss"))
    }
}

impl fmt::Debug for UnverifiedToken<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever has the signature has the token, so logs don't get it.
        out.debug_struct("UnverifiedToken")
            .field("algorithm", &self.algorithm)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// Decodes one part: a JSON object in base64url.
fn object<T: for<'de> Deserialize<'de>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}
