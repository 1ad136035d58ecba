//! Keys that appear and disappear.

use std::fs;
use std::sync::Arc;

use perennial_identity::Ended;
use perennial_identity::jwt::{InvalidToken, JwksSource};
use tokio::task::JoinSet;

use super::signer::key_set;
use super::*;

#[tokio::test]
async fn tokens_of_a_new_key_share_one_load() {
    let (old, new) = (Signer::ed25519("old"), Signer::ed25519("new"));
    let (verifier, server) = verifier(&[&old]).await;
    let verifier = Arc::new(verifier);
    server.publish(&key_set(&[&old, &new]));
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let token = new.token(&with("sub", format!("user-{number}")));
        let verifier = Arc::clone(&verifier);
        calls.spawn(async move { verifier.verify(&token, after(1)).await });
    }
    while let Some(verified) = calls.join_next().await {
        verified.unwrap().unwrap();
    }
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn unknown_keys_cause_one_load_in_half_a_minute() {
    let (known, unknown) = (Signer::ed25519("known"), Signer::ed25519("unknown"));
    let (verifier, server) = verifier(&[&known]).await;
    let token = unknown.token(&claims());
    for (second, requests) in [(1, 2), (2, 2), (30, 2), (31, 3), (60, 3), (61, 4)] {
        let refused = verifier.verify(&token, after(second)).await.unwrap_err();
        assert_eq!(refused, TokenError::Invalid(InvalidToken::UnknownKey));
        assert_eq!(server.requests(), requests, "after {second} s");
    }
    // A clock that was set back.
    verifier.verify(&token, start()).await.unwrap_err();
    assert_eq!(server.requests(), 5);
}

#[tokio::test]
async fn caller_that_gives_up_leaves_the_load_to_others() {
    let (old, new) = (Signer::ed25519("old"), Signer::ed25519("new"));
    let (verifier, server) = verifier(&[&old]).await;
    server.publish(&key_set(&[&old, &new]));
    let token = new.token(&claims());
    {
        let mut call = std::pin::pin!(verifier.verify(&token, after(1)));
        tokio::select! {
            biased;
            _ = &mut call => panic!("the answer can't be there yet"),
            () = std::future::ready(()) => {}
        }
    }
    verifier.verify(&token, after(2)).await.unwrap();
    assert_eq!(server.requests(), 2);
}

#[tokio::test]
async fn removed_key_revokes_its_principals() {
    let (kept, removed) = (Signer::p256("kept"), Signer::p256("removed"));
    let (verifier, server) = verifier(&[&kept, &removed]).await;
    let tokens = [kept.token(&claims()), removed.token(&claims())];
    let keeps = verifier.verify(&tokens[0], after(1)).await.unwrap();
    let loses = verifier.verify(&tokens[1], after(1)).await.unwrap();
    let waiting = loses.wait_for_end();
    server.publish(&key_set(&[&kept]));
    verifier.refresh(after(2)).await;
    assert_eq!(waiting.await, Ended::Revoked);
    assert_eq!(loses.ended(after(2)), Some(Ended::Revoked));
    assert_eq!(keeps.ended(after(2)), None);
    assert!(verifier.cached(&tokens[0], after(2)).is_some());
    assert!(verifier.cached(&tokens[1], after(2)).is_none());
    let refused = verifier.verify(&tokens[1], after(2)).await.unwrap_err();
    assert_eq!(refused, TokenError::Invalid(InvalidToken::UnknownKey));
}

#[tokio::test]
async fn another_key_under_the_same_id_revokes_the_first() {
    let (first, second) = (Signer::p256("k"), Signer::p256("k"));
    let (verifier, server) = verifier(&[&first]).await;
    let principal = verifier.verify(&first.token(&claims()), after(1)).await.unwrap();
    server.publish(&key_set(&[&second]));
    verifier.refresh(after(2)).await;
    assert_eq!(principal.ended(after(2)), Some(Ended::Revoked));
    assert!(verifier.verify(&second.token(&claims()), after(2)).await.is_ok());
}

#[tokio::test]
async fn file_is_read_again() {
    let (first, second) = (Signer::rsa("first"), Signer::p256("second"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    fs::write(&path, key_set(&[&first])).unwrap();
    let issuer = IssuerConfig::new(ISSUER, ["perennial"], JwksSource::File(path.clone()));
    let verifier = verifier_of(vec![issuer]).await;
    let principal = verifier.verify(&first.token(&claims()), after(1)).await.unwrap();
    fs::write(&path, key_set(&[&second])).unwrap();
    verifier.verify(&second.token(&claims()), after(2)).await.unwrap();
    assert_eq!(principal.ended(after(2)), Some(Ended::Revoked));
}
