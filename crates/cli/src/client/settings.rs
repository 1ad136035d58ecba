//! Connection settings: flags override environment variables, which override the profile.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::args::{ConfigArgs, ConnectionArgs, TlsArgs};
use super::codec::CodecSettings;
use super::config_file::{ConfigFile, Profile, TlsProfile, config_folder};
use super::presets::Presets;
use super::secret::{Secret, warn_if_exposed};
use crate::failure::Usage;
use crate::user::user_name;

/// Connection settings, resolved from all sources.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) address: String,
    pub(crate) namespace: String,
    /// The namespace, if given by a flag.
    pub(crate) named_namespace: Option<String>,
    pub(crate) identity: String,
    pub(crate) api_key: Option<Secret>,
    /// Header names and values.
    pub(crate) meta: BTreeMap<String, Secret>,
    pub(crate) authority: Option<String>,
    pub(crate) codec: Option<CodecSettings>,
    /// `None` for a connection without TLS.
    pub(crate) tls: Option<Tls>,
}

/// TLS settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tls {
    /// The client's certificate and private key, as PEM.
    pub(crate) client: Option<(String, Secret)>,
    /// CA certificate for the server, as PEM; `None` for the system's certificates.
    pub(crate) server_ca: Option<String>,
    pub(crate) server_name: Option<String>,
    pub(crate) any_certificate: bool,
}

/// The environment variables of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment(BTreeMap<String, String>);

impl Environment {
    pub(crate) fn of_process() -> Self {
        let text = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Environment(text.filter(|(_, value)| !value.is_empty()).collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn flag(&self, name: &str) -> anyhow::Result<Option<bool>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" | "yes" | "on" => Ok(Some(true)),
            "0" | "f" | "false" | "no" | "off" => Ok(Some(false)),
            _ => Err(Usage::new(format!("{name} is {text:?}; write true or false")).into()),
        }
    }

    /// Headers from the environment: `TEMPORAL_GRPC_META_SOME_NAME` sets `some-name`.
    fn grpc_meta(&self) -> impl Iterator<Item = (String, Secret)> {
        self.0.iter().filter_map(|(name, value)| {
            let name = name.strip_prefix("TEMPORAL_GRPC_META_")?;
            Some((name.to_ascii_lowercase().replace('_', "-"), value.clone().into()))
        })
    }
}

impl ConfigArgs {
    /// The path of the configuration file, and whether the user named it.
    pub(crate) fn config_path(&self, environment: &Environment) -> Option<(PathBuf, bool)> {
        let named = self.config_file.clone();
        let named = named.or_else(|| environment.get("TEMPORAL_CONFIG_FILE").map(PathBuf::from));
        match named {
            Some(path) => Some((path, true)),
            None => Some((config_folder()?.join("temporalio").join("temporal.toml"), false)),
        }
    }

    /// The path of the older presets file.
    pub(crate) fn env_path(&self, environment: &Environment) -> Option<PathBuf> {
        let named = self.env_file.clone();
        let named = named.or_else(|| environment.get("TEMPORAL_ENV_FILE").map(PathBuf::from));
        named.or_else(Presets::default_path)
    }

    /// The environment to use in the older presets file.
    pub(crate) fn env_name(&self, environment: &Environment) -> String {
        let named = self.env.as_deref().or_else(|| environment.get("TEMPORAL_ENV"));
        named.unwrap_or("default").to_owned()
    }

    /// The profile to use, and whether the user named it.
    pub(crate) fn profile_name(&self, environment: &Environment) -> (String, bool) {
        let named = self.profile.as_deref().or_else(|| environment.get("TEMPORAL_PROFILE"));
        (named.unwrap_or("default").to_owned(), named.is_some())
    }

    fn profile(&self, environment: &Environment) -> anyhow::Result<Profile> {
        if self.disable_config_file {
            return Ok(Profile::default());
        }
        let Some((path, file_named)) = self.config_path(environment) else {
            return Ok(Profile::default());
        };
        let mut file = ConfigFile::read(&path, file_named)?;
        let (name, profile_named) = self.profile_name(environment);
        match file.profile.remove(&name) {
            Some(profile) => {
                if profile.has_secrets() {
                    warn_if_exposed(&path);
                }
                Ok(profile)
            }
            None if !profile_named => Ok(Profile::default()),
            None => {
                let known: Vec<_> = file.profile.keys().cloned().collect();
                let known = match known.is_empty() {
                    true => "it has no profiles".to_owned(),
                    false => format!("it has {}", known.join(", ")),
                };
                Err(Usage::new(format!(
                    "there is no profile {name:?} in {}; {known}",
                    path.display()
                ))
                .into())
            }
        }
    }
}

impl Settings {
    /// Combines flags, environment variables and the profile.
    pub(crate) fn resolve(
        args: ConnectionArgs,
        config: &ConfigArgs,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let nothing = Environment::default();
        let environment = if config.disable_config_env { &nothing } else { environment };
        let profile = config.profile(environment)?;
        let variable = |name: &str| environment.get(name).map(str::to_owned);

        let secret = |name: &str| variable(name).map(Secret::from);

        let api_key = args.api_key.or_else(|| secret("TEMPORAL_API_KEY")).or(profile.api_key);
        let address = args.address.or_else(|| variable("TEMPORAL_ADDRESS")).or(profile.address);
        let named_namespace = args.namespace.clone();
        let namespace =
            args.namespace.or_else(|| variable("TEMPORAL_NAMESPACE")).or(profile.namespace);
        let mut meta = profile.grpc_meta;
        meta.extend(environment.grpc_meta());
        meta.extend(headers(args.grpc_meta, "--grpc-meta")?);
        let codec = args.codec;
        let (endpoint, auth) = (profile.codec.endpoint, profile.codec.auth);
        let endpoint =
            codec.codec_endpoint.or_else(|| variable("TEMPORAL_CODEC_ENDPOINT")).or(endpoint);
        let codec_headers = headers(codec.codec_header, "--codec-header")?;
        let auth = codec.codec_auth.or_else(|| secret("TEMPORAL_CODEC_AUTH")).or(auth);
        let codec = endpoint
            .filter(|endpoint| !endpoint.is_empty())
            .map(|endpoint| CodecSettings { endpoint, auth, headers: codec_headers });
        Ok(Settings {
            codec,
            tls: tls(args.tls, environment, profile.tls, api_key.is_some())?,
            address: address.unwrap_or_else(|| "localhost:7233".to_owned()),
            namespace: namespace.unwrap_or_else(|| "default".to_owned()),
            named_namespace,
            identity: args.identity.unwrap_or_else(default_identity),
            api_key,
            meta,
            authority: args.client_authority,
        })
    }
}

fn tls(
    args: TlsArgs,
    environment: &Environment,
    profile: Option<TlsProfile>,
    has_key: bool,
) -> anyhow::Result<Option<Tls>> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let switched = match args.tls {
        Some(switched) => Some(switched),
        None => environment.flag("TEMPORAL_TLS")?,
    };
    let wanted_by_profile = profile.as_ref().map(|profile| !profile.disabled);
    let profile = profile.unwrap_or_default();
    // The first source with a file or a text is used.
    let pem = |sources: [(Option<PathBuf>, Option<String>); 3], what: &str| {
        let given = sources.into_iter().find(|(path, data)| path.is_some() || data.is_some());
        match given {
            Some((Some(_), Some(_))) => {
                Err(Usage::new(format!("give either a file or the text of {what}, not both"))
                    .into())
            }
            Some((Some(path), None)) => read(&path, what).map(Some),
            Some((None, data)) => Ok(data),
            None => anyhow::Ok(None),
        }
    };
    let certificate = pem(
        [
            (args.tls_cert_path, args.tls_cert_data),
            (
                variable("TEMPORAL_TLS_CLIENT_CERT_PATH").map(PathBuf::from),
                variable("TEMPORAL_TLS_CLIENT_CERT_DATA"),
            ),
            (profile.client_cert_path, profile.client_cert_data),
        ],
        "the client's certificate",
    )?;
    let key = pem(
        [
            (args.tls_key_path, args.tls_key_data.map(|key| key.reveal().to_owned())),
            (
                variable("TEMPORAL_TLS_CLIENT_KEY_PATH").map(PathBuf::from),
                variable("TEMPORAL_TLS_CLIENT_KEY_DATA"),
            ),
            (profile.client_key_path, profile.client_key_data.map(|key| key.reveal().to_owned())),
        ],
        "the client's private key",
    )?;
    let server_ca = pem(
        [
            (args.tls_ca_path, args.tls_ca_data),
            (
                variable("TEMPORAL_TLS_SERVER_CA_CERT_PATH").map(PathBuf::from),
                variable("TEMPORAL_TLS_SERVER_CA_CERT_DATA"),
            ),
            (profile.server_ca_cert_path, profile.server_ca_cert_data),
        ],
        "the server's CA certificate",
    )?;
    let client = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, Secret::from(key))),
        (None, None) => None,
        (Some(_), None) => {
            return Err(
                Usage::new("the client certificate needs its private key: --tls-key-path").into()
            );
        }
        (None, Some(_)) => {
            return Err(Usage::new(
                "the client's private key needs its certificate: --tls-cert-path",
            )
            .into());
        }
    };
    let unverified = environment.flag("TEMPORAL_TLS_DISABLE_HOST_VERIFICATION")?;
    let tls = Tls {
        client,
        server_ca,
        server_name: args
            .tls_server_name
            .or_else(|| variable("TEMPORAL_TLS_SERVER_NAME"))
            .or(profile.server_name),
        any_certificate: args.tls_disable_host_verification
            || unverified.unwrap_or(profile.disable_host_verification),
    };
    let wanted = switched.or(wanted_by_profile).unwrap_or(has_key || tls != Tls::default());
    Ok(wanted.then_some(tls))
}

/// Headers that a flag gives as KEY=VALUE. The error doesn't quote them: they may be credentials.
fn headers(given: Vec<Secret>, flag: &str) -> anyhow::Result<Vec<(String, Secret)>> {
    let read = given.into_iter().map(|header| match header.reveal().split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned().into())),
        _ => Err(Usage::new(format!("{flag} is not of the form KEY=VALUE")).into()),
    });
    read.collect()
}

fn read(path: &Path, what: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {what}, {}", path.display()))
}

/// `perennial-cli:user@host`, like the identities of Temporal's tools.
fn default_identity() -> String {
    let user = user_name().unwrap_or_else(|| "unknown".to_owned());
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    format!("perennial-cli:{user}@{host}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        Environment(variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    fn no_file() -> ConfigArgs {
        ConfigArgs { disable_config_file: true, ..ConfigArgs::default() }
    }

    #[test]
    fn a_flag_comes_before_the_environment() {
        let args =
            ConnectionArgs { address: Some("flag:1".to_owned()), ..ConnectionArgs::default() };
        let environment =
            environment(&[("TEMPORAL_ADDRESS", "variable:2"), ("TEMPORAL_NAMESPACE", "shop")]);
        let settings = Settings::resolve(args.clone(), &no_file(), &environment).unwrap();
        assert_eq!((settings.address.as_str(), settings.namespace.as_str()), ("flag:1", "shop"));

        let config = ConfigArgs { disable_config_env: true, ..no_file() };
        let settings = Settings::resolve(args, &config, &environment).unwrap();
        assert_eq!(settings.namespace, "default");
    }

    #[test]
    fn a_key_or_a_setting_of_tls_turns_it_on_and_a_flag_off() {
        let environment = environment(&[("TEMPORAL_API_KEY", "secret")]);
        let resolve = |tls: Option<bool>| {
            let args = ConnectionArgs {
                tls: TlsArgs { tls, ..TlsArgs::default() },
                ..ConnectionArgs::default()
            };
            Settings::resolve(args, &no_file(), &environment).unwrap()
        };
        assert!(resolve(None).tls.is_some());
        assert!(resolve(Some(false)).tls.is_none());
    }

    #[test]
    fn headers_are_named_by_variables_too() {
        let environment = environment(&[("TEMPORAL_GRPC_META_COST_CENTER", "12")]);
        let settings =
            Settings::resolve(ConnectionArgs::default(), &no_file(), &environment).unwrap();
        assert_eq!(settings.meta["cost-center"].reveal(), "12");
    }

    #[test]
    fn half_of_a_client_certificate_is_refused() {
        let tls = TlsArgs { tls_cert_data: Some("PEM".to_owned()), ..TlsArgs::default() };
        let args = ConnectionArgs { tls, ..ConnectionArgs::default() };
        let error = Settings::resolve(args, &no_file(), &Environment::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the client certificate needs its private key: --tls-key-path"
        );
    }
}
