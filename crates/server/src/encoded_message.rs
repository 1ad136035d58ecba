//! Answers as bytes.

use bytes::Bytes;
use perennial_proto::encode_into;
use perennial_proto::temporal::history::v1::History;
use perennial_proto::temporal::workflowservice::v1::{
    GetWorkflowExecutionHistoryResponse, PollWorkflowTaskQueueResponse,
};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use crate::errors::RpcResult;
use crate::history::Events;

/// An answer as bytes, behind room for the head that frames it on the wire: nothing is copied for that.
pub(crate) struct EncodedMessage(Vec<u8>);

impl EncodedMessage {
    /// Bytes of the head.
    pub(crate) const HEAD: usize = 5;

    pub(crate) fn of(answer: &impl Encode) -> Self {
        let mut bytes = vec![0; Self::HEAD + answer.length()];
        answer.encode(&mut bytes[Self::HEAD..]);
        Self(bytes)
    }

    /// The message alone.
    pub(crate) fn into_message(self) -> Bytes {
        Bytes::from(self.0).split_off(Self::HEAD)
    }

    /// The message behind its head.
    pub(crate) fn into_framed(mut self, head: impl FnOnce(&[u8]) -> [u8; Self::HEAD]) -> Bytes {
        let (room, message) = self.0.split_at_mut(Self::HEAD);
        room.copy_from_slice(&head(message));
        self.0.into()
    }

    /// The message alone, as it lies here.
    pub(crate) fn as_message(&self) -> &[u8] {
        &self.0[Self::HEAD..]
    }
}

/// What an RPC may answer with.
pub(crate) trait Encode {
    /// In bytes.
    fn length(&self) -> usize;

    /// Into memory of that length.
    fn encode(&self, bytes: &mut [u8]);
}

impl<T: Message> Encode for T {
    fn length(&self) -> usize {
        self.encoded_len()
    }

    fn encode(&self, bytes: &mut [u8]) {
        encode_into(self, bytes);
    }
}

/// An answer with a history that goes out as it is stored: the events aren't decoded to be encoded again.
pub(crate) struct WithHistory<T> {
    /// Everything else.
    pub(crate) answer: T,
    pub(crate) history: Option<Events>,
}

impl<T: HasHistory> WithHistory<T> {
    /// The whole answer as a message, for those who put it into another one.
    pub(crate) fn decoded(self) -> RpcResult<T> {
        let mut answer = self.answer;
        if let Some(events) = self.history {
            *answer.history_mut() = Some(events.decoded()?);
        }
        Ok(answer)
    }

    /// Of the history's field: its key, its length and its events.
    fn field_length(&self) -> usize {
        self.history.as_ref().map_or(0, |events| {
            let length = events.as_bytes().len();
            key_len(T::HISTORY) + encoded_len_varint(length as u64) + length
        })
    }
}

impl<T: HasHistory> Encode for WithHistory<T> {
    fn length(&self) -> usize {
        self.answer.encoded_len() + self.field_length()
    }

    fn encode(&self, bytes: &mut [u8]) {
        let (answer, mut field) = bytes.split_at_mut(bytes.len() - self.field_length());
        encode_into(&self.answer, answer);
        if let Some(events) = &self.history {
            let events = events.as_bytes();
            encode_key(T::HISTORY, WireType::LengthDelimited, &mut field);
            encode_varint(events.len() as u64, &mut field);
            field.copy_from_slice(events);
        }
    }
}

/// A message with a history in it.
pub(crate) trait HasHistory: Message {
    /// The number of its field.
    const HISTORY: u32;

    fn history_mut(&mut self) -> &mut Option<History>;
}

impl HasHistory for PollWorkflowTaskQueueResponse {
    const HISTORY: u32 = 8;

    fn history_mut(&mut self) -> &mut Option<History> {
        &mut self.history
    }
}

impl HasHistory for GetWorkflowExecutionHistoryResponse {
    const HISTORY: u32 = 1;

    fn history_mut(&mut self) -> &mut Option<History> {
        &mut self.history
    }
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::history::v1::HistoryEvent;

    use super::*;

    fn events() -> Events {
        let mut events = Events::default();
        for event_id in [1, 2, 300] {
            events.push(&HistoryEvent { event_id, ..HistoryEvent::default() });
        }
        events
    }

    /// The numbers of the fields are written down twice: here it shows whether they are the same.
    fn is_as_if_encoded_whole<T: HasHistory + Default + PartialEq + std::fmt::Debug>(
        answer: impl Fn() -> T,
    ) {
        for history in [None, Some(Events::default()), Some(events())] {
            let spliced = WithHistory { answer: answer(), history: history.clone() };
            let read = T::decode(EncodedMessage::of(&spliced).into_message()).unwrap();
            assert_eq!(read, WithHistory { answer: answer(), history }.decoded().unwrap());
        }
    }

    #[test]
    fn history_goes_out_as_if_it_were_encoded_with_the_rest() {
        is_as_if_encoded_whole(|| PollWorkflowTaskQueueResponse {
            task_token: vec![1, 2],
            attempt: 3,
            ..PollWorkflowTaskQueueResponse::default()
        });
        is_as_if_encoded_whole(|| GetWorkflowExecutionHistoryResponse {
            next_page_token: vec![1, 2],
            ..GetWorkflowExecutionHistoryResponse::default()
        });
    }
}
