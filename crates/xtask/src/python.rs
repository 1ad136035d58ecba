//! Python for the conformance suite and for benchmarks: found or installed, with its packages in a virtual
//! environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::repository::Repository;
use crate::{debian, process};

/// The name of a Python that can make virtual environments, or why there is none.
pub(crate) fn find() -> Result<&'static str, &'static str> {
    if works() {
        return Ok(PYTHON);
    }
    debian::install(&DEBIAN_PACKAGES);
    if works() { Ok(PYTHON) } else { Err("no python3 on this machine") }
}

/// The virtual environment of the conformance suite.
pub(crate) fn conformance_environment(repository: &Repository, python: &str) -> Result<PathBuf> {
    let requirements = repository.root.join("conformance/requirements.txt");
    environment(&repository.root.join(".venv"), python, &requirements)
}

/// Brings the virtual environment in `folder` up to what `requirements` lists, and returns its Python.
pub(crate) fn environment(folder: &Path, python: &str, requirements: &Path) -> Result<PathBuf> {
    let wanted = fs::read_to_string(requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let venv_python = folder.join("bin").join("python");
    // A copy of what is installed, written last: an installation that broke half-way is repeated.
    let installed = folder.join("installed-requirements.txt");

    if process::probe(Command::new(&venv_python).args(["-m", "pip", "--version"])).is_none() {
        process::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    }
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(venv_python);
    }
    println!("      installing the packages of {}", requirements.display());
    process::run(
        Command::new(&venv_python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg("--requirement")
            .arg(requirements),
    )?;
    fs::write(&installed, wanted)
        .with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(venv_python)
}

const PYTHON: &str = "python3";

const DEBIAN_PACKAGES: [&str; 2] = ["python3", "python3-venv"];

/// Debian ships Python without `ensurepip`, and a virtual environment can't be made without it.
fn works() -> bool {
    process::probe(Command::new(PYTHON).args(["-c", "import venv, ensurepip"])).is_some()
}
