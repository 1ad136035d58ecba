//! Every example of RFC 5545 §3.8.5.3. All are on the clock of New York; where the RFC ends with
//! "...", so does the expectation, and only the times before it are compared.

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{Until, parse};
use crate::civil::WallSecond;

#[test]
fn daily_for_10_occurrences() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=DAILY;COUNT=10",
        "1997 Sep 2-11",
    );
}

#[test]
fn daily_until_december_24_1997() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=DAILY;UNTIL=19971224T000000Z",
        "1997 Sep 2-30; Oct 1-31; Nov 1-30; Dec 1-23",
    );
}

#[test]
fn every_other_day_forever() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=DAILY;INTERVAL=2",
        "1997 Sep 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; \
         Oct 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; \
         Nov 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29; Dec 1,3 ...",
    );
}

#[test]
fn every_10_days_for_5_occurrences() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=DAILY;INTERVAL=10;COUNT=5",
        "1997 Sep 2,12,22; Oct 2,12",
    );
}

#[test]
fn every_day_in_january_for_3_years() {
    let expected = "1998 Jan 1-31; 1999 Jan 1-31; 2000 Jan 1-31";
    check(
        "DTSTART;TZID=America/New_York:19980101T090000
         RRULE:FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
        expected,
    );
    check(
        "DTSTART;TZID=America/New_York:19980101T090000
         RRULE:FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1",
        expected,
    );
}

#[test]
fn weekly_for_10_occurrences() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=WEEKLY;COUNT=10",
        "1997 Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4",
    );
}

#[test]
fn weekly_until_december_24_1997() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=WEEKLY;UNTIL=19971224T000000Z",
        "1997 Sep 2,9,16,23,30; Oct 7,14,21,28; Nov 4,11,18,25; Dec 2,9,16,23",
    );
}

#[test]
fn every_other_week_forever() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;WKST=SU",
        "1997 Sep 2,16,30; Oct 14,28; Nov 11,25; Dec 9,23; 1998 Jan 6,20; Feb 3,17 ...",
    );
}

#[test]
fn weekly_on_tuesday_and_thursday_for_five_weeks() {
    let expected = "1997 Sep 2,4,9,11,16,18,23,25,30; Oct 2";
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH",
        expected,
    );
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH",
        expected,
    );
}

#[test]
fn every_other_week_on_monday_wednesday_and_friday_until_december_24_1997() {
    check(
        "DTSTART;TZID=America/New_York:19970901T090000
         RRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
        "1997 Sep 1,3,5,15,17,19,29; Oct 1,3,13,15,17,27,29,31; Nov 10,12,14,24,26,28; \
         Dec 8,10,12,22",
    );
}

#[test]
fn every_other_week_on_tuesday_and_thursday_for_8_occurrences() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH",
        "1997 Sep 2,4,16,18,30; Oct 2,14,16",
    );
}

#[test]
fn monthly_on_the_first_friday() {
    check(
        "DTSTART;TZID=America/New_York:19970905T090000 RRULE:FREQ=MONTHLY;COUNT=10;BYDAY=1FR",
        "1997 Sep 5; Oct 3; Nov 7; Dec 5; 1998 Jan 2; Feb 6; Mar 6; Apr 3; May 1; Jun 5",
    );
    check(
        "DTSTART;TZID=America/New_York:19970905T090000
         RRULE:FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR",
        "1997 Sep 5; Oct 3; Nov 7; Dec 5",
    );
}

#[test]
fn every_other_month_on_the_first_and_last_sunday() {
    check(
        "DTSTART;TZID=America/New_York:19970907T090000
         RRULE:FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU",
        "1997 Sep 7,28; Nov 2,30; 1998 Jan 4,25; Mar 1,29; May 3,31",
    );
}

#[test]
fn monthly_on_the_second_to_last_monday() {
    check(
        "DTSTART;TZID=America/New_York:19970922T090000 RRULE:FREQ=MONTHLY;COUNT=6;BYDAY=-2MO",
        "1997 Sep 22; Oct 20; Nov 17; Dec 22; 1998 Jan 19; Feb 16",
    );
}

#[test]
fn monthly_on_the_third_to_last_day() {
    check(
        "DTSTART;TZID=America/New_York:19970928T090000 RRULE:FREQ=MONTHLY;BYMONTHDAY=-3",
        "1997 Sep 28; Oct 29; Nov 28; Dec 29; 1998 Jan 29; Feb 26 ...",
    );
}

#[test]
fn monthly_on_the_2nd_and_15th() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15",
        "1997 Sep 2,15; Oct 2,15; Nov 2,15; Dec 2,15; 1998 Jan 2,15",
    );
}

#[test]
fn monthly_on_the_first_and_last_day() {
    check(
        "DTSTART;TZID=America/New_York:19970930T090000
         RRULE:FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1",
        "1997 Sep 30; Oct 1,31; Nov 1,30; Dec 1,31; 1998 Jan 1,31; Feb 1",
    );
}

#[test]
fn every_18_months_on_the_10th_to_15th() {
    check(
        "DTSTART;TZID=America/New_York:19970910T090000
         RRULE:FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
        "1997 Sep 10-15; 1999 Mar 10-13",
    );
}

#[test]
fn every_tuesday_every_other_month() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=MONTHLY;INTERVAL=2;BYDAY=TU",
        "1997 Sep 2,9,16,23,30; Nov 4,11,18,25; 1998 Jan 6,13,20,27; Mar 3,10,17,24,31 ...",
    );
}

#[test]
fn yearly_in_june_and_july() {
    check(
        "DTSTART;TZID=America/New_York:19970610T090000 RRULE:FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
        "1997 Jun 10; Jul 10; 1998 Jun 10; Jul 10; 1999 Jun 10; Jul 10; 2000 Jun 10; Jul 10; \
         2001 Jun 10; Jul 10",
    );
}

#[test]
fn every_other_year_in_january_february_and_march() {
    check(
        "DTSTART;TZID=America/New_York:19970310T090000
         RRULE:FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
        "1997 Mar 10; 1999 Jan 10; Feb 10; Mar 10; 2001 Jan 10; Feb 10; Mar 10; 2003 Jan 10; \
         Feb 10; Mar 10",
    );
}

#[test]
fn every_third_year_on_the_1st_100th_and_200th_day() {
    check(
        "DTSTART;TZID=America/New_York:19970101T090000
         RRULE:FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
        "1997 Jan 1; Apr 10; Jul 19; 2000 Jan 1; Apr 9; Jul 18; 2003 Jan 1; Apr 10; Jul 19; \
         2006 Jan 1",
    );
}

#[test]
fn every_20th_monday_of_the_year() {
    check(
        "DTSTART;TZID=America/New_York:19970519T090000 RRULE:FREQ=YEARLY;BYDAY=20MO",
        "1997 May 19; 1998 May 18; 1999 May 17 ...",
    );
}

#[test]
fn monday_of_week_number_20() {
    check(
        "DTSTART;TZID=America/New_York:19970512T090000 RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
        "1997 May 12; 1998 May 11; 1999 May 17 ...",
    );
}

#[test]
fn every_thursday_in_march() {
    check(
        "DTSTART;TZID=America/New_York:19970313T090000 RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=TH",
        "1997 Mar 13,20,27; 1998 Mar 5,12,19,26; 1999 Mar 4,11,18,25 ...",
    );
}

#[test]
fn every_thursday_in_june_july_and_august() {
    check(
        "DTSTART;TZID=America/New_York:19970605T090000 RRULE:FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
        "1997 Jun 5,12,19,26; Jul 3,10,17,24,31; Aug 7,14,21,28; \
         1998 Jun 4,11,18,25; Jul 2,9,16,23,30; Aug 6,13,20,27; \
         1999 Jun 3,10,17,24; Jul 1,8,15,22,29; Aug 5,12,19,26 ...",
    );
}

/// The RFC leaves out `DTSTART` with an `EXDATE`; here it is no time of the rule to begin with.
#[test]
fn every_friday_the_13th() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13",
        "1998 Feb 13; Mar 13; Nov 13; 1999 Aug 13; 2000 Oct 13 ...",
    );
}

#[test]
fn the_first_saturday_that_follows_the_first_sunday_of_the_month() {
    check(
        "DTSTART;TZID=America/New_York:19970913T090000
         RRULE:FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
        "1997 Sep 13; Oct 11; Nov 8; Dec 13; 1998 Jan 10; Feb 7; Mar 7; Apr 11; May 9; Jun 13 ...",
    );
}

#[test]
fn presidential_election_day() {
    check(
        "DTSTART;TZID=America/New_York:19961105T090000
         RRULE:FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "1996 Nov 5; 2000 Nov 7; 2004 Nov 2 ...",
    );
}

#[test]
fn the_third_instance_of_tuesday_wednesday_or_thursday_in_the_month() {
    check(
        "DTSTART;TZID=America/New_York:19970904T090000
         RRULE:FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3",
        "1997 Sep 4; Oct 7; Nov 6",
    );
}

#[test]
fn the_second_to_last_weekday_of_the_month() {
    check(
        "DTSTART;TZID=America/New_York:19970929T090000
         RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2",
        "1997 Sep 29; Oct 30; Nov 27; Dec 30; 1998 Jan 29; Feb 26; Mar 30 ...",
    );
}

/// The RFC says "from 9:00 AM to 5:00 PM" and lists 15:00, but writes an `UNTIL` of 17:00 UTC, which
/// is 1 PM in New York. Taken at its word that leaves two times; 21:00 UTC is what it meant.
#[test]
fn every_3_hours_on_a_specific_day() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z",
        "1997 Sep 2 09:00,12:00",
    );
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z",
        "1997 Sep 2 09:00,12:00,15:00",
    );
}

#[test]
fn every_15_minutes_for_6_occurrences() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=MINUTELY;INTERVAL=15;COUNT=6",
        "1997 Sep 2 09:00,09:15,09:30,09:45,10:00,10:15",
    );
}

#[test]
fn every_hour_and_a_half_for_4_occurrences() {
    check(
        "DTSTART;TZID=America/New_York:19970902T090000 RRULE:FREQ=MINUTELY;INTERVAL=90;COUNT=4",
        "1997 Sep 2 09:00,10:30,12:00,13:30",
    );
}

#[test]
fn every_20_minutes_from_9_to_16_40_every_day() {
    let day = "09:00,09:20,09:40,10:00,10:20,10:40,11:00,11:20,11:40,12:00,12:20,12:40,\
               13:00,13:20,13:40,14:00,14:20,14:40,15:00,15:20,15:40,16:00,16:20,16:40";
    let expected = format!("1997 Sep 2 {day}; Sep 3 {day} ...");
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
        &expected,
    );
    check(
        "DTSTART;TZID=America/New_York:19970902T090000
         RRULE:FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
        &expected,
    );
}

#[test]
fn the_start_of_the_week_makes_a_difference() {
    check(
        "DTSTART;TZID=America/New_York:19970805T090000
         RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
        "1997 Aug 5,10,19,24",
    );
    check(
        "DTSTART;TZID=America/New_York:19970805T090000
         RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
        "1997 Aug 5,17,19,31",
    );
}

#[test]
fn invalid_dates_are_ignored() {
    check(
        "DTSTART;TZID=America/New_York:20070115T090000
         RRULE:FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5",
        "2007 Jan 15,30; Feb 15; Mar 15,30",
    );
}

/// From the text of §3.3.10.
#[test]
fn parts_are_applied_from_the_longest_to_the_shortest() {
    check(
        "DTSTART;TZID=America/New_York:19970105T083000
         RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYDAY=SU;BYHOUR=8,9;BYMINUTE=30",
        "1997 Jan 5 08:30,09:30; Jan 12 08:30,09:30; Jan 19 08:30,09:30; Jan 26 08:30,09:30; \
         1999 Jan 3 08:30,09:30 ...",
    );
}

/// `expected` is written as the RFC writes times: the year and month only where they change, days
/// in a row as `2-11`. Times of the day are written if any is not 09:00.
#[track_caller]
fn check(text: &str, expected: &str) {
    let (rule, zone) = parse(text).map_err(|fault| fault.in_text(text)).unwrap();
    assert_eq!(zone, Some("America/New_York"));
    let new_york = TimeZone::get("America/New_York").unwrap();
    let has_ended = |wall: DateTime| match rule.until() {
        Some(Until::Instant(until)) => new_york.to_timestamp(wall).unwrap() > until,
        Some(Until::Wall(_)) | None => false,
    };
    let count = rule.count().map_or(usize::MAX, |count| count as usize);
    let compiled = rule.compile();
    let after = |time: WallSecond| compiled.next(WallSecond(time.0 + 1), WallSecond(i64::MAX));
    let times = std::iter::successors(after(WallSecond(-1)), |time| after(*time))
        .map(|time| Zoned::new(jiff::Timestamp::from_second(time.0).unwrap(), TimeZone::UTC))
        .map(|time| time.datetime())
        .take_while(|time| !has_ended(*time))
        .take(count);
    match expected.strip_suffix(" ...") {
        // One more proves that it goes on.
        Some(shown) => {
            let length = times_written(shown);
            let times: Vec<DateTime> = times.take(length + 1).collect();
            assert_eq!(times.len(), length + 1);
            assert_eq!(write(&times[..length]), shown);
        }
        None => assert_eq!(write(&times.collect::<Vec<_>>()), expected),
    }
}

/// How many times an expectation without runs (`2-11`) names.
fn times_written(expected: &str) -> usize {
    assert!(!expected.contains('-'));
    expected.split([',', ';']).count()
}

fn write(times: &[DateTime]) -> String {
    let with_time = times.iter().any(|t| (t.hour(), t.minute(), t.second()) != (9, 0, 0));
    let mut written = String::new();
    let mut i = 0;
    while i < times.len() {
        let time = times[i];
        let before = i.checked_sub(1).map(|before| times[before]);
        let same = |field: fn(DateTime) -> i16| before.map(field) == Some(field(time));
        let month = time.strftime("%b").to_string();
        if !same(|t| t.year()) {
            let separator = if before.is_some() { "; " } else { "" };
            written += &format!("{separator}{} {month} ", time.year());
        } else if !same(|t| t.month().into()) || with_time && !same(|t| t.day().into()) {
            written += &format!("; {month} ");
        } else {
            written += ",";
        }
        if with_time {
            if before.is_none_or(|before| before.date() != time.date()) {
                written += &format!("{} ", time.day());
            }
            written += &time.strftime("%H:%M").to_string();
            i += 1;
            continue;
        }
        let run = times[i..]
            .windows(2)
            .take_while(|pair| {
                pair[0].date().tomorrow().unwrap() == pair[1].date()
                    && pair[0].month() == pair[1].month()
            })
            .count();
        written += &time.day().to_string();
        if run > 1 {
            written += &format!("-{}", times[i + run].day());
            i += run;
        }
        i += 1;
    }
    written
}
