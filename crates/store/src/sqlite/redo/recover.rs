//! What to do with the file that an earlier process left.

use std::path::Path;

use super::file::{Left, LeftFile, about, left_in};
use super::record::OLDEST_VERSION;
use super::state::RedoState;
use super::version_2;
use crate::file_system::FileSystem;
use crate::sqlite::sidecar;
use crate::{Error, OnDamage};

/// Records to bring into the tables before anything else happens.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Recovered {
    /// In order.
    pub(in crate::sqlite) records: Vec<Vec<u8>>,
    /// Number of the last of them, or of the last that is in the tables.
    pub(in crate::sqlite) last_number: u64,
    /// Whether none can be missing between them.
    pub(in crate::sqlite) is_synced: bool,
}

/// Reads what an earlier process left. Damage is refused, unless the operator said to discard it.
pub(in crate::sqlite) fn recover(
    files: &dyn FileSystem,
    database: &Path,
    left: &LeftFile,
    state: &RedoState,
    on_damage: OnDamage,
) -> Result<Recovered, Error> {
    let path = sidecar::redo(database);
    let shown = path.display();
    let (mut left, damage) = match left {
        LeftFile::Nothing if state.is_in_use => {
            (Left::default(), Some(format!("{shown} is missing")))
        }
        LeftFile::Nothing => (Left::default(), None),
        LeftFile::Unreadable if state.is_in_use => {
            (Left::default(), Some(format!("the beginning of {shown} can't be read")))
        }
        LeftFile::Unreadable => {
            return Err(Error::Corrupt(format!("{shown} isn't a file of ours; move it away")));
        }
        LeftFile::Readable { header, .. } if header.database != state.database => {
            return Err(Error::Corrupt(format!(
                "{shown} belongs to another database; bring back the files that were together, or move it away"
            )));
        }
        LeftFile::Readable { header, bytes } => {
            let mut left = left_in(bytes, header, state.settled);
            if header.version == OLDEST_VERSION {
                left.records = upgrade(&left.records)
                    .ok_or_else(|| Error::Corrupt(format!("a record of {shown} can't be read")))?;
            }
            let damage = damage_of(&left, state).map(|what| format!("{shown}: {what}"));
            (left, damage)
        }
    };
    left.last_number = left.last_number.max(state.settled);
    if let Some(damage) = damage {
        match on_damage {
            OnDamage::Refuse => return Err(refusal(&damage)),
            OnDamage::Discard => put_aside(files, database, left.last_number, &damage)?,
        }
        if !state.is_in_use {
            // They are of another life of the database.
            left = Left { last_number: state.settled, ..Left::default() };
        }
    }
    if left.unreachable > 0 && !left.is_synced {
        tracing::warn!(
            file = %shown, lost = left.unreachable,
            "the machine lost power while commits didn't wait for the disk: the last of them are lost"
        );
    }
    if left.has_torn_end {
        tracing::warn!(
            file = %shown, record = left.last_number + 1,
            "the last record isn't whole and was cut off: the server ended within a commit, or the record was \
             damaged since, and then what it acknowledged is lost"
        );
    }
    let Left { records, last_number, is_synced, .. } = left;
    Ok(Recovered { records, last_number, is_synced })
}

/// The records of an earlier version in the present one, or `None` if one of them can't be read.
fn upgrade(records: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    records.iter().map(|record| version_2::upgraded(record)).collect()
}

fn damage_of(left: &Left, state: &RedoState) -> Option<String> {
    let next = left.last_number + 1;
    if !state.is_in_use && !left.records.is_empty() {
        let count = left.records.len();
        return Some(format!(
            "it holds {count} records that came after this state of the database, which is an older copy"
        ));
    }
    (left.unreachable > 0 && left.is_synced).then(|| {
        let later = left.unreachable;
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

/// Keeps a damaged file for whoever wants to look into it.
fn put_aside(
    files: &dyn FileSystem,
    database: &Path,
    last_number: u64,
    damage: &str,
) -> Result<(), Error> {
    let path = sidecar::redo(database);
    let aside = sidecar::damaged_redo(database, last_number);
    let failed = |error| about(&path, error);
    let is_there = files.identity(&path).map_err(failed)?.is_some();
    if is_there {
        files.rename(&path, &aside).map_err(failed)?;
    }
    tracing::error!(
        kept_as = %if is_there { aside.display().to_string() } else { "nothing".to_owned() },
        "{damage}; as told, the database goes on without what can't be read: acknowledged requests are lost"
    );
    Ok(())
}
