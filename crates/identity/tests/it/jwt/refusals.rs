//! Tokens that are accepted, and every way to be refused.

use perennial_identity::jwt::{InvalidToken, Jwks, JwksSource, JwtConfig, UnverifiedToken};
use perennial_identity::{Credential, Ended, Role};
use ring::hmac;
use serde_json::json;

use super::signer::{encode, key_set, unsigned};
use super::*;

async fn refusal(verifier: &Verifier, token: &str) -> InvalidToken {
    match verifier.verify(token, after(1)).await {
        Err(TokenError::Invalid(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn tokens_of_every_algorithm_prove_their_subject() {
    let signers = [Signer::rsa("r"), Signer::p256("p"), Signer::ed25519("e")];
    let (verifier, _server) = verifier(&[&signers[0], &signers[1], &signers[2]]).await;
    for signer in &signers {
        let token = signer.token(&claims());
        let principal = verifier.verify(&token, after(1)).await.unwrap();
        assert_eq!(principal.credential, Credential::Token);
        assert_eq!(principal.to_string(), "jwt:https://id.example#ann");
        assert!(principal.grants.in_namespace("shop").contains(Role::Write));
        assert!(principal.grants.on_server().is_empty());
        assert_eq!(principal.valid_until, Some(after(172_800)));
    }
}

#[test]
fn examples_of_the_standards_are_verified() {
    let verifies = |token: &str, key: &str| {
        let keys = Jwks::parse(format!(r#"{{"keys": [{key}]}}"#).as_bytes()).unwrap().keys;
        UnverifiedToken::parse(token).unwrap().is_signed_by(&keys[0])
    };
    // RFC 7515, appendix A.3. Its claims end with lines, which a signature covers too.
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    let key = r#"{"kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;
    assert!(verifies(token, key));
    let other = token.replace("eyJpc3MiOiJqb2Ui", "eyJpc3MiOiJqb2Yi");
    assert!(!verifies(&other, key));
    // RFC 7515, appendix A.2.
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let key = Signer::rsa("r").jwk().to_string();
    assert!(verifies(token, &key));
    assert!(!verifies(&token.replace("eyJpc3MiOiJqb2Ui", "eyJpc3MiOiJqb2Yi"), &key));
}

#[tokio::test]
async fn tokens_without_an_asymmetric_signature_are_refused() {
    let signer = Signer::rsa("r");
    let (verifier, _server) = verifier(&[&signer]).await;
    for name in ["none", "None", "", "HS256", "RS384", "PS256", "ES384"] {
        let token = signer.token_with(&json!({"alg": name, "kid": "r"}), &claims());
        assert_eq!(refusal(&verifier, &token).await, InvalidToken::Algorithm, "{name}");
    }
    let none = format!("{}.", unsigned(&json!({"alg": "none"}), &claims()));
    assert_eq!(refusal(&verifier, &none).await, InvalidToken::Algorithm);
    // With a public key as the secret, as one attack does.
    for secret in [signer.jwk()["n"].as_str().unwrap().to_owned(), key_set(&[&signer])] {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        for name in ["HS256", "RS256"] {
            let signed = unsigned(&json!({"alg": name, "kid": "r"}), &claims());
            let token = format!("{signed}.{}", encode(hmac::sign(&secret, signed.as_bytes())));
            let why = refusal(&verifier, &token).await;
            assert!(matches!(why, InvalidToken::Algorithm | InvalidToken::Signature), "{why}");
        }
    }
}

#[tokio::test]
async fn key_of_another_type_than_the_algorithm_is_never_tried() {
    let (rsa, p256) = (Signer::rsa("k"), Signer::p256("k"));
    let (verifier, _server) = verifier(&[&rsa]).await;
    let token = p256.token(&claims());
    assert_eq!(refusal(&verifier, &token).await, InvalidToken::UnknownKey);
}

#[tokio::test]
async fn keys_in_the_header_are_ignored() {
    let (signer, attacker) = (Signer::p256("k"), Signer::p256("k"));
    let (verifier, server) = verifier(&[&signer]).await;
    for (name, value) in [
        ("jwk", attacker.jwk()),
        ("jku", json!("http://127.0.0.1:1/keys")),
        ("x5u", json!("http://127.0.0.1:1/keys")),
        ("x5c", json!(["MIIB"])),
    ] {
        let header = json!({"alg": "ES256", "kid": "k", (name): value});
        let token = attacker.token_with(&header, &claims());
        assert_eq!(refusal(&verifier, &token).await, InvalidToken::Signature, "{name}");
        assert!(verifier.verify(&signer.token_with(&header, &claims()), after(1)).await.is_ok());
    }
    let critical = json!({"alg": "ES256", "kid": "k", "crit": ["b64"], "b64": false});
    let why = refusal(&verifier, &signer.token_with(&critical, &claims())).await;
    assert!(matches!(why, InvalidToken::Malformed(_)));
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn claims_are_checked() {
    let signer = Signer::ed25519("k");
    let (verifier, _server) = verifier(&[&signer]).await;
    let cases = [
        (with("iss", "https://other.example"), InvalidToken::Issuer),
        (without("iss"), InvalidToken::Claim("iss")),
        (with("aud", "other"), InvalidToken::Audience),
        (without("aud"), InvalidToken::Claim("aud")),
        (with("exp", 1_800_000_000), InvalidToken::Expired),
        (without("exp"), InvalidToken::Claim("exp")),
        (with("nbf", 1_800_000_062), InvalidToken::NotYetValid),
        (with("iat", 1_800_000_062), InvalidToken::NotYetValid),
        (without("sub"), InvalidToken::Claim("sub")),
    ];
    for (claims, expected) in cases {
        assert_eq!(refusal(&verifier, &signer.token(&claims)).await, expected, "{claims}");
    }
    // Clocks may differ by the leeway.
    assert!(verifier.verify(&signer.token(&with("nbf", 1_800_000_061)), after(1)).await.is_ok());
}

#[tokio::test]
async fn keys_belong_to_their_issuer() {
    let (own, other) = (Signer::ed25519("k"), Signer::ed25519("k"));
    let servers =
        [KeyServer::start(&key_set(&[&own])).await, KeyServer::start(&key_set(&[&other])).await];
    let mut second = issuer_at(&servers[1]);
    second.issuer = "https://second.example".to_owned();
    let verifier = verifier_of(vec![issuer_at(&servers[0]), second]).await;
    assert_eq!(refusal(&verifier, &other.token(&claims())).await, InvalidToken::Signature);
    let claims = with("iss", "https://second.example");
    let principal = verifier.verify(&other.token(&claims), after(1)).await.unwrap();
    assert_eq!(principal.name, "https://second.example#ann");
    assert_eq!(refusal(&verifier, &own.token(&claims)).await, InvalidToken::Signature);
}

#[tokio::test]
async fn damaged_tokens_are_refused() {
    let signer = Signer::ed25519("k");
    let (verifier, server) = verifier(&[&signer]).await;
    let token = signer.token(&claims());
    for end in 0..token.len() {
        refusal(&verifier, &token[..end]).await;
    }
    for garbage in ["", ".", "..", "...", "a.b.c", "e30.e30.e30", "é.é.é", "{}.{}.{}"] {
        let why = refusal(&verifier, garbage).await;
        assert!(matches!(why, InvalidToken::Malformed(_)), "{garbage}: {why}");
    }
    assert!(matches!(refusal(&verifier, &format!("{token}=")).await, InvalidToken::Malformed(_)));
    assert!(matches!(refusal(&verifier, &format!("{token}.x")).await, InvalidToken::Malformed(_)));
    let huge = signer.token(&with("more", "x".repeat(16 * 1024)));
    assert_eq!(refusal(&verifier, &huge).await, InvalidToken::TooLong);
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn token_without_key_id_is_verified_by_any_key_of_its_type() {
    let signers = [Signer::ed25519("a"), Signer::p256("b"), Signer::ed25519("c")];
    let (verifier, _server) = verifier(&[&signers[0], &signers[1], &signers[2]]).await;
    let token = signers[2].token_with(&json!({"alg": "EdDSA"}), &claims());
    assert!(verifier.verify(&token, after(1)).await.is_ok());
    let foreign = Signer::ed25519("d").token_with(&json!({"alg": "EdDSA"}), &claims());
    assert_eq!(refusal(&verifier, &foreign).await, InvalidToken::UnknownKey);
}

#[tokio::test]
async fn verified_token_is_remembered_until_it_expires() {
    let signer = Signer::ed25519("k");
    let (verifier, _server) = verifier(&[&signer]).await;
    let token = signer.token(&with("exp", 1_800_000_100));
    assert!(verifier.cached(&token, after(1)).is_none());
    let principal = verifier.verify(&token, after(1)).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&principal, &verifier.cached(&token, after(99)).unwrap()));
    assert!(verifier.cached(&token, after(100)).is_none());
    assert_eq!(principal.ended(after(100)), Some(Ended::Expired));
    let refused = verifier.verify(&token, after(100)).await.unwrap_err();
    assert_eq!(refused, TokenError::Invalid(InvalidToken::Expired));
}

#[tokio::test]
async fn claim_and_pattern_are_configured() {
    let signer = Signer::ed25519("k");
    let server = KeyServer::start(&key_set(&[&signer])).await;
    let mut issuer = issuer_at(&server);
    issuer.permissions_claim = "realm_access.roles".to_owned();
    issuer.permission_pattern = Some("perennial-(?P<namespace>.+)-(?P<role>[a-z]+)".to_owned());
    let verifier = verifier_of(vec![issuer]).await;
    let roles = json!({"roles": ["offline_access", "perennial-my-shop-worker"]});
    let token = signer.token(&with("realm_access", roles));
    let principal = verifier.verify(&token, after(1)).await.unwrap();
    assert!(principal.grants.in_namespace("my-shop").contains(Role::Worker));
    assert!(principal.grants.in_namespace("shop").is_empty());
}

#[tokio::test]
async fn configuration_that_weakens_checks_is_refused() {
    let open = async |issuer: IssuerConfig| {
        let config = JwtConfig { issuers: vec![issuer] };
        Verifier::open(config, start()).await.unwrap_err().to_string()
    };
    let url = |url: &str| JwksSource::Url { url: url.to_owned(), ca_file: None };
    let plain = IssuerConfig::new(ISSUER, ["x"], url("http://id.example/keys"));
    assert!(open(plain).await.contains("use https"));
    let nowhere = JwksSource::File("no/such/file.json".into());
    assert!(open(IssuerConfig::new(ISSUER, ["x"], nowhere)).await.contains("no/such/file.json"));
    let no_audience = IssuerConfig::new(ISSUER, Vec::<String>::new(), url("https://id.example"));
    assert!(open(no_audience).await.contains("has no audience"));
    let mut pattern = IssuerConfig::new(ISSUER, ["x"], url("https://id.example"));
    pattern.permission_pattern = Some("(?P<role>.*)".to_owned());
    assert!(open(pattern).await.contains("namespace"));
}
