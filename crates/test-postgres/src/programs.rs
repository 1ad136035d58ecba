//! Finds PostgreSQL's programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of `initdb`, `postgres` and `psql`.
pub(crate) fn folder() -> Result<PathBuf> {
    let on_path = std::env::var_os("PATH");
    let on_path = on_path.iter().flat_map(std::env::split_paths);
    let found = debian_folders().into_iter().chain(on_path).find(|folder| has_programs(folder));
    found.context("PostgreSQL isn't installed: on Debian, `apt-get install postgresql`")
}

/// Debian keeps each version in a folder of its own, off the PATH. The newest first.
fn debian_folders() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable_by(|one, other| other.cmp(one));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

fn has_programs(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
}
