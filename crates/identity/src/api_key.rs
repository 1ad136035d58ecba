//! API keys: random texts that the server issues, and knows only by their hashes.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// How a key begins, so that people and scanners for leaked secrets know it.
const PREFIX: &str = "perennial_";
const RANDOM_BYTES: usize = 32;

/// An API key. Never shown by `Debug`.
///
/// ```
/// use perennial_identity::ApiKey;
///
/// let key = ApiKey::generate().unwrap();
/// assert!(key.reveal().starts_with("perennial_"));
/// assert_eq!(format!("{key:?}"), "ApiKey(…)");
/// assert_eq!(ApiKey::parse(key.reveal()).unwrap().hash(), key.hash());
/// ```
pub struct ApiKey(String);

/// The SHA-256 of a key. A key is 256 random bits, so nobody finds it from its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKeyHash(pub [u8; 32]);

impl ApiKey {
    /// A new key, from the system's random numbers.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut random = [0; RANDOM_BYTES];
        getrandom::fill(&mut random)?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random))))
    }

    /// The key in a text. `None` if the text can't be one, as a token of another kind.
    pub fn parse(text: &str) -> Option<Self> {
        let encoded = text.strip_prefix(PREFIX)?;
        let is_whole = URL_SAFE_NO_PAD.decode(encoded).is_ok_and(|it| it.len() == RANDOM_BYTES);
        is_whole.then(|| Self(text.to_owned()))
    }

    /// The key's text, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the server keeps of the key.
    pub fn hash(&self) -> ApiKeyHash {
        ApiKeyHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ApiKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_and_other_texts_are_none() {
        let (one, other) = (ApiKey::generate().unwrap(), ApiKey::generate().unwrap());
        assert_ne!(one.hash(), other.hash());
        let cut = &one.reveal()[..one.reveal().len() - 1];
        for text in ["", PREFIX, cut, "eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "perennial_é"] {
            assert!(ApiKey::parse(text).is_none(), "{text}");
        }
    }
}
