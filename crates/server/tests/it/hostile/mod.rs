//! Malicious and broken requests: none stops the server, exceeds its memory, or gets a code that clients retry.

mod connections;
mod every_rpc;
mod json;
mod messages;
mod names;
mod test_server;
