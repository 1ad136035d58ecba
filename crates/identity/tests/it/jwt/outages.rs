//! Identity providers that are down, or answer nonsense.

use perennial_identity::jwt::InvalidToken;

use super::key_server::answer;
use super::signer::key_set;
use super::*;

const DAY: u64 = 24 * 60 * 60;

#[tokio::test]
async fn keys_are_trusted_for_a_day_without_their_issuer() {
    let signer = Signer::ed25519("k");
    let (verifier, server) = verifier(&[&signer]).await;
    let first = signer.token(&claims());
    verifier.verify(&first, after(1)).await.unwrap();
    drop(server);
    verifier.refresh(after(600)).await;
    verifier.verify(&signer.token(&with("sub", "bob")), after(DAY)).await.unwrap();
    assert!(verifier.cached(&first, after(DAY)).is_some());
    assert!(verifier.cached(&first, after(DAY + 1)).is_none());
    assert_eq!(verifier.verify(&first, after(DAY + 1)).await.unwrap_err(), unavailable());
    // What is wrong by itself needs no key.
    let expired = signer.token(&with("exp", 1_800_000_000));
    let refused = verifier.verify(&expired, after(DAY + 1)).await.unwrap_err();
    assert_eq!(refused, TokenError::Invalid(InvalidToken::Expired));
}

#[tokio::test]
async fn tokens_are_accepted_again_after_a_long_outage() {
    let signer = Signer::ed25519("k");
    let (verifier, server) = verifier(&[&signer]).await;
    let token = signer.token(&claims());
    let principal = verifier.verify(&token, after(1)).await.unwrap();
    server.answer_with(answer("503 Service Unavailable", ""));
    assert_eq!(verifier.verify(&token, after(DAY + 1)).await.unwrap_err(), unavailable());
    server.publish(&key_set(&[&signer]));
    // The last load is too fresh for another one.
    assert_eq!(verifier.verify(&token, after(DAY + 2)).await.unwrap_err(), unavailable());
    verifier.verify(&token, after(DAY + 31)).await.unwrap();
    assert_eq!(principal.ended(after(DAY + 31)), None);
}

#[tokio::test]
async fn verifier_opens_while_the_issuer_is_down() {
    let signer = Signer::ed25519("k");
    let server = KeyServer::start("").await;
    server.answer_with(answer("500 Internal Server Error", ""));
    let verifier = verifier_of(vec![issuer_at(&server)]).await;
    let token = signer.token(&claims());
    assert_eq!(verifier.verify(&token, after(1)).await.unwrap_err(), unavailable());
    server.publish(&key_set(&[&signer]));
    verifier.verify(&token, after(31)).await.unwrap();
}

#[tokio::test]
async fn issuers_are_shown_with_the_age_and_the_trouble_of_their_keys() {
    let (verifier, server) = verifier(&[&Signer::ed25519("k")]).await;
    verifier.refresh(after(1)).await;
    let [issuer] = verifier.issuers().try_into().unwrap();
    assert_eq!((issuer.loaded_at, issuer.problem), (Some(after(1)), None));
    server.answer_with(answer("503 Service Unavailable", ""));
    verifier.refresh(after(600)).await;
    let [issuer] = verifier.issuers().try_into().unwrap();
    assert_eq!(issuer.loaded_at, Some(after(1)));
    assert!(issuer.problem.is_some_and(|problem| problem.contains("503")));
}

#[tokio::test]
async fn answers_that_are_no_key_set_keep_the_old_keys() {
    let (signer, unknown) = (Signer::ed25519("k"), Signer::ed25519("unknown"));
    let (verifier, server) = verifier(&[&signer]).await;
    let principal = verifier.verify(&signer.token(&claims()), after(1)).await.unwrap();
    let keys = key_set(&[&signer]);
    let large = format!("{}{keys}", " ".repeat(1 << 20));
    let answers = [
        answer("200 OK", ""),
        answer("200 OK", "<html>Sign in</html>"),
        answer("200 OK", r#"{"keys": "none"}"#),
        answer("200 OK", &large),
        answer("404 Not Found", &keys),
        answer("302 Found\r\nlocation: http://127.0.0.1:1/", &keys),
        format!("HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n{keys}"),
        "not HTTP\r\n\r\n".to_owned(),
        String::new(),
    ];
    for (second, answer) in (100..).step_by(100).zip(answers) {
        server.answer_with(answer.clone());
        verifier.refresh(after(second)).await;
        assert_eq!(principal.ended(after(second)), None, "{answer:.40}");
        let other = signer.token(&with("sub", format!("user-{second}")));
        verifier.verify(&other, after(second)).await.unwrap();
        // Nobody knows whether the issuer has that key by now.
        let refused = verifier.verify(&unknown.token(&claims()), after(second)).await;
        assert_eq!(refused.unwrap_err(), unavailable(), "{answer:.40}");
    }
}
