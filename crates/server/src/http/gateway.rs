//! Calls of the RPCs from inside the process.

use std::sync::Arc;

use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::{DynamicMessage, MethodDescriptor};
use tonic::Status;
use tonic::metadata::MetadataMap;

use crate::services::Services;

/// The same RPCs that gRPC has, without the network in between: what they refuse there they refuse here.
#[derive(Clone)]
pub(super) struct Gateway(pub(super) Arc<Services>);

impl Gateway {
    /// Calls an RPC. Dropping the future cancels the call.
    pub(super) async fn call(
        &self,
        rpc: &MethodDescriptor,
        message: &DynamicMessage,
        metadata: MetadataMap,
    ) -> Result<DynamicMessage, Status> {
        let path = format!("/{}/{}", rpc.parent_service().full_name(), rpc.name());
        let found = self.0.find(&path);
        let found = found.ok_or_else(|| Status::unimplemented(format!("unknown method {path}")))?;
        let answer = found.call(metadata, message.encode_to_vec().into()).await?;
        DynamicMessage::decode(rpc.output(), answer.into_message())
            .map_err(|error| Status::internal(format!("an answer can't be read: {error}")))
    }
}
