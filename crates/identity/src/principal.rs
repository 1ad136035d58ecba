//! Principals: who makes a request, and for how long their credentials hold.

use std::fmt;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use crate::grants::Grants;

/// Who makes a request, as proved by credentials.
///
/// Shown as in `api-key:ci`: the credential's kind comes first, so that none can pass for another.
///
/// ```
/// use perennial_identity::{Credential, Grants, Principal};
///
/// let principal = Principal::new(Credential::ApiKey, "ci", Grants::default());
/// assert_eq!(principal.to_string(), "api-key:ci");
/// ```
#[derive(Debug, Clone)]
pub struct Principal {
    /// What proved it.
    pub credential: Credential,
    /// The name of the key, the token's issuer and subject, or the certificate's subject.
    pub name: String,
    /// What it may do.
    pub grants: Grants,
    /// When the credentials end by themselves.
    pub valid_until: Option<SystemTime>,
    revoked: Option<watch::Receiver<bool>>,
}

/// What proves who makes a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// Nothing: the server asks for no credentials.
    Nothing,
    /// A key that this server has issued.
    ApiKey,
    /// A signed token of an identity provider.
    Token,
    /// A client certificate.
    Certificate,
}

impl Credential {
    /// Its kind, as in `api-key`.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::ApiKey => "api-key",
            Self::Token => "jwt",
            Self::Certificate => "certificate",
        }
    }
}

/// Why credentials no longer hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// Their time is over.
    #[error("the credentials have expired")]
    Expired,
    /// Somebody revoked them.
    #[error("the credentials were revoked")]
    Revoked,
}

impl Principal {
    /// A principal whose credentials hold until [`valid_until`](Self::valid_until) is set.
    pub fn new(credential: Credential, name: impl Into<String>, grants: Grants) -> Self {
        Self { credential, name: name.into(), grants, valid_until: None, revoked: None }
    }

    /// Whoever calls a server that asks for no credentials: may do everything.
    pub fn anonymous() -> Self {
        Self::new(Credential::Nothing, "", Grants::everything())
    }

    /// The same principal, until `switch` revokes it.
    #[must_use]
    pub fn revocable(self, switch: &RevocationSwitch) -> Self {
        Self { revoked: Some(switch.0.subscribe()), ..self }
    }

    /// Whether the server asked for credentials.
    pub fn is_anonymous(&self) -> bool {
        self.credential == Credential::Nothing
    }

    /// Why the credentials don't hold any more, if so.
    pub fn ended(&self, now: SystemTime) -> Option<Ended> {
        if self.revoked.as_ref().is_some_and(|revoked| *revoked.borrow()) {
            return Some(Ended::Revoked);
        }
        self.valid_until.filter(|until| *until <= now).map(|_| Ended::Expired)
    }

    /// Waits until the credentials end. Never, if nothing ends them.
    pub async fn wait_for_end(&self) -> Ended {
        let revoked = async {
            if let Some(mut revoked) = self.revoked.clone()
                && revoked.wait_for(|is_revoked| *is_revoked).await.is_ok()
            {
                return Ended::Revoked;
            }
            // Nobody can revoke them, or nobody can any more.
            std::future::pending().await
        };
        tokio::select! {
            ended = revoked => ended,
            () = sleep_until(self.valid_until) => Ended::Expired,
        }
    }
}

/// Sleeps until a time of the wall clock, which may be set meanwhile: so it looks again now and then.
async fn sleep_until(time: Option<SystemTime>) {
    const LOOK_AGAIN: Duration = Duration::from_secs(30);
    let Some(time) = time else { return std::future::pending().await };
    while let Ok(left) = time.duration_since(SystemTime::now())
        && !left.is_zero()
    {
        tokio::time::sleep(left.min(LOOK_AGAIN)).await;
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.credential {
            Credential::Nothing => out.write_str("anonymous"),
            credential => write!(out, "{}:{}", credential.kind(), self.name),
        }
    }
}

/// Revokes the principals that were made with it.
#[derive(Debug)]
pub struct RevocationSwitch(watch::Sender<bool>);

impl Default for RevocationSwitch {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl RevocationSwitch {
    /// Revokes them, now and for good.
    pub fn revoke(&self) {
        self.0.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn revoked_principal_ends_what_waits_for_it() {
        let switch = RevocationSwitch::default();
        let principal =
            Principal::new(Credential::ApiKey, "ci", Grants::default()).revocable(&switch);
        assert_eq!(principal.ended(SystemTime::now()), None);
        let waiting = principal.wait_for_end();
        switch.revoke();
        assert_eq!(waiting.await, Ended::Revoked);
        assert_eq!(principal.ended(SystemTime::now()), Some(Ended::Revoked));
    }

    #[tokio::test]
    async fn principal_ends_with_its_time() {
        let now = SystemTime::now();
        let mut principal = Principal::new(Credential::Token, "x", Grants::default());
        principal.valid_until = Some(now);
        assert_eq!(principal.ended(now - Duration::from_secs(1)), None);
        assert_eq!(principal.ended(now), Some(Ended::Expired));
        assert_eq!(principal.wait_for_end().await, Ended::Expired);
    }
}
