//! The dashboard and the alert rules use metrics that exist.

use std::collections::BTreeSet;
use std::fs;

use perennial_telemetry::table::{self, Kind};

fn read(file: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ops/");
    fs::read_to_string(format!("{path}{file}")).unwrap()
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|it: char| !(it.is_ascii_alphanumeric() || it == '_'));
    words.filter(|word| word.starts_with("perennial_") || word.starts_with("process_")).collect()
}

/// The metric with a name, or with the name of one of its series.
fn metric(name: &str) -> Option<&'static table::Metric> {
    table::ALL.iter().find(|metric| match metric.kind {
        Kind::Counter | Kind::Gauge => metric.name == name,
        Kind::Histogram(_) => name
            .strip_prefix(metric.name)
            .is_some_and(|series| ["_bucket", "_sum", "_count"].contains(&series)),
    })
}

#[test]
fn dashboard_and_alerts_name_only_metrics_of_the_table() {
    for file in ["grafana/perennial.json", "prometheus/alerts.yml", "prometheus/alerts_test.yml"] {
        let text = read(file);
        let names = names(&text);
        assert!(!names.is_empty(), "{file}");
        for name in names {
            assert!(metric(name).is_some(), "{file}: there is no metric {name}");
        }
    }
}

#[test]
fn dashboard_shows_every_metric() {
    let text = read("grafana/perennial.json");
    let shown: BTreeSet<_> =
        names(&text).into_iter().flat_map(metric).map(|metric| metric.name).collect();
    let all: BTreeSet<_> = table::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(shown, all);
}

#[test]
fn dashboard_is_json_with_unique_panels() {
    let dashboard: serde_json::Value =
        serde_json::from_str(&read("grafana/perennial.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
}
