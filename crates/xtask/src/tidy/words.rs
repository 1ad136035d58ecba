//! Checks that no file mentions paths or hosts of a particular machine.

use std::path::Path;

use super::{Problem, Tree};

/// Beginnings of paths that mean something on one machine only.
const MACHINE_PATHS: [&str; 4] = ["/work/", "/root/", "/home/", "/Users/"];

/// Signs of one network's package mirror. Everyone else's registry is the default one.
const REGISTRY_HOSTS: [&str; 4] = ["artifactory", "index.crates.io", "index-url", "replace-with"];

/// Random input, written by the fuzzer.
const CORPUS: &str = "fuzz/corpus/";

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let ours = |path: &str| !path.starts_with(CORPUS) && Path::new(path) != Path::new(file!());
    for (path, text) in tree.texts().filter(|(path, _)| ours(path)) {
        for (index, line) in text.lines().enumerate() {
            let mut problem =
                |message: String| problems.push(Problem::on_line(path, index + 1, message));
            for prefix in MACHINE_PATHS.into_iter().filter(|prefix| starts_a_path(line, prefix)) {
                problem(format!("names `{prefix}…`, a path of one machine; make it relative"));
            }
            for host in REGISTRY_HOSTS.into_iter().filter(|host| line.contains(host)) {
                problem(format!("says `{host}`; the choice of a package mirror is the machine's"));
            }
        }
    }
    problems
}

/// Whether an absolute path begins with `prefix` somewhere in the line: `docs/work/` is none.
fn starts_a_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-~*}".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    #[test]
    fn absolute_paths_of_a_machine_are_a_problem() {
        let tree = Tree::of(&[
            ("README.md", "cd docs/work/ && open https://example.org/home/page"),
            ("crates/a/src/lib.rs", "const DATA: &str =\n    \"/home/ada/data.db\";"),
        ]);
        expect![[r#"
            crates/a/src/lib.rs:2: names `/home/…`, a path of one machine; make it relative
        "#]]
        .assert_eq(&listed(&check(&tree)));
    }

    #[test]
    fn hosts_of_a_package_mirror_are_a_problem() {
        let tree = Tree::of(&[
            ("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            ("conformance/requirements.txt", "--index-url https://mirror.example/simple"),
        ]);
        expect![[r#"
            conformance/requirements.txt:1: says `index-url`; the choice of a package mirror is the machine's
        "#]]
        .assert_eq(&listed(&check(&tree)));
    }
}
