//! The suites of `conformance/` that use an official SDK in its own language: what each needs, and
//! how it is run.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::certificates::Certificates;
use crate::dev_server::{Credentials, DevServer};
use crate::process;
use crate::repository::Repository;

/// A suite, ready to be run against a server.
pub(crate) struct Suite {
    folder: PathBuf,
    test: Command,
}

/// A suite of this machine, or what the machine lacks for it.
pub(crate) type Found = Result<Suite, &'static str>;

impl Suite {
    pub(crate) fn typescript(repository: &Repository) -> Result<Found> {
        let folder = repository.root.join("conformance/typescript");
        let node = "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)";
        if process::probe(Command::new("node").args(["-e", node])).is_none()
            || process::probe(Command::new("npm").arg("--version")).is_none()
        {
            return Ok(Err("no Node.js 20 or later with npm on this machine"));
        }
        install_node_modules(&folder)?;
        process::run(Command::new("npm").current_dir(&folder).args(["run", "--silent", "build"]))?;
        Ok(Ok(Self::new(folder, "npm", ["test", "--silent"])))
    }

    pub(crate) fn go(repository: &Repository) -> Result<Found> {
        let folder = repository.root.join("conformance/go");
        // Asked inside the module: an older Go refuses its `go` line.
        let mut module = Command::new("go");
        module.current_dir(&folder).args(["list", "-m"]).env("GOTOOLCHAIN", "local");
        if process::probe(&mut module).is_none() {
            return Ok(Err("no Go 1.26 or later on this machine"));
        }
        Ok(Ok(Self::new(folder, "go", ["test", "-count=1", "./..."])))
    }

    pub(crate) fn java(repository: &Repository) -> Result<Found> {
        let folder = repository.root.join("conformance/java");
        let maven = process::probe(Command::new("mvn").arg("--version"));
        let compiler = process::probe(Command::new("javac").arg("--version"));
        if compiler.is_none() || maven.and_then(|text| java_release(&text)) < Some(17) {
            return Ok(Err("no JDK 17 or later with Maven on this machine"));
        }
        Ok(Ok(Self::new(folder, "mvn", ["--batch-mode", "--no-transfer-progress", "test"])))
    }

    pub(crate) fn rust(repository: &Repository) -> Result<Found> {
        let folder = repository.root.join("conformance/rust");
        let mut test = process::cargo(&folder);
        test.args(["test", "--locked"]).env("CARGO_TARGET_DIR", &repository.target);
        Ok(Ok(Self { folder, test }))
    }

    pub(crate) fn run(mut self, server: &DevServer) -> Result<()> {
        self.test.current_dir(&self.folder).env("TEMPORAL_ADDRESS", server.address().to_string());
        if let Some(Credentials { certificates, api_key }) = server.credentials() {
            let Certificates { ca, server: _, client } = certificates;
            self.test
                .env("TEMPORAL_API_KEY", api_key)
                .env("TEMPORAL_TLS_SERVER_CA_CERT_PATH", ca)
                .env("TEMPORAL_TLS_CLIENT_CERT_PATH", &client.certificate)
                .env("TEMPORAL_TLS_CLIENT_KEY_PATH", &client.key);
        }
        process::run(&mut self.test)
    }

    fn new(
        folder: PathBuf,
        program: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let mut test = Command::new(program);
        test.args(arguments);
        Self { folder, test }
    }
}

/// Builds the program that puts a server under load, under one of Cargo's profiles.
pub(crate) fn build_load(repository: &Repository, profile: &str) -> Result<PathBuf> {
    let mut build = process::cargo(&repository.root.join("conformance/rust"));
    build
        .args(["build", "--locked", "--bin", "load", "--profile", profile])
        .env("CARGO_TARGET_DIR", &repository.target);
    process::run(&mut build)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(repository.target.join(folder).join("load"))
}

/// Brings `node_modules` up to what the lock file lists. No package's own script runs: the SDK
/// carries its native part inside.
fn install_node_modules(folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let wanted =
        fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    // A copy of what is installed, written last: an installation that broke half-way is repeated.
    let installed = folder.join("node_modules").join("installed-package-lock.json");
    if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("      installing the packages of {}", lock.display());
    let mut npm = Command::new("npm");
    process::run(npm.current_dir(folder).args(["ci", "--silent", "--ignore-scripts"]))?;
    fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))
}

/// The release of the Java that Maven says it runs on: 17 for `Java version: 17.0.15, vendor: …`.
fn java_release(maven_version: &str) -> Option<u32> {
    let (_, rest) = maven_version.split_once("Java version: ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_java_is_read_from_what_maven_says() {
        let said = |java: &str| format!("Apache Maven 3.8.7\nJava version: {java}, vendor: Debian");
        assert_eq!(java_release(&said("17.0.15")), Some(17));
        assert_eq!(java_release(&said("21")), Some(21));
        assert_eq!(java_release(&said("1.8.0_402")), Some(1));
        assert_eq!(java_release("Apache Maven 3.8.7"), None);
    }
}
