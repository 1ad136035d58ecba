//! What ours answers beside croner and cron, over seeded random expressions, starting points and
//! zones.
//!
//! Where the dialects agree is said by [`Forms`]; day of month AND day of week is asked of croner
//! by its option. They differ from ours in this:
//!
//! | | ours | croner | cron |
//! |---|---|---|---|
//! | six fields | year last | second first | second first |
//! | five fields | yes | yes | refused |
//! | both day fields restricted | AND | OR, or AND by option | AND |
//! | Sunday | 0 and 7 | 0 and 7 | 1 |
//! | `x/y` | from x on | by option | from x on |
//! | `FRI-SUN` | yes | yes | refused |
//! | `L W #` | yes | yes | refused |
//! | a time in a gap | by policy | skipped, unless it is one time a day | skipped |
//! | a time that comes twice | by policy | both, or the first if it is one time a day | both |
//!
//! So croner is `DST=literal`, and for one time a day `DST=skip,first` as long as no gap is near:
//! there it (4.0.2) follows no rule. `0 6 * * *` in America/Santiago comes at 01:00 on 2027-09-05,
//! the end of a gap that 06:00 is not in; `0 1 * * *` in America/New_York comes on 2029-03-11 at 01:00
//! and again at 03:00.
//!
//! cron is `DST=literal` as long as no more than one time comes twice: of several it answers 01:00,
//! 01:00, 01:30, 01:30, going back in time.

use comparison::contender::{Compiled, Compiler, Contender, Start, Zone};
use comparison::expression::{Expression, Forms};
use comparison::random::Random;
use jiff::tz::TimeZoneDatabase;
use perennial_calendar::{DstPolicy, OnGap, OnRepeat};

const ZONES: [&str; 7] = [
    "UTC",
    "America/New_York",
    "Australia/Lord_Howe",
    "Europe/Oslo",
    "America/Santiago",
    "Asia/Kolkata",
    "Pacific/Apia",
];

/// How many times are compared from each starting point.
const CHAIN: usize = 6;

/// 2020-01-01 and 2036-01-01.
const YEARS: (i64, i64) = (1_577_836_800, 2_082_758_400);

/// Our calendars end with 2100; this is when it ends in the last of all zones.
const END: i64 = 4_133_980_800 + 86_400;

#[test]
fn croner_has_the_same_times_for_several_times_a_day_whatever_the_clock_does() {
    let mut compared = 0;
    each_case(
        1,
        20_000,
        |random| Expression::random(random, Forms::WithSpecialDays),
        |case| {
            if !case.expression.is_fixed_time() {
                compared += case.compare(Contender::Croner, DstPolicy::LITERAL);
            }
        },
    );
    assert!(compared > 80_000, "{compared} times were compared");
}

#[test]
fn croner_has_the_same_times_for_one_time_a_day_unless_it_meets_a_gap() {
    let mut compared = 0;
    each_case(2, 4_000, Expression::random_full_hour, |case| {
        if !case.meets_a_gap() {
            compared += case.compare(Contender::Croner, DstPolicy::RECURRENCE);
        }
    });
    assert!(compared > 10_000, "{compared} times were compared");
}

#[test]
fn croner_has_the_same_times_around_every_change_of_the_clocks() {
    let mut random = Random::seeded(3);
    for zone in ZONES.map(Zone::named) {
        for change in changes(&zone) {
            for _ in 0..4 {
                let start = change.at + random.within(-7_200, 7_200);
                let interval = Expression::random(&mut random, Forms::WithSpecialDays);
                if !interval.is_fixed_time() {
                    let case = Case { expression: interval, zone: &zone, start };
                    case.compare(Contender::Croner, DstPolicy::LITERAL);
                }
                let start = change.at - random.within(7_200, 86_400);
                let expression = Expression::random_full_hour(&mut random);
                let case = Case { expression, zone: &zone, start };
                if !case.meets_a_gap() {
                    case.compare(Contender::Croner, DstPolicy::RECURRENCE);
                }
            }
        }
    }
}

#[test]
fn cron_has_the_same_times_unless_they_come_twice() {
    let mut compared = 0;
    each_case(
        4,
        20_000,
        |random| Expression::random(random, Forms::Common),
        |case| {
            if !case.comes_twice() {
                compared += case.compare(Contender::Cron, DstPolicy::LITERAL);
            }
        },
    );
    assert!(compared > 80_000, "{compared} times were compared");
}

#[test]
fn cron_skips_what_the_clock_skips_and_repeats_one_time_that_comes_twice() {
    let mut random = Random::seeded(5);
    for zone in ZONES.map(Zone::named) {
        for change in changes(&zone) {
            for _ in 0..4 {
                let start = change.at - random.within(7_200, 86_400);
                let expression = Expression::random_full_hour(&mut random);
                let case = Case { expression, zone: &zone, start };
                case.compare(Contender::Cron, DstPolicy::LITERAL);
                let start = change.at + random.within(-7_200, 7_200);
                let expression = Expression::random(&mut random, Forms::Common);
                let case = Case { expression, zone: &zone, start };
                if !case.comes_twice() {
                    case.compare(Contender::Cron, DstPolicy::LITERAL);
                }
            }
        }
    }
}

/// An expression to be compared from one starting point.
struct Case<'z> {
    expression: Expression,
    zone: &'z Zone,
    start: i64,
}

impl Case<'_> {
    /// Panics unless both have the same times; says how many those were.
    fn compare(&self, contender: Contender, policy: DstPolicy) -> usize {
        let ours = self.ours(policy);
        if ours.is_empty() && contender == Contender::Croner {
            // It walks second by second to the year 5000 before it says so.
            return 0;
        }
        let text = self.expression.written_for(contender).expect("it can be written");
        let compiled = compiler(|c| c.compile(contender, &text, self.zone));
        let compiled = compiled.unwrap_or_else(|error| panic!("{} {error}", contender.name()));
        let mut theirs = compiled.times(&Start::new(self.start, self.zone), ours.len().max(1));
        theirs.retain(|time| *time < END);
        assert_eq!(
            ours,
            theirs,
            "{} has other times for {:?} in {} after {}",
            contender.name(),
            self.expression,
            self.zone.name,
            self.start
        );
        ours.len()
    }

    fn comes_twice(&self) -> bool {
        let first = DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::First };
        let last = DstPolicy { gap: OnGap::Skip, repeat: OnRepeat::Last };
        let literal = self.ours(DstPolicy::LITERAL);
        literal != self.ours(first) || literal != self.ours(last)
    }

    /// Whether the clock is put forward before the last time that is compared.
    fn meets_a_gap(&self) -> bool {
        let last = self.ours(DstPolicy::LITERAL).last().copied().unwrap_or(END);
        let near = self.start - 86_400..last + 86_400;
        changes(self.zone).iter().any(|change| change.forward && near.contains(&change.at))
    }

    fn ours(&self, policy: DstPolicy) -> Vec<i64> {
        let text = self.expression.written_for(Contender::Perennial).expect("ours writes all");
        let spec = compiler(|c| c.perennial(&text, self.zone, Some(policy)));
        let spec = spec.unwrap_or_else(|error| panic!("ours refuses {text}: {error}"));
        Compiled::Perennial(spec).times(&Start::new(self.start, self.zone), CHAIN)
    }
}

fn each_case(
    seed: u64,
    count: usize,
    expression: impl Fn(&mut Random) -> Expression,
    mut check: impl FnMut(Case<'_>),
) {
    let mut random = Random::seeded(seed);
    let zones = ZONES.map(Zone::named);
    for _ in 0..count {
        let expression = expression(&mut random);
        let zone = random.pick(&zones);
        check(Case { expression, zone, start: random.within(YEARS.0, YEARS.1) });
    }
}

/// Compiled zones are kept between cases.
fn compiler<T>(ask: impl FnOnce(&Compiler) -> T) -> T {
    thread_local! {
        static COMPILER: Compiler = Compiler::default();
    }
    COMPILER.with(ask)
}

struct Change {
    at: i64,
    forward: bool,
}

/// When the zone's clock changes within [`YEARS`].
fn changes(zone: &Zone) -> Vec<Change> {
    let rules = TimeZoneDatabase::bundled().get(zone.name).expect("jiff knows the zone");
    let first = jiff::Timestamp::from_second(YEARS.0).expect("2020 is within range");
    let mut offset = rules.to_offset(first);
    let changes = rules.following(first).map(|change| {
        let forward = change.offset() > offset;
        offset = change.offset();
        Change { at: change.timestamp().as_second(), forward }
    });
    changes.take_while(|change| change.at < YEARS.1).collect()
}
