//! Checks that the targets of relative links in Markdown files exist.

use super::markdown::prose;
use super::{Problem, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (line, spoken) in prose(text) {
            for target in targets(&spoken).into_iter().filter(|target| is_relative(target)) {
                let file = target.split('#').next().unwrap_or_default();
                if !resolve(path, file).is_some_and(|resolved| tree.exists(&resolved)) {
                    let message = format!("links to `{target}`, which doesn't exist");
                    problems.push(Problem::on_line(path, line, message));
                }
            }
        }
    }
    problems
}

/// The targets of the links in a line: `[text](target "title")` and `[name]: target`.
fn targets(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .and_then(|(_, target)| target.split_whitespace().next());
    inline.chain(definition).collect()
}

fn is_relative(target: &str) -> bool {
    !(target.contains("://") || target.starts_with("mailto:") || target.starts_with('#'))
}

/// The path from the root that `target` means inside `file`; `None` when it leaves the repository.
fn resolve(file: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    #[test]
    fn links_to_files_folders_and_other_sites_are_fine() {
        let tree = Tree::of(&[
            ("README.md", "[a](docs/a.md#why) [d](docs) [w](https://example.org/x) `[no](link)`"),
            (
                "docs/a.md",
                "[up](../README.md) [here](#why)\n```\n[not](a link)\n```\n[r]: /docs/a.md",
            ),
        ]);
        assert_eq!(listed(&check(&tree)), "");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_a_problem() {
        let tree = Tree::of(&[
            ("docs/a.md", "see [it](b.md) and\n[that](../README.md \"title\")\n[r]: c.md"),
            ("docs/d.md", "[outside](../../secret.md)"),
        ]);
        expect![[r#"
            docs/a.md:1: links to `b.md`, which doesn't exist
            docs/a.md:2: links to `../README.md`, which doesn't exist
            docs/a.md:3: links to `c.md`, which doesn't exist
            docs/d.md:1: links to `../../secret.md`, which doesn't exist
        "#]]
        .assert_eq(&listed(&check(&tree)));
    }
}
