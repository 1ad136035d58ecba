//! A folder whose files are written through a model of a disk.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use perennial_store::file_system::FileSystem;
use tempfile::TempDir;

use crate::files::FaultyFiles;
use crate::model::{Fault, Model};
use crate::vfs;

/// Disks by their folders: SQLite names files, not disks.
static DISKS: LazyLock<Mutex<HashMap<PathBuf, Weak<Shared>>>> = LazyLock::new(Mutex::default);

/// A disk in a folder of its own, gone with the last who holds it.
///
/// Names of files are durable at once, as file systems with a journal have it; what is in the files isn't before it is
/// synced.
#[derive(Debug, Clone)]
pub struct FaultyDisk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    folder: TempDir,
    model: Mutex<Model>,
}

impl Default for FaultyDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl FaultyDisk {
    /// An empty disk without faults.
    #[allow(clippy::expect_used, reason = "a test without a temporary folder can't go on")]
    pub fn new() -> Self {
        vfs::register();
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().canonicalize().expect("the folder was just made");
        let shared = Arc::new(Shared { folder, model: Mutex::default() });
        let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        disks.retain(|_, disk| disk.strong_count() > 0);
        disks.insert(path, Arc::downgrade(&shared));
        Self { shared }
    }

    /// Where a file of this name is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.shared.folder.path().join(name)
    }

    /// The disk as a store takes it.
    pub fn files(&self) -> Arc<dyn FileSystem> {
        Arc::new(FaultyFiles(Arc::clone(&self.shared)))
    }

    /// How many operations (writes, changes of length, syncs) there have been.
    pub fn operations(&self) -> u64 {
        self.shared.model().operations
    }

    /// Has an operation fail: the next, if `after` is 0.
    pub fn fail(&self, after: u64, fault: Fault) {
        let mut model = self.shared.model();
        let number = model.operations + 1 + after;
        model.faults.insert(number, fault);
    }

    /// No operation that hasn't come yet fails.
    pub fn stop_failing(&self) {
        self.shared.model().faults.clear();
    }

    /// Lets all files together hold so much, or `None` for as much as they like.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.shared.model().capacity = bytes;
    }

    /// What all files hold together.
    pub fn used(&self) -> u64 {
        self.shared.model().used()
    }

    /// The power goes: nothing works on this disk any more. Returns what is found when it comes back; of what wasn't
    /// synced the seed decides.
    #[allow(clippy::expect_used, reason = "a test without a temporary folder can't go on")]
    pub fn lose_power(&self, seed: u64) -> Self {
        let after = Self::new();
        let mut model = self.shared.model();
        model.is_dead = true;
        for (name, durable) in model.after_power_loss(numbers(seed)) {
            let path = after.shared.folder.path().join(&name);
            fs::write(path, &durable).expect("the temporary folder can be written");
            after.shared.model().put(name, durable);
        }
        after
    }
}

impl Shared {
    /// The disk that a path is on.
    pub(crate) fn of(path: &Path) -> Option<Arc<Self>> {
        let disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
        disks.get(path.parent()?)?.upgrade()
    }

    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name by which the model knows a file.
pub(crate) fn name_of(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

/// Numbers that follow from a seed (SplitMix64).
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
