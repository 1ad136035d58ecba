//! Checks after every commit: events without gaps, and one open run per workflow id.

use std::collections::BTreeMap;

use perennial_engine::{Kind, Time};
use perennial_proto::store::RunHead;
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_store::{Batch, EntityWrite, NewEntity};
use prost::Message;

use super::{Auditor, RunSeen};

impl Auditor {
    /// Checks batches that have become durable.
    pub(crate) fn committed(&mut self, _at: Time, batches: &[Batch]) {
        self.commits += 1;
        for batch in batches {
            for write in &batch.entities {
                match write.kind {
                    Kind::Run => self.wrote(write),
                    Kind::Schedule => {
                        let found = self.schedules.wrote(self.commits, batch.epoch, write);
                        found.into_iter().for_each(|violation| self.report(violation));
                    }
                }
            }
            for write in &batch.messages {
                self.schedules.wrote_message(self.commits, write);
            }
        }
        let mut written = batches.iter().flat_map(|batch| &batch.entities);
        if !written.any(|write| write.created.is_some()) {
            return;
        }
        let mut open: BTreeMap<_, &RunSeen> = BTreeMap::new();
        let mut doubled = None;
        for run in self.runs.values().filter(|run| run.is_open()) {
            if let Some(other) = open.insert((run.namespace, &run.workflow_id), run) {
                let what = format!("run {} is open too", other.run_id);
                doubled = Some(run.violation("one open run a workflow id", what));
            }
        }
        doubled.into_iter().for_each(|violation| self.report(violation));
    }

    fn wrote(&mut self, write: &EntityWrite) {
        if let Some(NewEntity { id, run: Some(new) }) = &write.created {
            let run = RunSeen {
                namespace: id.namespace,
                workflow_id: id.id.clone(),
                run_id: new.run_id.clone(),
                status: WorkflowExecutionStatus::Running,
                last_event_id: 0,
                is_deleted: false,
                opened: self.commits,
                closed: None,
            };
            self.by_id.insert(new.run_id.clone(), write.key);
            self.runs.insert(write.key, run);
        }
        let Some(run) = self.runs.get_mut(&write.key) else { return };
        if write.deleted {
            run.is_deleted = true;
            run.closed.get_or_insert(self.commits);
            return;
        }
        let head = write.head.as_ref().and_then(|head| RunHead::decode(head.as_slice()).ok());
        if let Some(head) = &head {
            run.status = head.status();
            if write.created.is_some() {
                run.last_event_id = head.ancestors.last().map_or(0, |range| range.last_event_id);
            }
        }
        if !run.is_open() {
            run.closed.get_or_insert(self.commits);
        }
        let mut gap = None;
        for fragment in &write.history {
            if fragment.first_event_id != run.last_event_id + 1 {
                let (last, first) = (run.last_event_id, fragment.first_event_id);
                gap = Some(format!("event {first} comes after event {last}"));
            }
            run.last_event_id = fragment.last_event_id;
        }
        if let Some(head) = head
            && head.next_event_id != run.last_event_id + 1
        {
            let (last, next) = (run.last_event_id, head.next_event_id);
            gap = Some(format!("its last event is {last}, its state says the next one is {next}"));
        }
        let violation = gap.map(|what| run.violation("events have no gaps", what));
        violation.into_iter().for_each(|violation| self.report(violation));
    }
}
