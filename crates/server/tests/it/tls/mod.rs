//! TLS: who may connect, which certificate is served, and what happens when the files change.

mod authority;
mod bad_files;
mod handshakes;
mod rotation;
mod test_server;
