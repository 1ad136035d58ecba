//! Asks for confirmation before something irreversible.

use std::io::{BufRead, Write};

use crate::failure::{Exit, ExitError, Usage};
use crate::output::{Format, Output};

/// Asks for confirmation. With `--output json` nobody can answer, so `--yes` is required.
pub(crate) fn confirm(question: &str, yes: bool, output: &mut Output) -> anyhow::Result<()> {
    let answer = match ask(question, "y/N", yes, output)? {
        None => return Ok(()),
        Some(answer) => answer.to_lowercase(),
    };
    match answer.as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(not_confirmed().into()),
    }
}

/// Asks the user to type a name, where a `y` would be too easy.
pub(crate) fn confirm_name(
    question: &str,
    name: &str,
    yes: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    match ask(question, "Type its name to confirm:", yes, output)? {
        None => Ok(()),
        Some(answer) if answer == name => Ok(()),
        Some(_) => Err(not_confirmed().into()),
    }
}

/// Reads the user's answer; `None` if `--yes` was given.
fn ask(
    question: &str,
    hint: &str,
    yes: bool,
    output: &mut Output,
) -> anyhow::Result<Option<String>> {
    if yes {
        return Ok(None);
    }
    if output.format != Format::Table {
        let message = format!(
            "{question} Confirm with --yes: there is no prompt with --output json, jsonl or none"
        );
        return Err(Usage::new(message).into());
    }
    output.flush()?;
    let mut stderr = std::io::stderr();
    write!(stderr, "{question} {hint} ")?;
    stderr.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(Some(line.trim().to_owned()))
}

fn not_confirmed() -> ExitError {
    ExitError {
        exit: Exit::Failed,
        message: "not confirmed, nothing was done; --yes skips the question".to_owned(),
    }
}
