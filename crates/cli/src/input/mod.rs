//! What people type, as messages have it: payloads, memos, search attributes, times.

mod pairs;
mod payloads;
mod times;
mod words;

pub(crate) use self::pairs::{json_pair, memo, search_attributes};
pub(crate) use self::payloads::{InputArgs, json_payload};
pub(crate) use self::times::{EndText, InstantText};
pub(crate) use self::words::{overlap_policy, overlap_policy_name};
