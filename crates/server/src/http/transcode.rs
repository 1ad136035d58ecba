//! Between JSON and messages, within bounds: of a request's size, of the memory for all, and off the threads that
//! serve others.
//!
//! JSON that is read takes many times its length in memory, and a message known by its descriptor a kilobyte or
//! more. So each request and each answer is measured first, in one pass over its bytes, and takes its measure from
//! what HTTP may use.

use std::sync::Arc;

use bytes::Bytes;
use perennial_proto::json::{Measure, measure, measure_message};
use perennial_proto::prost_reflect::{DynamicMessage, MethodDescriptor};
use tokio::sync::Semaphore;
use tonic::Status;

use super::request::Error;
use crate::memory::{MemoryBudget, Reservation};

/// Values of JSON that one request may have. A megabyte of numbers has about as many.
const VALUES_MAX: usize = 250_000;
/// Values within values. Parsers of JSON end not far beyond, and messages sooner.
const DEPTH_MAX: usize = 120;
/// Messages that one request may have, payloads among them.
pub(super) const MESSAGES_MAX: usize = 10_000;

/// What is held, in bytes: of a value of JSON with its key, and of a message that is known by its descriptor, whose
/// fields are in a tree with room for eleven. A process was seen to grow by 52 to 148 and by 1,411.
const VALUE_BYTES: usize = 150;
const MESSAGE_BYTES: usize = 1_500;

/// What takes less is done where it is: to hand it to another thread takes longer.
const INLINE_BYTES: usize = 256 * 1024;

/// Does the work.
#[derive(Clone)]
pub(super) struct Transcoder {
    memory: MemoryBudget,
    /// Large ones at a time. The processors are there for others too.
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

    /// Memory for a request that begins to arrive.
    pub(super) fn empty_reservation(&self) -> Reservation {
        self.memory.empty_reservation()
    }

    /// Makes a message of a body, which has `reserved` its own length already.
    pub(super) async fn read(
        &self,
        body: Bytes,
        mut reserved: Reservation,
        build: impl FnOnce(&[u8]) -> Result<Bytes, Error> + Send + 'static,
    ) -> Result<Bytes, Status> {
        let found = checked(measure(&body))?;
        let weight = weight(&Measure { messages: found.values.min(MESSAGES_MAX), ..found });
        // Of which the text is there already.
        reserved.grow(weight - body.len())?;
        let built = self.run(weight, move || {
            let built = build(&body);
            drop((body, reserved));
            built
        });
        built.await?.map_err(|error| Status::invalid_argument(error.to_string()))
    }

    /// Writes the answer of an RPC, with `write`. What comes back holds on to its memory.
    pub(super) async fn write(
        &self,
        rpc: &MethodDescriptor,
        message: Bytes,
        write: impl FnOnce(DynamicMessage) -> Vec<u8> + Send + 'static,
    ) -> Result<Bytes, Status> {
        let descriptor = rpc.output();
        let weight = weight(&measure_message(&descriptor, &message));
        let mut reserved = self.memory.wait_for(weight).await?;
        let written = self.run(weight, move || {
            let message = DynamicMessage::decode(descriptor, message)
                .map_err(|error| Status::internal(format!("an answer can't be read: {error}")))?;
            let text = write(message);
            reserved.shrink_to(text.len());
            Ok(Bytes::from_owner(Held { text, _reserved: reserved }))
        });
        written.await?
    }

    async fn run<T: Send + 'static>(
        &self,
        weight: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        if weight <= INLINE_BYTES {
            return Ok(work());
        }
        let _turn = self.threads.acquire().await;
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Status::internal(format!("JSON can't be read or written: {error}")))
    }
}

/// Text whose memory is counted until it has been sent.
struct Held {
    text: Vec<u8>,
    _reserved: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

fn checked(found: Measure) -> Result<Measure, Status> {
    let problem = if found.values > VALUES_MAX {
        format!(
            "has {} values, and {VALUES_MAX} are read; send a large value as one payload in base64, or call \
             over gRPC",
            found.values
        )
    } else if found.depth > DEPTH_MAX {
        format!("is nested {} deep, and {DEPTH_MAX} are read", found.depth)
    } else {
        return Ok(found);
    };
    Err(Status::invalid_argument(format!("the body: its JSON {problem}")))
}

/// Memory that JSON and a message take while one is made of the other.
fn weight(found: &Measure) -> usize {
    // The bytes themselves come as text, in the tree, and as the message.
    3 * found.bytes + VALUE_BYTES * found.values + MESSAGE_BYTES * found.messages
}
