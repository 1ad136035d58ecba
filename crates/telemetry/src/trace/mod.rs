//! Traces of calls and of workflows, exported over OTLP.
//!
//! A call that nobody traces costs a branch: spans are made only for those that are sampled. Their times are taken where
//! things happen, and the spans are made from them at the end.
//!
//! Start reading at [`Tracer`].

mod call;
mod cell_times;
mod context;
mod exporter;
mod tracer;
mod workflow;

pub use call::{CallAttributes, CallSpan};
pub use cell_times::{AfterTurn, CallTimes, CellTimes};
pub use context::{InvalidTraceparent, TraceContext};
pub use tracer::{InvalidTracing, OtlpConfig, Tracer};
pub use workflow::ClosedWorkflow;
