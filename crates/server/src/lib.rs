//! The API in front of the runtime: Temporal's gRPC services and Perennial's own, also as JSON over HTTP.
//!
//! A request is validated here. An invalid one is refused with the code, message and detail of Temporal's server. A
//! valid one becomes a command to the [`Runtime`], and the result becomes the response. This crate never keeps state
//! of its own, and never decides what a command does.
//!
//! Start reading at [`Services::call`], then at `rpcs.rs`, the table of all RPCs. Each RPC is a method on `Call`, in
//! the file of its group below `workflow/` or `schedules/`, or in `operator.rs`. RPCs take and return bytes; `grpc/`
//! and `http/` carry them over connections ([`serve`]).

mod bootstrap;
mod call;
mod call_context;
mod encoded_message;
mod errors;
mod failures;
mod grpc;
mod history;
mod http;
mod listen;
mod memory;
mod names;
mod operator;
mod routing;
mod rpcs;
mod schedules;
mod search_attributes;
mod server;
mod services;
mod stop_signal;
mod tokens;
mod transport;
mod validate;
#[cfg(test)]
mod validate_test;
mod workflow;

pub use bootstrap::{NewSearchAttribute, ensure_namespace};
pub use call_context::{
    CallContext, ClientFeatures, Face, InvalidTraceparent, Principal, TraceContext,
};
pub use http::HttpConfig;
pub use listen::ConnectionLimits;
pub use perennial_runtime::Runtime;
pub use routing::Destination;
pub use server::{Listeners, ServerConfig, serve};
pub use services::Services;
pub use transport::{Accept, ByteStream, Connection, Stream};
pub use workflow::SERVER_VERSION;
