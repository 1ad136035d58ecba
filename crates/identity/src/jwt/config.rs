//! The issuers whose tokens are accepted.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use hyper::Uri;

use super::permissions::InvalidPattern;

/// The issuers whose tokens the server accepts.
#[derive(Debug, Clone, Default)]
pub struct JwtConfig {
    /// Each has a name of its own.
    pub issuers: Vec<IssuerConfig>,
}

/// An issuer, its keys, and the meaning of its claims.
#[derive(Debug, Clone)]
pub struct IssuerConfig {
    /// The value of the claim `iss`, exactly.
    pub issuer: String,
    /// The claim `aud` has to name one of them.
    pub audiences: Vec<String>,
    /// Where the issuer's keys are. Only they verify its tokens.
    pub keys: JwksSource,
    /// The path of the claim that has the permissions; dots lead into objects.
    pub permissions_claim: String,
    /// A regular expression with the groups `namespace` and `role`, for permissions of another form than `namespace:role`.
    pub permission_pattern: Option<String>,
    /// By how much `nbf` and `iat` may lie in the future. `exp` has no leeway.
    pub leeway: Duration,
}

/// Where an issuer's keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwksSource {
    /// At an `https` address, or an `http` address of this machine.
    Url {
        /// The address.
        url: String,
        /// Certificates of authorities in PEM, which are trusted instead of the system's.
        ca_file: Option<PathBuf>,
    },
    /// In a file. It is read again when it changes.
    File(PathBuf),
}

/// The configuration of issuers can't be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidJwtConfig {
    /// An issuer has no name.
    #[error("an issuer of tokens has an empty name; it has to be the tokens' claim `iss`")]
    NoIssuer,
    /// Two issuers have one name.
    #[error("the issuer {0} is configured twice")]
    Duplicate(String),
    /// An issuer has no audience. Tokens that it made for other services would be accepted.
    #[error(
        "the issuer {0} has no audience; name the claim `aud` of the tokens that are made for this server"
    )]
    NoAudience(String),
    /// The path of the claim with the permissions is empty.
    #[error(
        "the issuer {0} has no claim with permissions; use `permissions`, or a path such as `realm_access.roles`"
    )]
    NoClaim(String),
    /// The pattern of permissions can't be used.
    #[error("the pattern of permissions of the issuer {issuer} can't be used: {error}")]
    Pattern {
        /// The issuer.
        issuer: String,
        /// What is wrong with it.
        error: InvalidPattern,
    },
    /// The address of keys can't be used.
    #[error("the keys of the issuer {issuer} can't be loaded from {url}: {problem}")]
    Url {
        /// The issuer.
        issuer: String,
        /// The address.
        url: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The file of keys, or of the authorities, can't be used.
    #[error("the keys of the issuer {issuer} can't be loaded: {problem}")]
    File {
        /// The issuer.
        issuer: String,
        /// What is wrong with the file.
        problem: String,
    },
}

impl IssuerConfig {
    /// An issuer whose tokens have the claim `permissions` with entries `namespace:role`, as Temporal reads it.
    pub fn new(
        issuer: impl Into<String>,
        audiences: impl IntoIterator<Item = impl Into<String>>,
        keys: JwksSource,
    ) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: audiences.into_iter().map(Into::into).collect(),
            keys,
            permissions_claim: "permissions".to_owned(),
            permission_pattern: None,
            leeway: Duration::from_secs(60),
        }
    }
}

impl FromStr for JwksSource {
    type Err = std::convert::Infallible;

    /// An address, if it begins with `https://` or `http://`; else the path of a file.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.starts_with("https://") || text.starts_with("http://") {
            true => Self::Url { url: text.to_owned(), ca_file: None },
            false => Self::File(PathBuf::from(text)),
        })
    }
}

impl JwtConfig {
    /// Checks what doesn't need the network or files.
    pub(super) fn check(&self) -> Result<(), InvalidJwtConfig> {
        let mut names = BTreeSet::new();
        for config in &self.issuers {
            let issuer = config.issuer.clone();
            if issuer.is_empty() {
                return Err(InvalidJwtConfig::NoIssuer);
            }
            if !names.insert(&config.issuer) {
                return Err(InvalidJwtConfig::Duplicate(issuer));
            }
            if config.audiences.iter().all(String::is_empty) {
                return Err(InvalidJwtConfig::NoAudience(issuer));
            }
            if config.permissions_claim.is_empty() {
                return Err(InvalidJwtConfig::NoClaim(issuer));
            }
            if let JwksSource::Url { url, .. } = &config.keys {
                check_url(url).map_err(|problem| {
                    let url = url.clone();
                    InvalidJwtConfig::Url { issuer, url, problem }
                })?;
            }
        }
        Ok(())
    }
}

/// The parsed address of keys.
pub(super) fn check_url(url: &str) -> Result<Uri, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "it is no URL")?;
    let host = uri.host().ok_or("it names no host")?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("it has a user or a password, which are not supported");
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if is_loopback(host) => Ok(uri),
        Some("http") => Err(
            "anyone on the way could replace the keys; use https (http is for this machine only)",
        ),
        Some(_) | None => Err("it has to begin with https://"),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_https_or_from_this_machine() {
        for good in [
            "https://id.example/jwks",
            "http://localhost:80/jwks",
            "http://127.0.0.9/jwks",
            "http://[::1]:8080/",
        ] {
            assert!(check_url(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example/jwks",
            "http://localhost.evil.example/",
            "http://10.0.0.1/",
            "ftp://id.example/",
            "https://user:secret@id.example/",
            "https://",
            "/jwks",
            "",
        ] {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn issuers_without_audience_or_with_one_name_are_refused() {
        let keys = JwksSource::File("jwks.json".into());
        let issuer = IssuerConfig::new("a", ["x"], keys.clone());
        let check = |issuers: &[&IssuerConfig]| {
            JwtConfig { issuers: issuers.iter().map(|issuer| (*issuer).clone()).collect() }.check()
        };
        assert!(check(&[&issuer]).is_ok());
        assert!(matches!(check(&[&issuer, &issuer]), Err(InvalidJwtConfig::Duplicate(_))));
        let no_audience = IssuerConfig::new("b", [""], keys.clone());
        assert!(matches!(check(&[&no_audience]), Err(InvalidJwtConfig::NoAudience(_))));
        let no_name = IssuerConfig::new("", ["x"], keys);
        assert!(matches!(check(&[&no_name]), Err(InvalidJwtConfig::NoIssuer)));
    }

    #[test]
    fn source_is_an_address_or_a_path() {
        let source = |text: &str| text.parse::<JwksSource>().unwrap();
        assert!(matches!(source("https://id.example/jwks"), JwksSource::Url { .. }));
        assert!(matches!(source("http://id.example/jwks"), JwksSource::Url { .. }));
        assert_eq!(source("/etc/jwks.json"), JwksSource::File("/etc/jwks.json".into()));
    }
}
