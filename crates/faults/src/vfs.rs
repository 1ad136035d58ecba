//! The disk as SQLite uses it: a VFS in front of SQLite's own, which does the work.
//!
//! Writes, changes of length, syncs and deletions go through the model; everything else is passed on: SQLite's own VFS
//! has the locks and the index of the log.
#![allow(unsafe_code, reason = "SQLite calls a VFS through C function pointers")]
#![deny(unsafe_op_in_unsafe_fn)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Once};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use crate::disk::{Shared, name_of};
use crate::model::{Change, FileId, Verdict};

/// The name of the VFS in SQLite.
pub(crate) const NAME: &str = "perennial-faults";
/// The name of SQLite's own VFS, which does the work.
const BEHIND: &CStr = c"unix-excl";

/// Makes the VFS known to SQLite, once a process.
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: SQLite's own VFS lives for the whole process, and so does ours, which is leaked. A VFS is a plain
        // struct: a copy of it with our own functions for files is one too, and its other functions (random bytes,
        // sleeping, time) work on the copy as on the original, for they look at nothing but their arguments.
        let status = unsafe {
            let behind = ffi::sqlite3_vfs_find(BEHIND.as_ptr());
            assert!(!behind.is_null(), "SQLite was built with its Unix files");
            let name = CString::new(NAME).unwrap_or_default().into_raw();
            let vfs = Box::new(sqlite3_vfs {
                szOsFile: (*behind).szOsFile + size_of::<File>() as c_int,
                zName: name,
                pNext: std::ptr::null_mut(),
                pAppData: behind.cast(),
                xOpen: Some(open),
                xDelete: Some(delete),
                xAccess: Some(access),
                xFullPathname: Some(full_pathname),
                ..*behind
            });
            ffi::sqlite3_vfs_register(Box::into_raw(vfs), 0)
        };
        assert_eq!(status, ffi::SQLITE_OK);
    });
}

/// An open file, as SQLite holds it: SQLite's own file comes directly after it in memory.
#[repr(C)]
struct File {
    base: sqlite3_file,
    /// `None` for a file that is on no disk of ours: SQLite's temporary files.
    disk: Option<Box<OnDisk>>,
}

struct OnDisk {
    disk: Arc<Shared>,
    id: FileId,
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The VFS behind ours.
///
/// # Safety
/// `vfs` is ours.
unsafe fn behind(vfs: *mut sqlite3_vfs) -> *mut sqlite3_vfs {
    // SAFETY: set when it was registered, never changed.
    unsafe { (*vfs).pAppData.cast() }
}

/// SQLite's own file behind ours, and its methods.
///
/// # Safety
/// `file` was opened by `open`.
unsafe fn inner(file: *mut sqlite3_file) -> (*mut sqlite3_file, &'static sqlite3_io_methods) {
    // SAFETY: SQLite allotted `szOsFile` bytes, ours and then those of the VFS behind, whose methods are static.
    unsafe {
        let inner: *mut sqlite3_file = file.cast::<File>().add(1).cast();
        (inner, &*(*inner).pMethods)
    }
}

/// Our part of an open file.
///
/// # Safety
/// `file` was opened by `open`, and isn't closed.
unsafe fn ours<'a>(file: *mut sqlite3_file) -> Option<&'a OnDisk> {
    // SAFETY: it begins with a `File`, which `open` filled in.
    unsafe { (*file.cast::<File>()).disk.as_deref() }
}

fn path_of<'a>(name: *const c_char) -> Option<&'a Path> {
    if name.is_null() {
        return None;
    }
    // SAFETY: SQLite gives a string that ends with zero, and it outlives the call.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())))
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let on_disk = path_of(name).and_then(|path| {
        let disk = Shared::of(path)?;
        let id = disk.model().open(name_of(path));
        Some(Box::new(OnDisk { disk, id }))
    });
    // SAFETY: `file` has room for ours and for the one behind; ours is written before anything reads it. Without
    // methods SQLite doesn't close it.
    unsafe {
        let base = sqlite3_file { pMethods: std::ptr::null() };
        file.cast::<File>().write(File { base, disk: on_disk });
        let inner: *mut sqlite3_file = file.cast::<File>().add(1).cast();
        (*inner).pMethods = std::ptr::null();
        let behind = behind(vfs);
        let Some(x_open) = (*behind).xOpen else { return ffi::SQLITE_ERROR };
        let status = x_open(behind, name, inner, flags, out_flags);
        if status == ffi::SQLITE_OK {
            (*file).pMethods = &raw const METHODS;
        } else {
            drop((*file.cast::<File>()).disk.take());
        }
        status
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    if let Some(path) = path_of(name)
        && let Some(disk) = Shared::of(path)
    {
        let mut model = disk.model();
        if model.before_other().is_err() {
            return ffi::SQLITE_IOERR_DELETE;
        }
        model.remove(&name_of(path));
    }
    // SAFETY: passed on as it came.
    unsafe {
        let behind = behind(vfs);
        (*behind).xDelete.map_or(ffi::SQLITE_ERROR, |it| it(behind, name, sync))
    }
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: passed on as it came.
    unsafe {
        let behind = behind(vfs);
        (*behind).xAccess.map_or(ffi::SQLITE_ERROR, |it| it(behind, name, flags, out))
    }
}

unsafe extern "C" fn full_pathname(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    bytes: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: passed on as it came.
    unsafe {
        let behind = behind(vfs);
        (*behind).xFullPathname.map_or(ffi::SQLITE_ERROR, |it| it(behind, name, bytes, out))
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: it was opened by `open`; nothing looks at it afterwards.
    unsafe {
        drop((*file.cast::<File>()).disk.take());
        let (inner, methods) = inner(file);
        methods.xClose.map_or(ffi::SQLITE_OK, |it| it(inner))
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    offset: sqlite3_int64,
) -> c_int {
    let length = usize::try_from(count).unwrap_or_default();
    let at = u64::try_from(offset).unwrap_or_default();
    // SAFETY: `file` is open.
    let ours = unsafe { ours(file) };
    let verdict = ours.map(|it| it.disk.model().before(it.id, length, at + length as u64));
    let (done, failure) = match verdict {
        None | Some(Verdict::Go) => (length, None),
        Some(Verdict::Partly(done)) => (done, Some(ffi::SQLITE_IOERR_WRITE)),
        Some(Verdict::DoAndFail) => (length, Some(ffi::SQLITE_IOERR_WRITE)),
        Some(Verdict::Fail(error)) => return code_of(&error, ffi::SQLITE_IOERR_WRITE),
    };
    // SAFETY: SQLite gives `count` bytes to write, and `done` is no more.
    let status = unsafe {
        let (inner, methods) = inner(file);
        let done = c_int::try_from(done).unwrap_or(count);
        methods.xWrite.map_or(ffi::SQLITE_ERROR, |it| it(inner, bytes, done, offset))
    };
    if status == ffi::SQLITE_OK
        && let Some(ours) = ours
    {
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), done) };
        let change = Change::Write { offset: at, bytes: bytes.to_vec() };
        ours.disk.model().changed(ours.id, change);
    }
    failure.unwrap_or(status)
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: `file` is open.
    let ours = unsafe { ours(file) };
    let length = u64::try_from(size).unwrap_or_default();
    if let Some(ours) = ours {
        match ours.disk.model().before(ours.id, 0, length) {
            Verdict::Go => {}
            Verdict::Partly(_) | Verdict::DoAndFail => return ffi::SQLITE_IOERR_TRUNCATE,
            Verdict::Fail(error) => return code_of(&error, ffi::SQLITE_IOERR_TRUNCATE),
        }
    }
    // SAFETY: passed on as it came.
    let status = unsafe {
        let (inner, methods) = inner(file);
        methods.xTruncate.map_or(ffi::SQLITE_ERROR, |it| it(inner, size))
    };
    if status == ffi::SQLITE_OK
        && let Some(ours) = ours
    {
        ours.disk.model().changed(ours.id, Change::SetLength(length));
    }
    status
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: `file` is open.
    if let Some(ours) = unsafe { ours(file) } {
        let mut model = ours.disk.model();
        if model.before_other().is_err() {
            return ffi::SQLITE_IOERR_FSYNC;
        }
        // The file behind isn't synced: the model says what is durable.
        model.synced(ours.id);
    }
    ffi::SQLITE_OK
}

fn code_of(error: &io::Error, otherwise: c_int) -> c_int {
    if error.kind() == io::ErrorKind::StorageFull { ffi::SQLITE_FULL } else { otherwise }
}

/// Functions that are passed on as they came.
macro_rules! passed_on {
    ($($name:ident = $method:ident($($argument:ident: $type:ty),*) -> $result:ty, or $otherwise:expr;)*) => {$(
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> $result {
            // SAFETY: `file` is open, and everything else is for the VFS behind.
            unsafe {
                let (inner, methods) = inner(file);
                methods.$method.map_or($otherwise, |it| it(inner $(, $argument)*))
            }
        }
    )*};
}

passed_on! {
    read = xRead(bytes: *mut c_void, count: c_int, offset: sqlite3_int64) -> c_int, or ffi::SQLITE_ERROR;
    file_size = xFileSize(out: *mut sqlite3_int64) -> c_int, or ffi::SQLITE_ERROR;
    lock = xLock(level: c_int) -> c_int, or ffi::SQLITE_ERROR;
    unlock = xUnlock(level: c_int) -> c_int, or ffi::SQLITE_ERROR;
    check_reserved_lock = xCheckReservedLock(out: *mut c_int) -> c_int, or ffi::SQLITE_ERROR;
    file_control = xFileControl(what: c_int, argument: *mut c_void) -> c_int, or ffi::SQLITE_NOTFOUND;
    sector_size = xSectorSize() -> c_int, or 0;
    device_characteristics = xDeviceCharacteristics() -> c_int, or 0;
    shm_map = xShmMap(region: c_int, bytes: c_int, extend: c_int, out: *mut *mut c_void) -> c_int, or ffi::SQLITE_ERROR;
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int, or ffi::SQLITE_ERROR;
    shm_barrier = xShmBarrier() -> (), or ();
    shm_unmap = xShmUnmap(delete: c_int) -> c_int, or ffi::SQLITE_OK;
}
