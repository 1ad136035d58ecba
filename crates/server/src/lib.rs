//! The API in front of the runtime: Temporal's gRPC services and Perennial's own, also as JSON over HTTP.
//!
//! A request is validated here. An invalid one is refused with the code, message and detail of Temporal's server. A
//! valid one becomes a command to the [`Runtime`], and the result becomes the response. This crate never keeps state
//! of its own, and never decides what a command does.
//!
//! Start reading at [`Services::call`], then at `rpcs.rs`, the table of all RPCs. Each RPC is a method on `Call`, in
//! the file of its group below `workflow/` or `schedules/`, or in `operator.rs`. RPCs take and return bytes; `grpc/`
//! and `http/` carry them over connections ([`serve`]).

mod access;
mod admin;
mod bootstrap;
mod call;
mod call_context;
mod cluster;
mod describe_cluster;
mod describe_server;
mod encoded_message;
mod errors;
mod failures;
mod grpc;
mod grpc_timeout;
mod history;
mod http;
mod listen;
mod memory;
mod names;
mod observed_call;
mod operator;
mod process_metrics;
mod request_id;
mod routing;
mod rpcs;
mod schedules;
mod search_attributes;
mod server;
mod services;
mod stop_signal;
mod tls;
mod tokens;
mod transport;
mod validate;
#[cfg(test)]
mod validate_test;
mod workflow;

pub use access::{
    AccessConfig, CallLimits, CertificateRule, Credentials, InvalidApiKey, NamespaceLimits,
    NewApiKey, PrincipalLimits, UsageLimits,
};
pub use bootstrap::{NewSearchAttribute, ensure_namespace};
pub use call_context::{CallContext, ClientFeatures, Face};
pub use cluster::serve_node_port;
pub use http::HttpConfig;
pub use listen::ConnectionLimits;
pub use perennial_identity::{Principal, jwt};
pub use perennial_runtime::Runtime;
pub use perennial_telemetry::{InvalidTraceparent, LogLevels, TraceContext};
pub use request_id::RequestId;
pub use routing::Destination;
pub use server::{Listeners, ServerConfig, serve};
pub use services::{Services, ServicesError};
pub use tls::{CertificateFiles, ClientAuth, PeerCertificate, Tls, TlsConfig, TlsError, TlsStatus};
pub use transport::{Accept, Accepted, ByteStream, Connection, Handshake, Revoked, Stream};
pub use workflow::SERVER_VERSION;
