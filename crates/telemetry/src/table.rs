//! The table of all metrics: name, kind, unit, labels and meaning.
//!
//! Names follow the conventions of Prometheus: the prefix `perennial_`, the unit in the name, `_total` for counters.
//! Metrics of the process have the names that every Prometheus client library gives them.

/// A metric: a row of the table.
#[derive(Debug, PartialEq)]
pub struct Metric {
    /// The name in Prometheus.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// The unit of its value.
    pub unit: &'static str,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The meaning, as Prometheus and the documentation show it.
    pub help: &'static str,
}

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number that only grows, until the server restarts.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// A distribution, with the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

impl Kind {
    /// The name of the kind in Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// Durations of work on one machine: 50 µs to 10 s.
const SHORT_SECONDS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 10.0,
];
/// Durations of waits for a worker or an event: 5 ms to 90 s.
const WAIT_SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 90.0];
/// Lag of schedules: 5 ms to an hour.
const LAG_SECONDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0, 3_600.0];
/// Entities of a commit.
const BATCH_SIZES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// Defines a constant for each metric, and the list of all of them.
macro_rules! table {
    ($($metric:ident = $kind:expr, $name:literal, $unit:literal, [$($label:literal),*], $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $metric: Metric = Metric {
                name: $name,
                kind: $kind,
                unit: $unit,
                labels: &[$($label),*],
                help: $help,
            };
        )+

        /// Every metric, in the order of the documentation.
        pub const ALL: &[Metric] = &[$($metric),+];
    };
}

table! {
    REQUESTS = Kind::Counter, "perennial_requests_total", "calls", ["service", "rpc", "code"],
        "Calls that ended, by RPC and gRPC code. HTTP requests count as the RPC they call.";
    REQUEST_DURATION = Kind::Histogram(SHORT_SECONDS), "perennial_request_duration_seconds", "seconds", ["service", "rpc"],
        "Duration of calls, without the time that a call waited for a task, an event or a worker.";
    REQUEST_BYTES = Kind::Counter, "perennial_request_bytes_total", "bytes", ["service", "rpc"],
        "Bytes of the messages that callers sent, uncompressed.";
    RESPONSE_BYTES = Kind::Counter, "perennial_response_bytes_total", "bytes", ["service", "rpc"],
        "Bytes of the messages that callers got, uncompressed.";
    LONG_POLLS_WAITING = Kind::Gauge, "perennial_long_polls_waiting", "calls", ["kind"],
        "Calls that wait now: for a workflow task, an activity task, a history event, an update or a query.";
    LONG_POLL_WAIT = Kind::Histogram(WAIT_SECONDS), "perennial_long_poll_wait_seconds", "seconds", ["kind"],
        "Time that calls waited for a task, an event or a worker.";
    REFUSALS = Kind::Counter, "perennial_refusals_total", "refusals", ["reason"],
        "Calls and connections that were refused to protect the server, by reason.";
    CONNECTIONS_OPEN = Kind::Gauge, "perennial_connections_open", "connections", ["protocol"],
        "Open connections, by protocol.";

    CELL_QUEUE_DEPTH = Kind::Gauge, "perennial_cell_queue_depth", "inputs", ["cell"],
        "Requests and results that wait for a cell.";
    CELL_TURN_DURATION = Kind::Histogram(SHORT_SECONDS), "perennial_cell_turn_duration_seconds", "seconds", [],
        "Duration of a cell's turns, without their commits. All requests to the cell wait for its turn.";
    COMMIT_DURATION = Kind::Histogram(SHORT_SECONDS), "perennial_commit_duration_seconds", "seconds", [],
        "Duration of commits, the sync of the disk included.";
    COMMIT_ENTITIES = Kind::Histogram(BATCH_SIZES), "perennial_commit_entities", "entities", [],
        "Runs and schedules that one commit changed.";
    COMMIT_FAILURES = Kind::Counter, "perennial_commit_failures_total", "commits", [],
        "Commits that failed. Their callers were told to retry.";
    CACHE_HITS = Kind::Counter, "perennial_cache_hits_total", "lookups", [],
        "Requests whose run or schedule was in memory.";
    CACHE_MISSES = Kind::Counter, "perennial_cache_misses_total", "lookups", [],
        "Requests that waited until their run or schedule was read from the store.";
    CACHE_ENTITIES = Kind::Gauge, "perennial_cache_entities", "entities", ["cell"],
        "Runs and schedules in memory.";
    CACHE_BYTES = Kind::Gauge, "perennial_cache_bytes", "bytes", ["cell"],
        "Memory of cached runs and schedules.";

    TASK_QUEUE_BACKLOG = Kind::Gauge, "perennial_task_queue_backlog_tasks", "tasks", ["namespace", "task_queue", "kind"],
        "Tasks that wait for a worker.";
    TASK_QUEUE_BACKLOG_AGE = Kind::Gauge, "perennial_task_queue_backlog_age_seconds", "seconds", ["namespace", "task_queue", "kind"],
        "Age of the oldest task that waits for a worker.";
    TASK_QUEUE_POLLERS = Kind::Gauge, "perennial_task_queue_pollers", "polls", ["namespace", "task_queue", "kind"],
        "Polls of workers that wait for a task.";
    TASK_QUEUE_MATCHES = Kind::Counter, "perennial_task_queue_matches_total", "tasks", ["namespace", "task_queue", "kind", "match"],
        "Tasks matched with a poll: `sync` when the task was created, `backlog` after it had waited.";

    SCHEDULE_LAG = Kind::Histogram(LAG_SECONDS), "perennial_schedule_lag_seconds", "seconds", [],
        "Time from a schedule's time, with its jitter, to the start of the run, without starts that the overlap policy held back.";
    SCHEDULE_VERDICTS = Kind::Counter, "perennial_schedule_verdicts_total", "times", ["verdict"],
        "Verdicts on the times of schedules. A buffered time gets a second verdict later.";
    SCHEDULE_MISSED = Kind::Counter, "perennial_schedule_missed_total", "times", ["namespace", "schedule_id"],
        "Times that a schedule missed.";
    SCHEDULE_SKIPPED = Kind::Counter, "perennial_schedule_skipped_total", "times", ["namespace", "schedule_id"],
        "Times that a schedule skipped, without those that passed while it was paused or exhausted.";

    STORE_SIZE = Kind::Gauge, "perennial_store_size_bytes", "bytes", ["file"],
        "Size of the files of the database: `database`, `wal` and `redo`. None in memory.";
    STORE_DAMAGED_ROWS = Kind::Gauge, "perennial_store_damaged_rows", "rows", ["kind"],
        "Rows that can't be read, found since the start.";
    READY = Kind::Gauge, "perennial_ready", "0 or 1", [],
        "1 while the server takes requests and its store takes writes, as `/readyz` says.";

    BUILD_INFO = Kind::Gauge, "perennial_build_info", "1", ["version", "temporal_api"],
        "The version of the server, and the version of Temporal's server that clients see.";
    PROCESS_START_TIME = Kind::Gauge, "process_start_time_seconds", "seconds", [],
        "When the server started, in Unix time.";
    PROCESS_MEMORY = Kind::Gauge, "process_resident_memory_bytes", "bytes", [],
        "Memory of the process. On Linux only.";
    PROCESS_OPEN_FDS = Kind::Gauge, "process_open_fds", "files", [],
        "Open files and sockets of the process. On Linux only.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for metric in ALL {
            let name = metric.name;
            assert!(name.starts_with("perennial_") || name.starts_with("process_"), "{name}");
            assert_eq!(name.ends_with("_total"), metric.kind == Kind::Counter, "{name}");
            let base = name.trim_end_matches("_total");
            for unit in ["seconds", "bytes"] {
                assert_eq!(
                    base.ends_with(unit),
                    metric.unit == unit,
                    "{name} is in {}",
                    metric.unit
                );
            }
            assert!(metric.help.ends_with('.'), "{name}: {}", metric.help);
        }
        let names: BTreeSet<_> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len(), "a name is there twice");
    }

    #[test]
    fn buckets_are_in_order() {
        for metric in ALL {
            if let Kind::Histogram(bounds) = metric.kind {
                assert!(bounds.is_sorted_by(|a, b| a < b), "{}", metric.name);
            }
        }
    }
}
