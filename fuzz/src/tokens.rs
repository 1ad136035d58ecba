//! Tokens of identity providers, and the key sets that verify them.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use perennial_identity::jwt::{Jwks, PermissionRules, UnverifiedToken};

/// Keys of every accepted type. Nobody fuzzes a signature of theirs.
static KEYS: LazyLock<Jwks> = LazyLock::new(|| {
    let keys = Jwks::parse(include_bytes!("../corpus/key_set/every_type"));
    keys.expect("the key set is valid")
});

static RULES: LazyLock<[PermissionRules; 2]> = LazyLock::new(|| {
    let rules = |claim, pattern| PermissionRules::new(claim, pattern).expect("the rules are valid");
    let pattern = r"perennial-(?P<namespace>.*)-(?P<role>\w+)";
    [rules("permissions", None), rules("realm_access.roles", Some(pattern))]
});

/// Tokens: whole ones, and headers and claims as JSON, with a newline between.
pub fn token(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    attack(text);
    if let Some((header, claims)) = text.split_once('\n') {
        let encode = |part: &str| URL_SAFE_NO_PAD.encode(part);
        attack(&format!("{}.{}.{}", encode(header), encode(claims), encode("signature")));
    }
}

fn attack(text: &str) {
    let token = match UnverifiedToken::parse(text) {
        Ok(token) => token,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(!KEYS.keys.iter().any(|key| token.is_signed_by(key)), "{text}");
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    match token.check_claims(&["perennial".to_owned()], Duration::from_secs(60), now) {
        Ok(claims) => {
            assert!(claims.expires_at > now);
            assert!(claims.expires_at.duration_since(SystemTime::UNIX_EPOCH).is_ok());
            assert!(!claims.subject.chars().any(char::is_control));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    for rules in RULES.iter() {
        let grants = token.permissions(rules);
        // The attack's text has to name a role for a right.
        let names_role = ["read", "worker", "write", "admin"].iter().any(|role| {
            let text = text.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
            let text = text.map(|text| String::from_utf8_lossy(&text).to_lowercase());
            // JSON may write any letter as an escape.
            text.is_some_and(|text| text.contains(role) || text.contains("\\u"))
        });
        assert!(grants.is_empty() || names_role, "{grants:?}");
    }
}

/// Key sets.
pub fn key_set(data: &[u8]) {
    // Signed by nobody.
    let token = "eyJhbGciOiJSUzI1NiJ9.e30.AAAA";
    let token = UnverifiedToken::parse(token).expect("the token is well-formed");
    match Jwks::parse(data) {
        Ok(set) => {
            assert!(set.keys.len() + set.unusable.len() <= 64);
            assert!(!set.keys.iter().any(|key| token.is_signed_by(key)));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
