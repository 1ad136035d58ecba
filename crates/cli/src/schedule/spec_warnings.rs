//! Warnings about a new spec.

use perennial_proto::perennial::ScheduleStatus;

use super::fetch;
use super::spec_args::ScheduleSpecArgs;
use super::spec_source;
use crate::client::Client;
use crate::terminal::warn;

/// Warns about likely mistakes in the flags, and about a schedule without future times. The server computes the
/// times, because its time zone database may differ from this machine's.
pub(super) async fn warn_about_spec(spec: &ScheduleSpecArgs, id: &str, client: &Client) {
    warn(&spec.mistakes());
    // The schedule exists already, so a failure here is no error of the command.
    let Ok(schedule) = fetch::describe(client, id).await else { return };
    let info = schedule.schedule.info.as_ref();
    let is_over = schedule.ours.as_ref().is_some_and(|it| it.status() == ScheduleStatus::Deleted);
    if is_over || info.is_none_or(|info| !info.future_action_times.is_empty()) {
        return;
    }
    // This machine may lack the schedule's time zone: then the reason is left out, and the warning below remains.
    let compiled = spec_source::compile(&schedule).ok();
    let why =
        compiled.and_then(|spec| spec.explain(jiff::Timestamp::now()).warnings.into_iter().next());
    let why = why.map(|why| why.to_string()).filter(|why| why.contains("never fires"));
    warn(&[why.unwrap_or_else(|| "it never fires: the server finds no future time".to_owned())]);
}
