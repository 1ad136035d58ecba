//! The repository's files, read once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders that hold what programs made, not what people wrote.
const SKIPPED: [&str; 8] = [
    ".git",
    ".hypothesis",
    ".pytest_cache",
    ".venv",
    "__pycache__",
    "artifacts",
    "node_modules",
    "target",
];

/// Every file of the repository by its path from the root, written with `/`.
///
/// It is read from the folder itself rather than from git, so that an unpacked source archive can be
/// tested as well.
pub(crate) struct Tree {
    /// `None` for a file that isn't text.
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        read_folder(root, "", &mut files)?;
        Ok(Self { files })
    }

    /// A tree that exists only in a test.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| ((*path).to_owned(), Some((*text).to_owned()));
        Self { files: files.iter().map(file).collect() }
    }

    /// Every text file with its path, in the order of the paths.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// Whether a file or a folder stands at this path.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(inside.clone()..)
                .next()
                .is_some_and(|(p, _)| p.starts_with(&inside))
    }
}

fn read_folder(
    folder: &Path,
    prefix: &str,
    files: &mut BTreeMap<String, Option<String>>,
) -> Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !SKIPPED.contains(name)) else { continue };
        let path = format!("{prefix}{name}");
        if entry.file_type().with_context(unreadable)?.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else {
            let bytes = fs::read(entry.path()).with_context(|| format!("cannot read {path}"))?;
            files.insert(path, String::from_utf8(bytes).ok());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_like_files_do() {
        let tree = Tree::of(&[("docs/decisions/README.md", "")]);
        for path in ["", "docs", "docs/", "docs/decisions", "docs/decisions/README.md"] {
            assert!(tree.exists(path), "{path}");
        }
        for path in ["doc", "docs/decision", "README.md"] {
            assert!(!tree.exists(path), "{path}");
        }
    }
}
