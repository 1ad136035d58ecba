//! The settings of a namespace that can be created and changed.

use std::time::Duration;

use clap::ValueEnum;
use perennial_calendar::parse_duration;
use perennial_proto::temporal::enums::v1::ArchivalState;
use perennial_proto::temporal::replication::v1::ClusterReplicationConfig;

use crate::input::{length, text_pair};

/// What can be said of a namespace.
#[derive(Debug, clap::Args)]
#[group(id = "settings-args")]
pub(super) struct SettingsArgs {
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,

    /// Whom to ask about it
    #[arg(long, aliases = ["owner-email", "oe"], value_name = "ADDRESS")]
    pub(super) email: Option<String>,

    /// How long ended workflows are kept
    #[arg(long, alias = "rd", value_name = "DURATION", value_parser = retention)]
    pub(super) retention: Option<Duration>,

    /// Anything else to remember; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = text_pair)]
    pub(super) data: Vec<(String, String)>,

    /// Cluster that has it; repeatable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) cluster: Vec<String>,

    /// Cluster that is active
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) active_cluster: Option<String>,

    /// Whether histories are archived
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true, hide_short_help = true)]
    pub(super) history_archival_state: Option<Archival>,

    /// Where to
    #[arg(long, value_name = "URI", hide_short_help = true)]
    pub(super) history_uri: Option<String>,

    /// Whether what lists show is archived
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true, hide_short_help = true)]
    pub(super) visibility_archival_state: Option<Archival>,

    /// Where to
    #[arg(long, value_name = "URI", hide_short_help = true)]
    pub(super) visibility_uri: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Archival {
    Disabled,
    Enabled,
}

impl Archival {
    /// As messages have it.
    pub(super) fn code(state: Option<Self>) -> i32 {
        let state = match state {
            None => ArchivalState::Unspecified,
            Some(Archival::Disabled) => ArchivalState::Disabled,
            Some(Archival::Enabled) => ArchivalState::Enabled,
        };
        state.into()
    }
}

impl SettingsArgs {
    pub(super) fn clusters(&self) -> Vec<ClusterReplicationConfig> {
        let clusters = self.cluster.iter();
        let config = |name: &String| ClusterReplicationConfig {
            cluster_name: name.clone(),
            ..ClusterReplicationConfig::default()
        };
        clusters.map(config).collect()
    }

    pub(super) fn retention(&self) -> anyhow::Result<Option<perennial_proto::Duration>> {
        self.retention.map(length).transpose()
    }
}

/// A duration; a bare number is days, as older tools have it.
fn retention(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(days) => Ok(Duration::from_secs(u64::from(days) * 86_400)),
        Err(_) => parse_duration(text).map_err(|error| error.to_string()),
    }
}
