//! The report in Markdown.

use std::fmt;
use std::process::Command;

use comparison::contender::Contender;

use crate::measure::Timing;

const INTRODUCTION: &str = "\
# Calendar: next time and compile

Repeat with `cargo xtask bench calendar`. All crates run in one process, in turn (A, B, C, A, B,
C, …). A cell has nanoseconds per call: the minimum of all rounds, and the median in brackets. \"Lead\" is
the minimum of the fastest other crate with time zones, divided by ours.

A call of \"next time\" is one step of a chain: eight times each from 64 instants of 2024–2030. Before
a row is timed, the times of every crate are compared with ours. A crate with other times, or that can't
express the spec, is n/a. \"Compile\" is parsing and preparing a spec; ours also looks up the zone.
";

/// Everything measured in one run.
pub(crate) struct Report {
    date: String,
    tables: Vec<Table>,
    footnotes: Vec<String>,
}

/// Rows of one kind: the next time in a zone, or compiling.
pub(crate) struct Table {
    title: String,
    zone: Option<&'static str>,
    rows: Vec<Row>,
}

pub(crate) struct Row {
    pub(crate) spec: &'static str,
    /// In the order of [`Contender::ALL`].
    pub(crate) cells: Vec<Cell>,
}

#[derive(Clone, Copy)]
pub(crate) enum Cell {
    Time(Timing),
    /// With the number of its footnote.
    NotApplicable(usize),
}

impl Report {
    /// `date` is today's if none is given.
    pub(crate) fn new(date: Option<String>) -> Self {
        let today = || jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
        let date = date.unwrap_or_else(today);
        Report { date, tables: Vec::new(), footnotes: Vec::new() }
    }

    pub(crate) fn add(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// The number of the footnote with this text.
    pub(crate) fn footnote(&mut self, contender: Contender, reason: &str) -> usize {
        let text = format!("{}: {reason}", contender.name());
        let known = self.footnotes.iter().position(|note| *note == text);
        known.unwrap_or_else(|| {
            self.footnotes.push(text);
            self.footnotes.len() - 1
        }) + 1
    }
}

impl Table {
    pub(crate) fn next(zone: &'static str, rows: Vec<Row>) -> Self {
        Table { title: format!("Next time, {zone}"), zone: Some(zone), rows }
    }

    pub(crate) fn compile(rows: Vec<Row>) -> Self {
        Table { title: "Compile, America/New_York".to_owned(), zone: None, rows }
    }
}

impl Row {
    fn ours(&self) -> f64 {
        self.time_of(Contender::Perennial).expect("ours takes part in every row").min
    }

    fn time_of(&self, contender: Contender) -> Option<Timing> {
        let at = Contender::ALL.iter().position(|known| *known == contender)?;
        match self.cells[at] {
            Cell::Time(timing) => Some(timing),
            Cell::NotApplicable(_) => None,
        }
    }

    /// The time of the fastest other crate divided by ours, of all crates or of those with time zones.
    fn lead(&self, with_zones: bool) -> Option<f64> {
        let others = Contender::ALL.into_iter().filter(|contender| match contender {
            Contender::Perennial => false,
            Contender::Saffron => !with_zones,
            Contender::Croner | Contender::Cron => true,
        });
        let fastest = others.filter_map(|c| self.time_of(c)).map(|t| t.min);
        fastest.min_by(f64::total_cmp).map(|other| other / self.ours())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{INTRODUCTION}")?;
        writeln!(f, "- Date: {}", self.date)?;
        writeln!(f, "- Machine: {}", machine())?;
        writeln!(f, "- Compiler: {}, release profile", rustc())?;
        writeln!(f, "- Crates: {}", crates())?;
        for table in &self.tables {
            write!(f, "\n{table}")?;
        }
        writeln!(f)?;
        for (n, note) in self.footnotes.iter().enumerate() {
            writeln!(f, "{}. {note}", n + 1)?;
        }
        write!(f, "\n## Goals\n\n{}", Goals(&self.tables))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n", self.title)?;
        let names = Contender::ALL.map(Contender::name).join(" | ");
        writeln!(f, "| spec | {names} | lead |")?;
        writeln!(f, "|---|{}---:|", "---:|".repeat(Contender::ALL.len()))?;
        for row in &self.rows {
            write!(f, "| `{}` |", row.spec)?;
            for cell in &row.cells {
                match cell {
                    Cell::Time(Timing { median, min }) => write!(f, " {min:.0} ({median:.0}) |")?,
                    Cell::NotApplicable(note) => write!(f, " n/a ({note}) |")?,
                }
            }
            match row.lead(true) {
                Some(lead) => writeln!(f, " {lead:.1}× |")?,
                None => writeln!(f, " |")?,
            }
        }
        Ok(())
    }
}

/// Our goals, and the rows that miss them.
struct Goals<'r>(&'r [Table]);

impl fmt::Display for Goals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const THREEFOLD: [&str; 3] = ["*/5 * * * *", "0 9 * * MON-FRI", "0 0 29 2 *"];
        let next = |table: &Table| table.zone.is_some();
        let new_york = |table: &Table| table.zone == Some("America/New_York");
        let compile = |table: &Table| table.zone.is_none();
        self.say(f, "next time faster than every other crate in every row", |table, row| {
            !next(table) || row.lead(false).is_none_or(|lead| lead > 1.0)
        })?;
        self.say(f, "compile faster than every other crate with time zones (saffron, without zones, is faster)", |table, row| {
            !compile(table) || row.lead(true).is_none_or(|lead| lead > 1.0)
        })?;
        self.say(f, "three times faster on the specs named, in America/New_York", |table, row| {
            !new_york(table)
                || !THREEFOLD.contains(&row.spec)
                || row.lead(true).is_none_or(|lead| lead >= 3.0)
        })?;
        self.say(f, "next time in at most 80 ns", |table, row| !next(table) || row.ours() <= 80.0)?;
        self.say(f, "compile in less than 2 µs", |table, row| {
            !compile(table) || row.ours() < 2_000.0
        })
    }
}

impl Goals<'_> {
    fn say(
        &self,
        f: &mut fmt::Formatter<'_>,
        goal: &str,
        met: impl Fn(&Table, &Row) -> bool,
    ) -> fmt::Result {
        let rows = self.0.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        let missed: Vec<String> = rows
            .filter(|(table, row)| !met(table, row))
            .map(|(table, row)| format!("`{}` ({})", row.spec, table.title))
            .collect();
        match missed.as_slice() {
            [] => writeln!(f, "- {goal}: yes"),
            missed => writeln!(f, "- {goal}: no: {}", missed.join(", ")),
        }
    }
}

fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores")
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    version.map_or("unknown rustc".to_owned(), |version| version.trim().to_owned())
}

/// The versions in the lock file this was built with.
fn crates() -> String {
    const NAMES: [&str; 7] =
        ["perennial-calendar", "croner", "cron", "saffron", "chrono", "chrono-tz", "jiff"];
    let lock = include_str!("../../../Cargo.lock");
    let version = |name: &str| {
        let entry = lock
            .split("[[package]]")
            .find(|entry| entry.lines().any(|line| line == format!("name = \"{name}\"")))?;
        entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
    };
    let known = NAMES.map(|name| format!("{name} {}", version(name).unwrap_or("?")));
    known.join(", ")
}
