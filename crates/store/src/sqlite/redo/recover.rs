//! Recovery of the batches in the redo file of an earlier process.

use std::path::Path;

use super::file::{PreviousFile, Remaining, about, remaining_in};
use super::record::OLDEST_VERSION;
use super::state::RedoState;
use super::version_2;
use crate::file_system::FileSystem;
use crate::sqlite::sidecar_files;
use crate::{Error, OnDamage};

/// Records to apply to the tables before anything else happens.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Recovered {
    /// In order.
    pub(in crate::sqlite) records: Vec<Vec<u8>>,
    /// The number of the last one; of the last one in the tables if there are none.
    pub(in crate::sqlite) last_number: u64,
    /// Whether commits waited for the disk, so that none can be missing between two others.
    pub(in crate::sqlite) is_synced: bool,
}

/// Reads the records of an earlier process. Damage is refused, unless the operator said to discard it.
pub(in crate::sqlite) fn recover(
    files: &dyn FileSystem,
    database: &Path,
    previous: &PreviousFile,
    state: &RedoState,
    on_damage: OnDamage,
) -> Result<Recovered, Error> {
    let path = sidecar_files::redo(database);
    let shown = path.display();
    let (mut remaining, damage) = match previous {
        PreviousFile::Missing if state.is_in_use => {
            (Remaining::default(), Some(format!("{shown} is missing")))
        }
        PreviousFile::Missing => (Remaining::default(), None),
        PreviousFile::Unreadable if state.is_in_use => {
            (Remaining::default(), Some(format!("the beginning of {shown} can't be read")))
        }
        PreviousFile::Unreadable => {
            return Err(Error::Corrupt(format!("{shown} isn't a file of ours; move it away")));
        }
        PreviousFile::Readable { header, .. } if header.database != state.database => {
            return Err(Error::Corrupt(format!(
                "{shown} belongs to another database; bring back the files that were together, or move it away"
            )));
        }
        PreviousFile::Readable { header, bytes } => {
            let mut remaining = remaining_in(bytes, header, state.last_applied);
            if header.version == OLDEST_VERSION {
                remaining.records = upgrade(&remaining.records)
                    .ok_or_else(|| Error::Corrupt(format!("a record of {shown} can't be read")))?;
            }
            let damage = damage_of(&remaining, state).map(|what| format!("{shown}: {what}"));
            (remaining, damage)
        }
    };
    remaining.last_number = remaining.last_number.max(state.last_applied);
    if let Some(damage) = damage {
        match on_damage {
            OnDamage::Refuse => return Err(refusal(&damage)),
            OnDamage::Discard => {
                keep_damaged_file(files, database, remaining.last_number, &damage)?
            }
        }
        if !state.is_in_use {
            // The records are of a later state of the database than this copy.
            remaining = Remaining { last_number: state.last_applied, ..Remaining::default() };
        }
    }
    if remaining.unreachable > 0 && !remaining.is_synced {
        tracing::warn!(
            file = %shown, lost = remaining.unreachable,
            "the machine lost power while commits didn't wait for the disk: the last of them are lost"
        );
    }
    if remaining.has_torn_end {
        tracing::warn!(
            file = %shown, record = remaining.last_number + 1,
            "the last record isn't whole and was cut off: the server ended within a commit, or the record was \
             damaged since, and then what it acknowledged is lost"
        );
    }
    let Remaining { records, last_number, is_synced, .. } = remaining;
    Ok(Recovered { records, last_number, is_synced })
}

/// The records of an earlier version in the present one, or `None` if one of them can't be read.
fn upgrade(records: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    records.iter().map(|record| version_2::upgraded(record)).collect()
}

fn damage_of(remaining: &Remaining, state: &RedoState) -> Option<String> {
    let next = remaining.last_number + 1;
    if !state.is_in_use && !remaining.records.is_empty() {
        let count = remaining.records.len();
        return Some(format!(
            "it holds {count} records that came after this state of the database, which is an older copy"
        ));
    }
    (remaining.unreachable > 0 && remaining.is_synced).then(|| {
        let later = remaining.unreachable;
        format!("record {next} is damaged or missing, and {later} whole records follow it")
    })
}

fn refusal(damage: &str) -> Error {
    Error::Corrupt(format!(
        "{damage}. Acknowledged requests are lost without it. Bring back the files that were together \
         (database, -wal and -redo); or accept the loss and start once with --discard-damaged-redo, \
         which keeps what comes before the damage"
    ))
}

/// Renames a damaged file, so that it can be examined.
fn keep_damaged_file(
    files: &dyn FileSystem,
    database: &Path,
    last_number: u64,
    damage: &str,
) -> Result<(), Error> {
    let path = sidecar_files::redo(database);
    let kept_as = sidecar_files::damaged_redo(database, last_number);
    let failed = |error| about(&path, error);
    let is_there = files.identity(&path).map_err(failed)?.is_some();
    if is_there {
        files.rename(&path, &kept_as).map_err(failed)?;
    }
    tracing::error!(
        kept_as = %if is_there { kept_as.display().to_string() } else { "nothing".to_owned() },
        "{damage}; as --discard-damaged-redo says, the database is opened without the unreadable records: acknowledged \
         requests are lost"
    );
    Ok(())
}
