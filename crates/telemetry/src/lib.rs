//! The metrics and traces of a server: one table of metrics, the handles that record them, their text for Prometheus,
//! and spans for a collector.
//!
//! Every metric is a row of [`table`]; the published document (`docs/metrics.md`) follows from the same rows. Each
//! server has its own [`Metrics`], so several can run in one process. Nothing here knows what a request or a cell is,
//! and recording never blocks: a handle is an atomic number, found once and not by its name.
//!
//! Counters and histograms are recorded where things happen. Gauges that need a look at the whole server are collected
//! for each scrape ([`Scrape`]).
//!
//! Start reading at [`table`], then at [`Metrics`], and for traces at [`Tracer`].

mod bounded_series;
mod document;
mod labels;
mod log_levels;
mod log_rate;
mod metrics;
mod request;
mod scrape;
pub mod table;
mod trace;

pub use bounded_series::{BoundedSeries, OTHER};
pub use document::document;
pub use labels::{LongPoll, Protocol, RefusalReason, Verdict};
pub use log_levels::LogLevels;
pub use log_rate::LogRate;
pub use metrics::{
    CellMetrics, CommitMetrics, ConnectionMetrics, Metrics, OpenConnection, ScheduleMetrics,
    WaitingPoll,
};
pub use request::{CallTimer, RpcMetrics, WaitTime};
pub use scrape::Scrape;
pub use trace::{
    AfterTurn, CallAttributes, CallSpan, CallTimes, CellTimes, ClosedWorkflow, InvalidTraceparent,
    InvalidTracing, OtlpConfig, TraceContext, Tracer,
};
