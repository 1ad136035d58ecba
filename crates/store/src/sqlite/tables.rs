//! The tables, and what is on its way into them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_engine::SlotRange;
use rusqlite::Connection;

use super::checkpoint::{self, Checkpoints};
use super::merge::Merged;
use super::redo::{
    Appended, Due, LeftFile, Recovered, Redo, RedoFile, RedoState, about, decode, fresh_salt,
    recover, set_in_use, settle,
};
use super::reserve::Reserve;
use super::room::Room;
use super::transaction::Transaction;
use super::write::{advance, compare_and_set, write_batch, write_rows};
use super::{SqliteOptions, cells, connection, lock, migrate, sidecar};
use crate::check::follows;
use crate::file_system::FileSystem;
use crate::{Batch, CellId, Durability, Epoch, Error, Lease, RecordWrite};

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
    files: Arc<dyn FileSystem>,
    file: PathBuf,
    durability: Durability,
}

#[derive(Debug)]
struct Shared {
    // Whoever needs both locks takes them in this order.
    writer: Arc<Mutex<Connection>>,
    redo: Mutex<Redo>,
    changed: Condvar,
    checkpoints: Checkpoints,
    room: Room,
    is_ending: AtomicBool,
    /// Another owner has written the tables: nothing more may be written here.
    is_fenced: AtomicBool,
}

impl Tables {
    pub(super) fn open(file: &Path, options: &SqliteOptions) -> Result<Self, Error> {
        let (files, durability) = (&options.files, options.durability);
        let mut writer = connection::writer(file, options)?;
        let left = LeftFile::read(files.as_ref(), file)?;
        migrate::migrate(&mut writer)?;
        let state = RedoState::read(&writer)?;
        let recovered = recover(files.as_ref(), file, &left, &state, options.on_damage)?;
        drop(left);
        let mut reserve = Reserve::open(files, file)?;
        let begin = || {
            bring_in(&writer, &recovered, &state)?;
            let salt = fresh_salt(&writer)?;
            let last = recovered.last_number;
            let redo = RedoFile::create(files, file, durability, state.database, salt, last)?;
            write(&writer, |connection| set_in_use(connection, true))?;
            // The mark has to be in the database itself: a copy without `-wal` and `-redo` is noticed by it.
            checkpoint::truncate_log(&writer)?;
            Ok(redo)
        };
        let redo = match begin() {
            Err(Error::Full(_)) => {
                reserve.give_up()?;
                let begun = begin();
                reserve.take_all();
                begun?
            }
            begun => begun?,
        };
        let redo = Redo::new(redo, connection::lookup(file, options)?);
        let writer = Arc::new(Mutex::new(writer));
        let checkpoints = Checkpoints::start(file, options, Arc::clone(&writer))?;
        let shared = Arc::new(Shared {
            writer,
            redo: Mutex::new(redo),
            changed: Condvar::new(),
            checkpoints,
            room: Room::new(reserve),
            is_ending: false.into(),
            is_fenced: false.into(),
        });
        let thread = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("tables".to_owned())
                .spawn(move || shared.follow())
                .map_err(|error| Error::Unavailable(format!("no thread for tables: {error}")))?
        };
        let (files, file) = (Arc::clone(files), file.to_owned());
        Ok(Self { shared, thread: Some(thread), files, file, durability })
    }

    /// Whether writes are accepted and the threads live.
    pub(super) fn health(&self) -> Result<(), Error> {
        let has_died = self.thread.as_ref().is_none_or(JoinHandle::is_finished)
            || self.shared.checkpoints.has_died();
        if has_died {
            let problem = "a thread that writes the tables has died; start the server again";
            return Err(Error::Fenced(problem.to_owned()));
        }
        self.shared.refuse_if_fenced()?;
        self.shared.room.check()
    }

    pub(super) fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.shared.writing(|| {
            self.shared.alone(|writer, redo| {
                let lease = write(writer, |connection| {
                    // A record that failed and may be there is settled by this: it is of an earlier epoch.
                    settle(connection, redo.last_number())?;
                    cells::take_lease(connection, cell, owner)
                })?;
                redo.leased(cell, lease.epoch);
                Ok(lease)
            })
        })
    }

    pub(super) fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        self.shared.writing(|| {
            self.shared.alone(|writer, redo| {
                write(writer, |connection| {
                    settle(connection, redo.last_number())?;
                    cells::divide(connection, ranges)
                })?;
                redo.divided();
                Ok(())
            })
        })
    }

    pub(super) fn compare_and_set(
        &self,
        record: &RecordWrite,
        expected: Option<&[u8]>,
    ) -> Result<bool, Error> {
        self.shared.writing(|| {
            self.shared.alone(|writer, redo| {
                write(writer, |connection| {
                    settle(connection, redo.last_number())?;
                    compare_and_set(connection, record, expected)
                })
            })
        })
    }

    /// Makes batches durable that were checked by themselves.
    pub(super) fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        self.shared.writing(|| {
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
                        settle(connection, redo.last_number())?;
                        batches.iter().try_for_each(|batch| write_batch(connection, batch))
                    })?;
                    redo.went_into_tables(batches);
                    Ok(())
                }),
            }
        })
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
        if let Err(error) = self.end() {
            tracing::warn!(
                %error, file = %self.file.display(),
                "the tables could not be brought up to date at the end; that is done when the file is opened next"
            );
        }
    }
}

impl Tables {
    /// Brings everything into the tables and removes the files that aren't needed then.
    fn end(&self) -> Result<(), Error> {
        self.shared.alone(|writer, redo| {
            write(writer, |connection| {
                settle(connection, redo.last_number())?;
                set_in_use(connection, false)
            })?;
            if self.durability == Durability::ProcessCrash {
                // Or the mark may be older than the removal of the file when the power goes.
                checkpoint::truncate_log(writer)?;
            }
            Ok(())
        })?;
        let redo = sidecar::redo(&self.file);
        self.files.remove(&redo).map_err(|error| about(&redo, error))?;
        self.shared.room.end()
    }
}

impl Shared {
    fn redo(&self) -> MutexGuard<'_, Redo> {
        lock(&self.redo)
    }

    /// Writes, unless that is known to be in vain, and notes if the disk is full.
    fn writing<T>(&self, write: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.refuse_if_fenced()?;
        self.room.check()?;
        let done = write();
        if self.room.note(&done) {
            // Under the lock: the thread looks for it before it waits.
            let _redo = self.redo();
            self.changed.notify_all();
        }
        done
    }

    fn refuse_if_fenced(&self) -> Result<(), Error> {
        if self.is_fenced.load(Ordering::Relaxed) {
            let problem = "another process has taken a lease in the tables; stop one of the two";
            return Err(Error::Fenced(problem.to_owned()));
        }
        Ok(())
    }

    /// The thread's work: has the tables follow.
    fn follow(&self) {
        let mut has_failed = false;
        loop {
            // Under the lock, so that no signal gets lost between a look and the wait for the next.
            let redo = self.redo();
            if self.is_ending.load(Ordering::Relaxed) {
                return;
            }
            if let Some(look_again) = self.room.look_again() {
                drop(redo);
                self.make_room();
                let redo = self.redo();
                if self.room.look_again().is_some() && !self.is_ending.load(Ordering::Relaxed) {
                    drop(wait(&self.changed, redo, look_again));
                }
                continue;
            }
            match redo.due(IDLE, LATE) {
                Some(Due::Now) => drop(redo),
                Some(Due::In(left)) => {
                    drop(wait(&self.changed, redo, left));
                    continue;
                }
                None => {
                    drop(self.changed.wait(redo).unwrap_or_else(PoisonError::into_inner));
                    continue;
                }
            }
            match self.bring_up_to_date() {
                Ok(()) => {
                    if std::mem::take(&mut has_failed) {
                        tracing::info!("the tables are brought up to date again");
                    }
                }
                // It is looked at in the next round.
                Err(Error::Full(_)) => {}
                Err(error) => {
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::error!(
                            %error,
                            "the tables can't be brought up to date: commits go on in the redo file while it has room"
                        );
                    }
                    drop(wait(&self.changed, self.redo(), TRY_AGAIN));
                }
            }
        }
    }

    /// On a full disk: gets everything acknowledged into the tables with what was put aside, and looks whether there is
    /// room again.
    fn make_room(&self) {
        self.room.try_to_recover(|| {
            self.apply_all()?;
            checkpoint::truncate_log(&lock(&self.writer))
        });
    }

    fn bring_up_to_date(&self) -> Result<(), Error> {
        let applied = self.apply_all();
        if let Err(Error::Full(_)) = applied {
            // Whoever reads what was acknowledged needs it now.
            self.room.note(&applied);
            self.make_room();
            return if self.redo().is_empty() { Ok(()) } else { applied };
        }
        applied
    }

    fn apply_all(&self) -> Result<(), Error> {
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
        let Some((records, last_number)) = self.redo().next_to_apply() else { return Ok(()) };
        self.refuse_if_fenced()?;
        // Each was checked before it was appended, against leases in memory. The tables have the last word: an owner
        // they don't know of here is another process.
        let applied = apply(writer, &records, last_number, |batch, last| match last {
            Some((epoch, _)) if epoch > batch.epoch => {
                let (Epoch(theirs), Epoch(ours)) = (epoch, batch.epoch);
                Err(Error::Fenced(format!(
                    "the tables hold epoch {theirs}, this process has {ours}"
                )))
            }
            Some((epoch, sequence)) if (epoch, sequence) >= (batch.epoch, batch.sequence) => {
                Ok(Apply::NotIt)
            }
            Some(_) | None => Ok(Apply::It),
        });
        if let Err(Error::Fenced(problem)) = &applied {
            self.is_fenced.store(true, Ordering::Relaxed);
            tracing::error!(
                problem,
                "another process writes this database: what this one acknowledged last may be lost"
            );
        }
        applied?;
        self.redo().is_applied();
        Ok(())
    }
}

/// What to do with a batch.
enum Apply {
    It,
    /// It is in the tables already.
    NotIt,
    NothingMore,
}

/// Brings records into the tables, all or none, and settles the last one's number. Of each batch `next` says what to do
/// with it, given the lease of its cell as the ones before have left it.
fn apply(
    writer: &Connection,
    records: &[Vec<u8>],
    last_number: u64,
    next: impl Fn(&Batch, Option<(Epoch, u64)>) -> Result<Apply, Error>,
) -> Result<(), Error> {
    write(writer, |connection| {
        let mut merged = Merged::default();
        'records: for record in records {
            for batch in batches_of(record)? {
                match next(&batch, cells::progress(connection, batch.cell)?)? {
                    Apply::It => {
                        advance(connection, &batch)?;
                        merged.add(batch);
                    }
                    Apply::NotIt => {}
                    Apply::NothingMore => break 'records,
                }
            }
        }
        merged.into_batch().map_or(Ok(()), |batch| write_rows(connection, &batch))?;
        settle(connection, last_number)
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
fn bring_in(writer: &Connection, left: &Recovered, state: &RedoState) -> Result<(), Error> {
    if left.records.is_empty() && left.last_number == state.settled {
        return Ok(());
    }
    apply(writer, &left.records, left.last_number, |batch, last| match follows(batch, last) {
        Ok(()) => Ok(Apply::It),
        // A commit that failed may have happened all the same, before a later owner's.
        Err(_) if last.is_some_and(|last| (batch.epoch, batch.sequence) <= last) => {
            Ok(Apply::NotIt)
        }
        // Its commits didn't wait for the disk: some may be missing, and all after them are.
        Err(_) if !left.is_synced => Ok(Apply::NothingMore),
        Err(error) => Err(Error::Corrupt(format!(
            "the file `-redo` beside it isn't of this state of the database ({error}); bring back the files \
             that were together, or move it away and lose what only it holds"
        ))),
    })?;
    tracing::info!(
        records = left.records.len(),
        "the last process ended without closing the database: what it had acknowledged is in the tables now"
    );
    Ok(())
}

fn batches_of(record: &[u8]) -> Result<Vec<Batch>, Error> {
    decode(record).ok_or_else(|| Error::Corrupt("a record of `-redo` can't be read".into()))
}

fn wait<'a>(changed: &Condvar, redo: MutexGuard<'a, Redo>, left: Duration) -> MutexGuard<'a, Redo> {
    changed.wait_timeout(redo, left).unwrap_or_else(PoisonError::into_inner).0
}
