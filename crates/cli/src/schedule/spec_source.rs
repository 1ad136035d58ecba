//! The spec to preview or explain: a schedule's, or one given by flags.

use perennial_calendar::{Definition, DstPolicy, NamedCalendars, OnGap, Spec};
use perennial_engine::schedule::spec;

use super::fetch::{self, Described};
use super::spec_args::ScheduleSpecArgs;
use crate::client::Client;
use crate::failure::Usage;
use crate::system_zones;

/// An existing schedule, flags with a spec, or both.
#[derive(Debug, clap::Args)]
pub(super) struct SpecSourceArgs {
    /// Schedule id; or give a spec with the flags below
    #[arg(value_name = "SCHEDULE_ID", conflicts_with = "schedule_id_flag")]
    id: Option<String>,

    /// Schedule id, as a flag
    #[arg(long = "schedule-id", short = 's', alias = "sid", value_name = "ID")]
    #[arg(id = "schedule_id_flag")]
    flag: Option<String>,

    #[command(flatten)]
    spec: ScheduleSpecArgs,
}

/// A compiled spec, and the same spec with a DST policy that skips gaps, for comparison.
pub(super) struct CompiledSpecs {
    pub(super) spec: Spec,
    pub(super) skipping: Spec,
}

impl SpecSourceArgs {
    /// Whether only flags are given, so that no server is needed.
    pub(super) fn is_typed(&self) -> bool {
        self.id.is_none() && self.flag.is_none()
    }

    /// Likely mistakes in the flags.
    pub(super) fn mistakes(&self) -> Vec<String> {
        self.spec.mistakes()
    }

    /// Compiles the spec given by the flags.
    pub(super) fn typed(&self) -> anyhow::Result<CompiledSpecs> {
        if !self.spec.has_times() {
            return Err(Usage::new(
                "give a schedule id, or a spec with --cron, --calendar or --interval",
            )
            .into());
        }
        CompiledSpecs::compile(self.spec.read()?, None)
    }

    /// Compiles the spec of a schedule, changed by the flags.
    pub(super) async fn of_schedule(&self, client: &Client) -> anyhow::Result<CompiledSpecs> {
        let id = self.flag.as_ref().or(self.id.as_ref());
        let id = id.ok_or_else(|| Usage::new("missing schedule id: --schedule-id ID"))?;
        let schedule = fetch::describe(client, id).await?;
        let definition = self.spec.change(spec::read(&schedule.spec())?)?;
        CompiledSpecs::compile(definition, Some(&schedule))
    }
}

impl CompiledSpecs {
    fn compile(definition: Definition, schedule: Option<&Described>) -> anyhow::Result<Self> {
        let mut skipping = definition.clone();
        skipping.dst = skipping.dst.map(|policy| DstPolicy { gap: OnGap::Skip, ..policy });
        Ok(CompiledSpecs {
            spec: compiled(definition, schedule)?,
            skipping: compiled(skipping, schedule)?,
        })
    }
}

/// Compiles the spec of a schedule with this machine's time zone database.
pub(super) fn compile(schedule: &Described) -> anyhow::Result<Spec> {
    compiled(spec::read(&schedule.spec())?, Some(schedule))
}

fn compiled(definition: Definition, schedule: Option<&Described>) -> anyhow::Result<Spec> {
    let zones = system_zones::zones_with(&definition.zone)?;
    let spec = Spec::compile(definition, &zones, &NamedCalendars::default())?;
    // Jitter depends on the schedule id.
    let ours = schedule.and_then(|schedule| schedule.ours.as_ref());
    Ok(match ours {
        Some(ours) => spec.with_identity(&ours.internal_id),
        None => spec,
    })
}
