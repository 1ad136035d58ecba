//! A search is bounded, whatever the rule: counted in steps, not in time.

use super::steps::count;
use super::{CompiledRecurrence, parse};
use crate::civil::WallSecond;

const FOREVER: WallSecond = WallSecond(i64::MAX);

#[test]
fn a_date_that_never_comes_is_given_up_within_the_bound() {
    never("FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", 2_000);
    never("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", 2_000);
    never("FREQ=DAILY;BYMONTH=4,6,9,11;BYMONTHDAY=31;BYHOUR=1,2,3", 2_000);
    never("FREQ=YEARLY;BYWEEKNO=20;BYMONTH=1", 10_000);
    never("FREQ=MINUTELY;BYYEARDAY=366;BYMONTH=11", 10_000);
    never("FREQ=MONTHLY;BYDAY=6MO", 10_000);
    never("FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2", 30_000);
    never("FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=1;BYSECOND=60", 60_000);
}

#[test]
fn an_interval_that_never_meets_its_parts_is_known_beforehand() {
    never("DTSTART:20260105T090000 FREQ=HOURLY;INTERVAL=24;BYHOUR=5", 0);
    never("DTSTART:20260105T090000 FREQ=MINUTELY;INTERVAL=1440;BYHOUR=1", 0);
    never("DTSTART:20260105T090000 FREQ=SECONDLY;INTERVAL=2;BYSECOND=1", 0);
    never("DTSTART:20260105T090000 FREQ=SECONDLY;INTERVAL=4000000000;BYSECOND=1", 0);
    never("DTSTART:20260105T090000 FREQ=SECONDLY;BYSECOND=60", 0);
}

#[test]
fn a_search_jumps_to_the_next_allowed_minute_and_then_aligns() {
    let rule = compiled("DTSTART:20260105T090000 FREQ=SECONDLY;INTERVAL=7;BYHOUR=3;BYMINUTE=15");
    let start = wall("2026-01-05T09:00:00");
    let (found, steps) = count(|| rule.next(start, FOREVER));
    let found = found.unwrap();
    assert_eq!((found.0 - start.0) % 7, 0);
    assert_eq!(found, wall("2026-01-06T03:15:02"));
    assert!(steps <= 10, "{steps} steps");
}

/// The multiples of 86,399 seconds come by each second of the day once in 236 years.
#[test]
fn an_interval_that_seldom_meets_its_parts_costs_one_look_a_day() {
    let rule =
        "DTSTART:19700101T120000 FREQ=SECONDLY;INTERVAL=86399;BYHOUR=11;BYMINUTE=59;BYSECOND=";
    let soon = compiled(&format!("{rule}58"));
    assert_eq!(soon.next(WallSecond(0), FOREVER), Some(wall("1970-01-03T11:59:58")));
    let later = compiled(
        "DTSTART:19700101T120000 FREQ=SECONDLY;INTERVAL=86399;BYHOUR=12;BYMINUTE=0;BYSECOND=1",
    );
    let (found, steps) = count(|| later.next(WallSecond(0), FOREVER));
    assert_eq!(found, None);
    assert!(steps <= 50_000, "{steps} steps");
}

#[test]
fn a_time_near_the_end_costs_no_more_than_one_near_the_start() {
    for rule in [
        "DTSTART:19700101T000000 FREQ=SECONDLY;INTERVAL=11",
        "DTSTART:19700101T000000 FREQ=HOURLY;INTERVAL=5;BYHOUR=1,2,3",
        "DTSTART:19700101T000000 FREQ=DAILY;INTERVAL=3",
        "DTSTART:19700101T000000 FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,FR;BYSETPOS=-1",
        "DTSTART:19700101T000000 FREQ=MONTHLY;INTERVAL=5;BYDAY=-1FR",
    ] {
        let rule = compiled(rule);
        let (found, steps) = count(|| rule.next(wall("2099-06-01T00:00:00"), FOREVER));
        assert!(found.is_some());
        assert!(steps <= 50, "{steps} steps");
    }
}

#[test]
fn an_interval_past_all_time_leaves_only_the_first_period() {
    for freq in ["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"] {
        let rule = compiled(&format!("DTSTART:20260105T090000 FREQ={freq};INTERVAL={}", u32::MAX));
        let start = wall("2026-01-05T09:00:00");
        assert_eq!(rule.next(WallSecond(i64::MIN), FOREVER), Some(start), "{freq}");
        let (found, steps) = count(|| rule.next(WallSecond(start.0 + 1), FOREVER));
        assert_eq!(found, None, "{freq}");
        assert!(steps <= CompiledRecurrence::STEPS_MAX, "{steps} steps");
    }
    let rule = compiled(&format!(
        "DTSTART:20260105T090000 FREQ=MONTHLY;INTERVAL={};BYDAY=MO;BYSETPOS=1,-1",
        u32::MAX
    ));
    assert_eq!(rule.next(WallSecond(0), FOREVER), Some(wall("2026-01-05T09:00:00")));
    assert_eq!(rule.next(wall("2026-01-06T00:00:00"), FOREVER), Some(wall("2026-01-26T09:00:00")));
    assert_eq!(rule.next(wall("2026-01-27T00:00:00"), FOREVER), None);
}

#[test]
fn no_time_comes_before_dtstart_or_after_2100() {
    let rule = compiled("DTSTART:20260105T090000 FREQ=DAILY");
    assert_eq!(rule.next(WallSecond(i64::MIN), FOREVER), Some(wall("2026-01-05T09:00:00")));
    let last = wall("2100-12-31T09:00:00");
    assert_eq!(rule.next(last, FOREVER), Some(last));
    assert_eq!(rule.next(WallSecond(last.0 + 1), FOREVER), None);
    assert_eq!(rule.next(WallSecond(i64::MAX), FOREVER), None);
    assert_eq!(rule.next(FOREVER, WallSecond(i64::MIN)), None);
}

#[test]
fn the_window_and_a_wall_clock_until_are_inclusive() {
    let nine = wall("2026-01-05T09:00:00");
    let rule = compiled("DTSTART:20260105T090000 FREQ=DAILY;UNTIL=20260106T090000");
    assert_eq!(rule.next(nine, nine), Some(nine));
    assert_eq!(rule.next(nine, WallSecond(nine.0 - 1)), None);
    let tomorrow = wall("2026-01-06T09:00:00");
    assert_eq!(rule.next(WallSecond(nine.0 + 1), FOREVER), Some(tomorrow));
    assert_eq!(rule.next(WallSecond(tomorrow.0 + 1), FOREVER), None);
}

#[track_caller]
fn never(text: &str, steps_max: usize) {
    let rule = compiled(text);
    let (found, steps) = count(|| rule.next(WallSecond(i64::MIN), FOREVER));
    assert_eq!(found, None, "{text}");
    assert!(steps <= steps_max.min(CompiledRecurrence::STEPS_MAX), "{text}: {steps} steps");
}

#[track_caller]
fn compiled(text: &str) -> CompiledRecurrence {
    parse(text).map_err(|fault| fault.in_text(text)).unwrap().0.compile()
}

fn wall(text: &str) -> WallSecond {
    WallSecond::from(text.parse::<jiff::civil::DateTime>().unwrap())
}
