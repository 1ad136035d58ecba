//! The published list of metrics.

use std::fmt::Write;

use crate::table;

/// The table of all metrics, in Markdown.
pub fn document() -> String {
    let mut text =
        "| metric | kind | unit | labels | meaning |\n|---|---|---|---|---|\n".to_owned();
    for metric in table::ALL {
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
        let (name, kind, unit) = (metric.name, metric.kind.name(), metric.unit);
        writeln!(text, "| `{name}` | {kind} | {unit} | {labels} | {} |", metric.help)
            .expect("writing to a string doesn't fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// The text around the table is in the file; the table is that of this crate.
    #[test]
    fn published_document_lists_every_metric() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
        let published = std::fs::read_to_string(file).unwrap();
        let (before, rest) = published.split_once("| metric |").expect("the table is there");
        let after = rest.find("\n\n").map_or("", |end| &rest[end + 1..]);
        expect_file![file].assert_eq(&format!("{before}{}{after}", document()));
    }
}
