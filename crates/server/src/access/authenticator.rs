//! Finds out who calls.

use std::sync::Arc;
use std::time::SystemTime;

use hyper::header::{HeaderMap, HeaderValue};
use hyper::http::Extensions;
use perennial_identity::jwt::{InvalidJwtConfig, IssuerStatus, TokenError, Verifier};
use perennial_identity::{ApiKey, Credential, Grants, Principal, bearer_token};
use tonic::Status;

use super::api_keys::ApiKeys;
use super::config::{AccessConfig, Credentials};
use super::peer::Peer;
use crate::errors::RpcResult;
use crate::tls::PeerCertificate;

/// Finds out who calls, by what they show.
pub(crate) struct Authenticator {
    config: AccessConfig,
    api_keys: Arc<ApiKeys>,
    /// `None` if no issuer of tokens is trusted.
    tokens: Option<Verifier>,
    anonymous: Arc<Principal>,
}

/// What a caller shows of itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    authorization: Authorization<'a>,
    peer: Option<&'a Peer>,
}

/// The header `authorization` of a request.
#[derive(Debug, Clone, Copy)]
enum Authorization<'a> {
    None,
    One(&'a str),
    /// It isn't text, or there are several: nobody can tell whom it means.
    Unclear,
}

impl<'a> Caller<'a> {
    /// The caller of a request with these headers, `names` of which hold credentials, and these extensions, which hold
    /// the [`Peer`] of its connection.
    pub(crate) fn new(
        headers: &'a HeaderMap,
        names: &[&'static str],
        extensions: &'a Extensions,
    ) -> Self {
        let mut given = names.iter().flat_map(|name| headers.get_all(*name));
        let authorization = match (given.next().map(HeaderValue::to_str), given.next()) {
            (None, _) => Authorization::None,
            (Some(Ok(header)), None) => Authorization::One(header),
            (Some(_), _) => Authorization::Unclear,
        };
        Self { authorization, peer: extensions.get() }
    }

    /// The other end of the connection.
    pub(crate) fn peer(&self) -> Option<&'a Peer> {
        self.peer
    }
}

impl Authenticator {
    /// Loads the keys of the issuers of tokens.
    pub(crate) async fn open(
        config: AccessConfig,
        api_keys: Arc<ApiKeys>,
    ) -> Result<Self, InvalidJwtConfig> {
        let tokens = match config.tokens.issuers.is_empty() {
            true => None,
            false => Some(Verifier::open(config.tokens.clone(), SystemTime::now()).await?),
        };
        Ok(Self { config, api_keys, tokens, anonymous: Arc::new(Principal::anonymous()) })
    }

    /// The keys that this server has issued.
    pub(crate) fn api_keys(&self) -> &Arc<ApiKeys> {
        &self.api_keys
    }

    /// The issuers of tokens that are trusted.
    pub(crate) fn token_issuers(&self) -> Vec<IssuerStatus> {
        self.tokens.as_ref().map(Verifier::issuers).unwrap_or_default()
    }

    /// The other end of a connection, with the principal of its certificate.
    pub(crate) fn peer(&self, certificate: Option<&PeerCertificate>) -> Peer {
        Peer::new(certificate.map(|certificate| {
            let grants = match self.config.credentials {
                Credentials::NotAsked => Grants::everything(),
                Credentials::Required => self.config.grants_of(certificate),
            };
            let name = certificate.names().next().unwrap_or("without a name");
            let mut principal = Principal::new(Credential::Certificate, name, grants);
            principal.valid_until = Some(SystemTime::from(certificate.not_after));
            Arc::new(principal)
        }))
    }

    /// Who calls. Refused unless the credentials are valid. A wrong header is refused even beside a valid certificate:
    /// its sender wants to be somebody else.
    pub(crate) async fn principal(&self, caller: Caller<'_>) -> RpcResult<Arc<Principal>> {
        let certified = caller.peer.and_then(Peer::certified);
        match (self.config.credentials, caller.authorization, certified) {
            (Credentials::Required, Authorization::One(header), _) => self.bearer(header).await,
            (Credentials::Required, Authorization::Unclear, _) => Err(Status::unauthenticated(
                "the header `authorization` must be there once, and be text",
            )),
            (_, _, Some(certified)) => match certified.ended(SystemTime::now()) {
                Some(ended) => Err(Status::unauthenticated(ended.to_string())),
                None => Ok(Arc::clone(certified)),
            },
            (Credentials::NotAsked, _, None) => Ok(Arc::clone(&self.anonymous)),
            (Credentials::Required, Authorization::None, None) => Err(Status::unauthenticated(
                "this server asks for credentials: send an API key or a token in the header \
                 `authorization: Bearer …`",
            )),
        }
    }

    async fn bearer(&self, header: &str) -> RpcResult<Arc<Principal>> {
        let Some(token) = bearer_token(header) else {
            return Err(Status::unauthenticated(
                "the header `authorization` isn't of the form `Bearer …`",
            ));
        };
        let now = SystemTime::now();
        if let Some(key) = ApiKey::parse(token) {
            return self.api_keys.principal(&key, now).ok_or_else(|| {
                Status::unauthenticated("the API key is unknown, expired or revoked")
            });
        }
        let Some(tokens) = &self.tokens else {
            return Err(Status::unauthenticated("the token isn't an API key of this server"));
        };
        tokens.verify(token, now).await.map_err(|error| match &error {
            TokenError::Invalid(_) => Status::unauthenticated(error.to_string()),
            TokenError::KeysUnavailable { .. } => Status::unavailable(error.to_string()),
        })
    }
}
