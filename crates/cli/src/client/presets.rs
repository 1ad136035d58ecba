//! The older presets file: named environments, each with values for flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::config_file::config_folder;
use super::private_file::write_private;
use crate::failure::Usage;

/// Environments by name. Each maps the long name of a flag to its value.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Presets {
    #[serde(default)]
    pub(crate) env: BTreeMap<String, BTreeMap<String, String>>,
}

impl Presets {
    /// The path of the file, unless `--env-file` names another.
    pub(crate) fn default_path() -> Option<PathBuf> {
        Some(config_folder()?.join("temporalio").join("temporal.yaml"))
    }

    /// Reads the file. A missing file counts as empty.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // The parser's own message quotes lines, which may be secrets.
        serde_saphyr::from_str(&text).map_err(|error| {
            let error = error.without_snippet();
            Usage::new(format!("{}: {error}", path.display())).into()
        })
    }

    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        write_private(path, &serde_saphyr::to_string(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_read_as_temporals_command_line_writes_them() {
        let text = "env:\n    prod:\n        address: 1.2.3.4:5\n        namespace: shop\n";
        let presets: Presets = serde_saphyr::from_str(text).unwrap();
        assert_eq!(presets.env["prod"]["address"], "1.2.3.4:5");
        let again: Presets =
            serde_saphyr::from_str(&serde_saphyr::to_string(&presets).unwrap()).unwrap();
        assert_eq!(again.env, presets.env);
    }
}
