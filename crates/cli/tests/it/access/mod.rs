//! Who may call a server that asks for credentials, and what they may do.

mod commands;
mod keys;
mod limits;
mod matrix;
mod rights_document;
mod secured_server;
mod tokens;
