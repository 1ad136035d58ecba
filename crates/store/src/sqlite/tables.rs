//! The tables and the redo log in front of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use perennial_engine::SlotRange;
use rusqlite::Connection;

use super::checkpoint::{self, Checkpoints};
use super::disk_space::{DiskSpace, with_advice};
use super::redo::{
    Appended, Due, PreviousFile, Recovered, Redo, RedoFile, RedoState, about, decode, fresh_salt,
    mark_applied, recover, set_in_use,
};
use super::reserve_file::ReserveFile;
use super::transaction::Transaction;
use super::write::{advance, compare_and_set, write_batch, write_rows};
use super::{SqliteOptions, cells, connection, lock, migrate, sidecar_files};
use crate::check::check_order;
use crate::file_system::FileSystem;
use crate::merge::Merged;
use crate::{Batch, CellId, Durability, Epoch, Error, Lease, RecordWrite};

/// Batches are applied to the tables when nothing has been committed for this long: commits come first.
const APPLY_WHEN_IDLE_FOR: Duration = Duration::from_millis(20);
/// Batches are applied to the tables at the latest after this long.
const APPLY_AT_LATEST_AFTER: Duration = Duration::from_secs(1);
/// Segments of the redo file: the one that is being applied, and the one that is written.
const SEGMENTS: usize = 2;
/// The time from a failure to the next attempt.
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The tables, the redo log, and the thread that applies one to the other.
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
    // Lock order: `writer` before `redo`.
    writer: Arc<Mutex<Connection>>,
    redo: Mutex<Redo>,
    changed: Condvar,
    checkpoints: Checkpoints,
    disk_space: DiskSpace,
    is_closing: AtomicBool,
    /// Another process has written the tables: this one may not write any more.
    is_fenced: AtomicBool,
}

impl Tables {
    pub(super) fn open(file: &Path, options: &SqliteOptions) -> Result<Self, Error> {
        let (files, durability) = (&options.files, options.durability);
        let mut writer = connection::writer(file, options)?;
        let previous = PreviousFile::read(files.as_ref(), file)?;
        migrate::migrate(&mut writer)?;
        let state = RedoState::read(&writer)?;
        let recovered = recover(files.as_ref(), file, &previous, &state, options.on_damage)?;
        drop(previous);
        let mut reserve = ReserveFile::open(files, file)?;
        let begin = || {
            apply_recovered(&writer, &recovered, &state)?;
            let salt = fresh_salt(&writer)?;
            let last = recovered.last_number;
            let redo = RedoFile::create(files, file, durability, state.database, salt, last)?;
            write(&writer, |connection| set_in_use(connection, true))?;
            // The row has to be in the database file itself, so that a copy without `-wal` and `-redo` is noticed.
            checkpoint::truncate_log(&writer)?;
            Ok(redo)
        };
        let redo = match begin() {
            Err(Error::Full(_)) => {
                reserve.release()?;
                let begun = begin();
                reserve.refill();
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
            disk_space: DiskSpace::new(reserve),
            is_closing: false.into(),
            is_fenced: false.into(),
        });
        let thread = {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name("tables".to_owned())
                .spawn(move || shared.run_thread())
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
        self.shared.disk_space.check()
    }

    pub(super) fn lease(&self, cell: CellId, owner: &str) -> Result<Lease, Error> {
        self.shared.try_write(|| {
            self.shared.exclusively(|writer, redo| {
                let lease = write(writer, |connection| {
                    // A record whose append failed may be in the file. It is of an earlier epoch: discard it.
                    mark_applied(connection, redo.last_number())?;
                    cells::take_lease(connection, cell, owner)
                })?;
                redo.leased(cell, lease.epoch);
                Ok(lease)
            })
        })
    }

    pub(super) fn divide(&self, ranges: &[SlotRange]) -> Result<(), Error> {
        self.shared.try_write(|| {
            self.shared.exclusively(|writer, redo| {
                write(writer, |connection| {
                    mark_applied(connection, redo.last_number())?;
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
        self.shared.try_write(|| {
            self.shared.exclusively(|writer, redo| {
                write(writer, |connection| {
                    mark_applied(connection, redo.last_number())?;
                    compare_and_set(connection, record, expected)
                })
            })
        })
    }

    /// Makes batches durable that were checked by themselves.
    pub(super) fn commit(&self, batches: &[Batch]) -> Result<(), Error> {
        self.shared.try_write(|| {
            let appended = self.shared.redo().append(batches)?;
            match appended {
                Appended::Durable { notify } => {
                    if notify {
                        self.shared.changed.notify_one();
                    }
                    Ok(())
                }
                Appended::MustUseTables => self.shared.exclusively(|writer, redo| {
                    write(writer, |connection| {
                        mark_applied(connection, redo.last_number())?;
                        batches.iter().try_for_each(|batch| write_batch(connection, batch))
                    })?;
                    redo.written_to_tables(batches);
                    Ok(())
                }),
            }
        })
    }

    /// Applies all batches that were committed before this call.
    pub(super) fn bring_up_to_date(&self) -> Result<(), Error> {
        self.shared.bring_up_to_date()
    }

    /// Reads from the tables. If unapplied batches may change the result, as `is_touched` tells before and after the
    /// read, they are applied and it is read again.
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
                // If batches were applied meanwhile, the result may be older than they are, and `is_touched` no longer
                // knows of them.
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
        self.shared.is_closing.store(true, Ordering::Relaxed);
        {
            let _waits = self.shared.redo();
            self.shared.changed.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Err(error) = self.close() {
            tracing::warn!(
                %error, file = %self.file.display(),
                "committed batches could not be applied to the tables; that is done when the file is opened next"
            );
        }
    }
}

impl Tables {
    /// Applies all batches to the tables and removes the files that aren't needed then.
    fn close(&self) -> Result<(), Error> {
        self.shared.exclusively(|writer, redo| {
            write(writer, |connection| {
                mark_applied(connection, redo.last_number())?;
                set_in_use(connection, false)
            })?;
            if self.durability == Durability::ProcessCrash {
                // Or a power loss may undo the row and not the removal of the file.
                checkpoint::truncate_log(writer)?;
            }
            Ok(())
        })?;
        let redo = sidecar_files::redo(&self.file);
        self.files.remove(&redo).map_err(|error| about(&redo, error))?;
        self.shared.disk_space.close()
    }
}

impl Shared {
    fn redo(&self) -> MutexGuard<'_, Redo> {
        lock(&self.redo)
    }

    /// Runs `write`, unless it is known to fail, and notes if the disk is full.
    fn try_write<T>(&self, write: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.refuse_if_fenced()?;
        self.disk_space.check()?;
        let done = write();
        if self.disk_space.note_if_full(&done) {
            // Under the lock, or the thread may miss the notification just before it waits.
            let _redo = self.redo();
            self.changed.notify_all();
        }
        // The write that finds the disk full is refused like those after it: with advice.
        done.map_err(with_advice)
    }

    fn refuse_if_fenced(&self) -> Result<(), Error> {
        if self.is_fenced.load(Ordering::Relaxed) {
            let problem = "another process has taken a lease in the tables; stop one of the two";
            return Err(Error::Fenced(problem.to_owned()));
        }
        Ok(())
    }

    /// The thread that applies batches to the tables.
    fn run_thread(&self) {
        let mut has_failed = false;
        loop {
            // Under the lock, so that no notification gets lost between a check and the wait.
            let redo = self.redo();
            if self.is_closing.load(Ordering::Relaxed) {
                return;
            }
            if let Some(wait_time) = self.disk_space.time_to_next_check() {
                drop(redo);
                self.recover_disk_space();
                let redo = self.redo();
                if self.disk_space.time_to_next_check().is_some()
                    && !self.is_closing.load(Ordering::Relaxed)
                {
                    drop(wait(&self.changed, redo, wait_time));
                }
                continue;
            }
            match redo.due(APPLY_WHEN_IDLE_FOR, APPLY_AT_LATEST_AFTER) {
                Some(Due::Now) => drop(redo),
                Some(Due::In(time)) => {
                    drop(wait(&self.changed, redo, time));
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
                        tracing::info!("committed batches are applied to the tables again");
                    }
                }
                // The next round checks the disk.
                Err(Error::Full(_)) => {}
                Err(error) => {
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::error!(
                            %error,
                            "committed batches can't be applied to the tables: commits go on while the redo file has space"
                        );
                    }
                    drop(wait(&self.changed, self.redo(), RETRY_AFTER));
                }
            }
        }
    }

    /// On a full disk: applies acknowledged batches to the tables with the reserved space, and checks whether there is
    /// free space again.
    fn recover_disk_space(&self) {
        self.disk_space.try_to_recover(|| {
            let writer = lock(&self.writer);
            // Pages are in the log and in the database at once until the log is truncated: so one segment at a time.
            checkpoint::truncate_log(&writer)?;
            for _ in 0..SEGMENTS {
                self.apply_next(&writer)?;
                checkpoint::truncate_log(&writer)?;
            }
            Ok(())
        });
    }

    fn bring_up_to_date(&self) -> Result<(), Error> {
        if !self.disk_space.needs_reserve() {
            let applied = self.apply_all();
            if !matches!(applied, Err(Error::Full(_))) {
                return applied;
            }
            self.disk_space.note_if_full(&applied);
        }
        // The caller may read what was acknowledged, so use the reserved space now.
        self.recover_disk_space();
        if self.redo().is_empty() { Ok(()) } else { self.disk_space.check() }
    }

    fn apply_all(&self) -> Result<(), Error> {
        for _ in 0..SEGMENTS {
            if self.redo().is_empty() {
                return Ok(());
            }
            let applied = self.apply_next(&lock(&self.writer));
            self.checkpoints.request(self.checkpoints.log_length());
            applied?;
        }
        Ok(())
    }

    /// Runs `act` while all batches are in the tables and no other commit is possible.
    fn exclusively<T>(
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

    /// Applies the batches of one segment to the tables.
    fn apply_next(&self, writer: &Connection) -> Result<(), Error> {
        let Some((records, last_number)) = self.redo().next_to_apply() else { return Ok(()) };
        self.refuse_if_fenced()?;
        // Each batch was checked against leases in memory before it was appended. If the tables hold a greater epoch,
        // another process has leased the cell.
        let applied = apply(writer, &records, last_number, |batch, last| match last {
            Some((epoch, _)) if epoch > batch.epoch => {
                let (Epoch(theirs), Epoch(ours)) = (epoch, batch.epoch);
                Err(Error::Fenced(format!(
                    "the tables hold epoch {theirs}, this process has {ours}"
                )))
            }
            Some((epoch, sequence)) if (epoch, sequence) >= (batch.epoch, batch.sequence) => {
                Ok(Action::Skip)
            }
            Some(_) | None => Ok(Action::Apply),
        });
        if let Err(Error::Fenced(problem)) = &applied {
            self.is_fenced.store(true, Ordering::Relaxed);
            tracing::error!(
                problem,
                "another process writes this database: what this one acknowledged last may be lost"
            );
        }
        applied?;
        self.redo().finish_applying();
        Ok(())
    }
}

/// What [`apply`] does with a batch.
enum Action {
    Apply,
    /// The batch is in the tables already.
    Skip,
    /// This batch and all later ones are ignored.
    Stop,
}

/// Applies records to the tables, all or none, and marks them as applied. `next` decides what is done with each batch,
/// given the epoch and sequence of its cell after the batches before it.
fn apply(
    writer: &Connection,
    records: &[Vec<u8>],
    last_number: u64,
    next: impl Fn(&Batch, Option<(Epoch, u64)>) -> Result<Action, Error>,
) -> Result<(), Error> {
    write(writer, |connection| {
        let mut merged = Merged::default();
        'records: for record in records {
            for batch in batches_of(record)? {
                match next(&batch, cells::progress(connection, batch.cell)?)? {
                    Action::Apply => {
                        advance(connection, &batch)?;
                        merged.add(batch);
                    }
                    Action::Skip => {}
                    Action::Stop => break 'records,
                }
            }
        }
        merged.into_batch().map_or(Ok(()), |batch| write_rows(connection, &batch))?;
        mark_applied(connection, last_number)
    })
}

/// Runs `write` in a transaction, which is rolled back if it or the commit fails.
pub(super) fn write<T>(
    writer: &Connection,
    write: impl FnOnce(&Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    let transaction = Transaction::of_writer(writer)?;
    let value = write(writer)?;
    transaction.commit()?;
    Ok(value)
}

/// Applies the records of an earlier process to the tables.
fn apply_recovered(
    writer: &Connection,
    recovered: &Recovered,
    state: &RedoState,
) -> Result<(), Error> {
    if recovered.records.is_empty() && recovered.last_number == state.last_applied {
        return Ok(());
    }
    apply(writer, &recovered.records, recovered.last_number, |batch, last| {
        match check_order(batch, last) {
            Ok(()) => Ok(Action::Apply),
            // A record whose append failed may be in the file, before those of a later owner.
            Err(_) if last.is_some_and(|last| (batch.epoch, batch.sequence) <= last) => {
                Ok(Action::Skip)
            }
            // Commits didn't wait for the disk, and this one is missing: later ones can't be applied.
            Err(_) if !recovered.is_synced => Ok(Action::Stop),
            Err(error) => Err(Error::Corrupt(format!(
                "the file `-redo` doesn't belong to this state of the database ({error}); bring back the files \
             that were together, or move it away and lose what only it holds"
            ))),
        }
    })?;
    tracing::info!(
        records = recovered.records.len(),
        "the last process ended without closing the database: its acknowledged batches are in the tables now"
    );
    Ok(())
}

fn batches_of(record: &[u8]) -> Result<Vec<Batch>, Error> {
    decode(record).ok_or_else(|| Error::Corrupt("a record of `-redo` can't be read".into()))
}

fn wait<'a>(
    changed: &Condvar,
    redo: MutexGuard<'a, Redo>,
    timeout: Duration,
) -> MutexGuard<'a, Redo> {
    changed.wait_timeout(redo, timeout).unwrap_or_else(PoisonError::into_inner).0
}
