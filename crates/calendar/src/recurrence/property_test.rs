//! Laws that hold for random rules; above all, that the search finds what the definition says.

use jiff::ToSpan;
use jiff::civil::DateTime;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::definition_test::times;
use super::steps::count;
use super::{CompiledRecurrence, Frequency, parse};
use crate::civil::WallSecond;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn next_agrees_with_the_definition_from_any_point(
        text in rule_text(),
        far in 0.0..1.0_f64,
        then in 0.0..1.0_f64,
    ) {
        let rule = parse(&text).map_err(|fault| fault.in_text(&text)).unwrap().0;
        let (reach, window) = match rule.frequency() {
            Frequency::Yearly => (40 * 365, 2 * 365),
            Frequency::Monthly => (10 * 365, 200),
            Frequency::Weekly | Frequency::Daily => (3 * 365, 60),
            Frequency::Hourly => (60, 8),
            Frequency::Minutely | Frequency::Secondly => (5, 2),
        };
        let days = |days: i32, part: f64| ((f64::from(days * 86_400) * part) as i64).seconds();
        let from = rule.anchor() - 1.day() + days(reach, far);
        let to = from + window.days();
        let defined = times(&rule, from, to);

        let compiled = rule.compile();
        prop_assert_eq!(search(&compiled, from, to, 40), &defined[..defined.len().min(40)]);

        let middle = from + days(window, then);
        let defined_after = defined.iter().find(|t| **t >= middle).copied();
        prop_assert_eq!(search(&compiled, middle, to, 1).first().copied(), defined_after);
    }

    #[test]
    fn canonical_text_reads_back_as_the_same_rule(text in rule_text()) {
        let rule = parse(&text).unwrap().0;
        prop_assert_eq!(parse(&rule.to_string()).unwrap().0, rule);
    }

    #[test]
    fn no_rule_exceeds_the_bound_on_steps(text in rule_text(), from in 0..4_133_980_800_i64) {
        let compiled = parse(&text).unwrap().0.compile();
        let (_, steps) = count(|| compiled.next(WallSecond(from), WallSecond(i64::MAX)));
        prop_assert!(steps <= CompiledRecurrence::STEPS_MAX, "{} steps", steps);
    }

    #[test]
    fn no_text_panics(
        text in "(DTSTART|RRULE|FREQ|BYDAY|UNTIL|TZID|VALUE|DAILY|MO|[0-9TZ:;=,+\" \n-]|\\PC){0,40}",
    ) {
        if let Err(fault) = parse(&text) {
            let error = fault.in_text(&text);
            prop_assert!(error.span().end <= text.len());
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

fn search(rule: &CompiledRecurrence, from: DateTime, to: DateTime, limit: usize) -> Vec<DateTime> {
    let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
    let seconds = |time: DateTime| WallSecond(time.duration_since(epoch).as_secs());
    let next = |from: WallSecond| rule.next(from, seconds(to));
    std::iter::successors(next(seconds(from)), |time| next(WallSecond(time.0 + 1)))
        .map(|time| epoch + time.0.seconds())
        .take(limit)
        .collect()
}

/// Any rule that may be written, with values dense enough for its parts to meet now and then.
fn rule_text() -> impl Strategy<Value = String> {
    let freq =
        select(vec!["SECONDLY", "MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"]);
    let start = (1970..=2100, 1..=12, 1..=28, 0..24, 0..60, 0..60).prop_map(
        |(year, month, day, hour, minute, second)| {
            format!("DTSTART:{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02} ")
        },
    );
    let interval = prop_oneof![
        Just(1_i64),
        1..5_i64,
        1..100_i64,
        select(vec![24, 60, 90, 1440, 3600, 86_399, 86_400])
    ];
    (freq, prop::option::weighted(0.9, start), interval).prop_flat_map(|(freq, start, interval)| {
        let sub_daily = matches!(freq, "SECONDLY" | "MINUTELY" | "HOURLY");
        let year_days = sub_daily || freq == "YEARLY";
        (
            part("BYMONTH", 20, numbers(1, 12, 6, false)),
            part("BYWEEKNO", if freq == "YEARLY" { 20 } else { 0 }, numbers(1, 53, 12, true)),
            part("BYYEARDAY", if year_days { 10 } else { 0 }, numbers(1, 366, 150, true)),
            part("BYMONTHDAY", if freq == "WEEKLY" { 0 } else { 20 }, numbers(1, 31, 12, true)),
            part("BYDAY", 30, weekdays(matches!(freq, "MONTHLY" | "YEARLY"))),
            part("BYHOUR", 30, numbers(0, 23, 8, false)),
            part("BYMINUTE", 20, numbers(0, 59, 6, false)),
            part("BYSECOND", 20, numbers(0, 60, 6, false)),
            part("BYSETPOS", 30, numbers(1, 12, 4, true)),
            part("WKST", 30, select(vec!["SU", "MO", "TU", "SA"]).prop_map(str::to_owned)),
        )
            .prop_map(
                move |(month, week, year_day, month_day, mut day, h, m, s, mut set, wkst)| {
                    if !week.is_empty() && day.contains(|c: char| c.is_ascii_digit()) {
                        day.clear();
                    }
                    let by = [month, week, year_day, month_day, day, h, m, s].concat();
                    if by.is_empty() {
                        set.clear();
                    }
                    let start = start.clone().unwrap_or_default();
                    format!("{start}FREQ={freq};INTERVAL={interval}{by}{set}{wkst}")
                },
            )
    })
}

/// `;NAME=value`, in so many of a hundred rules.
fn part(
    name: &'static str,
    percent: u8,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = String> {
    (0..100_u8, value).prop_map(move |(drawn, value)| {
        if drawn < percent { format!(";{name}={value}") } else { String::new() }
    })
}

fn numbers(low: i64, high: i64, length: usize, signed: bool) -> impl Strategy<Value = String> {
    let one = (low..=high, any::<bool>())
        .prop_map(move |(n, negative)| if negative && signed { -n } else { n }.to_string());
    prop::collection::vec(one, 1..=length).prop_map(|list| list.join(","))
}

fn weekdays(counted: bool) -> impl Strategy<Value = String> {
    let nth = prop_oneof![Just(0), -5..=5, -53..=53];
    let days = vec!["MO", "TU", "WE", "TH", "FR", "SA", "SU"];
    (subsequence(days, 1..=7), prop::collection::vec(nth, 7)).prop_map(move |(days, nth)| {
        let days = days.into_iter().zip(nth).map(|(day, nth)| match nth {
            nth if counted && nth != 0 => format!("{nth}{day}"),
            _ => day.to_owned(),
        });
        days.collect::<Vec<_>>().join(",")
    })
}
