//! Cargo commands the repository needs and a fresh machine lacks, installed under the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;
use crate::repository::Repository;

/// A program published on crates.io, in the one version the repository is checked with.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Reads licences and sources of every dependency, as `deny.toml` asks.
pub(crate) const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

/// Drives libFuzzer.
pub(crate) const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

impl Tool {
    /// The program's path: the one on the PATH, the one installed earlier, or a new installation.
    pub(crate) fn ensure(&self, repository: &Repository) -> Result<PathBuf> {
        let installed = repository.tools().join("bin").join(self.name);
        for candidate in [PathBuf::from(self.name), installed.clone()] {
            if self.is_at(&candidate) {
                return Ok(candidate);
            }
        }
        self.install(repository)?;
        Ok(installed)
    }

    fn is_at(&self, program: &PathBuf) -> bool {
        let version = process::probe(Command::new(program).arg("--version"));
        version.is_some_and(|version| version.split_whitespace().nth(1) == Some(self.version))
    }

    /// Unoptimised: these programs work for a second, and an optimised build takes minutes longer.
    fn install(&self, repository: &Repository) -> Result<()> {
        println!("      installing {} {} (once)", self.name, self.version);
        let mut cargo = process::cargo(&repository.root);
        cargo
            .args(["install", "--quiet", "--locked", "--debug", "--version", self.version])
            .arg("--root")
            .arg(repository.tools())
            .arg(self.name)
            .env("CARGO_TARGET_DIR", repository.tools().join("build"))
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        process::run(&mut cargo).with_context(|| {
            format!("cannot install {} from crates.io; is the registry reachable?", self.name)
        })?;
        // The intermediate results are several hundred megabytes that nothing will read again.
        std::fs::remove_dir_all(repository.tools().join("build"))
            .context("cannot remove the build folder of an installed tool")
    }
}
