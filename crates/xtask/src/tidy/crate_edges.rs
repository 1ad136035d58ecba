//! Checks that crates use each other only as the table in ARCHITECTURE.md allows.

use std::collections::BTreeMap;

use super::markdown::{quoted, rows_under};
use super::{Problem, Tree};
use crate::repository::Package;

const FILE: &str = "ARCHITECTURE.md";
const HEADER: [&str; 3] = ["crate", "is", "may use"];

/// Compares the table with what `cargo metadata` says. Development dependencies don't count: a test may
/// use crates of a higher layer.
pub(crate) fn check(tree: &Tree, packages: &[Package]) -> Vec<Problem> {
    let Some(text) = tree.text(FILE) else {
        return vec![Problem::in_file(FILE, "is missing; it holds the table of allowed edges")];
    };
    let mut problems = Vec::new();
    let mut allowed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows_under(text, &HEADER) {
        let Some(name) = quoted(row.cells[0]).next() else {
            problems.push(Problem::on_line(FILE, row.line, "the crate's name is not in backticks"));
            continue;
        };
        if !packages.iter().any(|package| package.folder == name) {
            let message = format!("there is no crate `{name}`; take its line out");
            problems.push(Problem::on_line(FILE, row.line, message));
        }
        allowed.insert(name, row.cells.get(2).into_iter().flat_map(|cell| quoted(cell)).collect());
    }
    for Package { folder, uses } in packages {
        let Some(allowed) = allowed.get(folder.as_str()) else {
            let message = format!("the table of crates has no line for `{folder}`");
            problems.push(Problem::in_file(FILE, message));
            continue;
        };
        for used in uses.iter().filter(|used| !allowed.contains(&used.as_str())) {
            let message = format!("uses `{used}`, which the table in {FILE} doesn't allow");
            problems.push(Problem::in_file(&format!("crates/{folder}/Cargo.toml"), message));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    const TABLE: &str = "
| crate | is | may use |
|---|---|---|
| `calendar` | When. | — |
| `engine` | What. | `calendar` |
";

    fn package(folder: &str, uses: &[&str]) -> Package {
        Package {
            folder: folder.to_owned(),
            uses: uses.iter().map(|&used| used.to_owned()).collect(),
        }
    }

    fn problems(packages: &[Package]) -> String {
        listed(&check(&Tree::of(&[(FILE, TABLE)]), packages))
    }

    #[test]
    fn an_allowed_edge_is_fine() {
        let packages = [package("calendar", &[]), package("engine", &["calendar"])];
        assert_eq!(problems(&packages), "");
    }

    #[test]
    fn an_edge_against_the_table_is_a_problem() {
        expect![[r#"
            crates/calendar/Cargo.toml: uses `engine`, which the table in ARCHITECTURE.md doesn't allow
        "#]]
        .assert_eq(&problems(&[package("calendar", &["engine"]), package("engine", &[])]));
    }

    #[test]
    fn the_table_lists_exactly_the_crates_that_exist() {
        expect![[r#"
            ARCHITECTURE.md:5: there is no crate `engine`; take its line out
            ARCHITECTURE.md: the table of crates has no line for `store`
        "#]]
        .assert_eq(&problems(&[package("calendar", &[]), package("store", &[])]));
    }
}
