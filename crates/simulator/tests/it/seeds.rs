//! A bounded number of worlds. `cargo xtask simulate` makes more.

use perennial_simulator::{Outcome, Sabotage, simulate};

/// Half of them each, so that two cores share the work.
const SEEDS: [std::ops::RangeInclusive<u64>; 2] = [1..=100, 101..=200];

#[test]
fn promises_hold_whatever_happens() {
    hold(SEEDS[0].clone());
}

#[test]
fn promises_hold_whatever_else_happens() {
    hold(SEEDS[1].clone());
}

#[test]
fn one_seed_makes_one_world() {
    for seed in 1..=5 {
        let (first, second) = (simulate(seed, Sabotage::None), simulate(seed, Sabotage::None));
        assert_eq!(first.fingerprint, second.fingerprint, "seed {seed}");
        assert_eq!(first.turns, second.turns, "seed {seed}");
    }
}

#[test]
fn different_seeds_make_different_worlds() {
    let (one, two) = (simulate(1, Sabotage::None), simulate(2, Sabotage::None));
    assert_ne!(one.fingerprint, two.fingerprint);
}

fn hold(seeds: impl Iterator<Item = u64>) {
    for seed in seeds {
        let report = simulate(seed, Sabotage::None);
        assert!(report.outcome == Outcome::Held, "{report}");
    }
}
