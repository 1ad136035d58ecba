//! DBOS: a library for Python, measured by a program of its own.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, anyhow};
use serde_json::Value;

use super::{empty_folder, run_and_read};
use crate::repository::Repository;
use crate::{process, python};

pub(super) const NAME: &str = "DBOS";
/// Each has a thread: more would measure the machine's limit of those.
pub(super) const CREATED_MAX: u32 = 5_000;

pub(super) struct Dbos {
    pub(super) version: String,
    python: PathBuf,
    program: PathBuf,
    folder: PathBuf,
}

impl Dbos {
    pub(super) fn install(repository: &Repository) -> Result<Self> {
        let python = python::find().map_err(|why| anyhow!(why))?;
        let comparison = repository.root.join("comparison/dbos");
        let python = python::environment(
            &repository.target.join("dbos"),
            python,
            &comparison.join("requirements.txt"),
        )?;
        let version = "import importlib.metadata; print(importlib.metadata.version('dbos'))";
        let version = process::output(Command::new(&python).args(["-c", version]))?;
        Ok(Self {
            version: format!("DBOS {} on SQLite", version.trim()),
            python,
            program: comparison.join("schedules.py"),
            folder: repository.target.join("conformance").join("dbos"),
        })
    }

    /// With an empty file, for each load.
    pub(super) fn run(&self, verb: &str, numbers: &[u32]) -> Result<Value> {
        empty_folder(&self.folder)?;
        let mut program = Command::new(&self.python);
        program.arg(&self.program).arg(&self.folder).arg(verb);
        let said = run_and_read(program.args(numbers.iter().map(u32::to_string)));
        empty_folder(&self.folder)?;
        said
    }
}
