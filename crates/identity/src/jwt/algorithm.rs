//! Algorithms of signatures, and the public keys that verify them.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

/// A signature algorithm that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// RSA (PKCS #1 v1.5) with SHA-256.
    Rs256,
    /// ECDSA on the curve P-256 with SHA-256.
    Es256,
    /// EdDSA on the curve Ed25519.
    EdDsa,
}

impl Algorithm {
    /// The algorithm with this name in a token's header or in a JWK.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            // RFC 9864 gives EdDSA on this curve a name of its own.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key, of a type and size that is accepted. Compared by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PublicKey {
    /// Modulus and exponent, big-endian without leading zeros.
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    /// A point on P-256, uncompressed: `0x04`, x, y.
    P256([u8; 65]),
    /// A point on Ed25519, compressed.
    Ed25519([u8; 32]),
}

impl PublicKey {
    /// The only algorithm whose signatures this key verifies.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self {
            Self::Rsa { .. } => Algorithm::Rs256,
            Self::P256(_) => Algorithm::Es256,
            Self::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether this key has made the signature.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
        }
        .is_ok()
    }
}
