//! Flags for the settings of a namespace.

use std::time::Duration;

use clap::ValueEnum;
use perennial_calendar::parse_duration;
use perennial_proto::temporal::enums::v1::ArchivalState;
use perennial_proto::temporal::replication::v1::ClusterReplicationConfig;

use crate::input::{length, text_pair};

/// Settings of a namespace.
#[derive(Debug, clap::Args)]
#[group(id = "settings-args")]
pub(super) struct SettingsArgs {
    /// Description
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,

    /// Email of the owner
    #[arg(long, aliases = ["owner-email", "oe"], value_name = "ADDRESS")]
    pub(super) email: Option<String>,

    /// How long closed workflows are kept
    #[arg(long, alias = "rd", value_name = "DURATION", value_parser = retention)]
    pub(super) retention: Option<Duration>,

    /// Custom data; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = text_pair)]
    pub(super) data: Vec<(String, String)>,

    /// Cluster of the namespace; repeatable
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) cluster: Vec<String>,

    /// Active cluster
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub(super) active_cluster: Option<String>,

    /// Archival of histories
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true, hide_short_help = true)]
    pub(super) history_archival_state: Option<Archival>,

    /// URI for archived histories
    #[arg(long, value_name = "URI", hide_short_help = true)]
    pub(super) history_uri: Option<String>,

    /// Archival of visibility records
    #[arg(long, value_name = "STATE", value_enum, ignore_case = true, hide_short_help = true)]
    pub(super) visibility_archival_state: Option<Archival>,

    /// URI for archived visibility records
    #[arg(long, value_name = "URI", hide_short_help = true)]
    pub(super) visibility_uri: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Archival {
    Disabled,
    Enabled,
}

impl Archival {
    /// The protobuf enum value.
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

/// Parses a duration. A bare number is days, as in tctl.
fn retention(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(days) => Ok(Duration::from_secs(u64::from(days) * 86_400)),
        Err(_) => parse_duration(text).map_err(|error| error.to_string()),
    }
}
