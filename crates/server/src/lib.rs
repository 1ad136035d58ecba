//! Temporal's gRPC API, and what Perennial has beyond it, in front of the runtime: wire to command and back,
//! nothing else.
//!
//! A request is checked here, where it comes in, and refused with the code, words and detail that
//! Temporal's own server has for it; what passes becomes a command to the [`Runtime`], and its answer
//! a response. Nothing here keeps state, decides what follows from a command, or waits for anything
//! but the runtime.
//!
//! Start reading at [`serve`], then at `services.rs`, the table of all RPCs; each of them is a method of
//! that name on a `Call`, in the file of its group. An RPC takes and gives bytes. How they travel is `grpc/`'s
//! business, or that of `http/`, where the same is there as JSON; neither has a say of its own.

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
