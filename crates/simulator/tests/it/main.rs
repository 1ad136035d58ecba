//! Tests of the simulator, in one binary.

mod found;
mod sabotage;
mod seeds;
