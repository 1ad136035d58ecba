//! Errors in a spec. Each says what is wrong, where, and what to write instead.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Invalid text of a spec. It displays as the message with a suggestion where there is one, then
/// the text with the offending characters marked:
///
/// ```text
/// hour 24 is out of range 0–23; midnight is 0
///   0 24 * * *
///     ^^
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    text: String,
    span: Range<usize>,
    message: String,
    help: Option<String>,
}

impl ParseError {
    /// The error message, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A suggestion, if there is one.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of [`text`](Self::text) that are wrong; empty when something is missing there.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        if self.text.trim().is_empty() {
            return Ok(());
        }
        // Only the line with the fault is shown, and of a long line only what is near it.
        let line_start = self.text[..self.span.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[self.span.start..]
            .find('\n')
            .map_or(self.text.len(), |at| self.span.start + at);
        let shown = nearby(&self.text, line_start..line_end, self.span.start);
        let before = self.text[shown.start..self.span.start].chars().count();
        let marked_end = self.span.end.clamp(self.span.start, shown.end);
        let marked = self.text[self.span.start..marked_end].chars().count().max(1);
        let line: String =
            self.text[shown].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        write!(f, "\n  {line}\n  {:before$}{}", "", "^".repeat(marked))
    }
}

/// At most 60 characters either side of `at`, on character boundaries.
fn nearby(text: &str, line: Range<usize>, at: usize) -> Range<usize> {
    const REACH: usize = 60;
    let start = text[line.start..at]
        .char_indices()
        .rev()
        .take(REACH)
        .last()
        .map_or(at, |(i, _)| line.start + i);
    let end = text[at..line.end].char_indices().nth(REACH).map_or(line.end, |(i, _)| at + i);
    start..end
}

/// A spec that can't be parsed or compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text could not be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The zone database that was passed in has no such zone.
    #[error("unknown time zone {:?}{}", echo(.name), suggestion(.similar))]
    UnknownZone {
        /// As it was written.
        name: String,
        /// A zone of nearly that name.
        similar: Option<String>,
    },
    /// The bytes given as a time zone are not a TZif file.
    #[error("the time zone data of {:?} is not a readable TZif file: {reason}", echo(.name))]
    BadZoneData {
        /// The name that came with the bytes.
        name: String,
        /// Why they are invalid.
        reason: String,
    },
    /// `EXCLUDE=` names a calendar that was not passed in.
    #[error("unknown calendar {:?}{}", echo(.name), suggestion(.similar))]
    UnknownCalendar {
        /// As it was written.
        name: String,
        /// A calendar of nearly that name.
        similar: Option<String>,
    },
    /// Two parts of a spec set a different time zone or DST policy for the whole spec.
    #[error(
        "the spec's parts disagree on the {what}: {} and {}; name the same in each",
        echo(.first), echo(.second)
    )]
    Conflict {
        /// "time zone", "DST policy".
        what: &'static str,
        /// The first value.
        first: String,
        /// The conflicting value.
        second: String,
    },
    /// A value of the definition is out of its range.
    #[error("{field} {problem}")]
    Invalid {
        /// The field, as users name it.
        field: String,
        /// The problem, and the allowed values.
        problem: String,
    },
}

fn suggestion(similar: &Option<String>) -> String {
    similar.as_ref().map_or(String::new(), |name| format!("; did you mean {name:?}?"))
}

/// The longest name that is compared with known ones: the longest zone has 32 bytes, and comparing takes time in
/// proportion to the length of the name times the length of every known one.
const COMPARED_BYTES_MAX: usize = 64;

/// The known name that was probably meant, if one is near enough. A long name is none with a typo.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
    if name.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let distance_max = 1 + name.len() / 5;
    known
        .map(|candidate| (strsim::osa_distance(&name, &candidate.to_lowercase()), candidate))
        .min()
        .filter(|(distance, _)| *distance <= distance_max)
        .map(|(_, candidate)| candidate.to_owned())
}

/// Shortens text for error messages: beyond `chars_max` characters, only the beginning and the end are kept.
///
/// ```
/// use perennial_calendar::excerpt;
///
/// assert_eq!(excerpt("Europe/Oslo", 200), "Europe/Oslo");
/// assert_eq!(excerpt("abcdefghijklmnopqrstuvwxyz", 10), "abcdef…wxyz");
/// ```
pub fn excerpt(text: &str, chars_max: usize) -> Cow<'_, str> {
    let tail = chars_max * 2 / 5;
    let head = chars_max - tail;
    let boundary = |(at, _)| at;
    // Scan from both ends, so that the middle of a long text is never read.
    let head_end = text.char_indices().nth(head).map_or(text.len(), boundary);
    let tail_start = text.char_indices().rev().take(tail).last().map_or(text.len(), boundary);
    if tail_start <= head_end {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…{}", &text[..head_end], &text[tail_start..]))
}

/// Shortens the user's text for an error message.
fn echo(text: &str) -> Cow<'_, str> {
    excerpt(text, 200)
}

/// An error found while parsing: the slice of the input it is about, and a message. It becomes a
/// [`ParseError`] at the crate's surface, where the whole text is known.
#[derive(Debug)]
pub(crate) struct Fault<'t> {
    at: &'t str,
    message: String,
    help: Option<String>,
}

impl<'t> Fault<'t> {
    /// `at` must be a slice of the text being read: its position is what the user sees marked.
    pub(crate) fn new(at: &'t str, message: impl Into<String>) -> Self {
        Fault { at, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn in_text(self, text: &str) -> ParseError {
        // A slice that is not part of the text (it never should be) is shown as the whole text.
        let offset = (self.at.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let span = match offset.checked_add(self.at.len()) {
            Some(end) if end <= text.len() => offset..end,
            _ => 0..text.len(),
        };
        let message = echo(&self.message).into_owned();
        ParseError { text: text.to_owned(), span, message, help: self.help }
    }
}
