//! What is read, how it is written back, and what is said of what cannot be read.

use expect_test::{Expect, expect};

use super::{Until, parse};

#[test]
fn a_rule_is_written_back_in_canonical_form() {
    let canonical = |text, expected: Expect| expected.assert_eq(&read(text).0);
    canonical("FREQ=DAILY", expect!["RRULE:FREQ=DAILY"]);
    canonical(
        "rrule:byday=we,mo,mo;wkst=mo;interval=2;freq=weekly\nDtStart:20260105t090000",
        expect!["DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE"],
    );
    canonical(
        "FREQ=MONTHLY;BYDAY=-1SU,+1SU,-2FR,SA,1MO;BYMONTHDAY=-1,31,1,-31;INTERVAL=01;WKST=SU",
        expect!["RRULE:FREQ=MONTHLY;BYMONTHDAY=1,31,-31,-1;BYDAY=SA,1MO,1SU,-2FR,-1SU;WKST=SU"],
    );
    canonical(
        "FREQ=YEARLY;BYSETPOS=-1,2;BYSECOND=60,0;BYMINUTE=59;BYHOUR=23,0;BYMONTH=12,1;\
         BYYEARDAY=-366,366;BYWEEKNO=-53,53;COUNT=100000",
        expect![
            "RRULE:FREQ=YEARLY;COUNT=100000;BYMONTH=1,12;BYWEEKNO=53,-53;BYYEARDAY=366,-366;\
             BYHOUR=0,23;BYMINUTE=59;BYSECOND=0,60;BYSETPOS=2,-1"
        ],
    );
}

#[test]
fn dtstart_may_stand_before_or_after_and_names_the_zone() {
    let dtstart = |text, expected: (&str, Option<&str>)| {
        assert_eq!(read(text), (format!("DTSTART:{} RRULE:FREQ=DAILY", expected.0), expected.1));
    };
    dtstart("DTSTART:20260105T090000\r\n\r\nRRULE:FREQ=DAILY\n", ("20260105T090000", None));
    dtstart(" FREQ=DAILY  DTSTART:20260105T090000Z", ("20260105T090000", Some("Z")));
    dtstart("dtstart;value=date:20260105 FREQ=DAILY", ("20260105T000000", None));
    dtstart("DTSTART:20260105 FREQ=DAILY", ("20260105T000000", None));
    dtstart("DTSTART:20260105T235960 FREQ=DAILY", ("20260105T235959", None));
    dtstart(
        "DTSTART;TZID=America/New_York:20260105T090000\nFREQ=DAILY",
        ("20260105T090000", Some("America/New_York")),
    );
    dtstart(
        "DTSTART;VALUE=DATE-TIME;TZID=\"Eastern: Standard\":20260105T090000 FREQ=DAILY",
        ("20260105T090000", Some("Eastern: Standard")),
    );
}

#[test]
fn until_is_a_wall_time_or_with_z_an_instant() {
    let until = |text: &str| {
        let text = format!("FREQ=DAILY;UNTIL={text}");
        (parse(&text).unwrap().0.until().unwrap(), read(&text).0)
    };
    let (wall, text) = until("20261224");
    assert_eq!(wall, Until::Wall("2026-12-24T00:00:00".parse().unwrap()));
    assert_eq!(text, "RRULE:FREQ=DAILY;UNTIL=20261224T000000");
    let (instant, text) = until("20261224T120000z");
    assert_eq!(instant, Until::Instant("2026-12-24T12:00:00Z".parse().unwrap()));
    assert_eq!(text, "RRULE:FREQ=DAILY;UNTIL=20261224T120000Z");
    // What some programs write for "forever", later than the last instant we can name.
    let (_, text) = until("99991231T235959Z");
    assert_eq!(text, "RRULE:FREQ=DAILY;UNTIL=99991230T220000Z");
}

#[test]
fn numbers_out_of_range_are_refused() {
    refused(
        "FREQ=DAILY;BYHOUR=9,24",
        expect![[r#"
            BYHOUR 24 is out of range 0–23; midnight is 0
              FREQ=DAILY;BYHOUR=9,24
                                  ^^"#]],
    );
    refused(
        "FREQ=MONTHLY;BYMONTHDAY=-32",
        expect![[r#"
            BYMONTHDAY -32 is out of range 1–31 or -31 to -1
              FREQ=MONTHLY;BYMONTHDAY=-32
                                      ^^^"#]],
    );
    refused(
        "FREQ=YEARLY;BYYEARDAY=0",
        expect![[r#"
            BYYEARDAY 0 is out of range 1–366 or -366 to -1; the first day is 1, the last is -1
              FREQ=YEARLY;BYYEARDAY=0
                                    ^"#]],
    );
    refused(
        "FREQ=DAILY;COUNT=100001",
        expect![[r#"
            COUNT 100001 is out of range 1–100000; to end later, write UNTIL, or leave it out
              FREQ=DAILY;COUNT=100001
                               ^^^^^^"#]],
    );
    refused(
        "FREQ=DAILY;INTERVAL=99999999999999999999999",
        expect![[r#"
            INTERVAL 99999999999999999999999 is out of range 1–4294967295
              FREQ=DAILY;INTERVAL=99999999999999999999999
                                  ^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

#[test]
fn what_is_not_a_number_or_a_weekday_is_refused() {
    refused(
        "FREQ=WEEKLY;BYDAY=MO,wednesday",
        expect![[r#"
            BYDAY "wednesday" is not a weekday; write WE
              FREQ=WEEKLY;BYDAY=MO,wednesday
                                   ^^^^^^^^^"#]],
    );
    refused(
        "FREQ=MONTHLY;BYDAY=2",
        expect![[r#"
            BYDAY "2" does not say which weekday; write 2MO for the Monday of that number
              FREQ=MONTHLY;BYDAY=2
                                 ^"#]],
    );
    refused(
        "FREQ=MONTHLY;BYDAY=1-MO",
        expect![[r#"
            BYDAY "1-" is not a number; write a number, 1–53 or -53 to -1
              FREQ=MONTHLY;BYDAY=1-MO
                                 ^^"#]],
    );
    refused(
        "FREQ=YEARLY;BYMONTH=JAN",
        expect![[r#"
            BYMONTH "JAN" is not a number; write a number, 1–12
              FREQ=YEARLY;BYMONTH=JAN
                                  ^^^"#]],
    );
    refused(
        "FREQ=DAILY;BYHOUR=9,,17",
        expect![[r#"
            a value of BYHOUR is missing; remove the comma, or write a number there
              FREQ=DAILY;BYHOUR=9,,17
                                  ^"#]],
    );
    refused(
        "FREQ=WEEKLY;WKST=Ö",
        expect![[r#"
            WKST "Ö" is not a weekday; weekdays are MO, TU, WE, TH, FR, SA and SU
              FREQ=WEEKLY;WKST=Ö
                               ^"#]],
    );
}

#[test]
fn unknown_missing_and_repeated_parts_are_refused() {
    refused(
        "FREQ=DAILY;BYHOURS=9",
        expect![[r#"
            a rule has no part "BYHOURS"; did you mean BYHOUR?
              FREQ=DAILY;BYHOURS=9
                         ^^^^^^^"#]],
    );
    refused(
        "FREQ=DAILY;BYEASTER=1",
        expect![[r#"
            a rule has no part "BYEASTER"; the parts are FREQ, UNTIL, COUNT, INTERVAL, BYSECOND, BYMINUTE, BYHOUR, BYDAY, BYMONTHDAY, BYYEARDAY, BYWEEKNO, BYMONTH, BYSETPOS, WKST
              FREQ=DAILY;BYEASTER=1
                         ^^^^^^^^"#]],
    );
    refused(
        "FREQ=DAYLY",
        expect![[r#"
            FREQ "DAYLY" is not a frequency; did you mean DAILY?
              FREQ=DAYLY
                   ^^^^^"#]],
    );
    refused(
        "INTERVAL=2",
        expect![[r#"
            the rule has no FREQ; begin it with FREQ=DAILY, or another frequency
              INTERVAL=2
              ^^^^^^^^^^"#]],
    );
    refused(
        "FREQ=DAILY;BYHOUR=9;byhour=10",
        expect![[r#"
            BYHOUR is given twice; write one list: BYHOUR=9,17
              FREQ=DAILY;BYHOUR=9;byhour=10
                                  ^^^^^^^^^"#]],
    );
    refused(
        "FREQ=DAILY;",
        expect![[r#"
            a part of the rule is empty; remove the ;
              FREQ=DAILY;
                         ^"#]],
    );
    refused(
        "FREQ=DAILY;BYHOUR",
        expect![[r#"
            BYHOUR has no value; write BYHOUR=9,17
              FREQ=DAILY;BYHOUR
                         ^^^^^^"#]],
    );
}

#[test]
fn parts_that_must_not_stand_together_are_refused() {
    refused(
        "FREQ=DAILY;COUNT=3;UNTIL=20260105",
        expect![[r#"
            COUNT and UNTIL exclude each other; keep one
              FREQ=DAILY;COUNT=3;UNTIL=20260105
                                 ^^^^^^^^^^^^^^"#]],
    );
    refused(
        "FREQ=WEEKLY;BYDAY=WE,1MO",
        expect![[r#"
            BYDAY 1MO cannot be counted in FREQ=WEEKLY; write MO, or use FREQ=MONTHLY or FREQ=YEARLY
              FREQ=WEEKLY;BYDAY=WE,1MO
                                   ^^^"#]],
    );
    refused(
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=-1MO",
        expect![[r#"
            BYDAY -1MO cannot be counted with BYWEEKNO; write MO: a week has only one
              FREQ=YEARLY;BYWEEKNO=20;BYDAY=-1MO
                                            ^^^^"#]],
    );
    refused(
        "FREQ=MONTHLY;BYWEEKNO=20",
        expect![[r#"
            BYWEEKNO can't be combined with FREQ=MONTHLY; it needs FREQ=YEARLY
              FREQ=MONTHLY;BYWEEKNO=20
                           ^^^^^^^^^^^"#]],
    );
    refused(
        "FREQ=DAILY;BYYEARDAY=100",
        expect![[r#"
            BYYEARDAY can't be combined with FREQ=DAILY; use FREQ=YEARLY, or BYMONTH and BYMONTHDAY
              FREQ=DAILY;BYYEARDAY=100
                         ^^^^^^^^^^^^^"#]],
    );
    refused(
        "FREQ=WEEKLY;BYMONTHDAY=1",
        expect![[r#"
            BYMONTHDAY can't be combined with FREQ=WEEKLY; use FREQ=MONTHLY, or BYDAY
              FREQ=WEEKLY;BYMONTHDAY=1
                          ^^^^^^^^^^^^"#]],
    );
    refused(
        "FREQ=MONTHLY;BYSETPOS=-1",
        expect![[r#"
            BYSETPOS has nothing to choose from; add another BY part, like BYDAY=MO,TU,WE,TH,FR
              FREQ=MONTHLY;BYSETPOS=-1
                           ^^^^^^^^^^^"#]],
    );
    refused(
        "DTSTART;VALUE=DATE:20260105 FREQ=DAILY;BYHOUR=9",
        expect![[r#"
            BYHOUR needs a DTSTART with a time; write DTSTART like 20260105T000000
              DTSTART;VALUE=DATE:20260105 FREQ=DAILY;BYHOUR=9
                                                     ^^^^^^^^"#]],
    );
}

#[test]
fn a_dtstart_that_cannot_be_read_is_refused() {
    refused(
        "DTSTART:2026-01-05T09:00:00 FREQ=DAILY",
        expect![[r#"
            DTSTART "2026-01-05T09:00:00" is not a date or a time; write 20260105T090000
              DTSTART:2026-01-05T09:00:00 FREQ=DAILY
                      ^^^^^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "DTSTART:20260230T090000 FREQ=DAILY",
        expect![[r#"
            DTSTART "20260230T090000" is not a date or a time; write it like 20260105T090000, 20260105T090000Z or 20260105
              DTSTART:20260230T090000 FREQ=DAILY
                      ^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "DTSTART:19690105T090000 FREQ=DAILY",
        expect![[r#"
            DTSTART is in 1969, before 1970; start in 1970 or later
              DTSTART:19690105T090000 FREQ=DAILY
                      ^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "DTSTART:21010101T000000 FREQ=DAILY",
        expect![[r#"
            DTSTART is in 2101, after 2100; start in 2100 or earlier: there are no times after it
              DTSTART:21010101T000000 FREQ=DAILY
                      ^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "DTSTART;TZID=Europe/Oslo:20260105T090000Z FREQ=DAILY",
        expect![[r#"
            DTSTART has both a TZID and a Z, which is UTC; remove one of them
              DTSTART;TZID=Europe/Oslo:20260105T090000Z FREQ=DAILY
                                                      ^"#]],
    );
    refused(
        "DTSTART;VALUE=DATE:20260105T090000 FREQ=DAILY",
        expect![[r#"
            VALUE=DATE is for a date without a time; write 20260105, or remove VALUE=DATE
              DTSTART;VALUE=DATE:20260105T090000 FREQ=DAILY
                                 ^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "DTSTART;ZONE=Europe/Oslo:20260105T090000 FREQ=DAILY",
        expect![[r#"
            DTSTART has no parameter "ZONE"; it takes TZID=Area/City and VALUE=DATE
              DTSTART;ZONE=Europe/Oslo:20260105T090000 FREQ=DAILY
                      ^^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "FREQ=DAILY;DTSTART=20260105T090000",
        expect![[r#"
            a rule has no part "DTSTART"; write it before the rule: DTSTART:20260105T090000 RRULE:FREQ=…
              FREQ=DAILY;DTSTART=20260105T090000
                         ^^^^^^^"#]],
    );
}

#[test]
fn other_lines_are_refused() {
    refused(
        "DTSTART:20260105T090000\nRRULE:FREQ=DAILY\nEXDATE:20260106T090000",
        expect![[r#"
            EXDATE is not supported; use an exclusion of the spec instead
              EXDATE:20260106T090000
              ^^^^^^"#]],
    );
    refused(
        "RDATE:20260106T090000 FREQ=DAILY",
        expect![[r#"
            RDATE is not supported; add the date to the spec as a calendar; to leave one out, use an exclusion
              RDATE:20260106T090000 FREQ=DAILY
              ^^^^^"#]],
    );
    refused(
        "RRULE:FREQ=DAILY RRULE:FREQ=WEEKLY",
        expect![[r#"
            this is a second rule; give each rule as a spec of its own
              RRULE:FREQ=DAILY RRULE:FREQ=WEEKLY
                               ^^^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "RRULE:FREQ=DAILY\n BYHOUR=9",
        expect![[r#"
            this stands apart from its rule; join the parts of a rule with ; and no blanks or line breaks
               BYHOUR=9
               ^^^^^^^^"#]],
    );
    refused(
        "DTSTART:20260105T090000",
        expect![[r#"
            there is no recurrence rule; write one like RRULE:FREQ=WEEKLY;BYDAY=MO,WE
              DTSTART:20260105T090000
              ^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "DTEND:20260105T090000 FREQ=DAILY",
        expect![[r#"
            "DTEND" is neither DTSTART nor RRULE; a rule has no other lines
              DTEND:20260105T090000 FREQ=DAILY
              ^^^^^"#]],
    );
}

/// The canonical text, which must read back as itself, and the zone.
#[track_caller]
fn read(text: &str) -> (String, Option<&str>) {
    let (rule, zone) = parse(text).map_err(|fault| fault.in_text(text)).unwrap();
    let written = rule.to_string();
    assert_eq!(parse(&written).unwrap(), (rule, None));
    (written, zone)
}

#[track_caller]
fn refused(text: &str, expected: Expect) {
    let fault = parse(text).expect_err("it should be refused");
    expected.assert_eq(&fault.in_text(text).to_string());
}
