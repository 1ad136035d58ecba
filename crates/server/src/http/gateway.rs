//! Calls of the RPCs from inside the process.

use std::sync::Arc;

use bytes::Bytes;
use perennial_proto::prost_reflect::MethodDescriptor;
use tonic::Status;
use tonic::metadata::MetadataMap;

use crate::services::Services;

/// The same RPCs that gRPC has, without the network in between: what they refuse there they refuse here.
#[derive(Clone)]
pub(super) struct Gateway(pub(super) Arc<Services>);

impl Gateway {
    /// Calls an RPC with its message as bytes. Dropping the future cancels the call.
    pub(super) async fn call(
        &self,
        rpc: &MethodDescriptor,
        message: Bytes,
        metadata: MetadataMap,
    ) -> Result<Bytes, Status> {
        let path = format!("/{}/{}", rpc.parent_service().full_name(), rpc.name());
        let found = self.0.find(&path);
        let found = found.ok_or_else(|| Status::unimplemented(format!("unknown method {path}")))?;
        Ok(found.call(metadata, message).await?.into_message())
    }
}
