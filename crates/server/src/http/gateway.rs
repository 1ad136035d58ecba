//! Calls of the gRPC services from inside the process.

use std::convert::Infallible;

use bytes::{Buf, BufMut, Bytes};
use hyper::http::uri::PathAndQuery;
use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::{DynamicMessage, MethodDescriptor};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::{Request, Response};
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tonic::{Extensions, Status};
use tower::util::{BoxCloneSyncService, MapResponse};

use crate::transport::too_large_as_temporal_says_it;

/// The same services that listen for gRPC, without the network in between: what they refuse there they
/// refuse here.
#[derive(Clone)]
pub(super) struct Gateway {
    services: BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>,
}

impl Gateway {
    pub(super) fn new(services: Routes, request_bytes_max: usize) -> Self {
        let words = too_large_as_temporal_says_it(request_bytes_max);
        Self { services: BoxCloneSyncService::new(MapResponse::new(services, words)) }
    }

    /// Calls an RPC. Dropping the future cancels the call.
    pub(super) async fn call(
        &self,
        rpc: &MethodDescriptor,
        message: &DynamicMessage,
        metadata: MetadataMap,
    ) -> Result<DynamicMessage, Status> {
        let path = format!("/{}/{}", rpc.parent_service().full_name(), rpc.name());
        let path = PathAndQuery::try_from(path)
            .map_err(|error| Status::internal(format!("{}: {error}", rpc.full_name())))?;
        let bytes = Bytes::from(message.encode_to_vec());
        let request = tonic::Request::from_parts(metadata, Extensions::default(), bytes);
        // An answer is as large as it is; nobody can make it larger from here.
        let mut grpc = Grpc::new(self.services.clone()).max_decoding_message_size(usize::MAX);
        let answer = grpc.unary(request, path, Raw).await?;
        DynamicMessage::decode(rpc.output(), answer.into_inner())
            .map_err(|error| Status::internal(format!("an answer can't be read: {error}")))
    }
}

/// Messages that are bytes already.
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
