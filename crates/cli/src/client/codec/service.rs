//! A gRPC connection whose payloads go through a codec server.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use perennial_proto::descriptors;
use perennial_proto::prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor};
use prost::Message;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tower::{BoxError, Service};

use super::{Codec, Direction};
use crate::client::RESPONSE_BYTES_MAX;

/// Compression flag and length before each message.
const FRAME_HEADER_BYTES: usize = 5;

/// Encodes payloads of requests and decodes payloads of answers, if there is a codec server.
#[derive(Debug, Clone)]
pub(crate) struct CodecService<S> {
    inner: S,
    codec: Option<Arc<Codec>>,
}

impl<S> CodecService<S> {
    pub(crate) fn new(inner: S, codec: Option<Codec>) -> Self {
        Self { inner, codec: codec.map(Arc::new) }
    }
}

impl<S, B> Service<Request<Body>> for CodecService<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: tonic::codegen::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The service that is ready is used up, and its copy waits for the next call.
        let copy = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, copy);
        let method = unary_method(request.uri().path());
        let coded = self.codec.clone().zip(method);
        Box::pin(async move {
            let Some((codec, method)) = coded else {
                return Ok(inner.call(request).await.map_err(Into::into)?.map(Body::new));
            };
            let request = match encoded(&codec, method.input(), request).await {
                Ok(request) => request,
                Err(status) => return Ok(status.into_http()),
            };
            let response = inner.call(request).await.map_err(Into::into)?.map(Body::new);
            Ok(decoded(&codec, method.output(), response).await.unwrap_or_else(Status::into_http))
        })
    }
}

/// The method of a path such as `/temporal.api.workflowservice.v1.WorkflowService/ListSchedules`.
fn unary_method(path: &str) -> Option<MethodDescriptor> {
    let (service, method) = path.trim_start_matches('/').split_once('/')?;
    let service = descriptors().get_service_by_name(service)?;
    let method = service.methods().find(|it| it.name() == method)?;
    (!method.is_client_streaming() && !method.is_server_streaming()).then_some(method)
}

async fn encoded(
    codec: &Codec,
    descriptor: MessageDescriptor,
    request: Request<Body>,
) -> Result<Request<Body>, Status> {
    let (mut parts, body) = request.into_parts();
    // A compressed answer couldn't be read here.
    parts.headers.remove("grpc-accept-encoding");
    let frame = body.collect().await?.to_bytes();
    let frame = converted(codec, Direction::Encode, descriptor, &frame).await?;
    Ok(Request::from_parts(parts, Body::new(Full::new(frame))))
}

async fn decoded(
    codec: &Codec,
    descriptor: MessageDescriptor,
    response: Response<Body>,
) -> Result<Response<Body>, Status> {
    let (parts, body) = response.into_parts();
    let collected = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
    let collected = collected.map_err(Status::from_error)?;
    let trailers = collected.trailers().cloned();
    let mut frame = collected.to_bytes();
    // An error has no message.
    if !frame.is_empty() {
        frame = converted(codec, Direction::Decode, descriptor, &frame).await?;
    }
    let body = Full::new(frame).with_trailers(async { trailers.map(Ok) });
    Ok(Response::from_parts(parts, Body::new(body)))
}

/// The same message with other payloads, in its frame.
async fn converted(
    codec: &Codec,
    direction: Direction,
    descriptor: MessageDescriptor,
    frame: &Bytes,
) -> Result<Bytes, Status> {
    let message = match frame.split_first() {
        Some((0, rest)) if rest.len() >= FRAME_HEADER_BYTES - 1 => &frame[FRAME_HEADER_BYTES..],
        Some(_) | None => {
            return Err(Status::internal(
                "the message is compressed or cut off; it can't be decoded",
            ));
        }
    };
    let mut message = DynamicMessage::decode(descriptor, message)
        .map_err(|error| Status::internal(format!("the message can't be read: {error}")))?;
    codec
        .convert(direction, &mut message)
        .await
        .map_err(|error| Status::internal(format!("{error:#}")))?;
    let length = u32::try_from(message.encoded_len())
        .map_err(|_| Status::internal("the message has more than 4 GiB with these payloads"))?;
    let mut frame = Vec::with_capacity(FRAME_HEADER_BYTES + message.encoded_len());
    frame.push(0);
    frame.extend(length.to_be_bytes());
    frame.extend(message.encode_to_vec());
    Ok(frame.into())
}
