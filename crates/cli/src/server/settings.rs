//! Settings of `perennial server`: flags override environment variables, which override the settings file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use perennial_library::{
    Config, Durability, Evaluation, NewSearchAttribute, OnDamage, SqliteOptions, Storage,
};
use serde::Deserialize;

use super::access_args::{AccessArgs, AccessFile};
use super::dynamic_config;
use super::http_callers::HttpCallers;
use super::launch::{OpenToAll, Plan};
use super::limits_file::LimitsFile;
use super::metrics_port::MetricsArgs;
use super::node_args::NodeArgs;
use super::pair::{self, ConfigValue};
use super::size;
use super::tls_args::{TlsArgs, TlsFile};
use super::trace_args::TraceArgs;
use crate::database::{self, Fsync};
use crate::failure::Usage;
use crate::logging::{LogFormat, LogLevel};

#[derive(Debug, clap::Args)]
pub(super) struct Settings {
    /// Database file, created if missing; or postgres://user@host/database [default: perennial.db]
    #[arg(long, value_name = "FILE|URL", env = "PERENNIAL_DB", hide_env = true)]
    #[arg(hide_env_values = true)]
    db: Option<OsString>,

    /// Accept a PostgreSQL server with fsync = off, which loses acknowledged requests when the power fails
    #[arg(long)]
    allow_fsync_off: bool,

    /// Failures that acknowledged requests survive [default: power-loss]
    #[arg(long, value_enum, value_name = "WHAT", env = "PERENNIAL_DURABILITY", hide_env = true)]
    durability: Option<DurabilityArg>,

    /// Start although the redo file is damaged or missing; the last acknowledged requests are lost
    // For a single start: there is no such setting in the file or the environment.
    #[arg(long)]
    discard_damaged_redo: bool,

    /// Address to listen on [default: 127.0.0.1]
    #[arg(long, env = "PERENNIAL_IP", hide_env = true)]
    ip: Option<String>,

    /// Port of the gRPC API [default: 7233]
    #[arg(long, short, env = "PERENNIAL_PORT", hide_env = true)]
    port: Option<u16>,

    /// Port of the HTTP API; 0 for any free port [default: 7243]
    #[arg(
        long,
        value_name = "PORT",
        env = "PERENNIAL_HTTP_PORT",
        hide_env = true,
        help_heading = "HTTP"
    )]
    http_port: Option<u16>,

    /// Don't serve HTTP
    #[arg(
        long,
        env = "PERENNIAL_NO_HTTP",
        hide_env = true,
        conflicts_with = "http_port",
        help_heading = "HTTP"
    )]
    no_http: bool,

    #[command(flatten)]
    callers: HttpCallers,

    #[command(flatten)]
    node: NodeArgs,

    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    tls: TlsArgs,

    #[command(flatten)]
    metrics: MetricsArgs,

    #[command(flatten)]
    traces: TraceArgs,

    /// Namespace to create, besides `default`; repeatable
    #[arg(
        long,
        short,
        value_name = "NAME",
        env = "PERENNIAL_NAMESPACE",
        hide_env = true,
        value_delimiter = ','
    )]
    namespace: Vec<String>,

    /// Search attribute to create in these namespaces; repeatable
    #[arg(long, value_name = "NAME=TYPE", value_parser = pair::search_attribute)]
    #[arg(env = "PERENNIAL_SEARCH_ATTRIBUTE", hide_env = true, value_delimiter = ',')]
    search_attribute: Vec<NewSearchAttribute>,

    /// Settings file (TOML): flag names with underscores, repeatable flags in the plural (namespaces);
    /// TLS in the table `tls` (certs, client_cas, client_auth), who may call in the table `access` (auth,
    /// certificate_roles, token_issuers), limits in the table `limits` (namespace, namespaces, principal)
    #[arg(long, value_name = "FILE", env = "PERENNIAL_CONFIG", hide_env = true)]
    config: Option<PathBuf>,

    /// Memory for workflows, schedules, requests and tasks, such as 512MB [default: 256MB]
    #[arg(long, value_name = "SIZE", env = "PERENNIAL_MEMORY_BUDGET", hide_env = true, value_parser = size::parse)]
    memory_budget: Option<usize>,

    /// Who evaluates due schedules: the server itself, or callers on demand [default: itself]
    #[arg(
        long,
        value_enum,
        value_name = "WHO",
        env = "PERENNIAL_SCHEDULE_EVALUATION",
        hide_env = true
    )]
    schedule_evaluation: Option<ScheduleEvaluator>,

    /// Log level [default: info]
    #[arg(long, value_enum, value_name = "LEVEL", help_heading = "Log")]
    #[arg(env = "PERENNIAL_LOG_LEVEL", hide_env = true)]
    log_level: Option<LogLevel>,

    /// Log format [default: text]
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Log")]
    #[arg(env = "PERENNIAL_LOG_FORMAT", hide_env = true)]
    log_format: Option<LogFormat>,
}

/// Failures that acknowledged requests survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DurabilityArg {
    /// A power failure of the machine
    PowerLoss,
    /// A crash of the server, not of the machine
    ProcessCrash,
}

/// Who evaluates due schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScheduleEvaluator {
    /// The server itself
    Itself,
    /// Callers of `EvaluateSchedules`, see `perennial schedule evaluate`
    OnDemand,
}

/// The settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    db: Option<String>,
    durability: Option<DurabilityArg>,
    ip: Option<String>,
    port: Option<u16>,
    http_port: Option<u16>,
    no_http: Option<bool>,
    #[serde(default)]
    access: AccessFile,
    #[serde(default)]
    limits: LimitsFile,
    #[serde(default)]
    http_cors_origins: Vec<String>,
    node_port: Option<u16>,
    node_address: Option<String>,
    #[serde(default)]
    http_allowed_hosts: Vec<String>,
    metrics_port: Option<u16>,
    metrics_ip: Option<String>,
    otlp_endpoint: Option<String>,
    trace_ratio: Option<f64>,
    #[serde(default)]
    tls: TlsFile,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    search_attributes: BTreeMap<String, String>,
    memory_budget: Option<String>,
    schedule_evaluation: Option<ScheduleEvaluator>,
    log_level: Option<LogLevel>,
    log_format: Option<LogFormat>,
    /// Same as `--dynamic-config-value` of the development server.
    #[serde(default)]
    dynamic_config: BTreeMap<String, serde_json::Value>,
}

impl Settings {
    pub(super) fn plan(self) -> anyhow::Result<Plan> {
        let file = self.config.as_deref().map(File::read).transpose()?.unwrap_or_default();
        let durability = self.durability.or(file.durability).unwrap_or(DurabilityArg::PowerLoss);
        let values: Vec<_> = file
            .dynamic_config
            .into_iter()
            .map(|(key, value)| ConfigValue { key, value })
            .collect();
        let db = self.db.or(file.db.map(Into::into)).unwrap_or_else(|| "perennial.db".into());
        let options = SqliteOptions {
            durability: match durability {
                DurabilityArg::PowerLoss => Durability::PowerLoss,
                DurabilityArg::ProcessCrash => Durability::ProcessCrash,
            },
            on_damage: match self.discard_damaged_redo {
                true => OnDamage::Discard,
                false => OnDamage::Refuse,
            },
            ..SqliteOptions::default()
        };
        let fsync = if self.allow_fsync_off { Fsync::MayBeOff } else { Fsync::Required };
        let mut config = Config::new(database::storage(db, options, fsync)?);
        let (limits, server) = (&mut config.runtime.limits, &mut config.server);
        let unknown = dynamic_config::apply(&values, limits, server)?;
        server.http.cors_origins.extend(file.http_cors_origins);
        server.http.allowed_hosts.extend(file.http_allowed_hosts);
        self.callers.add_to(&mut server.http);
        let is_open = self.access.allow_unauthenticated || file.access.allow_unauthenticated;
        server.access = self.access.config(file.access)?;
        server.limits = file.limits.into();
        let serves_http = self.http_port.is_some() || !(self.no_http || file.no_http == Some(true));

        let named = if self.namespace.is_empty() { file.namespaces } else { self.namespace };
        config.namespaces.extend(named.into_iter().filter(|name| name != "default"));
        config.search_attributes = if self.search_attribute.is_empty() {
            let pairs = file.search_attributes.iter();
            pairs
                .map(|(name, kind)| pair::search_attribute(&format!("{name}={kind}")))
                .collect::<Result<_, _>>()
                .map_err(Usage::new)?
        } else {
            self.search_attribute
        };
        let in_file = file.memory_budget.as_deref().map(size::parse).transpose();
        let memory_budget = self.memory_budget.or(in_file.map_err(Usage::new)?);
        if let Some(memory_budget) = memory_budget {
            config.runtime.memory_budget = memory_budget;
        }
        config.runtime.evaluation = match self.schedule_evaluation.or(file.schedule_evaluation) {
            Some(ScheduleEvaluator::OnDemand) => Evaluation::OnDemand,
            Some(ScheduleEvaluator::Itself) | None => Evaluation::ByItself,
        };
        let ip = self.ip.or(file.ip).unwrap_or_else(|| "127.0.0.1".to_owned());
        config.node = self.node.config(&ip, file.node_port, file.node_address)?;
        if matches!(config.storage, Storage::Postgres(_)) {
            NodeArgs::check(&config.node)?;
        }
        Ok(Plan {
            config,
            tls: self.tls.load(file.tls)?,
            ip,
            port: self.port.or(file.port).unwrap_or(7233),
            http_port: serves_http.then(|| self.http_port.or(file.http_port).unwrap_or(7243)),
            open_to_all: match is_open {
                true => OpenToAll::Allowed,
                false => OpenToAll::Refused,
            },
            metrics: self.metrics.address(file.metrics_port, file.metrics_ip)?,
            traces: self.traces.config(file.otlp_endpoint, file.trace_ratio)?,
            log_level: self.log_level.or(file.log_level).unwrap_or(LogLevel::Info),
            log_format: self.log_format.or(file.log_format).unwrap_or_default(),
            without_effect: unknown
                .into_iter()
                .map(|key| format!("dynamic_config {key}"))
                .collect(),
        })
    }
}

impl File {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the settings in {}", path.display()))?;
        Self::parse(&text)
            .map_err(|error| Usage::new(format!("{}: {error}", path.display())).into())
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Settings,
    }

    fn args(line: &[&str]) -> Settings {
        Line::try_parse_from([&["server"], line].concat()).unwrap().args
    }

    #[test]
    fn defaults_are_a_file_on_loopback() {
        let plan = args(&[]).plan().unwrap();
        let Storage::File { path, .. } = &plan.config.storage else { panic!("it is no file") };
        assert_eq!(path.as_os_str(), "perennial.db");
        assert_eq!((plan.ip.as_str(), plan.port), ("127.0.0.1", 7233));
        assert_eq!(plan.http_port, Some(7243));
        assert_eq!(args(&["--no-http"]).plan().unwrap().http_port, None);
        assert_eq!(plan.config.namespaces, ["default"]);
    }

    #[test]
    fn memory_budget_is_a_size() {
        let budget = |line: &[&str]| args(line).plan().unwrap().config.runtime.memory_budget;
        assert_eq!(budget(&[]), 256 << 20);
        assert_eq!(budget(&["--memory-budget", "64MB"]), 64 << 20);
    }

    #[test]
    fn metrics_are_served_on_loopback_if_there_is_a_port() {
        let address = |line: &[&str]| args(line).plan().map(|plan| plan.metrics);
        assert_eq!(address(&[]).unwrap(), None);
        let served = address(&["--metrics-port", "9464"]).unwrap().unwrap();
        assert_eq!((served.ip.as_str(), served.port), ("127.0.0.1", 9464));
        let served = address(&["--metrics-port", "0", "--metrics-ip", "::"]).unwrap().unwrap();
        assert_eq!((served.ip.as_str(), served.port), ("::", 0));
        let error = address(&["--metrics-ip", "::"]).unwrap_err().to_string();
        assert!(error.contains("--metrics-port"), "{error}");
    }

    #[test]
    fn traces_need_a_collector() {
        let traces = |line: &[&str]| args(line).plan().map(|plan| plan.traces);
        assert_eq!(traces(&[]).unwrap(), None);
        let all = traces(&["--otlp-endpoint", "http://c:4317"]).unwrap().unwrap();
        assert_eq!((all.endpoint.as_str(), all.ratio), ("http://c:4317", 1.0));
        let few = traces(&["--otlp-endpoint", "http://c:4317", "--trace-ratio", "0.1"]).unwrap();
        assert_eq!(few.unwrap().ratio, 0.1);
        let error = traces(&["--trace-ratio", "0.1"]).unwrap_err().to_string();
        assert!(error.contains("--otlp-endpoint"), "{error}");
    }

    #[test]
    fn file_has_the_same_settings_and_no_others() {
        let file = File::parse(
            r#"
            db = "state.db"
            port = 7000
            durability = "process-crash"
            http_port = 7001
            http_cors_origins = ["https://ops.example"]
            namespaces = ["shop"]
            memory_budget = "64MB"
            metrics_port = 9464
            log_level = "debug"

            [tls]
            certs = [{ cert = "server.pem", key = "server.key" }]
            client_cas = ["clients.pem"]
            client_auth = "optional"

            [search_attributes]
            City = "Keyword"

            [dynamic_config]
            "limit.blobSize.error" = 100
            "#,
        )
        .unwrap();
        assert_eq!((file.port, file.log_level), (Some(7000), Some(LogLevel::Debug)));
        assert_eq!(file.durability, Some(DurabilityArg::ProcessCrash));
        assert_eq!(file.http_port, Some(7001));
        assert_eq!(file.tls.certs.len(), 1);
        let error = File::parse("prot = 7000").unwrap_err().to_string();
        assert!(error.contains("unknown field `prot`"), "{error}");
    }
}
