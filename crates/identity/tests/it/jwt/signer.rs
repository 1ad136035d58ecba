//! Identity providers that sign tokens.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
};
use serde_json::{Value, json};

/// A key pair with its id.
pub(crate) struct Signer {
    pub(crate) id: &'static str,
    pair: Pair,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(Box<rsa::KeyPair>),
}

impl Signer {
    pub(crate) fn ed25519(id: &'static str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { id, pair: Pair::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()) }
    }

    pub(crate) fn p256(id: &'static str) -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        Self { id, pair: Pair::P256(pair) }
    }

    /// The key of RFC 7515, appendix A.2.
    pub(crate) fn rsa(id: &'static str) -> Self {
        let key: Value = serde_json::from_str(include_str!("rfc7515_a2.json")).unwrap();
        let number = |name: &str| decode(key[name].as_str().unwrap());
        let components = rsa::KeyPairComponents {
            public_key: rsa::PublicKeyComponents { n: number("n"), e: number("e") },
            d: number("d"),
            p: number("p"),
            q: number("q"),
            dP: number("dp"),
            dQ: number("dq"),
            qInv: number("qi"),
        };
        Self { id, pair: Pair::Rsa(Box::new(rsa::KeyPair::from_components(&components).unwrap())) }
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Ed25519(_) => "EdDSA",
            Pair::P256(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        }
    }

    /// The public key, as in a key set.
    pub(crate) fn jwk(&self) -> Value {
        match &self.pair {
            Pair::Ed25519(pair) => json!({
                "kty": "OKP", "crv": "Ed25519", "kid": self.id, "use": "sig", "alg": "EdDSA",
                "x": encode(pair.public_key()),
            }),
            Pair::P256(pair) => json!({
                "kty": "EC", "crv": "P-256", "kid": self.id, "use": "sig",
                "x": encode(&pair.public_key().as_ref()[1..33]),
                "y": encode(&pair.public_key().as_ref()[33..]),
            }),
            Pair::Rsa(pair) => {
                let public: rsa::PublicKeyComponents<Vec<u8>> = pair.public().into();
                json!({
                    "kty": "RSA", "kid": self.id, "alg": "RS256", "key_ops": ["verify"],
                    "n": encode(public.n), "e": encode(public.e),
                })
            }
        }
    }

    /// A token with a header as usual.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.token_with(&json!({"typ": "JWT", "alg": self.algorithm(), "kid": self.id}), claims)
    }

    /// A token with any header, signed with this key.
    pub(crate) fn token_with(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = self.sign(signed.as_bytes());
        format!("{signed}.{}", encode(signature))
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Pair::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }
}

/// The key set of some signers.
pub(crate) fn key_set(signers: &[&Signer]) -> String {
    json!({"keys": signers.iter().map(|signer| signer.jwk()).collect::<Vec<_>>()}).to_string()
}

/// What a signature covers.
pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    format!("{}.{}", encode(header.to_string()), encode(claims.to_string()))
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}
