//! Pages of a history, cut from the fragments that are stored.

use perennial_engine::run::Run;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_runtime::Runtime;
use perennial_store::Fragment;
use prost::Message;
use tonic::Status;

use crate::errors::{Answer, refused};

/// How much of a history goes into one answer. Whatever comes first ends the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    /// So many events.
    pub(crate) events: usize,
    /// About so many bytes.
    pub(crate) bytes: usize,
}

impl PageLimits {
    /// What any client takes in one answer without trouble.
    const BYTES: usize = 2 * 1024 * 1024;
    /// The most events in a page that somebody asks for.
    const EVENTS: usize = 1_000;

    /// Of a page of `size` events; none or less means as many as there may be.
    pub(crate) fn of(size: i32) -> Self {
        let events = usize::try_from(size).ok().filter(|size| *size > 0);
        Self {
            events: events.map_or(Self::EVENTS, |size| size.min(Self::EVENTS)),
            bytes: Self::BYTES,
        }
    }

    /// Of what comes with a workflow task.
    pub(crate) fn of_task() -> Self {
        Self { events: usize::MAX, bytes: Self::BYTES }
    }
}

/// The run's events from `first` on, up to `last` or as many as the limits allow; at least one. What is
/// at hand isn't read.
pub(crate) async fn forwards(
    runtime: &Runtime,
    run: &Run,
    at_hand: Vec<Fragment>,
    first: i64,
    last: i64,
    limits: PageLimits,
) -> Answer<Vec<HistoryEvent>> {
    if first > last {
        return Ok(Vec::new());
    }
    let fragments = if at_hand.first().is_some_and(|it| it.first_event_id <= first) {
        at_hand
    } else {
        let read = runtime.history(run, first, last, limits.bytes, false).await;
        read.map_err(refused)?
    };
    let mut events = trimmed(fragments, first, last)?;
    events.truncate(limits.events);
    not_empty(events, run)
}

/// The run's events from `last` backwards, as many as the limits allow; at least one.
pub(crate) async fn backwards(
    runtime: &Runtime,
    run: &Run,
    last: i64,
    limits: PageLimits,
) -> Answer<Vec<HistoryEvent>> {
    if last < 1 {
        return Ok(Vec::new());
    }
    let fragments = runtime.history(run, 1, last, limits.bytes, true).await;
    let mut fragments = fragments.map_err(refused)?;
    fragments.reverse();
    let mut events = trimmed(fragments, 1, last)?;
    events.reverse();
    events.truncate(limits.events);
    not_empty(events, run)
}

/// The events of a workflow task that stand in no history yet: it is a retry, or there for an update
/// alone. A worker gets them as if they did.
pub(crate) fn unwritten_events(run: &Run) -> Vec<HistoryEvent> {
    // Until it is started, nobody works on it.
    match run.started_task() {
        Some(task) if task.scheduled_event_id > run.last_event_id() => run.unwritten_task_events(),
        Some(_) | None => Vec::new(),
    }
}

/// The events `first..=last` of fragments in order: the first fragment may begin before them, the last
/// end after them.
fn trimmed(fragments: Vec<Fragment>, first: i64, last: i64) -> Answer<Vec<HistoryEvent>> {
    let mut events = Vec::new();
    for fragment in fragments {
        let history = History::decode(fragment.bytes).map_err(|error| {
            Status::data_loss(format!(
                "events {} to {} can't be read: {error}",
                fragment.first_event_id, fragment.last_event_id
            ))
        })?;
        if fragment.first_event_id >= first && fragment.last_event_id <= last {
            events.extend(history.events);
        } else {
            let wanted = history.events.into_iter();
            events.extend(wanted.filter(|event| (first..=last).contains(&event.event_id)));
        }
    }
    Ok(events)
}

/// An empty page of what must be there would let clients ask for ever.
fn not_empty(events: Vec<HistoryEvent>, run: &Run) -> Answer<Vec<HistoryEvent>> {
    if events.is_empty() {
        return Err(Status::data_loss(format!(
            "the history of workflow {} run {} has fewer than {} events",
            run.head.workflow_id,
            run.head.run_id,
            run.last_event_id()
        )));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(first: i64, last: i64) -> Fragment {
        let events = (first..=last)
            .map(|event_id| HistoryEvent { event_id, ..HistoryEvent::default() })
            .collect();
        let bytes = History { events }.encode_to_vec();
        Fragment { first_event_id: first, last_event_id: last, bytes: bytes.into() }
    }

    fn ids(fragments: Vec<Fragment>, first: i64, last: i64) -> Vec<i64> {
        let events = trimmed(fragments, first, last).unwrap();
        events.into_iter().map(|event| event.event_id).collect()
    }

    #[test]
    fn fragments_are_cut_to_the_events_that_are_wanted() {
        let fragments = || vec![fragment(1, 3), fragment(4, 4), fragment(5, 8)];
        assert_eq!(ids(fragments(), 1, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ids(fragments(), 3, 6), [3, 4, 5, 6]);
        assert_eq!(ids(fragments(), 4, 4), [4]);
        assert_eq!(ids(vec![fragment(1, 9)], 4, 6), [4, 5, 6]);
    }

    #[test]
    fn fragment_that_is_no_history_is_a_loss_of_data() {
        let broken = Fragment { first_event_id: 1, last_event_id: 2, bytes: vec![0xff].into() };
        let status = trimmed(vec![broken], 1, 2).unwrap_err();
        assert_eq!(status.code(), tonic::Code::DataLoss);
    }

    #[test]
    fn page_sizes_are_bounded() {
        assert_eq!(PageLimits::of(0).events, 1_000);
        assert_eq!(PageLimits::of(-1).events, 1_000);
        assert_eq!(PageLimits::of(3).events, 3);
        assert_eq!(PageLimits::of(5_000).events, 1_000);
    }
}
