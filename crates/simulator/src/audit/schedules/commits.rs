//! Checks of what each commit writes about schedules.

use std::sync::Arc;

use perennial_engine::SchedulePart;
use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::perennial::schedule_event::Event;
use perennial_proto::store::entity_message::Body;
use perennial_proto::store::{Address, EntityMessage, Occurrence, ScheduleHead, Verdict};
use perennial_store::{EntityWrite, Epoch, Log, LogLine, MessageWrite};
use prost::Message;

use super::{Ending, ScheduleSeen, Schedules, Since, Violation, Written};

impl Schedules {
    /// Checks a durable write at once.
    pub(in crate::audit) fn wrote(
        &mut self,
        commit: u64,
        epoch: Epoch,
        write: &EntityWrite,
    ) -> Option<Violation> {
        let since = self.outages.since(epoch);
        if let Some(created) = &write.created {
            let seen = ScheduleSeen {
                namespace: created.id.namespace,
                schedule_id: created.id.id.clone(),
                key: write.key,
                head: ScheduleHead::default(),
                config: Arc::default(),
                running: Default::default(),
                buffer: Default::default(),
                backfills: Default::default(),
                lines: Default::default(),
                events: Default::default(),
            };
            self.seen.insert(write.key, seen);
        }
        self.seen.get_mut(&write.key)?.wrote(commit, since, write)
    }

    /// Notes messages that end runs, as they are sent and removed.
    pub(in crate::audit) fn wrote_message(&mut self, commit: u64, write: &MessageWrite) {
        match write {
            MessageWrite::Put { key, value, .. } => {
                let Ok(message) = EntityMessage::decode(value.as_slice()) else { return };
                let sender = message.sender.as_ref().and_then(Address::schedule);
                let (Some(schedule), Some(Body::Cancel(_) | Body::Terminate(_))) =
                    (sender, &message.body)
                else {
                    return;
                };
                let first_run_id = message.target.unwrap_or_default().first_run_id;
                let schedule = perennial_engine::EntityKey(schedule.key);
                let ending = Ending { schedule, first_run_id, answered: None };
                self.endings.insert(*key, ending);
            }
            MessageWrite::Delete(key) => {
                if let Some(ending) = self.endings.get_mut(key) {
                    ending.answered = Some(commit);
                }
            }
        }
    }
}

impl ScheduleSeen {
    fn wrote(
        &mut self,
        commit: u64,
        since: Option<Since>,
        write: &EntityWrite,
    ) -> Option<Violation> {
        let before = Arc::clone(&self.config);
        let was_running = !self.running.is_empty();
        let mut went_back = None;
        if let Some(head) = write.head.as_ref().and_then(|it| ScheduleHead::decode(&**it).ok()) {
            let is_back = head.settled_up_to < self.head.settled_up_to
                || head.audit_sequence < self.head.audit_sequence
                || head.conflict_token < self.head.conflict_token;
            went_back = is_back.then_some((self.head.settled_up_to, head.settled_up_to));
            self.head = head;
        }
        for (part, value) in &write.parts {
            if let Some(part) = SchedulePart::from_row_id(part) {
                self.wrote_part(&part, value.as_deref());
            }
        }
        let mut updates = 0;
        let mut lines = Vec::new();
        for LogLine { log, position, value } in &write.log {
            match log {
                Log::Audit => {
                    let event = ScheduleEvent::decode(value.as_slice()).unwrap_or_default();
                    updates += usize::from(matches!(event.event, Some(Event::Updated(_))));
                    self.events.insert(*position, event);
                }
                Log::Ledger | Log::ManualLedger => {
                    let line = Occurrence::decode(value.as_slice()).unwrap_or_default();
                    lines.push(((*log, *position), line));
                }
            }
        }
        // What the end of a schedule drops was about to start, and so was what another run's id kept from
        // starting: within a cell that is told in the commit that sends it.
        let starts = |it: &Occurrence| {
            !it.run_id.is_empty()
                || it.verdict() == Verdict::Dropped
                || it.reason == "workflow_id_taken"
        };
        let starts = lines.iter().any(|(_, line)| starts(line));
        let was_busy = was_running || starts || !self.running.is_empty();
        let before = if write.created.is_some() { Arc::clone(&self.config) } else { before };
        for (position, line) in lines {
            let configs = [Arc::clone(&before), Arc::clone(&self.config)];
            let is_unclear = updates > 1;
            let written = Written { commit, line, configs, is_unclear, was_busy, since };
            self.lines.entry(position).or_default().push(written);
        }
        let (from, to) = went_back?;
        let what = format!("it was settled up to {from}, and then up to {to}");
        Some(self.violation("a schedule's progress never goes back", what))
    }

    fn wrote_part(&mut self, part: &SchedulePart, value: Option<&[u8]>) {
        match (part, value) {
            (SchedulePart::Config, Some(value)) => self.config = Arc::new(decoded(value)),
            (SchedulePart::Running(run_id), Some(value)) => {
                self.running.insert(run_id.clone(), decoded(value));
            }
            (SchedulePart::Running(run_id), None) => {
                self.running.remove(run_id);
            }
            (SchedulePart::Buffered(sequence), Some(value)) => {
                self.buffer.insert(*sequence, decoded(value));
            }
            (SchedulePart::Buffered(sequence), None) => {
                self.buffer.remove(sequence);
            }
            (SchedulePart::Backfill(sequence), Some(value)) => {
                self.backfills.insert(*sequence, decoded(value));
            }
            (SchedulePart::Config | SchedulePart::Backfill(_), None)
            | (SchedulePart::LastOutcome | SchedulePart::Ahead(_), _) => {}
        }
    }
}

fn decoded<T: Message + Default>(bytes: &[u8]) -> T {
    T::decode(bytes).unwrap_or_default()
}
