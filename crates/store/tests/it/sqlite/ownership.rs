//! A database file belongs to one process, whatever is done to its names.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use perennial_store::{CellId, Durability, Error, SqliteStore, Store};
use tempfile::TempDir;

/// Tells the child below which file to open.
const FILE: &str = "PERENNIAL_TEST_FILE_TO_OWN";

/// Another process that has a file open, until it is dropped.
struct Owner {
    child: Child,
    /// Kept open, because the child prints at its end.
    _output: Lines<BufReader<ChildStdout>>,
}

impl Owner {
    fn of(file: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "sqlite::ownership::child_holds_a_file_until_its_input_ends",
                "--nocapture",
            ])
            .env(FILE, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(output.by_ref().map_while(Result::ok).any(|line| line.contains("it is open")));
        Self { child, _output: output }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Not a test by itself: the process that the tests start.
#[test]
fn child_holds_a_file_until_its_input_ends() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let _store = SqliteStore::open(file, Durability::ProcessCrash).unwrap();
    println!("it is open");
    let _ = std::io::stdin().lines().count();
}

fn open(file: &Path) -> Result<SqliteStore, Error> {
    SqliteStore::open(file, Durability::ProcessCrash)
}

#[test]
fn file_of_another_process_is_refused_under_every_name() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let owner = Owner::of(&file);
    let hard_link = folder.path().join("hard.db");
    fs::hard_link(&file, &hard_link).unwrap();
    let soft_link = folder.path().join("soft.db");
    symlink(&file, &soft_link).unwrap();
    for name in [&file, &hard_link, &soft_link] {
        let refused = open(name).unwrap_err();
        assert!(matches!(refused, Error::Fenced(_)), "{refused:?}");
        let who = format!("process {}", owner.child.id());
        assert!(refused.to_string().contains(&who), "{refused}");
    }
    drop(owner);
    open(&file).unwrap();
}

#[test]
fn nothing_beside_the_file_can_be_removed_to_get_in() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let _owner = Owner::of(&file);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path != file {
            fs::remove_file(path).unwrap();
        }
    }
    assert!(matches!(open(&file), Err(Error::Fenced(_))));
}

#[test]
fn second_store_of_one_process_is_refused_under_another_name() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("perennial.db");
    let first = open(&file).unwrap();
    let epoch = first.lease(CellId::FIRST, "test").unwrap().epoch;
    let link = folder.path().join("link.db");
    fs::hard_link(&file, &link).unwrap();
    assert!(matches!(open(&link), Err(Error::Fenced(_))));
    assert!(first.lease(CellId::FIRST, "test").unwrap().epoch > epoch, "the first one goes on");
}

#[test]
fn crashed_database_is_refused_under_a_name_without_its_files() {
    let (folder, copy) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = folder.path().join("perennial.db");
    let _store = open(&file).unwrap();
    let alone = copy.path().join("perennial.db");
    fs::copy(&file, &alone).unwrap();
    let refused = open(&alone).unwrap_err();
    assert!(matches!(refused, Error::Corrupt(_)), "{refused:?}");
    assert!(refused.to_string().contains("-redo is missing"), "{refused}");
}

#[test]
fn removed_renamed_or_replaced_file_is_noticed() {
    type Change = fn(&Path) -> std::io::Result<()>;
    let changes: [Change; 3] = [
        |path| fs::remove_file(path),
        |path| fs::rename(path, path.with_extension("moved")),
        |path| fs::remove_file(path).and_then(|()| fs::write(path, "another")),
    ];
    for name in ["perennial.db", "perennial.db-wal", "perennial.db-redo"] {
        for change in changes {
            let folder = TempDir::new().unwrap();
            let store = open(&folder.path().join("perennial.db")).unwrap();
            store.health().unwrap();
            change(&folder.path().join(name)).unwrap();
            let problem = store.health().unwrap_err();
            assert!(matches!(problem, Error::Fenced(_)), "{problem:?}");
            assert!(problem.to_string().contains(name), "{problem}");
        }
    }
}

#[test]
fn only_the_owner_may_read_the_files() {
    let folder = TempDir::new().unwrap();
    let _store = open(&folder.path().join("perennial.db")).unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
    }
}

#[test]
fn link_in_the_place_of_a_file_isnt_followed() {
    for name in ["perennial.db", "perennial.db-redo", "perennial.db-reserve"] {
        let folder = TempDir::new().unwrap();
        let victim = folder.path().join("victim");
        symlink(&victim, folder.path().join(name)).unwrap();
        open(&folder.path().join("perennial.db")).unwrap_err();
        assert!(!victim.exists(), "{name} was followed");
    }
}

#[test]
fn file_is_not_shared_by_nodes() {
    assert!(SqliteStore::in_memory().unwrap().cluster().is_none());
}
