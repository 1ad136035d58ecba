//! Checks that no Rust file is too long.

use super::{Problem, Tree};

const LINES_MAX: usize = 600;

/// Files that may be longer: the path, and the reason why splitting would make it worse.
const EXCUSED: &[(&str, &str)] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<Problem> {
    let too_long = |(path, text): (&str, &str)| {
        let lines = text.lines().count();
        let excused = EXCUSED.iter().any(|(excused, _)| *excused == path);
        (lines > LINES_MAX && !excused).then(|| {
            let message = format!("has {lines} lines, more than {LINES_MAX}; split it by role");
            Problem::in_file(path, message)
        })
    };
    tree.rust_files().filter_map(too_long).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::tidy::tests::listed;

    #[test]
    fn a_file_of_601_lines_is_too_long() {
        let (fits, too_long) = ("\n".repeat(600), "\n".repeat(601));
        let tree = Tree::of(&[("fits.rs", &fits), ("long.rs", &too_long), ("long.md", &too_long)]);
        expect![[r#"
            long.rs: has 601 lines, more than 600; split it by role
        "#]]
        .assert_eq(&listed(&check(&tree)));
    }
}
