//! Settings before an expression: `CRON_TZ=Europe/Oslo DST=once 0 2 * * *`.

use super::{Dialect, dst_policy};
use crate::dst::DstPolicy;
use crate::error::Fault;

#[derive(Debug, Default)]
pub(super) struct Settings<'t> {
    pub(super) zone: Option<&'t str>,
    pub(super) dst: Option<DstPolicy>,
    pub(super) exclude: Vec<&'t str>,
    pub(super) dialect: Option<Dialect>,
}

impl<'t> Settings<'t> {
    /// Sets the zone that a dated expression names, which must agree with the settings.
    pub(super) fn agree_on_zone(&mut self, zone: Option<&'t str>) -> Result<(), Fault<'t>> {
        let Some(at) = zone else { return Ok(()) };
        let named = if matches!(at, "Z" | "z") { "UTC" } else { at };
        match self.zone {
            Some(known) if !known.eq_ignore_ascii_case(named) => Err(Fault::new(
                at,
                format!("the time is in {named}, but the expression is in {known}"),
            )),
            _ => {
                self.zone = Some(named);
                Ok(())
            }
        }
    }
}

/// Splits `NAME=value` words off the front of the text; the rest is trimmed.
pub(super) fn split(text: &str) -> Result<(Settings<'_>, &str), Fault<'_>> {
    let mut settings = Settings::default();
    let mut rest = text.trim();
    loop {
        let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        let Some((name, value)) = word.split_once('=') else { break };
        let twice = || Fault::new(word, format!("{name}= is given twice"));
        let empty = |example: &str| {
            Fault::new(word, format!("{name}= has no value"))
                .help(format!("write {name}={example}"))
        };
        match name {
            "CRON_TZ" | "TZ" if value.is_empty() => return Err(empty("Europe/Oslo")),
            "CRON_TZ" | "TZ" => {
                if settings.zone.replace(value).is_some() {
                    return Err(twice());
                }
            }
            "DST" => {
                if settings.dst.replace(dst_policy(value)?).is_some() {
                    return Err(twice());
                }
            }
            "DIALECT" => {
                if settings.dialect.replace(dialect(value)?).is_some() {
                    return Err(twice());
                }
            }
            "EXCLUDE" => {
                for name in value.split(',') {
                    if name.is_empty() {
                        return Err(empty("holidays"));
                    }
                    settings.exclude.push(name);
                }
            }
            // The words of a recurrence rule look like settings too.
            "FREQ" => break,
            _ if is_setting_like(name) => return Err(unknown(name, word)),
            _ => break,
        }
        rest = after.trim_start();
    }
    Ok((settings, rest))
}

fn is_setting_like(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
}

fn unknown<'t>(name: &str, word: &'t str) -> Fault<'t> {
    const KNOWN: [&str; 5] = ["CRON_TZ", "TZ", "DST", "EXCLUDE", "DIALECT"];
    let fault = Fault::new(word, format!("{name}= is not a setting"));
    match crate::error::nearest(name, KNOWN.into_iter()) {
        Some(known) => fault.help(format!("did you mean {known}=?")),
        None => fault.help(format!("there are {}=", KNOWN.join("=, "))),
    }
}

pub(super) fn dialect(text: &str) -> Result<Dialect, Fault<'_>> {
    match text {
        "temporal" => Ok(Dialect::Temporal),
        "dbos" => Ok(Dialect::Dbos),
        "classic" => Ok(Dialect::Classic),
        _ => Err(Fault::new(text, format!("{text:?} is not a cron dialect"))
            .help("write temporal, dbos or classic")),
    }
}
