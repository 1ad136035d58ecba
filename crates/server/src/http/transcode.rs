//! Converts between JSON and messages within a memory budget, large ones on threads of their own.
//!
//! Parsed JSON takes many times the memory of its text, and a dynamic message a kilobyte or more. So the memory of each
//! request and response is estimated first, in one pass over its bytes, and reserved from the budget of HTTP.

use std::sync::Arc;

use bytes::Bytes;
use perennial_proto::json::{Measure, measure, measure_message};
use perennial_proto::prost_reflect::{DynamicMessage, MethodDescriptor};
use tokio::sync::Semaphore;
use tonic::Status;

use super::request::Error;
use crate::memory::{MemoryBudget, Reservation};

/// JSON values in one request. A megabyte of numbers has about as many.
const VALUES_MAX: usize = 250_000;
/// Nesting of JSON values. JSON parsers fail not far beyond, and message decoders sooner.
const DEPTH_MAX: usize = 120;
/// Messages in one request, including payloads.
pub(super) const MESSAGES_MAX: usize = 10_000;

/// Estimated bytes of a JSON value with its key, and of a dynamic message, whose fields are in a B-tree node with room
/// for eleven. Measured: 52 to 148, and 1,411.
const VALUE_BYTES: usize = 150;
const MESSAGE_BYTES: usize = 1_500;

/// Smaller conversions run in place: to pass them to another thread takes longer.
const INLINE_BYTES: usize = 256 * 1024;

/// Converts between JSON and messages.
#[derive(Clone)]
pub(super) struct Transcoder {
    memory: MemoryBudget,
    /// Limits the large conversions at a time, so that they don't use all processors.
    threads: Arc<Semaphore>,
}

impl Transcoder {
    pub(super) fn new(memory_bytes: usize) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            memory: MemoryBudget::new(memory_bytes, "JSON over HTTP"),
            threads: Arc::new(Semaphore::new((processors / 2).max(1))),
        }
    }

    /// A reservation for a request whose body begins to arrive.
    pub(super) fn empty_reservation(&self) -> Reservation {
        self.memory.empty_reservation()
    }

    /// Decodes a body, whose length is `reserved` already.
    pub(super) async fn read(
        &self,
        body: Bytes,
        mut reserved: Reservation,
        build: impl FnOnce(&[u8]) -> Result<Bytes, Error> + Send + 'static,
    ) -> Result<Bytes, Status> {
        let found = checked(measure(&body))?;
        let bytes = memory_of(&Measure { messages: found.values.min(MESSAGES_MAX), ..found });
        // The text is reserved already.
        reserved.grow(bytes - body.len())?;
        let built = self.run(bytes, move || {
            let built = build(&body);
            drop((body, reserved));
            built
        });
        built.await?.map_err(|error| Status::invalid_argument(error.to_string()))
    }

    /// Encodes the response of an RPC with `write`. The text holds its reservation until it is dropped.
    pub(super) async fn write(
        &self,
        rpc: &MethodDescriptor,
        message: Bytes,
        write: impl FnOnce(DynamicMessage) -> Vec<u8> + Send + 'static,
    ) -> Result<Bytes, Status> {
        let descriptor = rpc.output();
        let bytes = memory_of(&measure_message(&descriptor, &message));
        let mut reserved = self.memory.wait_for(bytes).await?;
        let written = self.run(bytes, move || {
            let message = DynamicMessage::decode(descriptor, message).map_err(|error| {
                Status::internal(format!("the response can't be decoded: {error}"))
            })?;
            let text = write(message);
            reserved.shrink_to(text.len());
            Ok(Bytes::from_owner(ReservedText { text, _reserved: reserved }))
        });
        written.await?
    }

    async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        if bytes <= INLINE_BYTES {
            return Ok(work());
        }
        let _turn = self.threads.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Status::internal(format!("the conversion of JSON failed: {error}")))
    }
}

/// Text whose memory stays reserved until it is sent.
struct ReservedText {
    text: Vec<u8>,
    _reserved: Reservation,
}

impl AsRef<[u8]> for ReservedText {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

fn checked(found: Measure) -> Result<Measure, Status> {
    let problem = if found.values > VALUES_MAX {
        format!(
            "has {} values, more than the limit of {VALUES_MAX}; send a large value as one payload in base64, \
             or call over gRPC",
            found.values
        )
    } else if found.depth > DEPTH_MAX {
        format!("is nested {} levels deep, more than the limit of {DEPTH_MAX}", found.depth)
    } else {
        return Ok(found);
    };
    Err(Status::invalid_argument(format!("the body: its JSON {problem}")))
}

/// The estimated memory of a conversion.
fn memory_of(found: &Measure) -> usize {
    // The bytes are there three times: as text, in the parsed tree, and in the message.
    3 * found.bytes + VALUE_BYTES * found.values + MESSAGE_BYTES * found.messages
}
