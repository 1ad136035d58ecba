//! Arguments of a spec.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use perennial_calendar::{
    Definition, Dialect, DstPolicy, Error, NamedCalendars, OnGap, ParseError, Spec, ZoneSource,
    Zones, likely_mistakes, parse_duration,
};

use crate::failure::Usage;
use crate::input::InstantText;
use crate::system_zones;

/// A spec: everything about the times of a schedule.
#[derive(Debug, clap::Args)]
pub(super) struct SpecArgs {
    /// Cron string, interval, repeating interval, calendar JSON or recurrence rule; several form a
    /// union
    #[arg(required = true, value_name = "SPEC")]
    specs: Vec<String>,

    /// Exclude times that match this cron string, calendar JSON or --define name; a whole day is
    /// '* * * 25 12 * *'; repeatable
    #[arg(long, help_heading = "Spec", value_name = "SPEC|NAME")]
    exclude: Vec<String>,

    /// Define a named calendar for --exclude NAME and EXCLUDE=NAME; repeatable, also for the same
    /// name
    #[arg(long, help_heading = "Spec", value_name = "NAME=SPEC", value_parser = named_spec)]
    define: Vec<(String, String)>,

    /// Time zone: an IANA name, or 'local' for this machine's [default: UTC]
    #[arg(long, help_heading = "Spec", value_name = "NAME")]
    tz: Option<String>,

    /// Read the time zone from a TZif file; then --tz only sets its name
    #[arg(long, help_heading = "Spec", value_name = "FILE")]
    tzif: Option<PathBuf>,

    /// Dialect of cron strings
    #[arg(long, help_heading = "Spec", value_parser = dialects(), default_value = "temporal")]
    dialect: Dialect,

    /// Daylight saving policy: literal (default), once (every local time fires exactly once), or
    /// GAP,OVERLAP: skip or shift times in a gap, and fire the first, last or both of times that
    /// occur twice
    #[arg(long, help_heading = "Spec", value_name = "POLICY")]
    dst: Option<DstPolicy>,

    /// Delay each time by a random amount up to this
    #[arg(long, help_heading = "Spec", value_name = "DURATION", value_parser = duration)]
    jitter: Option<Duration>,

    /// Schedule id, which determines the jitter
    #[arg(long, help_heading = "Spec", value_name = "ID")]
    identity: Option<String>,

    /// First possible time
    #[arg(long, help_heading = "Spec", value_name = "TIME")]
    start: Option<InstantText>,

    /// Last possible time
    #[arg(long, help_heading = "Spec", value_name = "TIME")]
    end: Option<InstantText>,
}

impl SpecArgs {
    pub(super) fn compile(&self) -> anyhow::Result<Spec> {
        self.compile_with(|_| {})
    }

    /// The same spec with a policy that skips gaps.
    pub(super) fn compile_skipping_gaps(&self) -> anyhow::Result<Spec> {
        self.compile_with(|definition| {
            definition.dst = definition.dst.map(|policy| DstPolicy { gap: OnGap::Skip, ..policy });
        })
    }

    /// Likely mistakes in the texts.
    pub(super) fn mistakes(&self) -> Vec<String> {
        mistakes_in(&self.specs, self.dialect)
    }

    fn compile_with(&self, change: impl FnOnce(&mut Definition)) -> anyhow::Result<Spec> {
        let mut definition = self.read()?;
        self.apply_zone(&mut definition)?;
        if let Some(policy) = self.dst {
            definition.set_dst(policy).context("--dst")?;
        }
        let named = self.apply_exclusions(&mut definition)?;
        definition.jitter = self.jitter.unwrap_or_default();
        let zones = system_zones::zones_with(&definition.zone)?;
        self.apply_bounds(&mut definition, &zones)?;
        change(&mut definition);
        let spec = Spec::compile(definition, &zones, &named).map_err(|error| match error {
            Error::UnknownCalendar { name, similar: None } => anyhow::Error::new(Usage::new(
                format!("unknown calendar {name:?}; define it with --define {name}=SPEC"),
            )),
            error => error.into(),
        })?;
        Ok(match &self.identity {
            Some(identity) => spec.with_identity(identity),
            None => spec,
        })
    }

    fn read(&self) -> anyhow::Result<Definition> {
        let texts: Vec<&str> = self.specs.iter().map(String::as_str).collect();
        Definition::read(&texts, self.dialect).map_err(|error| {
            let unquoted = texts.len() >= 5
                && texts.iter().all(|text| !text.contains(char::is_whitespace))
                && matches!(error, Error::Parse(_));
            if unquoted {
                let message = "too many short specs: quote a cron string, so that \
                               the shell passes it on as one";
                return Usage::new(message).into();
            }
            error.into()
        })
    }

    fn apply_zone(&self, definition: &mut Definition) -> anyhow::Result<()> {
        let name = match self.tz.as_deref() {
            Some("local") => Some(system_zones::local_name()?),
            other => other.map(str::to_owned),
        };
        let Some(file) = &self.tzif else {
            if let Some(name) = name {
                definition.set_zone(&name).context("--tz")?;
            }
            return Ok(());
        };
        let name = name.unwrap_or_else(|| zone_name_of(file));
        if let ZoneSource::Name(known) = &definition.zone {
            let (first, second) = (known.clone(), name);
            return Err(Error::Conflict { what: "time zone", first, second }).context("--tzif");
        }
        let data = std::fs::read(file).with_context(|| file.display().to_string())?;
        definition.zone = ZoneSource::Tzif { name, data };
        Ok(())
    }

    fn apply_exclusions(&self, definition: &mut Definition) -> anyhow::Result<NamedCalendars> {
        let mut named = NamedCalendars::default();
        for (name, text) in &self.define {
            let mut calendar = Definition::default();
            let context = || format!("--define {name}");
            calendar
                .exclude(text, self.dialect)
                .map_err(|error| match error {
                    Error::Conflict { .. } => anyhow::Error::new(Usage::new(
                        "a named calendar has no time zone; it uses that of the spec",
                    )),
                    error => error.into(),
                })
                .with_context(context)?;
            let mut calendars = named.get(name).map(<[_]>::to_vec).unwrap_or_default();
            calendars.append(&mut calendar.exclusions);
            named.insert(name, calendars);
        }
        for text in &self.exclude {
            if named.get(text).is_ok() {
                definition.excluded_calendars.push(text.clone());
            } else {
                definition.exclude(text, self.dialect).context("--exclude")?;
            }
        }
        Ok(named)
    }

    fn apply_bounds(&self, definition: &mut Definition, zones: &Zones) -> anyhow::Result<()> {
        let zone = zones.resolve(&definition.zone)?;
        if let Some(start) = &self.start {
            definition.start = Some(start.on(&zone).context("--start")?);
        }
        if let Some(end) = &self.end {
            definition.end = Some(end.on(&zone).context("--end")?);
        }
        Ok(())
    }
}

fn named_spec(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, spec)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), spec.to_owned()))
        }
        _ => Err("write NAME=SPEC, such as holidays='* * * 25 12 * *'".to_owned()),
    }
}

/// Likely mistakes in these texts, each once.
pub(crate) fn mistakes_in(texts: &[String], dialect: Dialect) -> Vec<String> {
    let mut found = Vec::new();
    for mistake in texts.iter().flat_map(|text| likely_mistakes(text, dialect)) {
        let mistake = mistake.to_string();
        if !found.contains(&mistake) {
            found.push(mistake);
        }
    }
    found
}

fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(["temporal", "dbos", "classic"]).try_map(|name| name.parse())
}

fn duration(text: &str) -> Result<Duration, ParseError> {
    parse_duration(text)
}

/// The zone name of a file: `Europe/Oslo` for `/usr/share/zoneinfo/Europe/Oslo`, otherwise the file name.
fn zone_name_of(file: &Path) -> String {
    let path = file.to_string_lossy();
    match path.split_once("zoneinfo/") {
        Some((_, name)) if !name.is_empty() => name.to_owned(),
        _ => file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned(),
    }
}
