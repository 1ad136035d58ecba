//! Who may call over HTTP: the same flags for both ways to start a server.

use perennial_library::HttpConfig;

#[derive(Debug, clap::Args)]
pub(super) struct HttpCallers {
    /// Web pages of this origin may call and read answers; `*` for all; may be repeated
    #[arg(long, value_name = "ORIGIN", env = "PERENNIAL_HTTP_CORS_ORIGIN", value_delimiter = ',')]
    #[arg(help_heading = "HTTP")]
    http_cors_origin: Vec<String>,

    /// Name of this server that callers may use, beside localhost and addresses; `*` for all; may be repeated
    #[arg(long, value_name = "NAME", env = "PERENNIAL_HTTP_ALLOWED_HOST", value_delimiter = ',')]
    #[arg(help_heading = "HTTP")]
    http_allowed_host: Vec<String>,
}

impl HttpCallers {
    pub(super) fn add_to(self, config: &mut HttpConfig) {
        config.cors_origins.extend(self.http_cors_origin);
        config.allowed_hosts.extend(self.http_allowed_host);
    }
}
