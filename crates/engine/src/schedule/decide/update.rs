//! Replaces the configuration, after settling the times that were due under the old one.

use perennial_proto::store as stored;

use super::settle::settle_all;
use crate::run::Rejection;
use crate::schedule::draft::Draft;
use crate::schedule::ledger::Skip;
use crate::schedule::times::Next;
use crate::schedule::{Reply, Schedule, State, Times, UpdateSchedule};
use crate::{SchedulePart, Time, fields};

pub(super) fn update(draft: &mut Draft<'_>, update: UpdateSchedule) -> Result<Reply, Rejection> {
    draft.schedule.present()?;
    if super::taken_before(draft, &update.request_id).is_some() {
        return Ok(Reply::Done);
    }
    let request_id = update.request_id.clone();
    super::remember(draft, stored::TakenRequest { request_id, ..Default::default() });
    let seen = update.conflict_token;
    if seen.is_some_and(|seen| seen != draft.schedule.head.conflict_token) {
        return Err(Rejection::FailedPrecondition("mismatched conflict token".to_owned()));
    }
    let config = stored::ScheduleConfig {
        memo: match update.memo {
            Some(given) => fields::initial(Some(given)),
            None => draft.schedule.config.memo.clone(),
        },
        search_attributes: match update.search_attributes {
            Some(given) => fields::initial(Some(given)),
            None => draft.schedule.config.search_attributes.clone(),
        },
        // Temporal's API has no fields for the extensions, so an update through it keeps them.
        extensions: update.config.extensions.or_else(|| draft.schedule.config.extensions.clone()),
        ..update.config
    };
    let times = Times::compile(&config, &draft.schedule.head.incarnation, draft.cx.zones);
    if let Some(why) = times.broken() {
        return Err(Rejection::InvalidArgument(format!("Invalid schedule spec: {why}")));
    }
    settle_all(draft)?;
    let changed = changed_fields(&draft.schedule, &config, &update.state);
    let spec_changes = draft.schedule.config.spec != config.spec;
    if spec_changes {
        skip_jittered(draft);
    }
    let policy_changes = draft.schedule.config.overlap_policy != config.overlap_policy;
    let (was_paused, was_exhausted) = (draft.schedule.head.paused, draft.schedule.is_exhausted());
    draft.set_config(config);
    set_state(draft, update.state);
    if spec_changes {
        let now = draft.now();
        let head = &mut draft.schedule.head;
        head.settled_up_to = head.settled_up_to.max(now.0);
        head.open_range = None;
    }
    draft.schedule.head.updated_at = draft.now().0;
    draft.mark_configured();
    draft.audit_updated(changed, update.context.clone());
    let head = &draft.schedule.head;
    if head.paused && !was_paused {
        let notes = head.notes.clone();
        draft.audit_paused(&notes, update.context);
        draft.skip_scheduled(Skip::Paused);
    } else if !head.paused && was_paused {
        draft.audit_resumed(update.context);
    } else if draft.schedule.is_exhausted() && !was_exhausted {
        draft.skip_scheduled(Skip::Exhausted);
    }
    if policy_changes {
        super::overlap::reapply_policy(draft);
    }
    Ok(Reply::Done)
}

fn set_state(draft: &mut Draft<'_>, state: State) {
    let head = &mut draft.schedule.head;
    head.paused = state.paused;
    head.notes = state.notes;
    head.limited_actions = state.remaining_actions.is_some();
    head.remaining_actions = state.remaining_actions.unwrap_or_default();
}

/// Skips the time that has passed but whose jittered due time hasn't: it belongs to the old spec.
fn skip_jittered(draft: &mut Draft<'_>) {
    let now = draft.now();
    if let Next::At(moment) = draft.schedule.times.after(Time(draft.schedule.head.settled_up_to))
        && moment.nominal <= now
    {
        let at = moment.nominal;
        draft.schedule.head.settled_up_to = at.0;
        draft.record_range((at, at), 1, stored::Verdict::Skipped, Skip::Updated.text());
    }
    // Times that were started early may not be times of the new spec.
    let ahead: Vec<_> = draft.schedule.ahead.iter().copied().collect();
    for nominal in ahead.into_iter().filter(|nominal| *nominal <= now.0) {
        draft.touched.insert(SchedulePart::Ahead(nominal));
        std::sync::Arc::make_mut(&mut draft.schedule.ahead).remove(&nominal);
    }
}

fn changed_fields(before: &Schedule, after: &stored::ScheduleConfig, state: &State) -> Vec<String> {
    let (config, head) = (&*before.config, &before.head);
    let limit = head.limited_actions.then_some(head.remaining_actions);
    let fields = [
        ("spec", config.spec != after.spec),
        ("action", config.action != after.action),
        ("overlap_policy", config.overlap_policy != after.overlap_policy),
        ("catchup_window", config.catchup_window_nanos != after.catchup_window_nanos),
        ("pause_on_failure", config.pause_on_failure != after.pause_on_failure),
        (
            "keep_original_workflow_id",
            config.keep_original_workflow_id != after.keep_original_workflow_id,
        ),
        ("extensions", config.extensions != after.extensions),
        ("memo", config.memo != after.memo),
        ("search_attributes", config.search_attributes != after.search_attributes),
        ("paused", head.paused != state.paused),
        ("notes", head.notes != state.notes),
        ("remaining_actions", limit != state.remaining_actions),
    ];
    fields.into_iter().filter(|(_, is_changed)| *is_changed).map(|(it, _)| it.to_owned()).collect()
}
