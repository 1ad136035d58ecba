//! Flags and settings of TLS, shared by `server` and `server start-dev`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use perennial_library::{CertificateFiles, ClientAuth, Tls, TlsConfig};
use serde::Deserialize;

use crate::failure::Usage;

#[derive(Debug, clap::Args)]
#[group(id = "server-tls-args")]
pub(super) struct TlsArgs {
    /// Certificate file (PEM, server's certificate first): serve TLS alone, on every port; repeatable
    /// with its --tls-key, the name that a client asks for chooses
    #[arg(
        long,
        value_name = "FILE",
        env = "PERENNIAL_TLS_CERT",
        hide_env = true,
        value_delimiter = ','
    )]
    #[arg(help_heading = "TLS")]
    tls_cert: Vec<PathBuf>,

    /// Private key file (PEM) of the certificate; only its owner and group may have access
    #[arg(
        long,
        value_name = "FILE",
        env = "PERENNIAL_TLS_KEY",
        hide_env = true,
        value_delimiter = ','
    )]
    #[arg(help_heading = "TLS")]
    tls_key: Vec<PathBuf>,

    /// CA certificates (PEM) of clients: ask clients for a certificate; repeatable
    #[arg(
        long,
        value_name = "FILE",
        env = "PERENNIAL_TLS_CLIENT_CA",
        hide_env = true,
        value_delimiter = ','
    )]
    #[arg(help_heading = "TLS")]
    tls_client_ca: Vec<PathBuf>,

    /// Whether a client needs a certificate, with --tls-client-ca [default: required]
    #[arg(long, value_enum, value_name = "WHETHER", env = "PERENNIAL_TLS_CLIENT_AUTH")]
    #[arg(hide_env = true, help_heading = "TLS")]
    tls_client_auth: Option<ClientAuthArg>,
}

/// Whether a client needs a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClientAuthArg {
    /// A client without a certificate is refused
    Required,
    /// A client without a certificate is served, for instance with an API key
    Optional,
}

/// The settings of TLS in the settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsFile {
    #[serde(default)]
    pub(super) certs: Vec<CertFile>,
    #[serde(default)]
    pub(super) client_cas: Vec<PathBuf>,
    pub(super) client_auth: Option<ClientAuthArg>,
}

/// The files of a certificate, in the settings file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CertFile {
    cert: PathBuf,
    key: PathBuf,
}

impl TlsArgs {
    /// Combines flags and settings file, and loads the certificates. `None` without any: plain text is served.
    pub(super) fn load(self, file: TlsFile) -> anyhow::Result<Option<Arc<Tls>>> {
        let config = self.config(file)?;
        if config.certificates.is_empty() && config.client_cas.is_empty() {
            return Ok(None);
        }
        Ok(Some(Tls::load(config)?))
    }

    fn config(self, file: TlsFile) -> Result<TlsConfig, Usage> {
        let (certs, keys) = (self.tls_cert, self.tls_key);
        if certs.len() != keys.len() {
            return Err(Usage::new(format!(
                "--tls-cert is given {}, --tls-key {}: each certificate needs its key, in the same order",
                times(certs.len()),
                times(keys.len())
            )));
        }
        let given = certs.into_iter().zip(keys);
        let mut certificates: Vec<_> =
            given.map(|(certificate, key)| CertificateFiles { certificate, key }).collect();
        if certificates.is_empty() {
            let in_file = file.certs.into_iter();
            certificates = in_file
                .map(|CertFile { cert, key }| CertificateFiles { certificate: cert, key })
                .collect();
        }
        let client_cas = match self.tls_client_ca.is_empty() {
            true => file.client_cas,
            false => self.tls_client_ca,
        };
        let client_auth = self.tls_client_auth.or(file.client_auth);
        if client_auth.is_some() && client_cas.is_empty() {
            return Err(Usage::new(
                "--tls-client-auth needs the CA certificates of clients: --tls-client-ca",
            ));
        }
        Ok(TlsConfig {
            certificates,
            client_cas,
            client_auth: match client_auth.unwrap_or(ClientAuthArg::Required) {
                ClientAuthArg::Required => ClientAuth::Required,
                ClientAuthArg::Optional => ClientAuth::Optional,
            },
        })
    }
}

fn times(count: usize) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: TlsArgs,
    }

    fn config(line: &str, file: &str) -> Result<TlsConfig, String> {
        let line = Line::try_parse_from(["server"].into_iter().chain(line.split_whitespace()));
        line.unwrap().args.config(toml::from_str(file).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_replace_the_settings_in_the_file() {
        let file = r#"
            certs = [{ cert = "a.pem", key = "a.key" }, { cert = "b.pem", key = "b.key" }]
            client_cas = ["clients.pem"]
            client_auth = "optional"
        "#;
        let in_file = config("", file).unwrap();
        assert_eq!(in_file.certificates.len(), 2);
        assert_eq!(in_file.client_auth, ClientAuth::Optional);
        let line = "--tls-cert c.pem --tls-key c.key --tls-client-auth required";
        let given = config(line, file).unwrap();
        let files = CertificateFiles { certificate: "c.pem".into(), key: "c.key".into() };
        assert_eq!(given.certificates, [files]);
        assert_eq!(given.client_cas, [PathBuf::from("clients.pem")]);
        assert_eq!(given.client_auth, ClientAuth::Required);
    }

    #[test]
    fn settings_that_protect_nothing_are_refused() {
        assert_eq!(
            config("--tls-cert a.pem --tls-cert b.pem --tls-key a.key", "").unwrap_err(),
            "--tls-cert is given 2 times, --tls-key once: each certificate needs its key, in the same order"
        );
        assert_eq!(
            config("--tls-client-auth optional", "").unwrap_err(),
            "--tls-client-auth needs the CA certificates of clients: --tls-client-ca"
        );
        assert!(toml::from_str::<TlsFile>("cert = 'a.pem'").is_err());
    }
}
