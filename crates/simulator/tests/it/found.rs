//! Worlds that broke a promise once, beyond those that every test run makes.

use perennial_simulator::{Outcome, Sabotage, simulate};

fn holds(seed: u64) {
    let report = simulate(seed, Sabotage::None);
    assert!(report.outcome == Outcome::Held, "{report}");
}

#[test]
fn a_start_that_a_backfill_replaces_in_its_step_has_its_verdict() {
    holds(226);
}

#[test]
fn a_time_that_is_still_due_when_a_paused_schedule_is_updated_has_its_verdict() {
    holds(580);
}

#[test]
fn a_schedule_that_is_over_by_the_time_it_is_paused_stays_over() {
    holds(808);
}

#[test]
fn a_start_that_is_refused_in_its_own_commit_was_in_the_way_of_those_it_replaced() {
    holds(2036);
}
