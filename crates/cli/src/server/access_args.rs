//! Flags and settings for who may call, shared by `server` and `server start-dev`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;
use perennial_library::jwt::{IssuerConfig, JwksSource};
use perennial_library::{AccessConfig, CertificateRule, Credentials, Permission};
use serde::Deserialize;

use crate::failure::Usage;

#[derive(Debug, clap::Args)]
#[group(id = "server-access-args")]
pub(super) struct AccessArgs {
    /// Whether callers have to show credentials: an API key, a token or a client certificate
    /// [default: none, or required with --certificate-role or --token-issuer]
    #[arg(long, value_enum, value_name = "WHICH", env = "PERENNIAL_AUTH", hide_env = true)]
    #[arg(help_heading = "Access")]
    auth: Option<Auth>,

    /// Role of clients whose certificate has this name (common name, DNS name, URI, e-mail address or whole
    /// subject; `*` for all), as in `billing=shop:worker`; repeatable
    #[arg(long, value_name = "NAME=NAMESPACE:ROLE", value_parser = certificate_role)]
    #[arg(env = "PERENNIAL_CERTIFICATE_ROLE", hide_env = true, value_delimiter = ',')]
    #[arg(help_heading = "Access")]
    certificate_role: Vec<(String, Permission)>,

    /// Accept tokens (JWT) of this issuer, with its --token-audience and --token-keys
    #[arg(long, value_name = "ISSUER", env = "PERENNIAL_TOKEN_ISSUER", hide_env = true)]
    #[arg(help_heading = "Access", requires_all = ["token_audience", "token_keys"])]
    token_issuer: Option<String>,

    /// The audience that tokens must name
    #[arg(long, value_name = "AUDIENCE", env = "PERENNIAL_TOKEN_AUDIENCE", hide_env = true)]
    #[arg(help_heading = "Access", requires = "token_issuer")]
    token_audience: Option<String>,

    /// Address or file of the issuer's keys (JWKS)
    #[arg(long, value_name = "URL-OR-FILE", env = "PERENNIAL_TOKEN_KEYS", hide_env = true)]
    #[arg(help_heading = "Access", requires = "token_issuer")]
    token_keys: Option<String>,

    /// Listen beyond this machine although callers show no credentials
    #[arg(long, env = "PERENNIAL_ALLOW_UNAUTHENTICATED", hide_env = true)]
    #[arg(help_heading = "Access")]
    pub(super) allow_unauthenticated: bool,
}

/// Whether callers have to show credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Auth {
    /// Everybody may do everything
    None,
    /// Calls without valid credentials are refused
    Required,
}

/// Who may call, in the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessFile {
    auth: Option<Auth>,
    #[serde(default)]
    pub(super) allow_unauthenticated: bool,
    /// Permissions by the name in a client certificate.
    #[serde(default)]
    certificate_roles: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    token_issuers: Vec<IssuerFile>,
}

/// An issuer of tokens, in the settings file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IssuerFile {
    issuer: String,
    audiences: Vec<String>,
    /// An address or a file.
    keys: String,
    /// Authorities that vouch for the address, instead of the system's.
    keys_ca: Option<PathBuf>,
    permissions_claim: Option<String>,
    permission_pattern: Option<String>,
}

impl AccessArgs {
    /// How callers are known. A flag replaces what the file says of the same thing.
    pub(super) fn config(self, file: AccessFile) -> Result<AccessConfig, Usage> {
        let mut config = AccessConfig::default();
        if self.certificate_role.is_empty() {
            for (name, permissions) in file.certificate_roles {
                let permissions = permissions.iter().map(|text| permission(text));
                let permissions = permissions.collect::<Result<_, _>>().map_err(Usage::new)?;
                config.certificates.push(CertificateRule { name, permissions });
            }
        }
        for (name, permission) in self.certificate_role {
            config.certificates.push(CertificateRule { name, permissions: vec![permission] });
        }
        config.tokens.issuers = match (self.token_issuer, self.token_audience, self.token_keys) {
            (Some(issuer), Some(audience), Some(keys)) => {
                vec![IssuerConfig::new(issuer, [audience], source(keys, None))]
            }
            _ => file.token_issuers.into_iter().map(IssuerFile::config).collect(),
        };
        let knows_callers = !config.certificates.is_empty() || !config.tokens.issuers.is_empty();
        config.credentials = match self.auth.or(file.auth) {
            Some(Auth::None) if knows_callers => {
                return Err(Usage::new(
                    "roles of certificates and issuers of tokens protect nothing while --auth is none; \
                     remove them, or use --auth required",
                ));
            }
            Some(Auth::Required) => Credentials::Required,
            None if knows_callers => Credentials::Required,
            Some(Auth::None) | None => Credentials::NotAsked,
        };
        Ok(config)
    }
}

impl IssuerFile {
    fn config(self) -> IssuerConfig {
        let keys = source(self.keys, self.keys_ca);
        let mut config = IssuerConfig::new(self.issuer, self.audiences, keys);
        if let Some(claim) = self.permissions_claim {
            config.permissions_claim = claim;
        }
        config.permission_pattern = self.permission_pattern;
        config
    }
}

/// Where keys are: an address if it looks like one, else a file.
fn source(keys: String, authorities: Option<PathBuf>) -> JwksSource {
    match keys.starts_with("https://") || keys.starts_with("http://") {
        true => JwksSource::Url { url: keys, ca_file: authorities },
        false => JwksSource::File(keys.into()),
    }
}

/// Parses `billing=shop:worker`.
fn certificate_role(text: &str) -> Result<(String, Permission), String> {
    // Names of certificates may contain equals signs, permissions don't.
    match text.rsplit_once('=') {
        Some((name, granted)) if !name.is_empty() => Ok((name.to_owned(), permission(granted)?)),
        _ => Err(format!("`{text}` is not of the form NAME=NAMESPACE:ROLE")),
    }
}

fn permission(text: &str) -> Result<Permission, String> {
    text.parse().map_err(|error: perennial_library::InvalidPermission| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: AccessArgs,
    }

    fn config(line: &str, file: &str) -> Result<AccessConfig, String> {
        let line = Line::try_parse_from(["server"].into_iter().chain(line.split_whitespace()));
        let args = line.map_err(|error| error.to_string())?.args;
        args.config(toml::from_str(file).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn knowing_callers_requires_their_credentials() {
        assert_eq!(config("", "").unwrap().credentials, Credentials::NotAsked);
        assert_eq!(config("--auth required", "").unwrap().credentials, Credentials::Required);
        let roles = config("--certificate-role CN=billing,O=Shop=shop:worker", "");
        assert!(roles.is_err(), "a comma separates roles");
        let roles = config("--certificate-role billing=shop:worker,*=shop:read", "").unwrap();
        assert_eq!(roles.credentials, Credentials::Required);
        assert_eq!(roles.certificates.len(), 2);
        assert_eq!(roles.certificates[0].name, "billing");
        let none = config("--auth none --certificate-role a=shop:worker", "").unwrap_err();
        assert!(none.contains("protect nothing"), "{none}");
    }

    #[test]
    fn issuer_is_given_by_flags_or_in_the_file() {
        let line = "--token-issuer https://login.example --token-audience perennial \
                    --token-keys keys.json";
        let given = config(line, "").unwrap();
        let issuer = &given.tokens.issuers[0];
        assert_eq!(issuer.audiences, ["perennial"]);
        assert_eq!(issuer.keys, JwksSource::File("keys.json".into()));
        assert!(config("--token-issuer https://login.example", "").is_err());

        let file = r#"
            certificate_roles = { "spiffe://example/billing" = ["shop:worker"] }
            [[token_issuers]]
            issuer = "https://login.example"
            audiences = ["perennial"]
            keys = "https://login.example/jwks.json"
            permissions_claim = "realm_access.roles"
        "#;
        let read = config("", file).unwrap();
        assert_eq!(read.credentials, Credentials::Required);
        assert_eq!(read.tokens.issuers[0].permissions_claim, "realm_access.roles");
        assert_eq!(read.certificates[0].permissions[0].to_string(), "shop:worker");
        assert!(toml::from_str::<AccessFile>("roles = 1").is_err());
    }
}
