//! Checks that pure crates read no clock, random numbers, environment or disk: all of that is passed in.

use std::collections::BTreeSet;

use super::rust_code::{code_only, is_word, used_paths, without_tests};
use super::{Problem, Tree};

/// Folders under `crates/`.
const PURE: [&str; 2] = ["calendar", "engine"];

/// Names that a pure crate must not use, with the alternative.
const FORBIDDEN: [(&str, &str); 21] = [
    // The word alone: an alias would hide the call.
    ("SystemTime", TAKE_NOW),
    ("std::time::Instant", TAKE_NOW),
    ("elapsed", TAKE_NOW),
    ("Instant::now", TAKE_NOW),
    ("Timestamp::now", TAKE_NOW),
    ("Zoned::now", TAKE_NOW),
    ("TimeZone::get", TAKE_ZONE),
    ("TimeZone::system", TAKE_ZONE),
    ("TimeZone::try_system", TAKE_ZONE),
    ("tz::db", TAKE_ZONE),
    ("in_tz", TAKE_ZONE),
    ("rand::", TAKE_SEED),
    ("getrandom", TAKE_SEED),
    ("thread_rng", TAKE_SEED),
    ("RandomState", TAKE_SEED),
    ("std::env", NO_IO),
    ("std::fs", NO_IO),
    ("std::net", NO_IO),
    ("std::process", NO_IO),
    ("std::thread", NO_IO),
    ("std::io", NO_IO),
];

const TAKE_NOW: &str = "take the time as an argument";
const TAKE_ZONE: &str = "take the zone, or the zone database, as an argument";
const TAKE_SEED: &str = "take a seed as an argument";
const NO_IO: &str = "leave it to the caller";

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    PURE.iter().flat_map(|name| check_crate(tree, &format!("crates/{name}/src/"))).collect()
}

fn check_crate(tree: &Tree, folder: &str) -> Vec<Problem> {
    let mut shipped = Vec::new();
    let mut tests = Vec::new();
    for (path, source) in tree.rust_files().filter(|(path, _)| path.starts_with(folder)) {
        let (code, test_modules) = without_tests(&code_only(source));
        shipped.push((path, code));
        tests.extend(test_modules.into_iter().map(|name| module_path(path, &name)));
    }
    let is_test = |path: &str| {
        tests
            .iter()
            .any(|test| path == format!("{test}.rs") || path.starts_with(&format!("{test}/")))
    };
    shipped
        .iter()
        .filter(|(path, _)| !is_test(path))
        .flat_map(|(path, code)| check_code(path, code))
        .collect()
}

fn check_code(path: &str, code: &str) -> Vec<Problem> {
    let lines = code.lines().enumerate().map(|(index, line)| (index + 1, line.to_owned()));
    // A set, because a simple `use std::env;` is found as a line and as a path.
    let mut found = BTreeSet::new();
    for (line, text) in lines.chain(used_paths(code)) {
        for (word, instead) in FORBIDDEN {
            if text.match_indices(word).any(|(at, _)| is_word(&text, at, word)) {
                found.insert((line, word, instead));
            }
        }
    }
    let problem = |(line, word, instead)| {
        let message = format!("says `{word}` in a pure crate; {instead}");
        Problem::on_line(path, line, message)
    };
    found.into_iter().map(problem).collect()
}

/// Where the module `name`, declared in the file at `path`, is kept, without the `.rs`.
fn module_path(path: &str, name: &str) -> String {
    let stem = path.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "mod")) => folder,
        _ => stem,
    };
    format!("{folder}/{name}")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    fn problems(files: &[(&str, &str)]) -> String {
        listed(&check(&Tree::of(files)))
    }

    #[test]
    fn asking_the_clock_the_zone_database_or_chance_is_a_problem() {
        expect![[r#"
            crates/calendar/src/a.rs:1: says `Timestamp::now` in a pure crate; take the time as an argument
            crates/calendar/src/a.rs:2: says `TimeZone::get` in a pure crate; take the zone, or the zone database, as an argument
            crates/calendar/src/a.rs:3: says `in_tz` in a pure crate; take the zone, or the zone database, as an argument
            crates/calendar/src/a.rs:4: says `rand::` in a pure crate; take a seed as an argument
        "#]]
        .assert_eq(&problems(&[(
            "crates/calendar/src/a.rs",
            "let now = jiff::Timestamp::now();\nTimeZone::get(name)?;\nt.in_tz(name)?;\nrand::random()",
        )]));
    }

    #[test]
    fn an_alias_hides_nothing() {
        expect![[r#"
            crates/calendar/src/a.rs:1: says `SystemTime` in a pure crate; take the time as an argument
            crates/calendar/src/a.rs:2: says `std::time::Instant` in a pure crate; take the time as an argument
            crates/calendar/src/a.rs:3: says `elapsed` in a pure crate; take the time as an argument
        "#]]
        .assert_eq(&problems(&[(
            "crates/calendar/src/a.rs",
            "use std::time::SystemTime as S;\nuse std::{time::{Instant as I, Duration}};\nt.elapsed();",
        )]));
    }

    #[test]
    fn a_group_of_imports_hides_nothing() {
        expect![[r#"
            crates/calendar/src/a.rs:1: says `std::env` in a pure crate; leave it to the caller
            crates/calendar/src/a.rs:1: says `std::fs` in a pure crate; leave it to the caller
            crates/calendar/src/a.rs:3: says `std::thread` in a pure crate; leave it to the caller
        "#]]
        .assert_eq(&problems(&[(
            "crates/calendar/src/a.rs",
            "use std::{collections, env, fs::{self, File}};\n\nuse std::thread;",
        )]));
    }

    #[test]
    fn comments_strings_tests_and_other_crates_are_free() {
        let asks = "fn f() { Timestamp::now(); }";
        let files = [
            ("crates/calendar/src/lib.rs", "// Timestamp::now\n#[cfg(test)]\nmod laws;"),
            ("crates/calendar/src/laws.rs", asks),
            ("crates/calendar/src/cron.rs", "#[cfg(test)]\nmod tests { use std::fs; }\nmod zones;"),
            ("crates/calendar/src/name.rs", "const S: &str = \"std::env\"; operand::f();"),
            ("crates/calendar/tests/all.rs", asks),
            ("crates/cli/src/main.rs", asks),
        ];
        assert_eq!(problems(&files), "");
    }
}
