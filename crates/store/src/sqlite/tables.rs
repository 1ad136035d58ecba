//! The tables, and what is on its way into them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::checkpoint::Checkpoints;
use super::merge::Merged;
use super::redo::{Appended, Due, Left, Redo, decode};
use super::transaction::Transaction;
use super::write::{advance, take_lease, write_batch, write_rows};
use super::{connection, lock, migrate, read};
use crate::check::follows;
use crate::{Batch, Durability, Epoch, Error, Lease};

/// The tables are brought up to date when nothing has been committed for this long: whatever goes on just then
/// comes first.
const IDLE: Duration = Duration::from_millis(20);
/// And at the latest after this long.
const LATE: Duration = Duration::from_secs(1);
/// After a failure, this long after it.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Tables {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    // Whoever needs both locks takes them in this order.
    writer: Arc<Mutex<Connection>>,
    redo: Mutex<Redo>,
    changed: Condvar,
    checkpoints: Checkpoints,
    is_ending: AtomicBool,
}

impl Tables {
    pub(super) fn open(file: &Path, durability: Durability) -> Result<Self, Error> {
        let mut writer = connection::writer(file, durability)?;
        migrate::migrate(&mut writer)?;
        let (mut redo, left) = Redo::open(file, durability, connection::lookup(file)?)?;
        recover(&writer, &left)?;
        redo.begin()?;
        let writer = Arc::new(Mutex::new(writer));
        let checkpoints = Checkpoints::start(file, durability, Arc::clone(&writer))?;
        let shared = Arc::new(Shared {
            writer,
            redo: Mutex::new(redo),
            changed: Condvar::new(),
            checkpoints,
            is_ending: false.into(),
        });
        let thread = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("tables".to_owned())
                .spawn(move || shared.follow())
                .map_err(|error| Error::Unavailable(format!("no thread for tables: {error}")))?
        };
        Ok(Self { shared, thread: Some(thread) })
    }

    pub(super) fn lease(&self, cell: u32) -> Result<Lease, Error> {
        self.shared.alone(|writer, redo| {
            let lease = write(writer, |connection| take_lease(connection, cell))?;
            redo.leased(cell, lease.epoch);
            Ok(lease)
        })
    }

    pub(super) fn last_sequence(&self, cell: u32) -> Result<u64, Error> {
        self.shared.redo().last_sequence(cell)
    }

    /// Makes batches durable that were checked by themselves.
    pub(super) fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        let appended = self.shared.redo().append(batches)?;
        match appended {
            Appended::Durable { wakes } => {
                if wakes {
                    self.shared.changed.notify_one();
                }
                Ok(())
            }
            Appended::NotHere => self.shared.alone(|writer, redo| {
                write(writer, |connection| {
                    batches.iter().try_for_each(|batch| write_batch(connection, batch))
                })?;
                redo.went_into_tables(batches);
                Ok(())
            }),
        }
    }

    /// Everything that was committed is in the tables then.
    pub(super) fn bring_up_to_date(&self) -> Result<(), Error> {
        self.shared.bring_up_to_date()
    }

    /// What `read` finds in the tables when they say nothing old of it.
    pub(super) fn read<T>(
        &self,
        read: impl Fn() -> Result<T, Error>,
        is_touched: impl Fn(&Redo, Option<&T>) -> bool,
    ) -> Result<T, Error> {
        loop {
            let before = {
                let redo = self.shared.redo();
                (!is_touched(&redo, None)).then(|| redo.applied())
            };
            if let Some(before) = before {
                let found = read()?;
                let redo = self.shared.redo();
                // Or it may be from before they were brought up to date, when nobody remembers what has
                // changed.
                let is_same = redo.applied() == before;
                if is_same && !is_touched(&redo, Some(&found)) {
                    return Ok(found);
                }
                if !is_same {
                    continue;
                }
            }
            self.shared.bring_up_to_date()?;
        }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        {
            let _waits = self.shared.redo();
            self.shared.changed.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // What can't be brought into the tables now is when the file is opened next.
        let _ = self.shared.alone(|_, redo| {
            redo.end();
            Ok(())
        });
    }
}

impl Shared {
    fn redo(&self) -> MutexGuard<'_, Redo> {
        lock(&self.redo)
    }

    /// The thread's work: has the tables follow.
    fn follow(&self) {
        loop {
            let mut redo = self.redo();
            loop {
                if self.is_ending.load(Ordering::Relaxed) {
                    return;
                }
                redo = match redo.due(IDLE, LATE) {
                    Some(Due::Now) => break,
                    Some(Due::In(left)) => wait(&self.changed, redo, left),
                    None => self.changed.wait(redo).unwrap_or_else(PoisonError::into_inner),
                };
            }
            drop(redo);
            if self.bring_up_to_date().is_err() {
                // Commits and reads are told of it when they come to need it.
                drop(wait(&self.changed, self.redo(), TRY_AGAIN));
            }
        }
    }

    fn bring_up_to_date(&self) -> Result<(), Error> {
        // What is being applied, and what has been committed meanwhile.
        for _ in 0..2 {
            if self.redo().is_empty() {
                return Ok(());
            }
            let applied = self.apply_next(&lock(&self.writer));
            self.checkpoints.request(self.checkpoints.log_length());
            applied?;
        }
        Ok(())
    }

    /// Does something with the tables while they are up to date and nothing else is committed.
    fn alone<T>(
        &self,
        act: impl FnOnce(&Connection, &mut Redo) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.bring_up_to_date()?;
        let done = {
            let writer = lock(&self.writer);
            loop {
                self.apply_next(&writer)?;
                let mut redo = self.redo();
                if redo.is_empty() {
                    break act(&writer, &mut redo);
                }
            }
        };
        self.checkpoints.request(self.checkpoints.log_length());
        done
    }

    /// Brings the batches of one segment into the tables.
    fn apply_next(&self, writer: &Connection) -> Result<(), Error> {
        let Some(records) = self.redo().next_to_apply() else { return Ok(()) };
        // Each was checked before it was appended.
        apply(writer, &records, |_, _| Ok(Apply::It))?;
        self.redo().is_applied();
        Ok(())
    }
}

/// What to do with a batch.
enum Apply {
    It,
    NothingMore,
}

/// Brings batches that aren't in the tables yet into them, all or none. Of each that isn't, `next` says whether it is
/// next, given the lease of its cell as the ones before have left it.
fn apply(
    writer: &Connection,
    records: &[Vec<u8>],
    next: impl Fn(&Batch, Option<(Epoch, u64)>) -> Result<Apply, Error>,
) -> Result<(), Error> {
    write(writer, |connection| {
        let mut merged = Merged::default();
        'records: for record in records {
            for batch in batches_of(record)? {
                let last = read::lease(connection, batch.cell)?;
                // A commit that failed may have happened all the same, or a later owner's.
                if last.is_some_and(|last| (batch.epoch, batch.sequence) <= last) {
                    continue;
                }
                match next(&batch, last)? {
                    Apply::It => {
                        advance(connection, &batch)?;
                        merged.add(batch);
                    }
                    Apply::NothingMore => break 'records,
                }
            }
        }
        merged.into_batch().map_or(Ok(()), |batch| write_rows(connection, &batch))
    })
}

/// Runs `write` in a transaction: it happens when both it and the commit are good, or not at all.
pub(super) fn write<T>(
    writer: &Connection,
    write: impl FnOnce(&Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = Transaction::of_writer(writer)?;
    let value = write(writer)?;
    transaction.commit()?;
    Ok(value)
}

/// Brings what a process left behind into the tables.
fn recover(writer: &Connection, left: &Left) -> Result<(), Error> {
    apply(writer, &left.records, |batch, last| match follows(batch, last) {
        Ok(()) => Ok(Apply::It),
        // Its commits didn't wait for the disk: some may be missing, and all after them are.
        Err(_) if !left.is_gapless => Ok(Apply::NothingMore),
        Err(error) => Err(Error::Corrupt(format!(
            "the file `-redo` beside it isn't of this database, or not of this state of it ({error}); bring \
             back the files that were together, or move it away and lose what only it holds"
        ))),
    })
}

fn batches_of(record: &[u8]) -> Result<Vec<Batch>, Error> {
    decode(record).ok_or_else(|| Error::Corrupt("a record of `-redo` can't be read".into()))
}

fn wait<'a>(changed: &Condvar, redo: MutexGuard<'a, Redo>, left: Duration) -> MutexGuard<'a, Redo> {
    changed.wait_timeout(redo, left).unwrap_or_else(PoisonError::into_inner).0
}
