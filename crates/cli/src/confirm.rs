//! Questions before something that can't be taken back.

use std::io::{BufRead, Write};

use crate::failure::{Ends, Exit, Usage};
use crate::output::{Format, Output};

/// Asks whether to go on. A program isn't asked: it has to have said `--yes`.
pub(crate) fn confirm(question: &str, yes: bool, output: &mut Output) -> anyhow::Result<()> {
    let answer = match ask(question, "y/N", yes, output)? {
        None => return Ok(()),
        Some(answer) => answer.to_lowercase(),
    };
    match answer.as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(refused().into()),
    }
}

/// Asks for a name to be typed, where a `y` would be too easy.
pub(crate) fn confirm_name(
    question: &str,
    name: &str,
    yes: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    match ask(question, "Type its name to confirm:", yes, output)? {
        None => Ok(()),
        Some(answer) if answer == name => Ok(()),
        Some(_) => Err(refused().into()),
    }
}

/// The answer; `None` if it was given beforehand.
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
        let message = format!("programs aren't asked, so say it beforehand with --yes: {question}");
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

fn refused() -> Ends {
    Ends {
        with: Exit::Failed,
        message: "not confirmed, so nothing was done; --yes confirms beforehand".to_owned(),
    }
}
