//! Explanations of specs, and warnings.

mod definitions;
mod laws;
mod neighbours;

use expect_test::{Expect, expect};
use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use perennial_calendar::{
    Definition, Dialect, Explanation, NamedCalendars, Spec, ZoneSource, Zones, parse_duration,
};

const NOW: &str = "2026-06-01T00:00:00Z";

#[test]
fn crons_of_the_references_are_said_in_plain_words() {
    check(expect![[r#"
        * * * * *
            Every minute, UTC.
        DIALECT=dbos * 5 * * 1
            Every minute from 05:00 through 05:59 on Monday, UTC.
        DIALECT=dbos 30 * * * * *
            At second 30 of every minute, UTC.
        DIALECT=dbos 0 12 * * Sun
            At 12:00 on Sunday, UTC.
        DIALECT=dbos 0 9-17 * * *
            Every hour from 09:00 through 17:00 every day, UTC.
        DIALECT=dbos */30 * * * * *
            Every 30 seconds, UTC.
        DIALECT=dbos 10-19/2 * * January,Feb *
            Every 2 minutes from minute 10 through minute 18 of every hour in January and February, UTC.
        15 8 * * *
            At 08:15 every day, UTC.
        CRON_TZ=America/New_York 15 8 * * *
            At 08:15 every day, America/New_York time.
        CRON_TZ=America/New_York 0 2 * * *
            At 02:00 every day, America/New_York time.
            ! it does not fire at 02:00 on 2027-03-14: the clock in America/New_York jumps from 02:00 to 03:00; DST=once makes it fire at 03:00
        CRON_TZ=America/Los_Angeles 0 12 11 11 *
            At 12:00 on the 11th in November, America/Los_Angeles time.
        30 2 * * *
            At 02:30 every day, UTC.
        0 2 * * *
            At 02:00 every day, UTC.
        */5 * * * *
            Every 5 minutes, UTC.
        0 * * * *
            Every hour, UTC.
        30 3 * * *
            At 03:30 every day, UTC.
        @yearly
            At 00:00 on the 1st in January, UTC.
        @monthly
            At 00:00 on the 1st of the month, UTC.
        @weekly
            At 00:00 on Sunday, UTC.
        @daily
            At 00:00 every day, UTC.
        @hourly
            Every hour, UTC.
    "#]]);
}

#[test]
fn calendars_and_intervals_of_the_references_are_said_in_plain_words() {
    check(expect![[r#"
        45m
            Every 45 minutes, counted from 00:00 UTC.
        6h/5h
            Every 6 hours, counted from 05:00 UTC.
        5h/15m
            Every 5 hours, counted from 1970-01-01T00:15:00Z.
            ! 5 hours do not divide a day evenly: the times of day differ from day to day
        30m
            Every 30 minutes, counted from 00:00 UTC.
        PT30M
            Every 30 minutes, counted from 00:00 UTC.
        PT1H
            Every hour, counted from 00:00 UTC.
        P1D
            Every 24 hours, at 00:00 UTC.
        1h/5m
            Every hour, counted from 00:05 UTC.
        @every 1h30m
            Every 90 minutes, counted from 00:00 UTC.
        {"year":"2022","month":"Jan,Apr,Jul,Oct","dayOfMonth":"1,15","hour":"11-14"}
            Every hour from 11:00 through 14:00 on the 1st and 15th in January, April, July and October of 2022, UTC.
            ! it never fires again: its last time was 2022-10-15 at 14:00
        {"year":"2022","month":"*/3","dayOfMonth":"1,15","hour":"11-14"}
            Every hour from 11:00 through 14:00 on the 1st and 15th in January, April, July and October of 2022, UTC.
            ! it never fires again: its last time was 2022-10-15 at 14:00
        5h/15m | {"dayOfWeek":"Fri","hour":"11","minute":"3"}
            At 11:03 on Friday; and every 5 hours, counted from 1970-01-01T00:15:00Z; UTC.
            ! 5 hours do not divide a day evenly: the times of day differ from day to day
        CRON_TZ=America/Chicago 0 12 * * * | PT6H
            At 12:00 every day; and every 6 hours, counted from 00:00 UTC; America/Chicago time.
        0 12 * * MON | exclude: * * * 25 12 * *
            At 12:00 on Monday, except all day on the 25th in December, UTC.
    "#]]);
}

#[test]
fn times_of_day_are_said_exactly() {
    check(expect![[r#"
        0 9 * * MON-FRI
            At 09:00 on Monday through Friday, UTC.
        0 0,12 * * *
            At 00:00 and 12:00 every day, UTC.
        0 */6 * * *
            Every 6 hours, UTC.
        0 */5 * * *
            Every 5 hours from 00:00 through 20:00 every day, UTC.
            ! every 5 hours starts again each day: hour 20 is followed by hour 0, 4 hours later
        */15 9-17 * * *
            Every 15 minutes from 09:00 through 17:45 every day, UTC.
        5-59/15 * * * *
            At minutes 5, 20, 35 and 50 of every hour, UTC.
        30 * * * *
            At minute 30 of every hour, UTC.
        */7 * * * *
            Every 7 minutes from minute 0 through minute 56 of every hour, UTC.
            ! every 7 minutes starts again each hour: minute 56 is followed by minute 0, 4 minutes later
        */7 9-17 * * *
            Every 7 minutes from minute 0 through minute 56 of hours 9 through 17 every day, UTC.
            ! every 7 minutes starts again each hour: minute 56 is followed by minute 0, 4 minutes later
        0,20,45 8,17 * * *
            At 08:00, 08:20, 08:45, 17:00, 17:20 and 17:45 every day, UTC.
        3,9 1,2,5,7,20 * * *
            At minutes 3 and 9 of hours 1, 2, 5, 7 and 20 every day, UTC.
        * * * * * * *
            Every second, UTC.
        30 0 9 * * * *
            At 09:00:30 every day, UTC.
        */7 * * * * * *
            Every 7 seconds from second 0 through second 56 of every minute, UTC.
            ! every 7 seconds starts again each minute: second 56 is followed by second 0, 4 seconds later
        5,6 */10 1-23/2 * * * *
            At seconds 5 and 6 of every 10th minute from minute 0 through minute 50 of every 2nd hour from hour 1 through hour 23 every day, UTC.
        * * 9 * * * *
            Every second from 09:00 through 09:59:59 every day, UTC.
    "#]]);
}

#[test]
fn days_are_said_exactly() {
    check(expect![[r#"
        30 2 1,15 * *
            At 02:30 on the 1st and 15th of the month, UTC.
        0 0 L * *
            At 00:00 on the last day of the month, UTC.
        0 0 L-3 * *
            At 00:00 on the 3rd day before the last day of the month, UTC.
        0 12 * * FRI#2
            At 12:00 on the 2nd Friday of the month, UTC.
        0 12 * * MON,FRIL
            At 12:00 on Monday and the last Friday of the month, UTC.
        0 0 LW * *
            At 00:00 on the last weekday (Monday to Friday) of the month, UTC.
        0 0 15W * *
            At 00:00 on the weekday (Monday to Friday) nearest the 15th of the month, UTC.
        0 0 1,15W,L * *
            At 00:00 on the 1st, weekday (Monday to Friday) nearest the 15th and last day of the month, UTC.
        0 0 13 * FRI
            At 00:00 on the 13th of the month, if it is a Friday, UTC.
            ! day of month and day of week must both match; classic cron needs only one
        0 0 1-7 JAN-MAR,DEC MON-FRI
            At 00:00 on the 1st through 7th in January through March and December, if it is Monday through Friday, UTC.
            ! day of month and day of week must both match; classic cron needs only one
        0 0 */2 * *
            At 00:00 on every 2nd day of the month from the 1st through the 31st, UTC.
            ! every 2 days starts again each month: day 31 is followed by day 1
        0 0 31 * *
            At 00:00 on the 31st of the month, UTC.
            ! the 31st exists in 7 months; the other 5 are skipped; write L for the last day
        0 0 30 1-6 *
            At 00:00 on the 30th in January through June, UTC.
            ! the 30th exists in 5 months; the other one is skipped; write L for the last day
        0 0 29 * *
            At 00:00 on the 29th of the month, UTC.
            ! the 29th exists in February only in leap years; write L for the last day
        0 0 29 2 *
            At 00:00 on the 29th in February, UTC.
            ! the next time is more than a year away: 2028-02-29 at 00:00
        0 0 30 2 *
            At 00:00 on the 30th in February, UTC.
            ! it never fires: there is no such time
        0 0 25 12 * 2026
            At 00:00 on 25 December 2026, UTC.
        0 0 1 1 * 2026-2028
            At 00:00 on the 1st in January of 2026 through 2028, UTC.
            ! its last time is 2028-01-01 at 00:00
        0 0 * * * 2026,2028
            At 00:00 every day in 2026 and 2028, UTC.
            ! its last time is 2028-12-31 at 00:00
        0 0 1 1 * 2026-2100/4
            At 00:00 on the 1st in January of every 4th year from 2026 through 2098, UTC.
            ! the next time is more than a year away: 2030-01-01 at 00:00
        0 0 1 1 * 2020
            At 00:00 on 1 January 2020, UTC.
            ! it never fires again: its last time was 2020-01-01 at 00:00
        0 9 * * SAT,SUN # weekend "shift"
            At 09:00 on Saturday and Sunday ("weekend \"shift\""), UTC.
    "#]]);
}

#[test]
fn repeats_are_said_with_what_happens_in_short_months() {
    check(expect![[r#"
        R/2026-01-31T09:00/P1M
            Every month from 2026-01-31 at 09:00 (the last day in shorter months), UTC.
        R/2024-02-29T09:00/P1Y
            Every year from 2024-02-29 at 09:00 (the 28th in other than leap years), UTC.
        R/2026-06-05T09:00:30/P2D
            Every 2 days from 2026-06-05 at 09:00:30, UTC.
        R12/2026-06-05T09:00/P2W
            Every 2 weeks from 2026-06-05 at 09:00, 12 dates in all, UTC.
            ! its last time is 2026-11-06 at 09:00
        R1/2026-07-01T09:00/P1D
            Once, on 2026-07-01 at 09:00, UTC.
        TZ=Europe/Oslo R/2026-06-05T09:00/PT36H
            Every 36 hours of elapsed time from 2026-06-05 at 09:00, Europe/Oslo time.
            ! 36 hours do not divide a day evenly: the times of day differ from day to day
    "#]]);
}

#[test]
fn recurrence_rules_are_said_in_words_and_the_hard_ones_in_brackets_too() {
    check(expect![[r#"
        FREQ=DAILY;BYHOUR=9
            Every day at 09:00, recurring since 1970-01-01, UTC.
        DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE
            Every 2 weeks on Monday and Wednesday at 09:00, recurring from 2026-01-05 at 09:00, UTC.
        DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;WKST=SU
            Every 2 weeks on Monday and Wednesday at 09:00, recurring from 2026-01-05 at 09:00 [DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;WKST=SU], UTC.
        DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;COUNT=10
            Every week on Monday at 09:00, recurring from 2026-01-05 at 09:00, 10 times in all, UTC.
            ! it never fires again: its last time was 2026-03-09 at 09:00
        DTSTART:20260131T090000 RRULE:FREQ=MONTHLY
            Every month on the 31st of the month at 09:00, recurring from 2026-01-31 at 09:00, UTC.
            ! the 31st exists in 7 months; the other 5 are skipped; write BYMONTHDAY=-1 for the last day
        DTSTART:20260131T090000 RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;UNTIL=20271224T000000
            Every month on the last day of the month at 09:00, recurring from 2026-01-31 at 09:00 until 2027-12-24 at 00:00, UTC.
        DTSTART;TZID=Europe/Oslo:20260601T023000 RRULE:FREQ=DAILY
            Every day at 02:30, recurring from 2026-06-01 at 02:30, Europe/Oslo time.
            ! it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30
        DST=once DTSTART;TZID=Europe/Oslo:20260601T023000 RRULE:FREQ=DAILY
            Every day at 02:30, recurring from 2026-06-01 at 02:30, Europe/Oslo time; a time the clock jumps over fires later by the length of the jump, one it shows twice fires only the first time.
        CRON_TZ=Europe/Oslo FREQ=HOURLY
            Every hour, recurring since 1970-01-01, Europe/Oslo time.
            ! it pauses on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:00 to 03:00 twice, and only one of them fires
        FREQ=MONTHLY;BYDAY=2FR,-1MO;BYHOUR=12
            Every month on the 2nd Friday and the last Monday of the month at 12:00, recurring since 1970-01-01, UTC.
        FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13
            Every month on the 13th of the month, if it is Friday, at 00:00, recurring since 1970-01-01, UTC.
        FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;BYHOUR=17
            Every month on Monday through Friday at 17:00, of which only the last in each month, recurring since 1970-01-01 [RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=17;BYSETPOS=-1], UTC.
        FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25
            Every year on the 25th in December at 00:00, recurring since 1970-01-01, UTC.
        FREQ=YEARLY;BYDAY=20MO
            Every year on the 20th Monday of the year at 00:00, recurring since 1970-01-01, UTC.
        FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO
            Every year in the 20th week of the year on Monday at 00:00, recurring since 1970-01-01 [RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO], UTC.
        FREQ=YEARLY;BYYEARDAY=1,100,-1
            Every year on the 1st, 100th and last day of the year at 00:00, recurring since 1970-01-01 [RRULE:FREQ=YEARLY;BYYEARDAY=1,100,-1], UTC.
        DTSTART:20260105T090000 RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11
            Every 20 minutes in hours 9 through 11, recurring from 2026-01-05 at 09:00 [DTSTART:20260105T090000 RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11], UTC.
        DTSTART:20260106T090000 RRULE:FREQ=WEEKLY;BYDAY=MO
            Every week on Monday at 09:00, recurring from 2026-01-06 at 09:00, UTC.
            ! DTSTART (2026-01-06 at 09:00) does not match its own rule, so it does not fire then
        FREQ=DAILY | FREQ=DAILY | 0 0 * * *
            At 00:00 every day; and every day at 00:00, recurring since 1970-01-01; and every day at 00:00, recurring since 1970-01-01; UTC.
            ! "every day at 00:00, recurring since 1970-01-01" adds nothing to "every day at 00:00, recurring since 1970-01-01"
    "#]]);
}

#[test]
fn what_is_left_out_bounds_clocks_and_jitter_are_said() {
    check(expect![[r#"
        nothing
            Never: nothing is scheduled.
        0 9 * * * | exclude: 0 0 25 12 *
            At 09:00 every day, except at 00:00 on the 25th in December, UTC.
            ! the exclusion of "at 00:00 on the 25th in December" leaves out no time of the next five years; hour, minute and second of a calendar are 0 unless given, so a whole day needs * for each
        0 9 * * * | exclude: * * * 25 12 * * | exclude: * * 9 * * SUN *
            At 09:00 every day, except all day on the 25th in December, and except every second from 09:00 through 09:59:59 on Sunday, UTC.
        0 9 * * MON-FRI | exclude: * * * 4 7 * 2026
            At 09:00 on Monday through Friday, except all day on 4 July 2026, UTC.
        EXCLUDE=holidays 0 9 * * *
            At 09:00 every day, except the calendar "holidays" (2 entries, fingerprint …), UTC.
        0 9 * * * | exclude: * * * * * * *
            At 09:00 every day, except all day every day, UTC.
            ! it never fires: exclusions leave out every time
        * * * * * | exclude: * * * * *
            Every minute, except every minute, UTC.
            ! it never fires: exclusions leave out every time
        0 9 * * * | start: 2026-07-01T00:00:00Z | end: 2026-12-31T00:00:00Z
            At 09:00 every day, from 2026-07-01T00:00:00Z until 2026-12-31T00:00:00Z (both inclusive), UTC.
        0 9 * * * | start: 2028-07-01T00:00:00Z
            At 09:00 every day, from 2028-07-01T00:00:00Z on (inclusive), UTC.
        0 9 * * * | start: 2026-07-01T00:00:00Z | end: 2026-06-30T00:00:00Z
            At 09:00 every day, from 2026-07-01T00:00:00Z until 2026-06-30T00:00:00Z (both inclusive), UTC.
            ! it never fires: its end is before its start
        0 9 * * * | end: 2026-05-01T00:00:00Z
            At 09:00 every day, until 2026-05-01T00:00:00Z (inclusive), UTC.
            ! it never fires again: its last time was 2026-04-30 at 09:00
        */5 * * * * | jitter: 30s
            Every 5 minutes, UTC, each put off by up to 30 seconds.
        */5 * * * * | jitter: 10m
            Every 5 minutes, UTC, each put off by up to 10 minutes.
            ! the jitter is longer than the 5 minutes from 2026-06-01 at 00:05 to the next time, and is cut to that
        0 9 * * * | 0 9 * * MON | 0 17 * * * | 6h | 12h/6h
            At 09:00 every day; and at 09:00 on Monday; and at 17:00 every day; and every 6 hours, counted from 00:00 UTC; and every 12 hours, counted from 06:00 UTC; UTC.
            ! "at 09:00 on Monday" adds nothing to "at 09:00 every day"
            ! "every 12 hours, counted from 06:00 UTC" adds nothing to "every 6 hours, counted from 00:00 UTC"
        0 9 * * * | jitter: 1500ms | tzif: CET-1CEST,M3.5.0,M10.5.0/3
            At 09:00 every day, on the clock of the time zone file "Here" (fingerprint fc9b264caac187c8), each put off by up to 1.5 seconds.
        0 9 * * * | tzif: EST5EDT,M3.2.0,M11.1.0
            At 09:00 every day, on the clock of the time zone file "Here" (fingerprint b2900dc50a184f43).
    "#]]);
}

#[test]
fn changes_of_the_clock_are_warned_of_by_the_policy_in_force() {
    check(expect![[r#"
        CRON_TZ=Europe/Oslo 30 2 * * *
            At 02:30 every day, Europe/Oslo time.
            ! it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; DST=once makes it fire once
            ! it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30
        CRON_TZ=Europe/Oslo DST=literal 30 2 * * *
            At 02:30 every day, Europe/Oslo time.
            ! it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; DST=once makes it fire once
            ! it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30
        CRON_TZ=Europe/Oslo DST=once 30 2 * * *
            At 02:30 every day, Europe/Oslo time; a time the clock jumps over fires later by the length of the jump, one it shows twice fires only the first time.
        CRON_TZ=Europe/Oslo DST=shift,last 30 2 * * *
            At 02:30 every day, Europe/Oslo time; a time the clock jumps over fires later by the length of the jump, one it shows twice fires only the second time.
        CRON_TZ=Europe/Oslo DST=skip,first 30 2 * * *
            At 02:30 every day, Europe/Oslo time; a time the clock jumps over is skipped, one it shows twice fires only the first time.
            ! it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30
        CRON_TZ=Europe/Oslo 0 9 * * MON-FRI
            At 09:00 on Monday through Friday, Europe/Oslo time.
        CRON_TZ=Europe/Oslo */5 * * * *
            Every 5 minutes, Europe/Oslo time.
        CRON_TZ=Europe/Oslo DST=once */5 * * * *
            Every 5 minutes, Europe/Oslo time; a time the clock jumps over fires later by the length of the jump, one it shows twice fires only the first time.
            ! it pauses on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:00 to 03:00 twice, and only one of them fires
        CRON_TZ=Europe/Oslo 30 2 * * MON
            At 02:30 on Monday, Europe/Oslo time.
        CRON_TZ=Europe/Oslo 30 2 25 10 *
            At 02:30 on the 25th in October, Europe/Oslo time.
            ! it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; DST=once makes it fire once
        CRON_TZ=Australia/Lord_Howe 45 * * * *
            At minute 45 of every hour, Australia/Lord_Howe time.
            ! it fires twice on 2027-04-04: the clock in Australia/Lord_Howe is put back and shows 01:45 twice; DST=once makes it fire once
        CRON_TZ=Australia/Lord_Howe */30 * * * *
            Every 30 minutes, Australia/Lord_Howe time.
        CRON_TZ=America/Santiago 0 0 * * *
            At 00:00 every day, America/Santiago time.
            ! it does not fire at 00:00 on 2026-09-06: the clock in America/Santiago jumps from 00:00 to 01:00; DST=once makes it fire at 01:00
        CRON_TZ=Asia/Tokyo DST=once 30 2 * * *
            At 02:30 every day, Asia/Tokyo time.
        CRON_TZ=Europe/Oslo 30 2 * * * | exclude: * * * * 10 SUN *
            At 02:30 every day, except all day on Sunday in October, Europe/Oslo time.
            ! it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30
        TZ=Europe/Oslo R/2026-06-01T02:30/P1D
            Every day from 2026-06-01 at 02:30, Europe/Oslo time.
            ! it fires twice on 2026-10-25: the clock in Europe/Oslo is put back and shows 02:30 twice; DST=once makes it fire once
            ! it does not fire at 02:30 on 2027-03-28: the clock in Europe/Oslo jumps from 02:00 to 03:00; DST=once makes it fire at 03:30
        TZ=Europe/Oslo DST=once R/2026-06-01T02:30/P1D
            Every day from 2026-06-01 at 02:30, Europe/Oslo time; a time the clock jumps over fires later by the length of the jump, one it shows twice fires only the first time.
    "#]]);
}

#[test]
fn a_named_calendar_is_told_from_another_of_the_same_name() {
    let sentence = |exclusion: &str| {
        let mut days = Definition::default();
        days.exclude(exclusion, Dialect::Temporal).unwrap();
        let mut named = NamedCalendars::default();
        named.insert("holidays", days.exclusions);
        let definition = Definition::read(&["EXCLUDE=holidays @daily"], Dialect::Temporal).unwrap();
        let zones = Zones::new(TimeZoneDatabase::bundled());
        Spec::compile(definition, &zones, &named).unwrap().explain(NOW.parse().unwrap()).sentence
    };
    assert_ne!(sentence("* * * 25 12 * *"), sentence("* * * 26 12 * *"));
    assert_eq!(sentence("* * * 25 12 * *"), sentence("0-59 * * 25 DEC * *"));
}

/// That of the tables in this file.
const INDENTATION: &str = "        ";

/// The lines of a table that are not indented further are specs: texts joined by ` | `, some of them
/// settings such as `exclude: …`. Below each is its sentence, and a line for each warning.
fn check(table: Expect) {
    let mut actual = String::new();
    let lines = table.data().lines().filter_map(|line| line.strip_prefix(INDENTATION));
    for case in lines.filter(|line| !line.starts_with(' ')) {
        let Explanation { sentence, warnings } = compile(case).explain(NOW.parse().unwrap());
        actual += &format!("{case}\n    {}\n", without_calendar_fingerprints(&sentence));
        for warning in warnings {
            actual += &format!("    ! {warning}\n");
        }
    }
    table.assert_eq(&actual);
}

/// They are of the compiled form, which may change from version to version.
fn without_calendar_fingerprints(sentence: &str) -> String {
    const BEFORE: &str = "entries, fingerprint ";
    match sentence.split_once(BEFORE) {
        Some((before, after)) => format!("{before}{BEFORE}…{}", &after[16..]),
        None => sentence.to_owned(),
    }
}

fn compile(case: &str) -> Spec {
    let zones = Zones::new(TimeZoneDatabase::bundled());
    let mut texts = Vec::new();
    let mut settings = Vec::new();
    for text in case.split(" | ").filter(|text| *text != "nothing") {
        match text.split_once(": ") {
            Some((name, value)) if !text.starts_with('{') => settings.push((name, value)),
            _ => texts.push(text),
        }
    }
    let mut definition = Definition::read(&texts, Dialect::Temporal).unwrap();
    let instant = |text: &str| text.parse::<Timestamp>().unwrap();
    for (name, value) in settings {
        match name {
            "exclude" => definition.exclude(value, Dialect::Temporal).unwrap(),
            "start" => definition.start = Some(instant(value)),
            "end" => definition.end = Some(instant(value)),
            "jitter" => definition.jitter = parse_duration(value).unwrap(),
            "tzif" => {
                definition.zone = ZoneSource::Tzif { name: "Here".to_owned(), data: tzif(value) };
            }
            _ => panic!("{name} is not a setting"),
        }
    }
    Spec::compile(definition, &zones, &holidays()).unwrap()
}

/// A TZif file without transitions of its own: only a rule in POSIX notation.
fn tzif(rule: &str) -> Vec<u8> {
    let mut block = b"TZif2".to_vec();
    block.extend([0; 15]);
    for count in [0u32, 0, 0, 0, 1, 4] {
        block.extend(count.to_be_bytes());
    }
    block.extend([0; 6]);
    block.extend(b"UTC\0");
    let mut file = block.repeat(2);
    file.extend(format!("\n{rule}\n").bytes());
    file
}

fn holidays() -> NamedCalendars {
    let mut days = Definition::default();
    days.exclude("* * * 25 12 * *", Dialect::Temporal).unwrap();
    days.exclude("* * * 1 1 * *", Dialect::Temporal).unwrap();
    let mut named = NamedCalendars::default();
    named.insert("holidays", days.exclusions);
    named
}
