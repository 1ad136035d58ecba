//! The flags that say which server, and as whom.

use std::path::PathBuf;
use std::time::Duration;

use perennial_calendar::parse_duration;

/// Where settings are read from besides the command line, and how long a command may take. The same for
/// every command, and allowed before it.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "config-args")]
pub(crate) struct ConfigArgs {
    /// Profile of the configuration file [env: TEMPORAL_PROFILE] [default: default]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) profile: Option<String>,

    /// Configuration file, as TOML [env: TEMPORAL_CONFIG_FILE]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) config_file: Option<PathBuf>,

    /// Don't read the configuration file
    #[arg(long, global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(crate) disable_config_file: bool,

    /// Don't read the environment
    #[arg(long, global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(crate) disable_config_env: bool,

    /// Environment of the older presets file, `perennial env` [env: TEMPORAL_ENV] [default: default]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) env: Option<String>,

    /// The older presets file, as YAML [env: TEMPORAL_ENV_FILE]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) env_file: Option<PathBuf>,

    /// Give up after this long [default: none; a single request 30s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Configuration", hide_short_help = true)]
    pub(crate) command_timeout: Option<Duration>,

    /// Give up connecting after this long [default: 10s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Configuration", hide_short_help = true)]
    pub(crate) client_connect_timeout: Option<Duration>,
}

/// Which server, and as whom. The same for every command that talks to one.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "connection-args")]
pub(crate) struct ConnectionArgs {
    /// Where the server is [env: TEMPORAL_ADDRESS] [default: localhost:7233]
    #[arg(long, global = true, value_name = "HOST:PORT", help_heading = "Connection")]
    pub(crate) address: Option<String>,

    /// Namespace [env: TEMPORAL_NAMESPACE] [default: default]
    #[arg(long, short, global = true, value_name = "NAME", help_heading = "Connection")]
    pub(crate) namespace: Option<String>,

    /// Key that says who asks; turns TLS on [env: TEMPORAL_API_KEY]
    #[arg(long, global = true, value_name = "KEY", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) api_key: Option<String>,

    /// Header to send along; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = "Connection")]
    #[arg(hide_short_help = true, value_parser = key_value)]
    pub(crate) grpc_meta: Vec<(String, String)>,

    /// Name under which the server knows this client
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) identity: Option<String>,

    /// The `:authority` of requests, for a server behind a proxy
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) client_authority: Option<String>,

    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// How the connection is encrypted.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "tls-args")]
pub(crate) struct TlsArgs {
    /// Encrypt; on by itself if a key or any of the flags below is given [env: TEMPORAL_TLS]
    #[arg(long, global = true, help_heading = "TLS", hide_short_help = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) tls: Option<bool>,

    /// Certificate of this client, as PEM [env: TEMPORAL_TLS_CLIENT_CERT_PATH]
    #[arg(long, global = true, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_cert_path: Option<PathBuf>,

    /// The same, the text itself [env: TEMPORAL_TLS_CLIENT_CERT_DATA]
    #[arg(long, global = true, value_name = "PEM", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_cert_data: Option<String>,

    /// Its private key [env: TEMPORAL_TLS_CLIENT_KEY_PATH]
    #[arg(long, global = true, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_key_path: Option<PathBuf>,

    /// The same, the text itself [env: TEMPORAL_TLS_CLIENT_KEY_DATA]
    #[arg(long, global = true, value_name = "PEM", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_key_data: Option<String>,

    /// Who vouches for the server, instead of those this machine trusts
    /// [env: TEMPORAL_TLS_SERVER_CA_CERT_PATH]
    #[arg(long, global = true, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_ca_path: Option<PathBuf>,

    /// The same, the text itself [env: TEMPORAL_TLS_SERVER_CA_CERT_DATA]
    #[arg(long, global = true, value_name = "PEM", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_ca_data: Option<String>,

    /// Name the server's certificate has to have [env: TEMPORAL_TLS_SERVER_NAME]
    #[arg(long, global = true, value_name = "NAME", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_server_name: Option<String>,

    /// Take any certificate [env: TEMPORAL_TLS_DISABLE_HOST_VERIFICATION]
    #[arg(long, global = true, help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_disable_host_verification: bool,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}
