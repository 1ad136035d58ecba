//! Reads histories from the branches of runs.

use perennial_engine::EntityKey;
use perennial_engine::run::Run;
use perennial_proto::encoded;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_store::{Fragment, HistoryRange};
use prost::Message;

use crate::{Refusal, Runtime};

impl Runtime {
    /// The whole history of a run.
    pub(crate) async fn events(&self, run: &Run) -> Result<Vec<HistoryEvent>, Refusal> {
        let fragments = self.history(run, 1, run.last_event_id(), usize::MAX, false).await?;
        let mut events = Vec::new();
        for fragment in fragments {
            let history = History::decode(fragment.bytes);
            events.extend(history.map_err(|error| damaged_history(run, &error))?.events);
        }
        Ok(events)
    }

    /// Fragments holding the run's events `first..=last`, in order or reversed, about `max_bytes` of them.
    pub async fn history(
        &self,
        run: &Run,
        first_event_id: i64,
        last_event_id: i64,
        max_bytes: usize,
        reverse: bool,
    ) -> Result<Vec<Fragment>, Refusal> {
        let mut ranges = branches(run, first_event_id, last_event_id);
        if reverse {
            ranges.reverse();
        }
        self.with_store(move |store| {
            let mut fragments = Vec::new();
            let mut left = max_bytes;
            for range in ranges {
                let found = store.history(range, left, reverse)?;
                let bytes: usize = found.iter().map(|fragment| fragment.bytes.len()).sum();
                fragments.extend(found.into_iter().map(|fragment| within(fragment, range)));
                left = left.saturating_sub(bytes);
                if left == 0 {
                    break;
                }
            }
            Ok(fragments)
        })
        .await
    }
}

/// A part of a run's history can't be read.
pub(crate) fn damaged_history(run: &Run, error: &prost::DecodeError) -> Refusal {
    Refusal::Damaged(format!(
        "the history of workflow {} run {} can't be read: {error}",
        run.head.workflow_id, run.head.run_id
    ))
}

/// The branches with the events `first..=last` of a run, in order.
fn branches(run: &Run, first: i64, last: i64) -> Vec<HistoryRange> {
    let own = perennial_proto::store::BranchRange { branch: run.key.0, last_event_id: i64::MAX };
    let mut begins = 1;
    let mut ranges = Vec::new();
    for part in run.head.ancestors.iter().copied().chain([own]) {
        let range = HistoryRange {
            branch: EntityKey(part.branch),
            first_event_id: first.max(begins),
            last_event_id: last.min(part.last_event_id),
        };
        if range.first_event_id <= range.last_event_id {
            ranges.push(range);
        }
        begins = part.last_event_id.saturating_add(1);
    }
    ranges
}

/// Cuts a fragment to the run's part of the branch. The rest is another run's history.
fn within(fragment: Fragment, range: HistoryRange) -> Fragment {
    let is_inside = fragment.first_event_id >= range.first_event_id
        && fragment.last_event_id <= range.last_event_id;
    if is_inside {
        return fragment;
    }
    let Ok(mut history) = History::decode(&*fragment.bytes) else { return fragment };
    let wanted = range.first_event_id..=range.last_event_id;
    history.events.retain(|event| wanted.contains(&event.event_id));
    Fragment {
        first_event_id: fragment.first_event_id.max(range.first_event_id),
        last_event_id: fragment.last_event_id.min(range.last_event_id),
        bytes: encoded(&history).into(),
    }
}
