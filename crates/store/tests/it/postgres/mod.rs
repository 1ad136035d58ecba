//! Facts about PostgreSQL alone.

mod columns;
mod leases;
mod opening;
pub(crate) mod server;
