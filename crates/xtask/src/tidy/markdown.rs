//! As much of Markdown as the rules need: table rows, and text outside code.

/// A row of a table: the line it stands on, counted from 1, and its cells, trimmed.
pub(crate) struct Row<'a> {
    pub(crate) line: usize,
    pub(crate) cells: Vec<&'a str>,
}

/// The rows of every table whose header has exactly these cells.
pub(crate) fn rows_under<'a>(text: &'a str, header: &[&str]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            inside = false;
            continue;
        };
        if cells == header {
            inside = true;
        } else if inside && !is_rule(&cells) {
            rows.push(Row { line: index + 1, cells });
        }
    }
    rows
}

/// The words in backticks.
pub(crate) fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The lines with their numbers from 1, without fenced blocks and without code in backticks.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        let spoken = || line.split('`').step_by(2).collect::<String>();
        (!fenced).then(|| (index + 1, spoken()))
    })
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The line of dashes between a table's header and its body.
fn is_rule(cells: &[&str]) -> bool {
    cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':')))
}
