//! Workflows of the official SDK on a server whose disk is filled and freed repeatedly.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::workflows::WorkflowLoad;
use crate::dev_server::DevServer;
use crate::repository::Repository;
use crate::{process, sdk_suites};

/// Size of the disk: large enough for the server's files under the load.
const DISK_MIB: u32 = 512;
/// How long the disk is free between two rounds.
const FREE_FOR: Duration = Duration::from_millis(1_500);
/// Maximum time for the server to notice that the disk is full, or has space again.
const NOTICED_MAX: Duration = Duration::from_secs(60);
/// After refusing writes for this long, the server has no space of its own left.
const STAYS_FULL: Duration = Duration::from_secs(3);
/// Timeout of a call on a full disk, far longer than it should take.
const ANSWERED_MAX: &str = "10s";

pub(super) fn run(repository: &Repository, rounds: u32) -> Result<String> {
    let mut build = process::cargo(&repository.root);
    process::run(build.args(["build", "--locked", "--package", "perennial-cli"]))?;
    crash(repository, &repository.target.join("debug").join("perennial"), rounds)?
        .context("a small file system can't be mounted here: that needs root on Linux")
}

/// Returns a one-line summary; fails if work was lost. `None` if no small disk can be mounted.
pub(crate) fn crash(repository: &Repository, binary: &Path, rounds: u32) -> Result<Option<String>> {
    let Some(disk) = SmallDisk::mount(repository)? else { return Ok(None) };
    let load = sdk_suites::build_load(repository, "dev")?;
    let mut server = DevServer::start_in(disk.folder.join("server"), binary)?;
    let cli = Client { binary, address: server.address().to_string() };
    let mut load = WorkflowLoad::start(&load, &cli.address)?;
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        std::thread::sleep(FREE_FOR);
        load.check_alive()?;
        cli.fill_until_noticed(&disk)?;
        cli.check_full_disk(round)?;
        server.check_alive()?;
        disk.free()?;
        let free_since = Instant::now();
        while !cli.is_serving() {
            ensure!(free_since.elapsed() < NOTICED_MAX, "the room on the disk isn't noticed");
        }
        slowest = slowest.max(free_since.elapsed());
    }
    let done = load.finish(&format!("after {rounds} full disks"));
    server.check_alive()?;
    let said = done?;
    Ok(Some(format!(
        "{} workflows with {} signals over {rounds} full disks: nothing lost, nothing twice, nothing stuck; \
         writes accepted again after {:.0} ms at most",
        said["ran"],
        said["signals"],
        slowest.as_secs_f64() * 1_000.0
    )))
}

/// A file system of its own in memory, gone when dropped.
struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    fn mount(repository: &Repository) -> Result<Option<Self>> {
        let folder = repository.target.join("small-disk").join(std::process::id().to_string());
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let size = format!("size={DISK_MIB}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).stderr(Stdio::null());
        match mount.status() {
            Ok(status) if status.success() => Ok(Some(Self { folder })),
            Ok(_) | Err(_) => {
                fs::remove_dir(&folder)?;
                Ok(None)
            }
        }
    }

    /// Takes the room that there is now. Not what is freed meanwhile: the server gives up its reserve when it finds the
    /// disk full, and needs it.
    fn fill(&self) -> Result<()> {
        let mut df = Command::new("df");
        let said = process::output(df.args(["--output=avail", "-B1"]).arg(&self.folder))?;
        let room: usize = said.lines().last().unwrap_or_default().trim().parse()?;
        let mut ballast = File::options().create(true).append(true).open(self.ballast())?;
        match ballast.write_all(&vec![0; room]) {
            // The server took some of it.
            Err(error) if error.kind() == ErrorKind::StorageFull => Ok(()),
            done => done.context("cannot fill the disk"),
        }
    }

    fn free(&self) -> Result<()> {
        fs::remove_file(self.ballast()).context("cannot free the disk")
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("ballast")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // If unmounting fails there is nothing else to do here; the mount stays visible.
        let _ = Command::new("umount").arg(&self.folder).status();
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The command line, as an operator uses it.
struct Client<'a> {
    binary: &'a Path,
    address: String,
}

impl Client<'_> {
    fn is_serving(&self) -> bool {
        let health = self.call(&["operator", "cluster", "health"]);
        health.is_ok_and(|output| output.status.success())
    }

    /// Fills the disk until the server stays as it is then: at first it may find some room in its own files.
    fn fill_until_noticed(&self, disk: &SmallDisk) -> Result<()> {
        let began = Instant::now();
        let mut full_since = None;
        while full_since.is_none_or(|since: Instant| since.elapsed() < STAYS_FULL) {
            ensure!(began.elapsed() < NOTICED_MAX, "the full disk isn't noticed");
            disk.fill()?;
            full_since = match self.is_serving() {
                true => None,
                false => full_since.or_else(|| Some(Instant::now())),
            };
        }
        Ok(())
    }

    /// Reads are answered, and writes are refused with what to do.
    fn check_full_disk(&self, round: u32) -> Result<()> {
        let read = self.call(&["workflow", "count"])?;
        ensure!(read.status.success(), "a read on a full disk: {}", said_by(&read));
        let id = format!("on-a-full-disk-{round}");
        let write = self.call(&[
            "workflow",
            "start",
            "--workflow-id",
            &id,
            "--type",
            "Any",
            "--task-queue",
            "any",
        ])?;
        let said = said_by(&write);
        let is_refused = !write.status.success() && said.contains("free at least a megabyte");
        ensure!(is_refused, "a write on a full disk: {said}");
        Ok(())
    }

    fn call(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new(self.binary);
        command.args(arguments).args(["--address", &self.address]);
        command.args(["--command-timeout", ANSWERED_MAX]);
        command.output().context("cannot run the command line")
    }
}

fn said_by(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it)).concat()
}
