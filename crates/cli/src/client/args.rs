//! Connection flags: address, namespace, credentials, TLS, configuration files.

use std::path::PathBuf;
use std::time::Duration;

use perennial_calendar::parse_duration;

use super::secret::Secret;

/// Configuration sources besides flags, and timeouts. Every command has these flags; they may also precede
/// the command.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "config-args")]
pub(crate) struct ConfigArgs {
    /// Profile in the configuration file [env: TEMPORAL_PROFILE] [default: default]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) profile: Option<String>,

    /// Configuration file (TOML) [env: TEMPORAL_CONFIG_FILE]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) config_file: Option<PathBuf>,

    /// Ignore the configuration file
    #[arg(long, global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(crate) disable_config_file: bool,

    /// Ignore TEMPORAL_… environment variables
    #[arg(long, global = true, help_heading = "Configuration", hide_short_help = true)]
    pub(crate) disable_config_env: bool,

    /// Environment in the older presets file, see `perennial env` [env: TEMPORAL_ENV] [default: default]
    #[arg(long, global = true, value_name = "NAME", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) env: Option<String>,

    /// Older presets file (YAML) [env: TEMPORAL_ENV_FILE]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Configuration")]
    #[arg(hide_short_help = true)]
    pub(crate) env_file: Option<PathBuf>,

    /// Timeout of the whole command [default: none; 30s per request]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Configuration", hide_short_help = true)]
    pub(crate) command_timeout: Option<Duration>,

    /// Timeout for connecting [default: 10s]
    #[arg(long, global = true, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Configuration", hide_short_help = true)]
    pub(crate) client_connect_timeout: Option<Duration>,
}

/// The server, the namespace and the credentials. Every command that talks to a server has these flags.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "connection-args")]
pub(crate) struct ConnectionArgs {
    /// Address of the server [env: TEMPORAL_ADDRESS] [default: localhost:7233]
    #[arg(long, global = true, value_name = "HOST:PORT", help_heading = "Connection")]
    pub(crate) address: Option<String>,

    /// Namespace [env: TEMPORAL_NAMESPACE] [default: default]
    #[arg(long, short, global = true, value_name = "NAME", help_heading = "Connection")]
    pub(crate) namespace: Option<String>,

    /// API key; turns TLS on [env: TEMPORAL_API_KEY]
    #[arg(long, global = true, value_name = "KEY", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) api_key: Option<Secret>,

    /// gRPC header to send; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) grpc_meta: Vec<Secret>,

    /// Identity of this client, recorded by the server
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) identity: Option<String>,

    /// HTTP/2 `:authority` header, for a server behind a proxy
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection")]
    #[arg(hide_short_help = true)]
    pub(crate) client_authority: Option<String>,

    #[command(flatten)]
    pub(crate) codec: CodecArgs,

    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// Flags for a codec server, which encodes and decodes payloads.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "codec-args")]
pub(crate) struct CodecArgs {
    /// Address of a codec server for payloads; `{namespace}` in it stands for the namespace
    /// [env: TEMPORAL_CODEC_ENDPOINT]
    #[arg(long, global = true, value_name = "URL", help_heading = "Codec", hide_short_help = true)]
    pub(crate) codec_endpoint: Option<String>,

    /// Authorization header for the codec server [env: TEMPORAL_CODEC_AUTH]
    #[arg(long, global = true, value_name = "VALUE", help_heading = "Codec")]
    #[arg(hide_short_help = true)]
    pub(crate) codec_auth: Option<Secret>,

    /// HTTP header for the codec server; repeatable
    #[arg(long, global = true, value_name = "KEY=VALUE", help_heading = "Codec")]
    #[arg(hide_short_help = true)]
    pub(crate) codec_header: Vec<Secret>,
}

/// TLS flags.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "tls-args")]
pub(crate) struct TlsArgs {
    /// Use TLS; on by default with --api-key or any --tls-… flag [env: TEMPORAL_TLS]
    #[arg(long, global = true, help_heading = "TLS", hide_short_help = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) tls: Option<bool>,

    /// Client certificate file (PEM) [env: TEMPORAL_TLS_CLIENT_CERT_PATH]
    #[arg(long, global = true, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_cert_path: Option<PathBuf>,

    /// Client certificate (PEM text) [env: TEMPORAL_TLS_CLIENT_CERT_DATA]
    #[arg(long, global = true, value_name = "PEM", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_cert_data: Option<String>,

    /// Client private key file (PEM) [env: TEMPORAL_TLS_CLIENT_KEY_PATH]
    #[arg(long, global = true, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_key_path: Option<PathBuf>,

    /// Client private key (PEM text) [env: TEMPORAL_TLS_CLIENT_KEY_DATA]
    #[arg(long, global = true, value_name = "PEM", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_key_data: Option<Secret>,

    /// CA certificate file for the server's certificate (PEM) [default: the system's]
    /// [env: TEMPORAL_TLS_SERVER_CA_CERT_PATH]
    #[arg(long, global = true, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_ca_path: Option<PathBuf>,

    /// CA certificate (PEM text) [env: TEMPORAL_TLS_SERVER_CA_CERT_DATA]
    #[arg(long, global = true, value_name = "PEM", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_ca_data: Option<String>,

    /// Expected name in the server's certificate [env: TEMPORAL_TLS_SERVER_NAME]
    #[arg(long, global = true, value_name = "NAME", help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_server_name: Option<String>,

    /// Accept any server certificate (insecure) [env: TEMPORAL_TLS_DISABLE_HOST_VERIFICATION]
    #[arg(long, global = true, help_heading = "TLS", hide_short_help = true)]
    pub(crate) tls_disable_host_verification: bool,
}
