//! `cargo xtask tidy`: rules of the repository that the compiler doesn't check.
//!
//! Each rule is a file of its own with a function from what it reads to the problems it found. The
//! rules read a [`Tree`] in memory, so each is tested on an example that breaks it. The test at the
//! end of this file holds them all against the repository itself.

mod crate_edges;
mod features;
mod file_sizes;
mod links;
mod markdown;
mod pure_crates;
mod rust_code;
mod tree;
mod unfinished;
mod words;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use self::tree::Tree;
use crate::repository::Repository;
use crate::usage;

pub(crate) const HELP: &str = "\
Check rules of the repository that the compiler doesn't check.

Usage: cargo xtask tidy

  crate edges    crates use each other only as the table in ARCHITECTURE.md allows
  file sizes     no Rust file is longer than 600 lines
  pure crates    no clock, randomness, environment or I/O in the crates that promise none
  features       docs/features.md has one line for each feature, with paths that exist
  links          targets of relative links in Markdown files exist
  words          no paths or host names of somebody's machine
  unfinished     no ignored tests, no code left for later

`cargo test` runs the same checks. Exit code: 0 tidy, 1 not tidy, 2 wrong command line.
";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> Result<ExitCode> {
    if let Some(unknown) = arguments.first() {
        return Ok(usage(&format!("`tidy` takes no argument, but got `{unknown}`"), HELP));
    }
    let problems = check(repository)?;
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy");
        return Ok(ExitCode::SUCCESS);
    }
    println!("not tidy: problems found: {}", problems.len());
    Ok(ExitCode::FAILURE)
}

/// A broken rule: where, what, and what to do about it.
pub(crate) struct Problem {
    path: String,
    /// Counted from 1; `None` when the whole file is meant.
    line: Option<usize>,
    message: String,
}

impl Problem {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    fn on_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, message } = self;
        match line {
            Some(line) => write!(f, "{path}:{line}: {message}"),
            None => write!(f, "{path}: {message}"),
        }
    }
}

fn check(repository: &Repository) -> Result<Vec<Problem>> {
    let tree = Tree::read(&repository.root)?;
    let mut problems = crate_edges::check(&tree, &repository.packages);
    problems.extend(file_sizes::check(&tree));
    problems.extend(pure_crates::check(&tree));
    problems.extend(features::check(&tree));
    problems.extend(links::check(&tree));
    problems.extend(words::check(&tree));
    problems.extend(unfinished::check(&tree));
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that tests of the rules compare: one problem per line.
    pub(crate) fn listed(problems: &[Problem]) -> String {
        problems.iter().map(|problem| format!("{problem}\n")).collect()
    }

    #[test]
    fn the_repository_is_tidy() {
        let problems = check(&Repository::here().unwrap()).unwrap();
        assert!(problems.is_empty(), "\n{}", listed(&problems));
    }
}
