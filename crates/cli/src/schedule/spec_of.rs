//! The spec to look at: a schedule's, or one that is typed.

use perennial_calendar::{Definition, DstPolicy, NamedCalendars, OnGap, Spec};
use perennial_engine::schedule::spec;

use super::fetch::{self, Described};
use super::when::WhenArgs;
use crate::client::Client;
use crate::failure::Usage;
use crate::system_zones;

/// A schedule that is there, or flags that say when.
#[derive(Debug, clap::Args)]
pub(super) struct SpecOfArgs {
    /// Schedule id; without it, the flags below say when
    #[arg(value_name = "SCHEDULE_ID", conflicts_with = "schedule_id_flag")]
    id: Option<String>,

    /// The same as a flag
    #[arg(long = "schedule-id", short = 's', alias = "sid", value_name = "ID")]
    #[arg(id = "schedule_id_flag")]
    flag: Option<String>,

    #[command(flatten)]
    when: WhenArgs,
}

/// A spec, and the same except that it skips what the clock jumps over.
pub(super) struct SpecOf {
    pub(super) spec: Spec,
    pub(super) skipping: Spec,
}

impl SpecOfArgs {
    /// Whether the flags say everything.
    pub(super) fn is_typed(&self) -> bool {
        self.id.is_none() && self.flag.is_none()
    }

    /// What the flags probably don't mean.
    pub(super) fn mistakes(&self) -> Vec<String> {
        self.when.mistakes()
    }

    /// What the flags say.
    pub(super) fn typed(&self) -> anyhow::Result<SpecOf> {
        if !self.when.has_times() {
            return Err(Usage::new(
                "name a schedule, or say when: --cron, --calendar or --interval",
            )
            .into());
        }
        SpecOf::compile(self.when.read()?, None)
    }

    /// What a schedule says, and what the flags would change about it.
    pub(super) async fn of_schedule(&self, client: &Client) -> anyhow::Result<SpecOf> {
        let id = self.flag.as_ref().or(self.id.as_ref());
        let id = id.ok_or_else(|| Usage::new("name a schedule: --schedule-id ID"))?;
        let schedule = fetch::describe(client, id).await?;
        let definition = self.when.change(spec::read(&schedule.spec())?)?;
        SpecOf::compile(definition, Some(&schedule))
    }
}

impl SpecOf {
    fn compile(definition: Definition, schedule: Option<&Described>) -> anyhow::Result<Self> {
        let mut skipping = definition.clone();
        skipping.dst = skipping.dst.map(|policy| DstPolicy { gap: OnGap::Skip, ..policy });
        Ok(SpecOf {
            spec: compiled(definition, schedule)?,
            skipping: compiled(skipping, schedule)?,
        })
    }
}

/// The spec of a schedule, on this machine's zone database.
pub(super) fn compile(schedule: &Described) -> anyhow::Result<Spec> {
    compiled(spec::read(&schedule.spec())?, Some(schedule))
}

fn compiled(definition: Definition, schedule: Option<&Described>) -> anyhow::Result<Spec> {
    let zones = system_zones::zones_with(&definition.zone)?;
    let spec = Spec::compile(definition, &zones, &NamedCalendars::default())?;
    // Jitter depends on which schedule it is.
    let ours = schedule.and_then(|schedule| schedule.ours.as_ref());
    Ok(match ours {
        Some(ours) => spec.with_identity(&ours.internal_id),
        None => spec,
    })
}
