//! Responses as bytes.

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

/// An encoded response, with room before it for the gRPC frame header, so that framing copies nothing.
pub(crate) struct EncodedMessage(Vec<u8>);

impl EncodedMessage {
    /// Bytes of the gRPC frame header.
    pub(crate) const HEAD: usize = 5;

    pub(crate) fn of(response: &impl Encode) -> Self {
        let mut bytes = vec![0; Self::HEAD + response.length()];
        response.encode(&mut bytes[Self::HEAD..]);
        Self(bytes)
    }

    /// A response that another node has encoded.
    pub(crate) fn from_message(message: &[u8]) -> Self {
        let mut bytes = vec![0; Self::HEAD + message.len()];
        bytes[Self::HEAD..].copy_from_slice(message);
        Self(bytes)
    }

    /// The message without the room for the header.
    pub(crate) fn into_message(self) -> Bytes {
        Bytes::from(self.0).split_off(Self::HEAD)
    }

    /// The message after its frame header.
    pub(crate) fn into_framed(mut self, head: impl FnOnce(&[u8]) -> [u8; Self::HEAD]) -> Bytes {
        let (room, message) = self.0.split_at_mut(Self::HEAD);
        room.copy_from_slice(&head(message));
        self.0.into()
    }

    /// The message, borrowed.
    pub(crate) fn as_message(&self) -> &[u8] {
        &self.0[Self::HEAD..]
    }
}

/// A response that an RPC may return.
pub(crate) trait Encode {
    /// The length of the encoding in bytes.
    fn length(&self) -> usize;

    /// Encodes into `bytes`, which has exactly that length.
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

/// A response with a history that is sent as it is stored, without decoding and encoding its events.
pub(crate) struct WithHistory<T> {
    /// The response without the history.
    pub(crate) response: T,
    pub(crate) history: Option<Events>,
}

impl<T: HasHistory> WithHistory<T> {
    /// The response with its history decoded, for use within another message.
    pub(crate) fn decoded(self) -> RpcResult<T> {
        let mut response = self.response;
        if let Some(events) = self.history {
            *response.history_mut() = Some(events.decoded()?);
        }
        Ok(response)
    }

    /// Bytes of the history's field: key, length and events.
    fn field_length(&self) -> usize {
        self.history.as_ref().map_or(0, |events| {
            let length = events.as_bytes().len();
            key_len(T::HISTORY) + encoded_len_varint(length as u64) + length
        })
    }
}

impl<T: HasHistory> Encode for WithHistory<T> {
    fn length(&self) -> usize {
        self.response.encoded_len() + self.field_length()
    }

    fn encode(&self, bytes: &mut [u8]) {
        let (response, mut field) = bytes.split_at_mut(bytes.len() - self.field_length());
        encode_into(&self.response, response);
        if let Some(events) = &self.history {
            let events = events.as_bytes();
            encode_key(T::HISTORY, WireType::LengthDelimited, &mut field);
            encode_varint(events.len() as u64, &mut field);
            field.copy_from_slice(events);
        }
    }
}

/// A message with a field for a history.
pub(crate) trait HasHistory: Message {
    /// The number of the field.
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

    /// Checks the field numbers of [`HasHistory`] against the generated code.
    fn is_encoded_as_by_prost<T: HasHistory + Default + PartialEq + std::fmt::Debug>(
        response: impl Fn() -> T,
    ) {
        for history in [None, Some(Events::default()), Some(events())] {
            let spliced = WithHistory { response: response(), history: history.clone() };
            let read = T::decode(EncodedMessage::of(&spliced).into_message()).unwrap();
            assert_eq!(read, WithHistory { response: response(), history }.decoded().unwrap());
        }
    }

    #[test]
    fn history_is_encoded_as_prost_does() {
        is_encoded_as_by_prost(|| PollWorkflowTaskQueueResponse {
            task_token: vec![1, 2],
            attempt: 3,
            ..PollWorkflowTaskQueueResponse::default()
        });
        is_encoded_as_by_prost(|| GetWorkflowExecutionHistoryResponse {
            next_page_token: vec![1, 2],
            ..GetWorkflowExecutionHistoryResponse::default()
        });
    }
}
