//! `perennial calendar`, run as users run it.

mod between;
mod errors;
mod explain;
mod help;
mod next;
mod output;
#[path = "../perennial/mod.rs"]
mod perennial;
mod zones;

use expect_test::Expect;
use perennial::{perennial, said_by};

/// `perennial calendar …` says this: its standard output, then what else there is to tell.
fn check(args: &[&str], expected: Expect) {
    let mut command = perennial(&["calendar"]);
    command.args(args);
    expected.assert_eq(&said_by(&mut command));
}
