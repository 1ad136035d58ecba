//! How schedules begin and end.

use expect_test::expect;
use perennial_engine::run::Rejection;
use perennial_engine::schedule::{Command, NewBackfill, State, Status, Trigger};
use perennial_engine::{EntityKey, Rows, Zones};
use perennial_proto::perennial::ScheduleExtensions;
use perennial_proto::store::ScheduleConfig;
use perennial_proto::store::entity_message::Body;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy as Overlap;

use crate::schedule::kit::{End, World, at, config, with_policy};

#[test]
fn a_schedule_may_begin_with_a_trigger_and_a_backfill() {
    let trigger = Trigger { overlap_policy: Overlap::AllowAll, ..Trigger::default() };
    let backfill = NewBackfill {
        request_id: String::new(),
        from: at("-24:00:00"),
        to: at("-22:00:00"),
        overlap_policy: Overlap::AllowAll,
        context: None,
    };
    let first = vec![Command::Trigger(trigger), Command::Backfill(backfill)];
    let mut world = World::with(config(&["@every 1h"]), State::default(), first);
    expect![[r#"
        00:00:00 | -1d 00:00:00 fired by backfill
        00:00:00 | -1d 01:00:00 fired by backfill
        00:00:00 | -1d 02:00:00 fired by backfill
        00:00:00 | 00:00:00 fired by trigger
        00:00:00 | start run 1, w-2026-01-01T00:00:00Z
        00:00:00 | start run 2, w-2025-12-31T00:00:00Z
        00:00:00 | start run 3, w-2025-12-31T01:00:00Z
        00:00:00 | start run 4, w-2025-12-31T02:00:00Z
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn a_trigger_at_the_beginning_meets_the_overlap_policy_too() {
    let first = vec![Command::Trigger(Trigger::default()), Command::Trigger(Trigger::default())];
    let world = World::with(config(&["@every 1h"]), State::default(), first);
    assert_eq!(world.runs.len(), 1);
}

#[test]
fn a_deleted_schedule_leaves_its_runs_alone_and_takes_no_command() {
    let mut world = World::new(with_policy(Overlap::BufferAll, &["@every 10s"])).with_audit();
    world.until("00:00:20");
    world.do_it(Command::Delete { reason: "not needed".to_owned(), context: None });
    world.until("00:01:00");
    assert_eq!(world.schedule.status(), Status::Deleted);
    let refused = world.command(Command::Pause { notes: "x".to_owned(), context: None });
    let why = "schedule not found: it was deleted at 2026-01-01T00:00:20Z: not needed";
    assert_eq!(refused, Err(Rejection::NotFound(why.to_owned())));
    world.end(1, End::Completes("a"));
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 buffered
        00:00:20 | 00:00:20 dropped (deleted)
        00:00:20 | audit 3: deleted, not needed
        00:01:00 | run 1 ends
    "#]]
    .assert_eq(&world.story());
}

#[test]
fn the_audit_stream_tells_of_everything_without_gaps() {
    let mut world = World::new(config(&["@every 10s"])).with_audit();
    world.until("00:00:30").pause("a").unpause("b");
    world.update(|config| config.pause_on_failure = true);
    expect![[r#"
        00:00:10 | 00:00:10 fired
        00:00:10 | start run 1, w-2026-01-01T00:00:10Z
        00:00:10 | audit 2: triggered 1 w-2026-01-01T00:00:10Z
        00:00:20 | 00:00:20 skipped (overlap_policy_skip)
        00:00:20 | audit 3: skipped 1 in all, overlap_policy_skip
        00:00:30 | 00:00:20 to 00:00:30, 2 times skipped (overlap_policy_skip)
        00:00:30 | audit 4: skipped 2 in all, overlap_policy_skip
        00:00:30 | audit 5: paused, a
        00:00:30 | audit 6: resumed
        00:00:30 | audit 7: updated pause_on_failure, notes
    "#]]
    .assert_eq(&world.story());
    assert_eq!(world.schedule.head.audit_sequence, 7);
}

#[test]
fn a_run_knows_the_schedule_it_is_of() {
    let mut world = World::new(config(&["CRON_TZ=Europe/Oslo 0 * * * *"]));
    world.until("01:00:00");
    let Some(Body::StartRun(start)) = &world.runs[0].body else { panic!("it starts a run") };
    let started = start.started.clone().unwrap();
    let header = &started.header.unwrap().fields["perennial-schedule"];
    let attributes = started.search_attributes.unwrap().indexed_fields;
    let text = |data: &[u8]| String::from_utf8(data.to_vec()).unwrap();
    let lineage = text(&header.data).replace(&world.schedule.head.incarnation, "ID");
    expect![[r#"{"event":"ScheduleTriggered","schedule_id":"s","schedule_ulid":"ID","cron_expression":"0 * * * *","timezone":"Europe/Oslo","overlap_policy":"skip","trigger_number":1,"occurrence_time":"2026-01-01T01:00:00Z","due_time":"2026-01-01T01:00:00Z","reason":"schedule","spec":["0 * * * *"],"schedule_internal_id":"ID"}"#]].assert_eq(&lineage);
    assert_eq!(text(&attributes["TemporalScheduledById"].data), "\"s\"");
    assert_eq!(text(&attributes["TemporalScheduledStartTime"].data), "\"2026-01-01T01:00:00Z\"");
    assert_eq!(text(&attributes["TemporalScheduledStartTime"].metadata["type"]), "Datetime");
}

#[test]
fn labels_of_a_schedule_are_on_its_runs() {
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let labels = [label("team", "billing"), label("cost", "eu=7")].into();
    let extensions = Some(ScheduleExtensions { labels, ..ScheduleExtensions::default() });
    let mut world = World::new(ScheduleConfig { extensions, ..config(&["0 * * * *"]) });
    world.until("01:00:00");
    let Some(Body::StartRun(start)) = &world.runs[0].body else { panic!("it starts a run") };
    let attributes = start.started.clone().unwrap().search_attributes.unwrap().indexed_fields;
    let found_by = &attributes["PerennialLabels"];
    assert_eq!(found_by.data, br#"["cost=eu=7","team=billing"]"#);
    assert_eq!(found_by.metadata["type"], b"KeywordList");
}

#[test]
fn a_schedule_whose_zone_is_gone_is_broken_and_recovers_when_it_is_back() {
    use jiff::tz::TimeZoneDatabase;
    use perennial_engine::SchedulePart;
    use perennial_engine::schedule::Schedule;

    let world = World::new(config(&["CRON_TZ=Europe/Oslo 0 * * * *"]));
    let row = world.schedule.part_row(&SchedulePart::Config).unwrap();
    let head = world.schedule.head_row();
    let read = |zones: &Zones| {
        let parts = [(SchedulePart::Config.row_id(), row.clone())];
        let rows = Rows { key: EntityKey(1), head: &head, parts: &parts, first_fragment: &[] };
        Schedule::from_rows(rows, zones).unwrap()
    };
    let broken = read(&Zones::new(TimeZoneDatabase::none()));
    assert_eq!(broken.status(), Status::Broken);
    assert!(broken.times.broken().unwrap().contains("Europe/Oslo"), "{:?}", broken.times.broken());
    assert_eq!(broken.next_due(), None);
    let whole = read(&Zones::new(TimeZoneDatabase::bundled()));
    assert_eq!(whole.status(), Status::Active);
}

#[test]
fn times_that_are_excluded_or_that_the_clock_jumps_over_are_in_the_ledger_with_the_reason() {
    use perennial_proto::temporal::schedule::v1::{Range, StructuredCalendarSpec};

    let mut config = with_policy(Overlap::AllowAll, &["CRON_TZ=Europe/Oslo 30 2 * * *"]);
    let field = |value| Range { start: value, end: value, step: 1 };
    let holiday = StructuredCalendarSpec {
        second: vec![field(0)],
        minute: vec![field(30)],
        hour: vec![field(2)],
        day_of_month: vec![field(28)],
        month: vec![field(3)],
        day_of_week: (0..7).map(field).collect(),
        comment: "a holiday".to_owned(),
        ..StructuredCalendarSpec::default()
    };
    config.spec.as_mut().unwrap().exclude_structured_calendar.push(holiday);
    let mut world = World::new(config);
    world.until("85d 12:00:00").story();
    // The night of 29 March has no half past two in Oslo.
    world.until("88d 12:00:00");
    expect![[r#"
        88d 00:30:00 | 86d 01:30:00 excluded (exclusion 1 matches it: a holiday)
        88d 00:30:00 | 87d 01:30:00 excluded (02:30:00 on 2026-03-29 does not exist: the clock of Europe/Oslo jumps over it)
        88d 00:30:00 | 88d 00:30:00 fired
        88d 00:30:00 | start run 87, w-2026-03-30T00:30:00Z
    "#]].assert_eq(&world.story());
}

#[test]
fn a_create_that_is_repeated_makes_no_other_schedule_though_the_first_is_over() {
    let mut world = World::new(config(&["@every 10s"]));
    world.do_it(Command::Delete { reason: String::new(), context: None });
    assert_eq!(world.create_again("create").ok(), Some(false));
    assert_eq!(world.create_again("another").ok(), Some(true));
}

#[test]
fn an_id_is_free_again_when_the_starts_of_its_deleted_schedule_are_answered() {
    let mut world = World::new(config(&["@every 10s"]));
    world.held = Some(Vec::new());
    world.until("00:00:10").do_it(Command::Delete { reason: String::new(), context: None });
    assert!(matches!(world.create_again("another"), Err(Rejection::Busy(_))));
    world.let_go();
    assert_eq!(world.create_again("another").ok(), Some(true));
}

#[test]
fn an_id_is_free_again_when_the_run_that_nobody_answered_for_has_ended() {
    let mut world = World::new(config(&["@every 10s"]));
    world.held = Some(Vec::new());
    world.until("00:00:10").do_it(Command::Delete { reason: String::new(), context: None });
    world.runs = world.held.clone().unwrap();
    world.end(1, End::Fails);
    assert_eq!(world.create_again("another").ok(), Some(true));
}
