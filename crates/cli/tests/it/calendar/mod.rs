//! `perennial calendar`, run as users run it.

mod between;
mod errors;
mod explain;
mod help;
mod next;
mod output;
mod zones;

use expect_test::Expect;

use crate::perennial::{perennial, said_by};

/// Checks the output of `perennial calendar …`: standard output, then standard error and exit code.
fn check(args: &[&str], expected: Expect) {
    let mut command = perennial(&["calendar"]);
    command.args(args);
    expected.assert_eq(&said_by(&mut command));
}
