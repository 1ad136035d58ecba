//! Tokens and the keys of their issuers.

mod https;
mod key_server;
mod outages;
mod refusals;
mod rotation;
mod signer;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use perennial_identity::jwt::{IssuerConfig, JwksSource, JwtConfig, TokenError, Verifier};
use serde_json::{Value, json};

use key_server::KeyServer;
use signer::Signer;

/// The issuer of most tests.
const ISSUER: &str = "https://id.example";

/// A time that files and servers were loaded at.
fn start() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A moment some seconds after [`start`].
fn after(seconds: u64) -> SystemTime {
    start() + Duration::from_secs(seconds)
}

/// Claims of a token that is valid for two days.
fn claims() -> Value {
    json!({
        "iss": ISSUER,
        "sub": "ann",
        "aud": "perennial",
        "iat": 1_800_000_000,
        "exp": 1_800_172_800,
        "permissions": ["shop:write"],
    })
}

/// The claims, with one of them replaced.
fn with(name: &str, value: impl Into<Value>) -> Value {
    let mut claims = claims();
    claims[name] = value.into();
    claims
}

/// The claims, without one of them.
fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn issuer_at(server: &KeyServer) -> IssuerConfig {
    IssuerConfig::new(ISSUER, ["perennial"], JwksSource::Url { url: server.url(), ca_file: None })
}

async fn verifier_of(issuers: Vec<IssuerConfig>) -> Verifier {
    Verifier::open(JwtConfig { issuers }, start()).await.unwrap()
}

/// A verifier of one issuer, which publishes the keys of `signers`.
async fn verifier(signers: &[&Signer]) -> (Verifier, KeyServer) {
    let server = KeyServer::start(&signer::key_set(signers)).await;
    (verifier_of(vec![issuer_at(&server)]).await, server)
}

fn unavailable() -> TokenError {
    TokenError::KeysUnavailable { issuer: ISSUER.to_owned() }
}
