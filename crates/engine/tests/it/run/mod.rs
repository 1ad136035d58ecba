//! Facts about runs, told by their histories.

#![allow(deprecated, reason = "workers of earlier versions still send what the API deprecates")]

mod activities;
mod chains;
mod children;
mod closing;
mod external;
mod kit;
mod laws;
mod operations;
mod principals;
mod random;
mod render;
mod resets;
mod starts;
mod task_problems;
mod tasks;
mod updates;
mod wanted;

use expect_test::Expect;

/// Compares text with what is expected of it.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(text);
}
