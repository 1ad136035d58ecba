//! The keys that tokens are authenticated with.
//!
//! A token consists of a body, the id of the signing key, and a tag over the body and the token's scope. The scope
//! isn't part of the token: the request that brings it back has it too.

use getrandom::fill;
use hmac::{Hmac, KeyInit, Mac};
use perennial_proto::encoded;
use perennial_proto::store::{TokenKey, TokenKeys};
use perennial_runtime::{Refusal, Runtime};
use prost::Message;
use sha2::Sha256;

/// Bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Bytes of the tag in a token: half of a SHA-256, which nobody guesses by trying requests.
const TAG_BYTES: usize = 16;
/// Bytes of the key's id in a token.
const ID_BYTES: usize = 4;

/// What a token is valid for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) purpose: Purpose,
    /// The key of the namespace; 0 without one.
    pub(crate) namespace: i64,
    /// The request that a page token continues.
    pub(crate) request: &'a [u8],
}

/// The purpose of a token. The numbers are part of each tag, so they are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub(crate) enum Purpose {
    Task = 1,
    History = 2,
    HistoryReverse = 3,
    Ledger = 4,
    ListWorkflows = 5,
    ListOpenWorkflows = 6,
    ListClosedWorkflows = 7,
    ListSchedules = 8,
    ListNativeSchedules = 9,
    ListBatches = 10,
    ListNamespaces = 11,
    BackfillOccurrences = 12,
}

/// The keys of a database: the newest signs, all are accepted. Made by [`Keys::open`] once per server.
pub(crate) struct Keys {
    signing: Key,
    earlier: Vec<Key>,
}

/// A key with its precomputed HMAC state.
struct Key {
    id: u32,
    mac: Hmac<Sha256>,
}

/// The token isn't signed with one of our keys, or is for another scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forged;

impl Keys {
    /// Reads the keys of the database, or makes the first one.
    pub(crate) async fn open(runtime: &Runtime) -> Result<Self, Refusal> {
        let mut secret = vec![0; SECRET_BYTES];
        fill(&mut secret).map_err(|error| {
            Refusal::Unavailable(format!(
                "the operating system returned no random secret for a token key: {error}"
            ))
        })?;
        let first = TokenKeys { keys: vec![TokenKey { id: 1, secret }] };
        let stored = runtime.cluster_record("token-keys", || encoded(&first)).await?;
        TokenKeys::decode(stored.as_slice()).ok().and_then(Self::new).ok_or_else(|| {
            Refusal::Damaged("the record `token-keys` of the database can't be read".to_owned())
        })
    }

    /// `None` without a key, or with an invalid one.
    fn new(keys: TokenKeys) -> Option<Self> {
        let ready = |key: TokenKey| {
            let mac = Hmac::new_from_slice(&key.secret).ok()?;
            (key.secret.len() >= SECRET_BYTES).then_some(Key { id: key.id, mac })
        };
        let mut keys = keys.keys.into_iter().map(ready).collect::<Option<Vec<_>>>()?;
        Some(Self { signing: keys.pop()?, earlier: keys })
    }

    /// Signs a token with this body.
    pub(crate) fn sign(&self, scope: Scope<'_>, mut body: Vec<u8>) -> Vec<u8> {
        let tag = self.signing.tag(scope, &body).finalize().into_bytes();
        body.reserve_exact(ID_BYTES + TAG_BYTES);
        body.extend_from_slice(&self.signing.id.to_be_bytes());
        body.extend_from_slice(&tag[..TAG_BYTES]);
        body
    }

    /// Checks that one of our keys signed the token for this scope.
    pub(crate) fn check(&self, scope: Scope<'_>, token: &SignedToken<'_>) -> Result<(), Forged> {
        let mut keys = std::iter::once(&self.signing).chain(&self.earlier);
        let key = keys.find(|key| key.id == token.key_id).ok_or(Forged)?;
        key.tag(scope, token.body).verify_truncated_left(token.tag).map_err(|_| Forged)
    }
}

impl Key {
    fn tag(&self, scope: Scope<'_>, body: &[u8]) -> Hmac<Sha256> {
        let Scope { purpose, namespace, request } = scope;
        let mut mac = self.mac.clone();
        mac.update(&[purpose as u8]);
        mac.update(&namespace.to_be_bytes());
        // The length comes first, so that request and body can't be confused.
        mac.update(&(request.len() as u64).to_be_bytes());
        mac.update(request);
        mac.update(body);
        mac
    }
}

/// The parts of a token from a client, not verified yet.
pub(crate) struct SignedToken<'a> {
    pub(crate) body: &'a [u8],
    key_id: u32,
    tag: &'a [u8],
}

impl<'a> SignedToken<'a> {
    /// `None` if the token is too short.
    pub(crate) fn read(token: &'a [u8]) -> Option<Self> {
        let (rest, tag) = token.split_last_chunk::<TAG_BYTES>()?;
        let (body, id) = rest.split_last_chunk::<ID_BYTES>()?;
        Some(Self { body, key_id: u32::from_be_bytes(*id), tag })
    }
}

#[cfg(test)]
pub(crate) fn test_keys(secrets: &[u8]) -> Keys {
    let key = |(id, secret): (u32, &u8)| TokenKey { id, secret: vec![*secret; SECRET_BYTES] };
    Keys::new(TokenKeys { keys: (1..).zip(secrets).map(key).collect() }).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: Scope<'static> =
        Scope { purpose: Purpose::ListWorkflows, namespace: 7, request: b"all" };

    fn check(keys: &Keys, scope: Scope<'_>, token: &[u8]) -> Result<(), Forged> {
        keys.check(scope, &SignedToken::read(token).unwrap())
    }

    #[test]
    fn token_is_valid_only_for_its_scope() {
        let keys = test_keys(&[1]);
        let token = keys.sign(SCOPE, b"here".to_vec());
        assert_eq!(check(&keys, SCOPE, &token), Ok(()));
        let others = [
            Scope { purpose: Purpose::ListSchedules, ..SCOPE },
            Scope { namespace: 8, ..SCOPE },
            Scope { request: b"al", ..SCOPE },
            Scope { request: b"", ..SCOPE },
        ];
        for other in others {
            assert_eq!(check(&keys, other, &token), Err(Forged), "{other:?}");
        }
        // The boundary between request and body is part of the tag.
        let moved = keys.sign(Scope { request: b"allh", ..SCOPE }, b"ere".to_vec());
        assert_ne!(token[token.len() - TAG_BYTES..], moved[moved.len() - TAG_BYTES..]);
    }

    #[test]
    fn token_with_any_bit_changed_is_forged() {
        let keys = test_keys(&[1]);
        let token = keys.sign(SCOPE, b"here".to_vec());
        for bit in 0..token.len() * 8 {
            let mut changed = token.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(check(&keys, SCOPE, &changed), Err(Forged), "bit {bit}");
        }
        assert!(SignedToken::read(&token[..ID_BYTES + TAG_BYTES - 1]).is_none());
    }

    #[test]
    fn tokens_of_an_earlier_key_are_valid_until_the_key_is_removed() {
        let before = test_keys(&[1]).sign(SCOPE, b"here".to_vec());
        let keys = test_keys(&[1, 2]);
        assert_eq!(check(&keys, SCOPE, &before), Ok(()));
        let after = keys.sign(SCOPE, b"here".to_vec());
        assert_ne!(before, after, "the last key signs");
        assert_eq!(check(&keys, SCOPE, &after), Ok(()));
        let TokenKeys { keys } = TokenKeys { keys: vec![TokenKey { id: 2, secret: vec![2; 32] }] };
        let without = Keys::new(TokenKeys { keys }).unwrap();
        assert_eq!(check(&without, SCOPE, &before), Err(Forged));
        assert_eq!(check(&without, SCOPE, &after), Ok(()));
    }

    #[test]
    fn record_without_a_whole_key_gives_none() {
        assert!(Keys::new(TokenKeys { keys: vec![] }).is_none());
        let short = TokenKey { id: 1, secret: vec![1; SECRET_BYTES - 1] };
        assert!(Keys::new(TokenKeys { keys: vec![short] }).is_none());
    }
}
