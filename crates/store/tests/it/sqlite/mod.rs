//! Tests of SQLite files: ownership, redo file, damage, kills.

mod damaged_redo;
mod file;
mod kill;
#[cfg(unix)]
mod ownership;
