//! An issuer of tokens, as an identity provider is one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;

pub(super) const ISSUER: &str = "https://login.example";
pub(super) const AUDIENCE: &str = "perennial";
const HOUR: i64 = 3_600;

/// Signs tokens with a key that a file publishes.
pub(super) struct Issuer {
    key: Ed25519KeyPair,
    pub(super) keys_file: PathBuf,
}

impl Issuer {
    pub(super) fn new(folder: &Path) -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
        let public = URL_SAFE_NO_PAD.encode(key.public_key());
        let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": public });
        let keys_file = folder.join("keys.json");
        fs::write(&keys_file, json!({ "keys": [jwk] }).to_string()).unwrap();
        Self { key, keys_file }
    }

    /// A valid token.
    pub(super) fn token(&self, permissions: &[&str]) -> String {
        self.token_for(permissions, AUDIENCE, HOUR)
    }

    /// A token that expires in some seconds.
    pub(super) fn token_for(
        &self,
        permissions: &[&str],
        audience: &str,
        expires_in: i64,
    ) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let claims = json!({
            "iss": ISSUER, "aud": audience, "sub": "alice", "exp": now + expires_in,
            "permissions": permissions,
        });
        let header = json!({ "alg": "EdDSA", "typ": "JWT", "kid": "one" });
        let part = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}
