//! The demo runs without a setup, and stops when told to.

use crate::perennial::{perennial, said_by};

#[test]
fn demo_shows_runs_and_ends_after_as_many_as_it_was_asked_for() {
    let said = said_by(&mut perennial(&["demo", "--runs=4", "--port=0"]));
    let ended = said.lines().filter(|line| line.contains("  completed  demo-")).count();
    assert_eq!(ended, 4, "{said}");
    assert!(said.contains("perennial schedule list --address"), "{said}");
    assert!(said.contains("Schedule        Status"), "{said}");
    // On a busy machine the log, on standard error, tells of slow turns.
    let shown = said.split("-- stderr --").next().unwrap();
    assert!(shown.ends_with("Stopped.\n"), "{said}");
}
