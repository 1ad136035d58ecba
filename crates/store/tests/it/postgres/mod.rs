//! Facts about PostgreSQL alone.

mod columns;
mod leases;
mod nodes;
mod opening;
pub(crate) mod server;
