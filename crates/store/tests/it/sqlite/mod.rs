//! What only a store in a SQLite file has: an owner, a redo file, and damage.

mod damaged_redo;
mod file;
mod kill;
#[cfg(unix)]
mod ownership;
