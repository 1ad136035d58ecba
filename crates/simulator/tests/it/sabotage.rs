//! Each protection is needed: without it some world breaks a promise, and with it the same world doesn't.

use perennial_simulator::{Outcome, Sabotage, simulate};

/// Seeds of worlds with and without schedules.
const ALL: usize = 1;
/// Every other world has schedules.
const WITH_SCHEDULES: usize = 2;

/// One of the first worlds breaks one of the expected promises, and holds without the sabotage.
fn breaks(sabotage: Sabotage, worlds: usize, expected: &[&str]) {
    let mut broken = Vec::new();
    for seed in (2..=60).step_by(worlds) {
        let report = simulate(seed, sabotage);
        assert_eq!(report.seed, seed);
        let Outcome::Broken { violation, trace } = &report.outcome else { continue };
        broken.push(violation.promise);
        if !expected.contains(&violation.promise) {
            continue;
        }
        assert!(!trace.is_empty(), "it says what happened before");
        let again = format!("cargo xtask simulate --seed {seed}");
        assert!(report.to_string().contains(&again), "it says how to see it again");
        let report = simulate(seed, Sabotage::None);
        assert!(report.outcome == Outcome::Held, "{report}");
        return;
    }
    panic!("none of {expected:?} is broken, but {broken:?}");
}

#[test]
fn without_the_fence_a_replaced_server_does_harm() {
    let expected = ["events have no gaps", "nothing acknowledged is lost"];
    breaks(Sabotage::Fence, ALL, &expected);
}

#[test]
fn without_deduplication_a_request_takes_effect_twice() {
    breaks(Sabotage::Deduplication, ALL, &["a request takes effect once"]);
}

#[test]
fn without_the_wait_for_the_commit_a_crash_loses_what_was_told() {
    let expected = [
        "each activity attempt is started once",
        "each workflow task is started once",
        "nothing acknowledged is lost",
    ];
    breaks(Sabotage::WaitForCommit, ALL, &expected);
}

#[test]
fn without_progress_in_the_commit_of_a_start_a_time_starts_two_runs() {
    breaks(Sabotage::Progress, WITH_SCHEDULES, &["a verdict that is final stays"]);
}

#[test]
fn with_progress_up_to_now_a_time_that_is_still_due_is_lost() {
    breaks(Sabotage::Watermark, WITH_SCHEDULES, &["each time of a schedule has one verdict"]);
}

#[test]
fn a_schedule_that_forgets_what_runs_starts_beside_it() {
    breaks(Sabotage::Running, WITH_SCHEDULES, &["runs overlap only as the policy allows"]);
}
