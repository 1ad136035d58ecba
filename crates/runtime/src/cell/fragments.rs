//! History fragments: the events of a run in as few rows per batch as the row size allows.

use perennial_proto::encoded;
use perennial_proto::temporal::history::v1::{History, HistoryEvent};
use perennial_store::Fragment;
use prost::Message;

/// Size limit of a row, because readers get whole rows. A single event may be larger.
const BYTES_MAX: usize = 1024 * 1024;

/// The events of one step.
pub(super) fn fragments_of(mut events: Vec<HistoryEvent>) -> Vec<Fragment> {
    let (Some(first), Some(last)) = (events.first(), events.last()) else { return Vec::new() };
    let (first_event_id, last_event_id) = (first.event_id, last.event_id);
    let bytes: usize = events.iter().map(Message::encoded_len).sum();
    if bytes > BYTES_MAX && events.len() > 1 {
        let later = events.split_off(events.len() / 2);
        return [fragments_of(events), fragments_of(later)].concat();
    }
    let bytes = encoded(&History { events }).into();
    vec![Fragment { first_event_id, last_event_id, bytes }]
}

/// All events of a run in one batch: encoded histories concatenate.
pub(super) fn merged(fragments: Vec<Fragment>) -> Vec<Fragment> {
    if fragments.len() == 1 {
        return fragments;
    }
    let mut rows = Vec::new();
    let mut fragments = fragments.into_iter().peekable();
    while let Some(Fragment { first_event_id, mut last_event_id, bytes }) = fragments.next() {
        let mut bytes = bytes.to_vec();
        let fits = |size: usize, next: &Fragment| size + next.bytes.len() <= BYTES_MAX;
        while let Some(next) = fragments.next_if(|next| fits(bytes.len(), next)) {
            last_event_id = next.last_event_id;
            bytes.extend_from_slice(&next.bytes);
        }
        rows.push(Fragment { first_event_id, last_event_id, bytes: bytes.into() });
    }
    rows
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::common::v1::Payload;
    use perennial_proto::temporal::sdk::v1::UserMetadata;

    use super::*;

    const KB: usize = 1024;

    /// Events of about these sizes.
    fn step(first_event_id: i64, sizes: &[usize]) -> Vec<Fragment> {
        let event = |(event_id, &size): (i64, &usize)| {
            let summary = Some(Payload { data: vec![0; size], ..Payload::default() });
            let user_metadata = Some(UserMetadata { summary, details: None });
            HistoryEvent { event_id, user_metadata, ..HistoryEvent::default() }
        };
        fragments_of((first_event_id..).zip(sizes).map(event).collect())
    }

    /// First and last event of each.
    fn rows(steps: impl IntoIterator<Item = Vec<Fragment>>) -> Vec<(i64, i64)> {
        let rows = merged(steps.into_iter().flatten().collect());
        let range = |row: Fragment| {
            let ids = History::decode(row.bytes).unwrap().events.into_iter().map(|it| it.event_id);
            assert!(ids.eq(row.first_event_id..=row.last_event_id));
            (row.first_event_id, row.last_event_id)
        };
        rows.into_iter().map(range).collect()
    }

    #[test]
    fn steps_of_a_batch_share_a_row() {
        assert_eq!(rows([step(1, &[10, 10]), step(3, &[10])]), [(1, 3)]);
        assert_eq!(rows([]), []);
    }

    #[test]
    fn row_is_no_larger_than_a_reader_takes_at_once() {
        assert_eq!(rows([step(1, &[600 * KB; 3])]), [(1, 1), (2, 2), (3, 3)]);
        assert_eq!(rows([step(1, &[300 * KB; 8])]), [(1, 2), (3, 4), (5, 6), (7, 8)]);
        assert_eq!(rows([step(1, &[10]), step(2, &[600 * KB; 2])]), [(1, 2), (3, 3)]);
    }

    #[test]
    fn event_that_is_larger_has_its_own_row() {
        assert_eq!(rows([step(1, &[10, 2_000 * KB, 10])]), [(1, 1), (2, 2), (3, 3)]);
    }
}
