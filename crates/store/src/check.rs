//! Checks that every store makes before it writes.

use perennial_engine::{Kind, Slot, SlotRange};
use uuid::Uuid;

use crate::{
    Batch, EntityWrite, Epoch, Error, Listed, NewEntity, NewRun, NodeRegistration, RecordWrite,
};

/// Refuses a batch that contradicts itself, with the place and the reason.
///
/// After this check a backend may rely on: a new entity has a head, a new run a first event and a UUID too; a deleted
/// entity has nothing else; only runs have history; fragments are ranges; records have keys; no text has the character
/// U+0000, which PostgreSQL can't store.
pub(crate) fn check_batch(batch: &Batch) -> Result<(), Error> {
    let Batch { cell, sequence, .. } = batch;
    for entity in &batch.entities {
        check_entity(entity).map_err(|problem| {
            let (kind, key) = (entity.kind.name(), entity.key.0);
            Error::Conflict(format!("batch {sequence} of cell {cell}, {kind} {key}: {problem}"))
        })?;
    }
    batch.records.iter().try_for_each(check_record)
}

/// Refuses a record without a key, or with one that can't be stored.
pub(crate) fn check_record(record: &RecordWrite) -> Result<(), Error> {
    let kind = record.kind;
    if record.key.is_empty() {
        return Err(Error::Conflict(format!("a {kind:?} record has an empty key")));
    }
    check_text(&record.key)
        .map_err(|problem| Error::Conflict(format!("a {kind:?} record: {problem}")))
}

/// Refuses a node without an id, or with texts that can't be stored.
pub(crate) fn check_node(node: &NodeRegistration) -> Result<(), Error> {
    let NodeRegistration { id, address, version, .. } = node;
    if id.is_empty() {
        // A cell without an owner has an empty one.
        return Err(Error::Conflict("a node has an empty id".to_owned()));
    }
    [id, address, version]
        .into_iter()
        .try_for_each(|text| check_text(text))
        .map_err(|problem| Error::Conflict(format!("node {id:?}: {problem}")))
}

/// Refuses a text that not every backend can store.
fn check_text(text: &str) -> Result<(), String> {
    if text.contains('\0') { Err(format!("{text:?} has the character U+0000")) } else { Ok(()) }
}

/// Refuses a batch of an old epoch, or one that isn't the next of its cell. `lease` is the cell's epoch and last
/// sequence number.
pub(crate) fn check_order(batch: &Batch, lease: Option<(Epoch, u64)>) -> Result<(), Error> {
    let Batch { cell, epoch: Epoch(epoch), sequence, .. } = batch;
    match lease {
        None => Err(Error::Fenced(format!("there is no cell {cell}: the slots were divided anew"))),
        Some((Epoch(current), _)) if current != *epoch => Err(Error::Fenced(format!(
            "cell {cell} is leased under epoch {current}, the batch is of epoch {epoch}"
        ))),
        Some((_, last)) if last.checked_add(1) != Some(*sequence) => Err(Error::Conflict(format!(
            "batch {sequence} of cell {cell} doesn't follow batch {last}, the last one stored"
        ))),
        Some(_) => Ok(()),
    }
}

/// Refuses ranges that leave out a slot, have one twice, or aren't in order.
pub(crate) fn check_coverage(ranges: &[SlotRange]) -> Result<(), Error> {
    let mut next = 0;
    for range in ranges {
        if range.first().0 != next {
            let problem = format!("the cells leave out slot {next} or have it twice");
            return Err(Error::Conflict(problem));
        }
        next = range.last().0 + 1;
    }
    if next == Slot::COUNT {
        return Ok(());
    }
    Err(Error::Conflict(format!("the cells end before slot {next}")))
}

/// Refuses new cells that don't have exactly the slots of those they replace, each once.
pub(crate) fn check_same_slots(old: &[SlotRange], new: &[SlotRange]) -> Result<(), Error> {
    if old.is_empty() {
        return Err(Error::Conflict("no cells to replace are given".to_owned()));
    }
    match (runs(old), runs(new)) {
        (Some(old), Some(new)) if old == new => Ok(()),
        (Some(_), Some(_)) => {
            Err(Error::Conflict("the new cells have other slots than the old ones".to_owned()))
        }
        (None, _) => Err(Error::Conflict("a cell to replace is given twice".to_owned())),
        (_, None) => Err(Error::Conflict("the new cells have a slot twice".to_owned())),
    }
}

/// The slots of all ranges, as few ranges as possible. `None` if two of them have a slot in common.
fn runs(ranges: &[SlotRange]) -> Option<Vec<(u16, u16)>> {
    let mut ranges: Vec<_> = ranges.iter().map(|range| (range.first().0, range.last().0)).collect();
    ranges.sort_unstable();
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for (first, last) in ranges {
        match runs.last_mut() {
            Some((_, end)) if first <= *end => return None,
            Some((_, end)) if first == *end + 1 => *end = last,
            Some(_) | None => runs.push((first, last)),
        }
    }
    Some(runs)
}

/// The sixteen bytes of a run id, which sort as the ids do; `None` if it isn't a UUID as we write them.
pub(crate) fn run_id_bytes(run_id: &str) -> Option<[u8; 16]> {
    let uuid = Uuid::try_parse(run_id).ok()?;
    // A run id has one spelling: braces, capitals and missing hyphens are refused.
    let mut text = Uuid::encode_buffer();
    (uuid.hyphenated().encode_lower(&mut text) == run_id).then(|| uuid.into_bytes())
}

fn check_entity(write: &EntityWrite) -> Result<(), String> {
    let EntityWrite {
        kind,
        key,
        created,
        deleted,
        becomes_current,
        head,
        parts,
        history,
        log,
        wake_at,
        visibility,
    } = write;
    if *deleted {
        let nothing_else = created.is_none()
            && !becomes_current
            && head.is_none()
            && parts.is_empty()
            && history.is_empty()
            && log.is_empty()
            && wake_at.is_none()
            && visibility.is_none();
        return if nothing_else { Ok(()) } else { Err("it is deleted and written at once".into()) };
    }
    if *kind != Kind::Run && (*becomes_current || !history.is_empty()) {
        return Err("only runs have history, and only a run becomes current later".into());
    }
    if let Some(created) = created {
        check_created(write, created)?;
    }
    if let Some(Listed::Row(row)) = visibility {
        if row.execution.run_key != key.0 {
            return Err(format!("lists would show it as {}", row.execution.run_key));
        }
        row.texts().try_for_each(check_text)?;
    }
    for fragment in history {
        let (first, last) = (fragment.first_event_id, fragment.last_event_id);
        if first < 1 || last < first {
            return Err(format!("events {first} to {last} are no range of events"));
        }
    }
    Ok(())
}

fn check_created(write: &EntityWrite, created: &NewEntity) -> Result<(), String> {
    if created.id.kind != write.kind {
        return Err(format!("its id is one of a {}", created.id.kind.name()));
    }
    if write.head.is_none() {
        return Err("it is created without a head".into());
    }
    check_text(&created.id.id)?;
    match (&created.run, write.kind == Kind::Run) {
        (Some(run), true) => check_new_run(write, run),
        (None, true) => Err("it is created without a run id".into()),
        (Some(_), false) => Err("only runs have a run id".into()),
        (None, false) => Ok(()),
    }
}

fn check_new_run(write: &EntityWrite, run: &NewRun) -> Result<(), String> {
    if run_id_bytes(&run.run_id).is_none() {
        return Err(format!("its run id `{}` isn't a UUID", run.run_id));
    }
    let has_own_first_event = write.history.iter().any(|fragment| fragment.first_event_id == 1);
    if run.first_branch == write.key {
        if !has_own_first_event {
            return Err("it is created without its first event".into());
        }
    } else if !run.ancestors.contains(&run.first_branch) {
        let branch = run.first_branch.0;
        return Err(format!(
            "its first event is in branch {branch}, which isn't among its ancestors"
        ));
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
