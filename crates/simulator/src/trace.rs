//! The trace: what happened, line by line. The same seed gives the same lines.

use std::fmt::Write as _;

use perennial_engine::Time;

/// The lines so far.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    at: Time,
    text: String,
}

impl Trace {
    pub(crate) fn say(&mut self, at: Time, text: String) {
        self.lines.push(Line { at, text });
    }

    /// A hash of the trace (FNV-1a).
    pub(crate) fn fingerprint(&self) -> u64 {
        let start = 0xcbf2_9ce4_8422_2325_u64;
        self.lines.iter().fold(start, |hash, line| {
            let bytes = line.at.0.to_le_bytes().into_iter().chain(line.text.bytes());
            bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
        })
    }

    /// The last lines that contain one of these words, or concern all servers.
    pub(crate) fn about(&self, words: &[String], count: usize) -> String {
        let concerns = |line: &&Line| {
            words.is_empty()
                || line.text.starts_with("world")
                || words.iter().any(|word| line.text.contains(word.as_str()))
        };
        let mut last: Vec<_> = self.lines.iter().rev().filter(concerns).take(count).collect();
        last.reverse();
        let begin = self.lines.first().map_or(Time::NONE, |line| line.at);
        let mut text = String::new();
        for line in last {
            let seconds = (line.at.0 - begin.0) as f64 / 1e9;
            let _ = writeln!(text, "{seconds:>10.3}  {}", line.text);
        }
        text
    }
}
