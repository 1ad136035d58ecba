//! Checks that the audit stream is complete and in order, and derives the schedule's past from it.

use std::collections::{BTreeMap, BTreeSet};

use perennial_engine::Time;
use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::perennial::schedule_event::Event;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use super::cadence::Cadence;
use super::{ScheduleSeen, Violation};

const PROMISE: &str = "the audit stream tells all, in order";

/// A span of time under one spec.
pub(super) struct Segment {
    pub(super) cadence: Cadence,
    /// The spec applies to times after this instant.
    pub(super) after: i64,
    /// The spec applies up to this instant, inclusive.
    pub(super) up_to: i64,
}

impl ScheduleSeen {
    /// The specs of a schedule, in order.
    pub(super) fn segments(&self) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        for event in self.events.values() {
            let spec = match &event.event {
                Some(Event::Created(it)) => it.spec.as_ref(),
                Some(Event::Updated(it)) if it.changed_fields.iter().any(|it| it == "spec") => {
                    it.spec.as_ref()
                }
                _ => None,
            };
            let Some(cadence) = spec.and_then(Cadence::read) else { continue };
            let after = at(event);
            if let Some(last) = segments.last_mut() {
                last.up_to = after;
            }
            segments.push(Segment { cadence, after, up_to: i64::MAX });
        }
        segments
    }

    /// The spans of time in which the schedule was paused.
    pub(super) fn pauses(&self) -> Vec<(i64, i64)> {
        let mut pauses: Vec<(i64, i64)> = Vec::new();
        let mut is_paused = self.began_paused();
        if is_paused {
            pauses.push((self.head.created_at, i64::MAX));
        }
        for event in self.events.values() {
            match (&event.event, is_paused) {
                (Some(Event::Paused(_)), false) => {
                    is_paused = true;
                    pauses.push((at(event), i64::MAX));
                }
                (Some(Event::Resumed(_)), true) => {
                    is_paused = false;
                    pauses.last_mut().into_iter().for_each(|pause| pause.1 = at(event));
                }
                _ => {}
            }
        }
        pauses
    }

    /// Whether the schedule was paused after an event of its stream.
    pub(super) fn was_paused_after(&self, sequence: i64) -> bool {
        let before = self.events.range(..=sequence).rev();
        let last = before.map(|(_, event)| event).find_map(pauses_or_resumes);
        last.unwrap_or_else(|| self.began_paused())
    }

    fn began_paused(&self) -> bool {
        let first = self.events.values().find_map(pauses_or_resumes);
        first.map_or(self.head.paused, |paused_then| !paused_then)
    }

    /// The overlap policies that the schedule has had.
    pub(super) fn policies(&self) -> BTreeSet<Overlap> {
        let policy = |event: &ScheduleEvent| match &event.event {
            Some(Event::Created(it)) => Some(it.overlap_policy()),
            Some(Event::Updated(it)) => Some(it.overlap_policy()),
            _ => None,
        };
        self.events.values().filter_map(policy).collect()
    }

    /// How often the stream reports the start of a run.
    pub(super) fn times_triggered(&self, run_id: &str) -> usize {
        let is_it = |event: &&ScheduleEvent| match &event.event {
            Some(Event::Triggered(it)) => it.workflow_run_id == run_id,
            _ => false,
        };
        self.events.values().filter(is_it).count()
    }
}

pub(super) fn check(schedule: &ScheduleSeen) -> Option<Violation> {
    let wrong = |what: String| Some(schedule.violation(PROMISE, what));
    for (place, (sequence, event)) in (1..).zip(&schedule.events) {
        if place != *sequence || event.sequence != place {
            return wrong(format!("event {sequence} is at the place of event {place}"));
        }
        let is_first = matches!(event.event, Some(Event::Created(_)));
        if is_first != (place == 1) {
            return wrong(format!("event {sequence} is {:?}", event.event));
        }
    }
    let count = schedule.events.len() as i64;
    if count != schedule.head.audit_sequence {
        let said = schedule.head.audit_sequence;
        return wrong(format!("it has {count} events, and says that {said} is the last"));
    }
    if let Some(what) = skip_before_start(schedule) {
        return wrong(what);
    }
    let mut after_end = schedule.events.values().skip_while(|it| !is_end(it));
    let is_over = after_end.next().is_some();
    if is_over != (schedule.head.deleted_at != 0) {
        return wrong(format!("it says it is over: {is_over}, its state says otherwise"));
    }
    let event = after_end.next()?;
    wrong(format!("after its end comes event {}: {:?}", event.sequence, event.event))
}

/// Checks that a skip comes after all starts that were decided before it, since any of them may have caused it.
fn skip_before_start(schedule: &ScheduleSeen) -> Option<String> {
    let lines = schedule.lines.values().flatten().map(|written| &written.line);
    let decided: BTreeMap<_, _> =
        lines.filter(|it| !it.run_id.is_empty()).map(|it| (&it.run_id, it.decided_at)).collect();
    let mut first_after: Option<(i64, i64)> = None;
    // From the end: the earliest decision among the starts that come later.
    for event in schedule.events.values().rev() {
        match &event.event {
            Some(Event::Triggered(it)) => {
                let Some(decided) = decided.get(&it.workflow_run_id) else { continue };
                let start = (*decided, event.sequence);
                first_after = Some(first_after.map_or(start, |before| before.min(start)));
            }
            Some(Event::TriggerSkipped(it)) => {
                let skipped = it.last_skipped_at.map_or(0, |at| Time::from(at).0);
                if let Some((decided, start)) = first_after.filter(|(at, _)| *at < skipped) {
                    let skip = event.sequence;
                    return Some(format!(
                        "event {skip} is a skip at {skipped}, and event {start} a start decided at {decided}"
                    ));
                }
            }
            _ => {}
        }
    }
    None
}

fn is_end(event: &ScheduleEvent) -> bool {
    matches!(event.event, Some(Event::Deleted(_)))
}

fn pauses_or_resumes(event: &ScheduleEvent) -> Option<bool> {
    match &event.event {
        Some(Event::Paused(_)) => Some(true),
        Some(Event::Resumed(_)) => Some(false),
        _ => None,
    }
}

fn at(event: &ScheduleEvent) -> i64 {
    event.recorded_at.map_or(0, |at| Time::from(at).0)
}
