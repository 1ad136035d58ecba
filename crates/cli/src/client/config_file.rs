//! Reads the configuration file: profiles, in the format of `temporal config` and the official SDKs.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use super::secret::{Secret, error_without_text, is_secret_header};
use crate::failure::Usage;

/// The connection settings in the file.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ConfigFile {
    #[serde(default)]
    pub(crate) profile: BTreeMap<String, Profile>,
}

/// Connection settings with the lowest priority: flags and environment variables override them.
#[derive(Debug, Default, Clone, Deserialize)]
pub(crate) struct Profile {
    pub(crate) address: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) tls: Option<TlsProfile>,
    #[serde(default)]
    pub(crate) codec: CodecProfile,
    #[serde(default)]
    pub(crate) grpc_meta: BTreeMap<String, Secret>,
}

/// The codec server.
#[derive(Debug, Default, Clone, Deserialize)]
pub(crate) struct CodecProfile {
    pub(crate) endpoint: Option<String>,
    pub(crate) auth: Option<Secret>,
}

/// TLS settings. Their presence turns TLS on, unless `disabled` is set.
#[derive(Debug, Default, Clone, Deserialize)]
pub(crate) struct TlsProfile {
    #[serde(default)]
    pub(crate) disabled: bool,
    pub(crate) client_cert_path: Option<PathBuf>,
    pub(crate) client_cert_data: Option<String>,
    pub(crate) client_key_path: Option<PathBuf>,
    pub(crate) client_key_data: Option<Secret>,
    pub(crate) server_ca_cert_path: Option<PathBuf>,
    pub(crate) server_ca_cert_data: Option<String>,
    pub(crate) server_name: Option<String>,
    #[serde(default)]
    pub(crate) disable_host_verification: bool,
}

impl ConfigFile {
    /// Reads the file. A missing file is an error only if the user named it.
    pub(crate) fn read(path: &Path, named: bool) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => {
                return Ok(ConfigFile::default());
            }
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("cannot read the configuration file {}", path.display())
                });
            }
        };
        Self::parse(&text)
            .map_err(|error| Usage::new(format!("{}: {error}", path.display())).into())
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            error_without_text(text, error.message(), error.span())
        })
    }
}

impl Profile {
    /// Whether it has anything that nobody else may read.
    pub(crate) fn has_secrets(&self) -> bool {
        let key = self.tls.as_ref().and_then(|tls| tls.client_key_data.as_ref());
        self.api_key.is_some()
            || self.codec.auth.is_some()
            || key.is_some()
            || self.grpc_meta.keys().any(|name| is_secret_header(name))
    }
}

/// The folder for configuration files on this system, the same as for Temporal's tools.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    if cfg!(windows) {
        folder("AppData")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_as_temporals_tools_write_them() {
        let file = ConfigFile::parse(
            r#"
            [profile.default]
            address = "localhost:7000"
            namespace = "shop"
            [profile.cloud]
            api_key = "secret"
            codec = { endpoint = "https://codec.example" }
            [profile.cloud.tls]
            server_name = "cloud.example"
            [profile.cloud.grpc_meta]
            team = "billing"
            "#,
        )
        .unwrap();
        assert_eq!(file.profile["default"].namespace.as_deref(), Some("shop"));
        let cloud = &file.profile["cloud"];
        assert_eq!(cloud.tls.as_ref().unwrap().server_name.as_deref(), Some("cloud.example"));
        assert_eq!(cloud.grpc_meta["team"].reveal(), "billing");
    }

    #[test]
    fn a_file_that_is_no_toml_is_pointed_at() {
        let error = ConfigFile::parse("[profile.default\naddress = 1").unwrap_err();
        assert!(error.contains("line 1"), "{error}");
    }

    #[test]
    fn error_in_the_file_quotes_no_secret() {
        for bad in ["api_key = \"hunter2", "api_key = 'hunter2' x", "api_key = [\"hunter2\"]"] {
            let error = ConfigFile::parse(&format!("[profile.default]\n{bad}\n")).unwrap_err();
            assert!(error.starts_with("line 2, ") && !error.contains("hunter2"), "{error}");
        }
    }
}
