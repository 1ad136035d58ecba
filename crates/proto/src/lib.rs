//! Protobuf messages: Temporal's, from the official crate, and Perennial's own.
//!
//! History events, commands, payloads and failures stay in Temporal's own messages from the wire to the
//! disk, so there is no second copy of those types anywhere. Our own messages are the state stored next to the
//! history ([`store`]), described in `proto/perennial/store/v1`.
//!
//! Any of them can be read from and written as JSON, as Temporal writes it ([`json`]), by their descriptors
//! ([`descriptors`]). There is no other logic here. Start reading at the `.proto` files.

mod address;
pub mod json;
mod payloads;

use std::collections::HashMap;
use std::sync::LazyLock;

use prost::Message;
use prost_reflect::DescriptorPool;

pub use payloads::opaque_payloads;
pub use prost_reflect;
pub use prost_wkt_types::{Any, Duration, Timestamp};
pub use temporalio_protos::temporal::api as temporal;

/// Perennial's API beyond Temporal's.
pub use self::generated::v1 as perennial;

/// The stored state of runs and schedules: one message per row.
pub use self::generated::store::v1 as store;

/// Messages between the nodes of a cluster.
pub use self::generated::node::v1 as node;

/// Modules as the packages are: generated code finds other packages by its place among them.
#[allow(missing_docs, clippy::all, unreachable_pub, reason = "generated from proto/perennial")]
mod generated {
    pub mod node {
        pub mod v1 {
            tonic::include_proto!("perennial.node.v1");
        }
    }
    pub mod store {
        pub mod v1 {
            tonic::include_proto!("perennial.store.v1");
        }
    }
    pub mod v1 {
        tonic::include_proto!("perennial.v1");
    }
}

/// Both sides of Temporal's gRPC services.
pub mod service {
    /// `temporal.api.workflowservice.v1`.
    #[allow(missing_docs, clippy::all, reason = "generated from Temporal's service definitions")]
    pub mod workflow {
        tonic::include_proto!("temporal.api.workflowservice.v1");
    }
    /// `temporal.api.operatorservice.v1`.
    #[allow(missing_docs, clippy::all, reason = "generated from Temporal's service definitions")]
    pub mod operator {
        tonic::include_proto!("temporal.api.operatorservice.v1");
    }
}

/// Encodes a message.
///
/// Allocates the exact length first: a vector that grows checks its capacity at every byte of a number, which takes a
/// quarter longer or more.
///
/// ```
/// # use prost::Message;
/// let duration = perennial_proto::Duration { seconds: 300, nanos: 7 };
/// assert_eq!(perennial_proto::encoded(&duration), duration.encode_to_vec());
/// ```
pub fn encoded(message: &impl Message) -> Vec<u8> {
    let mut bytes = vec![0; message.encoded_len()];
    encode_into(message, &mut bytes);
    bytes
}

/// Encodes a message into a slice of its exact length.
///
/// # Panics
/// If it is shorter.
pub fn encode_into(message: &impl Message, mut bytes: &mut [u8]) {
    message.encode_raw(&mut bytes);
}

/// Descriptors of all messages and services, with the options for their HTTP paths. The first call decodes them, which
/// takes some milliseconds.
pub fn descriptors() -> &'static DescriptorPool {
    static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
        DescriptorPool::decode(DESCRIPTORS)
            .expect("the build wrote descriptors that it had checked")
    });
    &POOL
}

/// The comment in the `.proto` file on a message, a field or a method, by its full name.
pub fn comment(full_name: &str) -> Option<&'static str> {
    static COMMENTS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let packed = include_bytes!(concat!(env!("OUT_DIR"), "/comments.gz")).as_slice();
        serde_json::from_reader(flate2::read::GzDecoder::new(packed))
            .expect("the build wrote a map of texts")
    });
    COMMENTS.get(full_name).map(String::as_str)
}

/// The encoded descriptors, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
