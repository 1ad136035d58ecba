//! `cargo xtask bench calendar`: prints a Markdown report of the next time of a spec, and the
//! compiling of one, side by side with the other crates. An argument, if given, is the date shown.

mod measure;
mod report;

use std::hint::black_box;

use comparison::contender::{Compiled, Compiler, Contender, Start, Zone};
use comparison::expression::Expression;
use comparison::random::Random;

use measure::Timing;
use report::{Cell, Report, Row, Table};

/// The specs; of six fields the first is the second.
const SPECS: [&str; 14] = [
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "15,45 8-18/2 * * *",
    "30 2 * * *",
    "0 9 * * MON-FRI",
    "0 0 * * SUN",
    "0 0 1 * *",
    "0 0 1 1 *",
    "0 0 29 2 *",
    "0 12 13 * FRI",
    "0 0 L * *",
    "0 9 * * FRI#2",
    "*/10 * * * * *",
];

const ZONES: [&str; 3] = ["UTC", "America/New_York", "Australia/Lord_Howe"];

/// Starting points of a row, and how many times are walked from each.
const STARTS: usize = 64;
const CHAIN: usize = 8;

fn main() {
    let date = std::env::args().nth(1);
    let compiler = Compiler::default();
    let mut report = Report::new(date);
    for zone in ZONES.map(Zone::named) {
        let rows = SPECS.map(|spec| next_row(&compiler, spec, &zone, &mut report));
        report.add(Table::next(zone.name, rows.into()));
    }
    let rows = SPECS.map(|spec| compile_row(&compiler, spec, &mut report));
    report.add(Table::compile(rows.into()));
    println!("{report}");
}

fn next_row(compiler: &Compiler, spec: &'static str, zone: &Zone, report: &mut Report) -> Row {
    let starts = starts(zone);
    let ours = compile(compiler, Contender::Perennial, spec, zone).expect("ours reads every spec");
    let expected: Vec<Vec<i64>> = starts.iter().map(|start| ours.times(start, CHAIN)).collect();
    let contenders = Contender::ALL.map(|contender| {
        let compiled = compile(compiler, contender, spec, zone)?;
        for (start, expected) in starts.iter().zip(&expected) {
            let found = compiled.times(start, CHAIN);
            if found != *expected {
                return Err(format!("`{spec}` has other times after {}", start.second));
            }
        }
        Ok(compiled)
    });
    let timings = measure::interleaved(&contenders, (STARTS * CHAIN) as u32, |compiled| {
        for start in &starts {
            compiled.walk(start, CHAIN);
        }
    });
    row(spec, &contenders, timings, report)
}

fn compile_row(compiler: &Compiler, spec: &'static str, report: &mut Report) -> Row {
    let [utc, new_york] = ["UTC", "America/New_York"].map(Zone::named);
    let zone_of = |contender| if contender == Contender::Saffron { &utc } else { &new_york };
    let contenders = Contender::ALL.map(|contender| {
        compile(compiler, contender, spec, zone_of(contender))?;
        Ok((contender, expression(spec).written_for(contender)?))
    });
    let timings = measure::interleaved(&contenders, 1, |(contender, text)| {
        let _ = black_box(compiler.compile(*contender, black_box(text), zone_of(*contender)));
    });
    row(spec, &contenders, timings, report)
}

fn row<C>(
    spec: &'static str,
    contenders: &[Result<C, String>],
    timings: Vec<Option<Timing>>,
    report: &mut Report,
) -> Row {
    let cells = contenders.iter().zip(timings).zip(Contender::ALL);
    let cells = cells.map(|((contender, timing), who)| match (contender, timing) {
        (Ok(_), Some(timing)) => Cell::Time(timing),
        (Err(reason), _) => Cell::NotApplicable(report.footnote(who, reason)),
        (Ok(_), None) => unreachable!("every contender that takes part is timed"),
    });
    Row { spec, cells: cells.collect() }
}

fn compile(
    compiler: &Compiler,
    contender: Contender,
    spec: &str,
    zone: &Zone,
) -> Result<Compiled, String> {
    compiler.compile(contender, &expression(spec).written_for(contender)?, zone)
}

fn expression(spec: &str) -> Expression {
    match spec.split(' ').count() {
        5 => Expression::five(spec),
        _ => {
            let (second, fields) = spec.split_once(' ').expect("a spec has several fields");
            Expression { second: Some(second.to_owned()), fields: fields.to_owned() }
        }
    }
}

/// The same instants for everyone, spread over 2024–2030. They keep to days from which no chain of
/// daily times reaches a change of the clocks: there the crates follow different rules.
fn starts(zone: &Zone) -> Vec<Start> {
    let mut random = Random::seeded(2024);
    let mut start = || {
        let month = *random.pick(&[1, 2, 5, 6, 7, 8, 12]);
        let day = jiff::civil::date(random.within(2024, 2030) as i16, month, 1);
        let second = day.to_zoned(jiff::tz::TimeZone::UTC).expect("the date exists in UTC");
        second.timestamp().as_second() + random.within(0, 19 * 86_400)
    };
    (0..STARTS).map(|_| Start::new(start(), zone)).collect()
}
