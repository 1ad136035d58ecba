//! JSON Web Key Sets: the public keys of an issuer.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::{Algorithm, PublicKey};

/// The most keys that a set may have. It bounds the work for a token that names no key.
const MAX_KEYS: usize = 64;
/// The longest id of a key, in bytes. It is part of log lines.
const MAX_ID_BYTES: usize = 512;
/// The shortest RSA modulus that is accepted.
const MIN_RSA_BITS: usize = 2048;
/// The longest RSA modulus that is accepted.
const MAX_RSA_BITS: usize = 8192;

/// The keys of a set that can verify tokens.
///
/// ```
/// use perennial_identity::jwt::Jwks;
///
/// let set = r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "2026",
///                         "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
/// assert_eq!(Jwks::parse(set.as_bytes()).unwrap().keys.len(), 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Jwks {
    /// The usable keys.
    pub keys: Vec<Jwk>,
    /// Why other keys of the set can't be used. RFC 7517 demands that they don't spoil the rest.
    pub unusable: Vec<String>,
}

/// A public key that can verify tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwk {
    /// Its id, which tokens name in their header as `kid`.
    pub id: Option<String>,
    pub(super) public: PublicKey,
}

/// The text isn't a key set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJwks {
    /// It isn't a JSON object with a list `keys`.
    #[error("it is no JSON Web Key Set, a JSON object with a list `keys`: {0}")]
    Malformed(String),
    /// It has too many keys.
    #[error("it has {0} keys, more than {MAX_KEYS}")]
    TooManyKeys(usize),
}

#[derive(Deserialize)]
struct RawSet {
    keys: Vec<Value>,
}

/// The members of a JWK that have a meaning here.
#[derive(Deserialize)]
struct RawKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    d: Option<String>,
}

impl Jwks {
    /// Reads a key set.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidJwks> {
        let set: RawSet = serde_json::from_slice(text)
            .map_err(|error| InvalidJwks::Malformed(bounded(&error)))?;
        if set.keys.len() > MAX_KEYS {
            return Err(InvalidJwks::TooManyKeys(set.keys.len()));
        }
        let mut jwks = Self::default();
        for (index, key) in set.keys.into_iter().enumerate() {
            match usable_key(key) {
                Ok(key) => jwks.keys.push(key),
                Err(why) => jwks.unusable.push(format!("keys[{index}]: {why}")),
            }
        }
        Ok(jwks)
    }
}

fn usable_key(key: Value) -> Result<Jwk, String> {
    let key: RawKey = serde_json::from_value(key).map_err(|error| bounded(&error))?;
    if key.kid.as_ref().is_some_and(|id| id.len() > MAX_ID_BYTES) {
        return Err(format!("its `kid` is longer than {MAX_ID_BYTES} bytes"));
    }
    if key.d.is_some() {
        return Err("it is a private key, so anyone who reads the set can sign; replace it".into());
    }
    if key.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
        return Err("its `use` is not `sig`".into());
    }
    if key.key_ops.as_ref().is_some_and(|ops| !ops.iter().any(|op| op == "verify")) {
        return Err("its `key_ops` do not include `verify`".into());
    }
    let public = match (key.kty.as_str(), key.crv.as_deref()) {
        ("RSA", _) => rsa_key(&key)?,
        ("EC", Some("P-256")) => {
            let mut point = [4; 65];
            point[1..33].copy_from_slice(&coordinate(key.x.as_deref(), "x")?);
            point[33..].copy_from_slice(&coordinate(key.y.as_deref(), "y")?);
            PublicKey::P256(point)
        }
        ("OKP", Some("Ed25519")) => PublicKey::Ed25519(coordinate(key.x.as_deref(), "x")?),
        _ => return Err("its type is not RSA, EC with P-256, or OKP with Ed25519".into()),
    };
    if key.alg.is_some_and(|name| Algorithm::from_name(&name) != Some(public.algorithm())) {
        return Err("its `alg` is not RS256, ES256 or EdDSA, as fits its type".into());
    }
    Ok(Jwk { id: key.kid, public })
}

/// The start of an error's text: it may quote the whole set.
fn bounded(error: &serde_json::Error) -> String {
    error.to_string().chars().take(200).collect()
}

fn rsa_key(key: &RawKey) -> Result<PublicKey, String> {
    let modulus = number(key.n.as_deref(), "n")?;
    let bits = modulus.len() * 8 - modulus.first().map_or(0, |byte| byte.leading_zeros() as usize);
    if !(MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) {
        return Err(format!("its modulus has {bits} bits, not {MIN_RSA_BITS} to {MAX_RSA_BITS}"));
    }
    let exponent = number(key.e.as_deref(), "e")?;
    let is_odd = exponent.last().is_some_and(|byte| byte % 2 == 1);
    if !is_odd || exponent == [1] || exponent.len() > 4 {
        return Err("its exponent `e` is not an odd number from 3 to 2^32".into());
    }
    Ok(PublicKey::Rsa { modulus, exponent })
}

/// A big-endian number without its leading zeros.
fn number(text: Option<&str>, member: &str) -> Result<Vec<u8>, String> {
    let bytes = decode(text, member)?;
    Ok(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
}

fn coordinate(text: Option<&str>, member: &str) -> Result<[u8; 32], String> {
    decode(text, member)?.try_into().map_err(|_| format!("`{member}` has not 32 bytes"))
}

fn decode(text: Option<&str>, member: &str) -> Result<Vec<u8>, String> {
    let text = text.ok_or_else(|| format!("`{member}` is missing"))?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("`{member}` is not base64url without padding"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unusable(key: &str) -> String {
        let set = Jwks::parse(format!(r#"{{"keys": [{key}]}}"#).as_bytes()).unwrap();
        assert!(set.keys.is_empty(), "{key}");
        set.unusable.into_iter().next().unwrap()
    }

    #[test]
    fn unusable_keys_are_named_and_do_not_spoil_the_set() {
        let good = r#"{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let set = format!(r#"{{"keys": [7, {{"kty": "oct", "k": "c2VjcmV0"}}, {good}]}}"#);
        let set = Jwks::parse(set.as_bytes()).unwrap();
        assert_eq!(set.keys.len(), 1);
        assert_eq!(set.unusable.len(), 2);
        assert!(set.unusable[1].starts_with("keys[1]: its type is not RSA"), "{:?}", set.unusable);
    }

    #[test]
    fn keys_for_another_purpose_are_unusable() {
        let with = |member: &str| {
            unusable(&format!(
                r#"{{"kty": "OKP", "crv": "Ed25519", {member},
                   "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}"#
            ))
        };
        assert!(with(r#""use": "enc""#).contains("`use`"));
        assert!(with(r#""key_ops": ["sign"]"#).contains("`key_ops`"));
        assert!(with(r#""alg": "RS256""#).contains("`alg`"));
        assert!(with(r#""d": "c2VjcmV0""#).contains("private key"));
        assert!(with(&format!(r#""kid": "{}""#, "k".repeat(513))).contains("`kid`"));
    }

    #[test]
    fn short_and_long_rsa_keys_are_unusable() {
        for (bytes, bits) in [(128, 1024), (255, 2040), (1025, 8200)] {
            let modulus = URL_SAFE_NO_PAD.encode(vec![0xff; bytes]);
            let why = unusable(&format!(r#"{{"kty": "RSA", "n": "{modulus}", "e": "AQAB"}}"#));
            assert!(why.contains(&format!("has {bits} bits")), "{why}");
        }
        let modulus = URL_SAFE_NO_PAD.encode([0xff; 256]);
        for exponent in ["", "AQ", "Ag", "AQAAAAE"] {
            let why =
                unusable(&format!(r#"{{"kty": "RSA", "n": "{modulus}", "e": "{exponent}"}}"#));
            assert!(why.contains("exponent"), "{why}");
        }
    }

    #[test]
    fn text_that_is_no_key_set_is_refused() {
        for bad in ["", "[]", "{}", r#"{"keys": {}}"#, "<html>"] {
            assert!(matches!(Jwks::parse(bad.as_bytes()), Err(InvalidJwks::Malformed(_))), "{bad}");
        }
        let long = Jwks::parse(format!(r#"{{"keys": "{}"}}"#, "x".repeat(10_000)).as_bytes());
        assert!(long.unwrap_err().to_string().len() < 400);
        let many = format!(r#"{{"keys": [{}]}}"#, vec!["0"; 65].join(","));
        assert_eq!(Jwks::parse(many.as_bytes()).unwrap_err(), InvalidJwks::TooManyKeys(65));
        assert!(Jwks::parse(br#"{"keys": []}"#).unwrap().keys.is_empty());
    }
}
