//! What holds after every step of every run.

use perennial_engine::run::{Identity, Origin, Run, Transition};
use perennial_engine::{NamespaceKey, Rows, RunPart};
use perennial_proto::store as stored;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use prost::Message;

/// A step's rows are those that differ, and its events follow on those before.
pub(crate) fn check_step(before: &Run, step: &Transition) {
    let mut expected = before.head.next_event_id;
    for event in &step.events {
        assert_eq!(event.event_id, expected, "event ids have no gaps");
        expected += 1;
    }
    assert_eq!(step.run.head.next_event_id, expected);
    for key in keys(before).into_iter().chain(keys(&step.run)) {
        let changed = before.part_row(&key) != step.run.part_row(&key);
        assert!(!changed || step.touched.contains(&key), "{key:?} changed unnoticed");
    }
}

/// Rows make the same run again; the history alone makes the same run, up to what isn't history.
pub(crate) fn check_run(run: &Run, events: &[HistoryEvent]) {
    let first = History { events: events[..1].to_vec() }.encode_to_vec();
    let parts: Vec<_> = keys(run)
        .into_iter()
        .map(|key| (key.row_id(), run.part_row(&key).expect("it was listed")))
        .collect();
    let rows = Rows { key: run.key, head: &run.head_row(), parts: &parts, first_fragment: &first };
    let again = Run::from_rows(rows).expect("rows are readable");
    let mut durable = run.clone();
    let is_speculative =
        |task: &stored::WorkflowTask| task.kind() == stored::WorkflowTaskKind::Speculative;
    if durable.head.workflow_task.as_ref().is_some_and(is_speculative) {
        durable.head.workflow_task = None;
    }
    assert_eq!(again, durable, "rows make the same run again");

    if run.buffered.is_empty() && run.is_open() && run.head.ancestors.is_empty() {
        let identity = Identity {
            key: run.key,
            namespace: NamespaceKey(run.head.namespace),
            origin: Origin::default(),
            run_id: run.head.run_id.clone(),
            request_id: run.head.start_request_id.clone(),
        };
        let replayed = Run::replay(identity, events).expect("the first event starts it");
        let (told, is) = (replayed.history_derived(), run.history_derived());
        assert_eq!(told, is, "the history tells the same");
    }
}

fn keys(run: &Run) -> Vec<RunPart> {
    run.part_keys().collect()
}
