//! A folder whose files are written through the model of a disk.

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

/// Disks by folder, because SQLite passes only file names.
static DISKS: LazyLock<Mutex<HashMap<PathBuf, Weak<Shared>>>> = LazyLock::new(Mutex::default);

/// A simulated disk in a temporary folder, removed with its last reference.
///
/// File names are durable at once, as on a journaling file system. File contents are durable only after a sync.
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

    /// The path of a file on this disk.
    pub fn path(&self, name: &str) -> PathBuf {
        self.shared.folder.path().join(name)
    }

    /// The disk as the store's file system.
    pub fn files(&self) -> Arc<dyn FileSystem> {
        Arc::new(FaultyFiles(Arc::clone(&self.shared)))
    }

    /// Number of operations (writes, truncations, syncs) so far.
    pub fn operations(&self) -> u64 {
        self.shared.model().operations
    }

    /// Makes an operation fail: the next one, if `after` is 0.
    pub fn fail(&self, after: u64, fault: Fault) {
        let mut model = self.shared.model();
        let number = model.operations + 1 + after;
        model.faults.insert(number, fault);
    }

    /// Removes all faults that haven't happened yet.
    pub fn stop_failing(&self) {
        self.shared.model().faults.clear();
    }

    /// Limits the total size of all files; `None` for no limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.shared.model().capacity = bytes;
    }

    /// Total size of all files.
    pub fn used(&self) -> u64 {
        self.shared.model().used()
    }

    /// Simulates a power failure: all operations on this disk fail from now on. Returns the disk after the power is back.
    /// The seed decides which unsynced writes survive.
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

/// The name of a file in the model.
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
