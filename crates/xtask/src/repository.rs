//! Where the repository is, what its packages are, and where its build results go.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The checkout that this `xtask` was built from.
pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    /// Shared by the four workspaces, so that a dependency they have in common is built once.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// A package of the product's workspace.
pub(crate) struct Package {
    /// The folder under `crates/`, which is also the name that ARCHITECTURE.md uses.
    pub(crate) folder: String,
    /// Folders of the workspace's packages that the shipped code needs: not those of its tests.
    pub(crate) uses: Vec<String>,
}

impl Repository {
    /// Asks `cargo metadata` about the workspace; it needs no network for that.
    pub(crate) fn here() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .context("xtask is expected two folders below the repository's root")?;
        let metadata = process::output(process::cargo(root).args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
        ]))?;
        let metadata: Value =
            serde_json::from_str(&metadata).context("`cargo metadata` didn't print JSON")?;
        let target = metadata["target_directory"]
            .as_str()
            .context("`cargo metadata` names no target_directory")?;
        Ok(Self { root: root.into(), target: target.into(), packages: packages(&metadata)? })
    }

    /// Where commands that the repository needs, and the machine lacks, are installed.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }
}

fn packages(metadata: &Value) -> Result<Vec<Package>> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` has no packages")?;
    packages
        .iter()
        .map(|package| {
            let manifest = package["manifest_path"].as_str().context("a package has no path")?;
            let folder = Path::new(manifest).parent().and_then(folder_name);
            let dependencies = package["dependencies"].as_array().into_iter().flatten();
            Ok(Package {
                folder: folder.with_context(|| format!("{manifest} stands in no folder"))?,
                uses: dependencies
                    .filter(|dependency| dependency["kind"] != "dev")
                    .filter_map(|dependency| folder_name(Path::new(dependency["path"].as_str()?)))
                    .collect(),
            })
        })
        .collect()
}

fn folder_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dependencies_inside_the_workspace_that_ship_count_as_edges() {
        let metadata = serde_json::json!({"packages": [{
            "manifest_path": "/p/crates/engine/Cargo.toml",
            "dependencies": [
                {"name": "perennial-calendar", "kind": null, "path": "/p/crates/calendar"},
                {"name": "perennial-proto", "kind": "build", "path": "/p/crates/proto"},
                {"name": "perennial-simulator", "kind": "dev", "path": "/p/crates/simulator"},
                {"name": "jiff", "kind": null},
            ],
        }]});
        let packages = packages(&metadata).unwrap();
        assert_eq!(packages[0].folder, "engine");
        assert_eq!(packages[0].uses, ["calendar", "proto"]);
    }
}
