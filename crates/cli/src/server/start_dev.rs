//! `perennial server start-dev`.

use std::ffi::OsString;

use perennial_library::{Config, Durability, NewSearchAttribute, Storage};

use super::access_args::{AccessArgs, AccessFile};
use super::dynamic_config;
use super::http_callers::HttpCallers;
use super::launch::{OpenToAll, Plan};
use super::metrics_port::MetricsArgs;
use super::pair::{self, ConfigValue};
use super::tls_args::{TlsArgs, TlsFile};
use super::trace_args::TraceArgs;
use crate::database::{self, Fsync};
use crate::logging::{LogFormat, LogLevel};
use crate::terminal::print_stderr;

/// Run a development server, in memory by default
///
/// Accepts the flags of Temporal's development server, so it can replace that one.
// SDKs put their own flags before those of their users: as in Temporal, the last one wins.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(super) struct Args {
    /// Port of the gRPC API
    #[arg(long, short, default_value_t = 7233)]
    port: u16,

    /// Port of the HTTP API [default: a free port]
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,

    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    ip: String,

    /// Database file, or postgres://user@host/database [default: in memory, lost when the server stops]
    #[arg(long, short = 'f', value_name = "FILE|URL")]
    db_filename: Option<OsString>,

    /// Namespace to create, besides `default`; repeatable
    #[arg(long, short, value_name = "NAME")]
    namespace: Vec<String>,

    /// Search attribute to create in each namespace; repeatable
    #[arg(long, value_name = "NAME=TYPE", value_parser = pair::search_attribute)]
    search_attribute: Vec<NewSearchAttribute>,

    /// Dynamic configuration value, as in Temporal; repeatable
    #[arg(long, value_name = "KEY=JSON", value_parser = pair::config_value)]
    dynamic_config_value: Vec<ConfigValue>,

    /// SQLite pragma; only `synchronous` has an effect
    #[arg(long, value_name = "PRAGMA=VALUE", value_parser = pair::pragma)]
    sqlite_pragma: Vec<(String, String)>,

    /// Log level
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "warn", help_heading = "Log")]
    log_level: LogLevel,

    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, help_heading = "Log")]
    log_format: LogFormat,

    /// Print the settings to standard error
    #[arg(long, help_heading = "Log")]
    log_config: bool,

    #[command(flatten)]
    callers: HttpCallers,

    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    tls: TlsArgs,

    #[command(flatten)]
    metrics: MetricsArgs,

    #[command(flatten)]
    traces: TraceArgs,

    #[command(flatten)]
    later: IgnoredFlags,
}

/// Flags of Temporal's development server for features that Perennial lacks. The server accepts them and
/// logs that they have no effect.
#[derive(Debug, clap::Args)]
struct IgnoredFlags {
    /// Don't serve the web UI
    #[arg(long, help_heading = "No effect yet")]
    headless: bool,

    /// Port of the web UI
    #[arg(long, value_name = "PORT", help_heading = "No effect yet")]
    ui_port: Option<u16>,

    /// Address of the web UI
    #[arg(long, value_name = "IP", help_heading = "No effect yet")]
    ui_ip: Option<String>,

    /// Folder with the web UI's files
    #[arg(long, value_name = "FOLDER", help_heading = "No effect yet")]
    ui_asset_path: Option<String>,

    /// Codec server of the web UI
    #[arg(long, value_name = "URL", help_heading = "No effect yet")]
    ui_codec_endpoint: Option<String>,

    /// Path of the web UI
    #[arg(long, value_name = "PATH", help_heading = "No effect yet")]
    ui_public_path: Option<String>,

    /// Hide the web UI's news
    #[arg(long, help_heading = "No effect yet")]
    ui_disable_news_fetch: bool,
}

impl Args {
    pub(super) fn plan(self) -> anyhow::Result<Plan> {
        if self.log_config {
            print_stderr(format_args!("{self:#?}"));
        }
        let mut durability = Durability::default();
        let mut without_effect = Vec::new();
        for (pragma, value) in &self.sqlite_pragma {
            match (pragma.as_str(), value.as_str()) {
                ("synchronous", "off" | "0" | "normal" | "1") => {
                    durability = Durability::ProcessCrash;
                }
                ("synchronous", "full" | "2" | "extra" | "3") => {
                    durability = Durability::PowerLoss;
                }
                _ => without_effect.push(format!("--sqlite-pragma {pragma}={value}")),
            }
        }
        let mut config = Config::new(match self.db_filename {
            Some(db) => database::storage(db, durability.into(), Fsync::MayBeOff)?,
            None => Storage::Memory,
        });
        let (limits, server) = (&mut config.runtime.limits, &mut config.server);
        let keys = dynamic_config::apply(&self.dynamic_config_value, limits, server)?;
        without_effect.extend(keys.into_iter().map(|key| format!("--dynamic-config-value {key}")));
        without_effect.extend(self.later.given());
        self.callers.add_to(&mut server.http);
        let is_open = self.access.allow_unauthenticated;
        server.access = self.access.config(AccessFile::default())?;
        for name in self.namespace {
            if !config.namespaces.contains(&name) {
                config.namespaces.push(name);
            }
        }
        config.search_attributes = self.search_attribute;
        Ok(Plan {
            config,
            tls: self.tls.load(TlsFile::default())?,
            ip: self.ip,
            port: self.port,
            http_port: Some(self.http_port.unwrap_or(0)),
            open_to_all: match is_open {
                true => OpenToAll::Allowed,
                false => OpenToAll::Warned,
            },
            metrics: self.metrics.address(None, None)?,
            traces: self.traces.config(None, None)?,
            log_level: self.log_level,
            log_format: self.log_format,
            without_effect,
        })
    }
}

impl IgnoredFlags {
    /// The flags that were given, except `--headless`: there is no web UI anyway.
    fn given(&self) -> impl Iterator<Item = String> {
        [
            ("--ui-port", self.ui_port.is_some()),
            ("--ui-ip", self.ui_ip.is_some()),
            ("--ui-asset-path", self.ui_asset_path.is_some()),
            ("--ui-codec-endpoint", self.ui_codec_endpoint.is_some()),
            ("--ui-public-path", self.ui_public_path.is_some()),
        ]
        .into_iter()
        .filter(|(_, given)| *given)
        .map(|(flag, _)| flag.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;

    fn read(line: &str) -> Args {
        let command = Args::augment_args(clap::Command::new("start-dev"));
        let matches = command.try_get_matches_from(line.split(' ')).unwrap();
        Args::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn of_a_flag_that_is_given_twice_the_last_one_counts() {
        let args = read(
            "start-dev --port 1 --log-level warn --headless -p 2 --log-level=error --headless",
        );
        assert_eq!(args.port, 2);
        assert_eq!(args.log_level, LogLevel::Error);
        assert!(args.later.headless);
    }

    #[test]
    fn what_may_be_repeated_adds_up() {
        assert_eq!(read("start-dev -n a --namespace b").namespace, ["a", "b"]);
    }
}
