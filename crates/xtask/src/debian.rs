//! Packages of Debian, installed where that is possible.

use std::process::Command;

use crate::process;

/// Installs packages with apt-get, on Debian as root. Elsewhere nothing happens: the caller looks again for what it needs.
pub(crate) fn install(packages: &[&str]) {
    if !can_install() {
        return;
    }
    println!("      installing {} with apt-get (once)", packages.join(", "));
    let installed = process::run(apt_get().arg("update")).and_then(|()| {
        process::run(apt_get().args(["install", "--no-install-recommends"]).args(packages))
    });
    if let Err(error) = installed {
        println!("      apt-get couldn't install them: {error:#}");
    }
}

fn can_install() -> bool {
    let is_root = process::probe(Command::new("id").arg("-u")).is_some_and(|id| id == "0");
    is_root && process::probe(Command::new("apt-get").arg("--version")).is_some()
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.args(["--quiet", "--yes"]).env("DEBIAN_FRONTEND", "noninteractive");
    command
}
