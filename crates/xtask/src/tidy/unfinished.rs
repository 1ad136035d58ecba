//! Finds unfinished work: ignored tests, code left for later.

use std::path::Path;

use super::rust_code::is_word;
use super::{Problem, Tree};

const FORBIDDEN: [(&str, &str); 5] = [
    ("#[ignore", "a test runs or doesn't exist"),
    ("todo!(", "write the code, or return an error that says what isn't supported"),
    ("unimplemented!(", "write the code, or return an error that says what isn't supported"),
    ("FIXME", "repair it, or write down the reason why it stays"),
    ("XXX", "repair it, or write down the reason why it stays"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.rust_files().filter(|(path, _)| Path::new(path) != Path::new(file!()))
    {
        for (index, line) in text.lines().enumerate() {
            for (sign, advice) in FORBIDDEN {
                if line.match_indices(sign).any(|(at, _)| is_word(line, at, sign)) {
                    let message = format!("has `{sign}`: {advice}");
                    problems.push(Problem::on_line(path, index + 1, message));
                }
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    #[test]
    fn signs_of_unfinished_work_are_problems() {
        let tree = Tree::of(&[(
            "lib.rs",
            "#[ignore = \"slow\"]\nfn a() { todo!() }\nfn b() { unimplemented!(\"b\") }\n\
             // FIXME later\n// XXX\nconst XXXL: u8 = 0;",
        )]);
        expect![[r#"
            lib.rs:1: has `#[ignore`: a test runs or doesn't exist
            lib.rs:2: has `todo!(`: write the code, or return an error that says what isn't supported
            lib.rs:3: has `unimplemented!(`: write the code, or return an error that says what isn't supported
            lib.rs:4: has `FIXME`: repair it, or write down the reason why it stays
            lib.rs:5: has `XXX`: repair it, or write down the reason why it stays
        "#]]
        .assert_eq(&listed(&check(&tree)));
    }
}
