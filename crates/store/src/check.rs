//! What every store refuses before it looks at what it holds.

use uuid::Uuid;

use crate::{Batch, Epoch, Error, Listed, NewRun, RecordWrite, RunWrite, ScheduleWrite};

/// Refuses a batch that can't be right whatever is stored, with the place and the reason.
///
/// After it a backend may rely on this: a new run has a head, a first event and a UUID, a new schedule has a
/// head; a deleted one of either has nothing else; fragments are ranges; records have keys.
pub(crate) fn check(batch: &Batch) -> Result<(), Error> {
    for run in &batch.runs {
        check_run(run).map_err(|problem| {
            let (cell, sequence, key) = (batch.cell, batch.sequence, run.key.0);
            Error::Conflict(format!("batch {sequence} of cell {cell}, run {key}: {problem}"))
        })?;
    }
    for schedule in &batch.schedules {
        check_schedule(schedule).map_err(|problem| {
            let (cell, sequence, key) = (batch.cell, batch.sequence, schedule.key.0);
            Error::Conflict(format!("batch {sequence} of cell {cell}, schedule {key}: {problem}"))
        })?;
    }
    let has_no_key = |record: &RecordWrite| record.key.is_empty();
    if let Some(record) = batch.records.iter().find(|record| has_no_key(record)) {
        let (cell, sequence, kind) = (batch.cell, batch.sequence, record.kind);
        let problem =
            format!("batch {sequence} of cell {cell}: a {kind:?} record has an empty key");
        return Err(Error::Conflict(problem));
    }
    Ok(())
}

/// Refuses a batch that its cell may not write now: `lease` is the cell's epoch and last sequence.
pub(crate) fn follows(batch: &Batch, lease: Option<(Epoch, u64)>) -> Result<(), Error> {
    let Batch { cell, epoch: Epoch(epoch), sequence, .. } = batch;
    match lease {
        None => {
            Err(Error::Fenced(format!("cell {cell} was never leased; lease it before writing")))
        }
        Some((Epoch(current), _)) if current != *epoch => Err(Error::Fenced(format!(
            "cell {cell} is leased under epoch {current}, the batch is of epoch {epoch}"
        ))),
        Some((_, last)) if last.checked_add(1) != Some(*sequence) => Err(Error::Conflict(format!(
            "batch {sequence} of cell {cell} doesn't follow batch {last}, the last one stored"
        ))),
        Some(_) => Ok(()),
    }
}

/// The sixteen bytes of a run id, which sort as the ids do; `None` if it isn't a UUID as we write them.
pub(crate) fn run_id_bytes(run_id: &str) -> Option<[u8; 16]> {
    let uuid = Uuid::try_parse(run_id).ok()?;
    // One run has one name: braces, capitals and missing hyphens name no run of ours.
    let mut text = Uuid::encode_buffer();
    (uuid.hyphenated().encode_lower(&mut text) == run_id).then(|| uuid.into_bytes())
}

fn check_run(run: &RunWrite) -> Result<(), String> {
    if run.deleted {
        let RunWrite {
            key: _,
            created,
            deleted: _,
            becomes_current,
            head,
            parts,
            history,
            wake_at,
            visibility,
        } = run;
        let nothing_else = created.is_none()
            && !becomes_current
            && head.is_none()
            && parts.is_empty()
            && history.is_empty()
            && wake_at.is_none()
            && visibility.is_none();
        return if nothing_else { Ok(()) } else { Err("it is deleted and written at once".into()) };
    }
    if let Some(created) = &run.created {
        check_created(run, created)?;
    }
    if let Some(Listed::Row(row)) = &run.visibility
        && row.execution.run_key != run.key.0
    {
        return Err(format!("lists would show it as run {}", row.execution.run_key));
    }
    for fragment in &run.history {
        let (first, last) = (fragment.first_event_id, fragment.last_event_id);
        if first < 1 || last < first {
            return Err(format!("events {first} to {last} are no range of events"));
        }
    }
    Ok(())
}

fn check_created(run: &RunWrite, created: &NewRun) -> Result<(), String> {
    if run_id_bytes(&created.run_id).is_none() {
        return Err(format!("its run id `{}` isn't a UUID", created.run_id));
    }
    if run.head.is_none() {
        return Err("it is created without a head".into());
    }
    let has_own_first_event = run.history.iter().any(|fragment| fragment.first_event_id == 1);
    if created.first_branch == run.key {
        if !has_own_first_event {
            return Err("it is created without its first event".into());
        }
    } else if !created.ancestors.contains(&created.first_branch) {
        let branch = created.first_branch.0;
        return Err(format!(
            "its first event is in branch {branch}, which isn't among its ancestors"
        ));
    }
    Ok(())
}

fn check_schedule(schedule: &ScheduleWrite) -> Result<(), String> {
    let ScheduleWrite { key, created, deleted, head, parts, log, wake_at, visibility } = schedule;
    if *deleted {
        let nothing_else = created.is_none()
            && head.is_none()
            && parts.is_empty()
            && log.is_empty()
            && wake_at.is_none()
            && visibility.is_none();
        return if nothing_else { Ok(()) } else { Err("it is deleted and written at once".into()) };
    }
    if created.is_some() && head.is_none() {
        return Err("it is created without a head".into());
    }
    if let Some(row) = visibility
        && row.execution.run_key != key.0
    {
        return Err(format!("lists would show it as {}", row.execution.run_key));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::run_id_bytes;

    #[test]
    fn only_a_uuid_as_we_write_it_is_a_run_id() {
        let id = "0190163d-8694-739b-aea5-966c26f8ad91";
        assert!(run_id_bytes(id).is_some());
        for other in
            ["", "run", &id.to_uppercase(), &id.replace('-', ""), &format!("{{{id}}}"), "é\0"]
        {
            assert_eq!(run_id_bytes(other), None, "{other}");
        }
    }
}
