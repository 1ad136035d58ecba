//! Each protection is needed: without it some world breaks a promise, and with it the same world doesn't.

use std::collections::BTreeSet;

use perennial_simulator::{Outcome, Sabotage, simulate};

/// What a sabotage leads to in the first worlds, which all hold without it.
fn broken_without(sabotage: Sabotage) -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::new();
    for seed in 1..=12 {
        let report = simulate(seed, Sabotage::None);
        assert!(report.outcome == Outcome::Held, "{report}");
        let report = simulate(seed, sabotage);
        assert_eq!(report.seed, seed);
        if let Outcome::Broken { violation, trace } = &report.outcome {
            assert!(!trace.is_empty(), "it says what happened before");
            let again = format!("cargo xtask simulate --seed {seed}");
            assert!(report.to_string().contains(&again), "it says how to see it again");
            broken.insert(violation.promise);
        }
    }
    broken
}

#[test]
fn without_the_fence_a_replaced_server_does_harm() {
    let broken = broken_without(Sabotage::Fence);
    let expected = ["events have no gaps", "nothing acknowledged is lost"];
    assert!(expected.iter().any(|promise| broken.contains(promise)), "{broken:?}");
}

#[test]
fn without_deduplication_a_request_takes_effect_twice() {
    let broken = broken_without(Sabotage::Deduplication);
    assert!(broken.contains("a request takes effect once"), "{broken:?}");
}

#[test]
fn without_the_wait_for_the_commit_a_crash_loses_what_was_told() {
    let broken = broken_without(Sabotage::WaitForCommit);
    let expected = [
        "each activity attempt is started once",
        "each workflow task is started once",
        "nothing acknowledged is lost",
    ];
    assert!(expected.iter().any(|promise| broken.contains(promise)), "{broken:?}");
}
