//! What the author of a new spec should know.

use perennial_proto::perennial::ScheduleStatus;

use super::fetch;
use super::spec_of;
use super::when::WhenArgs;
use crate::client::Client;
use crate::terminal::warn;

/// Warns of mistakes in what was typed, and of a schedule that has no time to come. The server says whether there is
/// one: it may know other zones than this machine.
pub(super) async fn warn_of(when: &WhenArgs, id: &str, client: &Client) {
    warn(&when.mistakes());
    // It is made all the same, and describe will say whatever there is to say.
    let Ok(schedule) = fetch::describe(client, id).await else { return };
    let info = schedule.schedule.info.as_ref();
    let is_over = schedule.ours.as_ref().is_some_and(|it| it.status() == ScheduleStatus::Deleted);
    if is_over || info.is_none_or(|info| !info.future_action_times.is_empty()) {
        return;
    }
    let spec = spec_of::compile(&schedule).ok();
    let why =
        spec.and_then(|spec| spec.explain(jiff::Timestamp::now()).warnings.into_iter().next());
    let why = why.map(|why| why.to_string()).filter(|why| why.contains("never fires"));
    warn(&[why.unwrap_or_else(|| "it never fires: the server finds no time to come".to_owned())]);
}
