//! Flags for the callers of the HTTP API, shared by `server` and `server start-dev`.

use perennial_library::HttpConfig;

#[derive(Debug, clap::Args)]
pub(super) struct HttpCallers {
    /// Allow web pages of this origin to call the HTTP API; `*` for all; repeatable
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "PERENNIAL_HTTP_CORS_ORIGIN",
        hide_env = true,
        value_delimiter = ','
    )]
    #[arg(help_heading = "HTTP")]
    http_cors_origin: Vec<String>,

    /// Accept this name in the Host header, besides localhost and IP addresses; `*` for all; repeatable
    #[arg(
        long,
        value_name = "NAME",
        env = "PERENNIAL_HTTP_ALLOWED_HOST",
        hide_env = true,
        value_delimiter = ','
    )]
    #[arg(help_heading = "HTTP")]
    http_allowed_host: Vec<String>,
}

impl HttpCallers {
    pub(super) fn add_to(self, config: &mut HttpConfig) {
        config.cors_origins.extend(self.http_cors_origin);
        config.allowed_hosts.extend(self.http_allowed_host);
    }
}
