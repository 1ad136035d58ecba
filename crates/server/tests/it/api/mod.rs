//! The API over gRPC, on a real server: tokens, filters, damage, starts, and calls in the same process.

mod damage;
mod describe_cluster;
mod describe_server;
mod held_store;
mod in_process;
mod list_filters;
mod null_characters;
mod principals;
mod starts;
mod test_server;
mod tokens;
