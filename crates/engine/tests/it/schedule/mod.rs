//! What a schedule does, told as stories: a time line, what people ask and how runs end, and each time's fate.

mod audit_order;
mod backfills;
mod catching_up;
mod evaluations;
mod kit;
mod life;
mod limits;
mod outcomes;
mod overlaps;
mod pauses;
mod triggers;
mod updates;
