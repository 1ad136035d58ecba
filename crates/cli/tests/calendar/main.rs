//! `perennial calendar`, run as users run it.

mod between;
mod errors;
mod explain;
mod help;
mod next;
mod output;
#[path = "../perennial/mod.rs"]
mod perennial;
mod zones;
