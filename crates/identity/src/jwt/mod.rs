//! Signed tokens of identity providers: JSON Web Tokens, verified with the keys (JWKS) that their issuer publishes.
//!
//! A token's issuer decides which keys may have signed it, and a key's own type decides which algorithm it verifies:
//! RS256, ES256 or EdDSA. Symmetric algorithms don't exist here, so a public key can never pass for a shared secret.
//!
//! Start reading at [`Verifier`].

mod algorithm;
mod cache;
mod claims;
mod config;
mod error;
mod issuer;
mod issuer_keys;
mod jwks;
mod permissions;
mod source;
mod token;
mod verifier;

pub use claims::Claims;
pub use config::{InvalidJwtConfig, IssuerConfig, JwksSource, JwtConfig};
pub use error::{InvalidToken, TokenError};
pub use issuer_keys::IssuerStatus;
pub use jwks::{InvalidJwks, Jwk, Jwks};
pub use permissions::{InvalidPattern, PermissionRules};
pub use token::{MAX_TOKEN_BYTES, UnverifiedToken};
pub use verifier::Verifier;
