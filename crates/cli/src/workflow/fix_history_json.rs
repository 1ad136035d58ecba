//! `perennial workflow fix-history-json`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use perennial_proto::json::{Payloads, from_json, to_json};
use perennial_proto::temporal::history::v1::History;
use serde_json::Value;

use crate::failure::Usage;

/// Convert an old history JSON file to the current format
///
/// SDKs replay the current format. Needs no server.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// File to read; `-` is standard input
    #[arg(long, short, value_name = "FILE")]
    source: PathBuf,

    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    target: Option<PathBuf>,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow fix-history-json --source old.json --target history.json
"#;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let text = read(&args.source)?;
    let source = args.source.display();
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Usage::new(format!("{source} is not JSON: {error}")))?;
    let history: History = from_json(&value, Payloads::Full)
        .map_err(|error| Usage::new(format!("{source} is not a history: {error}")))?;
    let fixed = serde_json::to_string_pretty(&to_json(&history, Payloads::Full))?;
    match args.target.as_deref().filter(|target| *target != Path::new("-")) {
        None => Ok(writeln!(std::io::stdout(), "{fixed}")?),
        Some(target) => std::fs::write(target, fixed)
            .with_context(|| format!("cannot write {}", target.display())),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = match path == Path::new("-") {
        true => std::io::stdin().read_to_string(&mut text).map(|_| text),
        false => std::fs::read_to_string(path),
    };
    read.with_context(|| format!("cannot read {}", path.display()))
}
