//! Draws the tree as lines of text.

use jiff::Timestamp;

use super::tree::{Kind, Step, Workflow};
use crate::output::{Times, printable};
use crate::terminal::{Look, Style};

/// A line for each workflow and step, as many as fit the terminal.
pub(super) fn draw(
    root: &Workflow,
    look: Look,
    times: &Times,
    height: Option<usize>,
) -> Vec<String> {
    let took = took(root.start_time, root.close_time, times);
    let head = [&root.workflow_id, &root.workflow_type, &root.status, &took];
    let mut lines: Vec<(String, Style)> = Vec::new();
    lines.extend(root.schedule_triggered.iter().map(|it| (it.line(), Style::Plain)));
    lines.push((join(&head), style_of(&root.status)));
    below(root, "", times, &mut lines);
    let total = lines.len();
    if let Some(height) = height.filter(|&height| height > 2 && total > height - 1) {
        // The terminal needs its last line for the cursor.
        lines.truncate(height - 2);
        lines.push((format!("… {} more", total - lines.len()), Style::Faint));
    }
    let width = look.width.map_or(usize::MAX, usize::from);
    let shown = lines.into_iter().map(|(line, style)| {
        let line: String = printable(&line).chars().take(width).collect();
        look.paint(style, &line)
    });
    shown.collect()
}

fn below(workflow: &Workflow, indent: &str, times: &Times, lines: &mut Vec<(String, Style)>) {
    if let Some(problem) = &workflow.workflow_task_problem {
        lines.push((format!("{indent}{}", problem.line()), Style::Warning));
    }
    let last = workflow.steps.len().saturating_sub(1);
    for (n, step) in workflow.steps.iter().enumerate() {
        let (branch, bar) = if n == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push((format!("{indent}{branch}{}", text(step, times)), style_of(&step.status)));
        if let Some(child) = &step.workflow {
            below(child, &format!("{indent}{bar}"), times, lines);
        }
    }
}

fn text(step: &Step, times: &Times) -> String {
    let what = match step.kind {
        Kind::Activity => format!("{} ({})", step.name, step.id),
        Kind::Timer => format!("Timer {} ({})", step.name, step.id),
        Kind::Child => format!("{}  {}", step.id, step.name),
    };
    let attempt = match step.attempt {
        0 | 1 => String::new(),
        attempt => format!("attempt {attempt}"),
    };
    let took = took(step.start_time, step.close_time, times);
    join(&[&what, &step.status, &attempt, &took, &step.failure])
}

fn join(parts: &[&String]) -> String {
    let parts: Vec<&str> = parts.iter().map(|it| it.as_str()).filter(|it| !it.is_empty()).collect();
    parts.join("  ")
}

/// The duration, so far if it isn't over.
fn took(start: Option<Timestamp>, end: Option<Timestamp>, times: &Times) -> String {
    let Some(start) = start else { return String::new() };
    let millis = end.unwrap_or(times.now).as_millisecond() - start.as_millisecond();
    match millis {
        ..1_000 => format!("{} ms", millis.max(0)),
        1_000..60_000 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => {
            let at = |time: Timestamp| time.to_zoned(times.zone.clone());
            crate::output::distance(&at(start), &at(end.unwrap_or(times.now)))
        }
    }
}

fn style_of(status: &str) -> Style {
    match status {
        "Failed" | "TimedOut" | "Terminated" | "Canceled" | "NotStarted" => Style::Warning,
        "Completed" | "Fired" | "ContinuedAsNew" => Style::Faint,
        _ => Style::Plain,
    }
}
