//! Checks that docs/features.md has one line for each planned feature.

use std::collections::BTreeMap;

use super::markdown::{Row, quoted, rows_under};
use super::{Problem, Tree};

const FILE: &str = "docs/features.md";
const HEADER: [&str; 5] = ["id", "feature", "status", "code", "test"];

/// Each group of features with how many it has: S1…S27, and so on.
const GROUPS: [(&str, u32); 4] = [("S", 27), ("X", 10), ("W", 20), ("P", 9)];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(text) = tree.text(FILE) else {
        return vec![Problem::in_file(FILE, "is missing; it says what works and what doesn't yet")];
    };
    let mut problems = Vec::new();
    let mut unseen: BTreeMap<String, bool> = GROUPS
        .iter()
        .flat_map(|(group, count)| (1..=*count).map(move |number| format!("{group}{number}")))
        .map(|id| (id, true))
        .collect();
    for row in rows_under(text, &HEADER) {
        let message = match unseen.get_mut(row.cells[0]) {
            None => Some(format!("`{}` is the id of no feature", row.cells[0])),
            Some(unseen) if *unseen => {
                *unseen = false;
                None
            }
            Some(_) => Some(format!("`{}` is listed a second time", row.cells[0])),
        };
        let messages = message.into_iter().chain(wrong_in_row(tree, &row));
        problems.extend(messages.map(|message| Problem::on_line(FILE, row.line, message)));
    }
    let missing = unseen.into_iter().filter(|(_, unseen)| *unseen);
    problems.extend(
        missing.map(|(id, _)| Problem::in_file(FILE, format!("`{id}` has no line in a table"))),
    );
    problems
}

fn wrong_in_row(tree: &Tree, row: &Row<'_>) -> Vec<String> {
    let &[id, _, status, code, test] = row.cells.as_slice() else {
        return vec![format!("has {} cells instead of {}", row.cells.len(), HEADER.len())];
    };
    let mut wrong = Vec::new();
    if !matches!(status, "works" | "partly" | "not yet") {
        wrong.push(format!("the status `{status}` is none of: works, partly, not yet"));
    }
    for (column, cell) in [("code", code), ("test", test)] {
        if status == "works" && quoted(cell).next().is_none() {
            wrong.push(format!("`{id}` works, so name its {column} (a path in backticks)"));
        }
        let nowhere = quoted(cell).filter(|path| !tree.exists(path));
        wrong.extend(nowhere.map(|path| format!("`{path}` doesn't exist")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    /// A complete table, with some of its lines replaced.
    fn problems(replaced: &[(&str, &str)]) -> String {
        let mut table =
            "| id | feature | status | code | test |\n|---|---|---|---|---|\n".to_owned();
        for (group, count) in GROUPS {
            for number in 1..=count {
                let id = format!("{group}{number}");
                let line = replaced.iter().find(|(replaced, _)| *replaced == id);
                let usual = format!("| {id} | Something | not yet | — | — |\n");
                table.push_str(line.map_or(&usual, |(_, line)| line));
            }
        }
        listed(&check(&Tree::of(&[
            (FILE, &table),
            ("crates/calendar/src/lib.rs", ""),
            ("crates/calendar/tests/cron.rs", ""),
        ])))
    }

    #[test]
    fn a_feature_that_works_names_its_code_and_its_test() {
        let line = "| S1 | Intervals | works | `crates/calendar/src` | `crates/calendar/tests/cron.rs` |\n";
        assert_eq!(problems(&[("S1", line)]), "");
        expect![[r#"
            docs/features.md:3: `S1` works, so name its test (a path in backticks)
        "#]]
        .assert_eq(&problems(&[(
            "S1",
            "| S1 | Intervals | works | `crates/calendar/src` | — |\n",
        )]));
    }

    #[test]
    fn a_path_that_is_not_there_is_a_problem() {
        expect![[r#"
            docs/features.md:4: `crates/calender/src` doesn't exist
        "#]]
        .assert_eq(&problems(&[(
            "S2",
            "| S2 | Calendars | partly | `crates/calender/src` | — |\n",
        )]));
    }

    #[test]
    fn an_unknown_status_is_a_problem() {
        expect![[r#"
            docs/features.md:39: the status `soon` is none of: works, partly, not yet
        "#]]
        .assert_eq(&problems(&[("X10", "| X10 | Hot minutes | soon | — | — |\n")]));
    }

    #[test]
    fn every_id_is_listed_once() {
        expect![[r#"
            docs/features.md:68: `W1` is listed a second time
            docs/features.md:68: has 3 cells instead of 5
            docs/features.md:69: `Q1` is the id of no feature
            docs/features.md: `P9` has no line in a table
        "#]]
        .assert_eq(&problems(&[(
            "P9",
            "| W1 | Again | not yet |\n| Q1 | Quality | not yet | — | — |\n",
        )]));
    }
}
