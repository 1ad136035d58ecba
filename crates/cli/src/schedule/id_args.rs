//! Arguments that name a schedule.

use crate::failure::Usage;

/// A schedule id, as a positional argument or a flag.
#[derive(Debug, Clone, clap::Args)]
#[group(id = "schedule-id", required = true, multiple = false)]
pub(super) struct ScheduleIdArgs {
    /// Schedule id
    #[arg(value_name = "SCHEDULE_ID", group = "schedule-id")]
    id: Option<String>,

    /// Schedule id, as a flag
    #[arg(long = "schedule-id", short = 's', alias = "sid", value_name = "ID")]
    #[arg(id = "schedule_id_flag", group = "schedule-id")]
    flag: Option<String>,
}

impl ScheduleIdArgs {
    pub(super) fn get(&self) -> anyhow::Result<String> {
        let id = self.flag.clone().or_else(|| self.id.clone());
        Ok(id.ok_or_else(|| Usage::new("missing schedule id: --schedule-id ID"))?)
    }
}
