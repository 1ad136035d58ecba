//! Changing a schedule.

use expect_test::expect;
use perennial_engine::run::Rejection;
use perennial_engine::schedule::{Command, State, UpdateSchedule};
use perennial_proto::store::ScheduleConfig;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{World, at, config, with_policy};

impl World {
    pub(crate) fn update(&mut self, change: impl FnOnce(&mut ScheduleConfig)) -> &mut Self {
        let mut config = ScheduleConfig::clone(&self.schedule.config);
        change(&mut config);
        let update = update_to(config, None);
        self.do_it(Command::Update(Box::new(update)))
    }
}

fn update_to(config: ScheduleConfig, conflict_token: Option<i64>) -> UpdateSchedule {
    UpdateSchedule {
        conflict_token,
        request_id: String::new(),
        config,
        state: State::default(),
        search_attributes: None,
        memo: None,
        context: None,
    }
}

#[test]
fn what_was_due_under_the_old_spec_is_settled_first_and_the_new_one_counts_from_now() {
    let mut world = World::new(with_policy(Overlap::AllowAll, &["@every 10s"])).with_audit();
    world.until("00:00:05");
    world.now = at("00:00:21");
    let spec = config(&["@every 7s"]).spec;
    world.update(|config| config.spec = spec).until("00:00:28");
    expect![[r#"
        00:00:21 | 00:00:10 late
        00:00:21 | 00:00:20 fired
        00:00:21 | audit 2: updated spec
        00:00:21 | start run 1, w-2026-01-01T00:00:10Z
        00:00:21 | audit 3: triggered 1 w-2026-01-01T00:00:10Z
        00:00:21 | start run 2, w-2026-01-01T00:00:20Z
        00:00:21 | audit 4: triggered 2 w-2026-01-01T00:00:20Z
        00:00:28 | 00:00:28 fired
        00:00:28 | start run 3, w-2026-01-01T00:00:28Z
        00:00:28 | audit 5: triggered 3 w-2026-01-01T00:00:28Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn an_update_that_leaves_the_spec_loses_no_time_that_is_still_to_be_jittered() {
    let mut config = config(&["@every 10s"]);
    if let Some(spec) = &mut config.spec {
        spec.jitter = Some(std::time::Duration::from_secs(8).try_into().unwrap());
    }
    let mut world = World::new(config);
    world.until("00:00:10").update(|config| config.pause_on_failure = true).until("00:00:19");
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn an_update_that_takes_the_spec_away_says_what_became_of_the_time_between() {
    let mut jittered = config(&["@every 10s"]);
    if let Some(spec) = &mut jittered.spec {
        spec.jitter = Some(std::time::Duration::from_secs(8).try_into().unwrap());
    }
    let mut world = World::new(jittered);
    let spec = config(&["@every 1h"]).spec;
    world.until("00:00:10").update(|config| config.spec = spec);
    expect![[r#"
        00:00:10 | 00:00:10 skipped (updated)
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_lost_race_is_an_error_that_the_caller_sees() {
    let mut world = World::new(config(&["@every 10s"]));
    let seen = world.schedule.head.conflict_token;
    world.pause("first");
    let update = update_to(config(&["@every 1h"]), Some(seen));
    let refused = world.command(Command::Update(Box::new(update))).unwrap_err();
    assert_eq!(refused, Rejection::FailedPrecondition("mismatched conflict token".to_owned()));
    let update = update_to(config(&["@every 1h"]), Some(world.schedule.head.conflict_token));
    world.do_it(Command::Update(Box::new(update)));
}

#[test]
fn a_spec_that_cant_be_followed_is_refused_and_nothing_changes() {
    let mut world = World::new(config(&["@every 10s"]));
    let mut bad = config(&["0 9 * * *"]);
    if let Some(spec) = &mut bad.spec {
        spec.timezone_name = "Mars/Olympus".to_owned();
    }
    let refused = world.command(Command::Update(Box::new(update_to(bad, None)))).unwrap_err();
    assert!(matches!(refused, Rejection::InvalidArgument(_)), "{refused}");
    assert_eq!(world.schedule.head.conflict_token, 1);
}
