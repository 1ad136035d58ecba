//! The inputs of a decision beside the entity's own state.

use perennial_calendar::Zones;
use perennial_proto::temporal::common::v1::Principal;

use super::Limits;
use crate::schedule::Evaluated;
use crate::{FreshIds, FreshKeys, Time};

/// Everything that a decision may read beside the entity's own state.
#[derive(Debug)]
pub struct Context<'a> {
    /// The current time.
    pub now: Time,
    /// The generator of new ids.
    pub ids: &'a FreshIds,
    /// The generator of keys for new runs and schedules.
    pub keys: &'a FreshKeys,
    /// The configured limits.
    pub limits: &'a Limits,
    /// The time zones that cron strings are read in.
    pub zones: &'a Zones,
    /// Who evaluates schedules, and since when.
    pub evaluated: Evaluated,
    /// Who asks for the decision, as proved by credentials. Recorded in the events of a run.
    pub principal: Option<&'a Principal>,
}
