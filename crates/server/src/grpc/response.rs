//! A gRPC response: headers, one message, and trailers with the status.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use tonic::Status;

use super::frame::{self, ENCODING, GZIP};
use crate::encoded_message::EncodedMessage;

const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The response to a successful call.
pub(super) fn message(message: EncodedMessage, accepts_gzip: bool) -> Response<Body> {
    let mut response = Response::new(Body::Message(frame::framed(message, accepts_gzip)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    // The compression of messages whose flag is set. Clients learn from it that the server understands gzip.
    if accepts_gzip {
        headers.insert(ENCODING, HeaderValue::from_static(GZIP));
    }
    response
}

/// The response to a request that isn't gRPC.
pub(super) fn not_grpc() -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response
}

/// The body of a response. An error has none: its headers hold the status.
#[derive(Default)]
pub(super) enum Body {
    /// A message, then the trailers.
    Message(Bytes),
    /// Trailers with the status OK.
    Trailers,
    #[default]
    Empty,
    /// The body of an auxiliary service.
    Other(tonic::body::Body),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Self::Other(body) = &mut *self {
            return Pin::new(body).poll_frame(context);
        }
        let (frame, rest) = match std::mem::take(&mut *self) {
            Self::Message(bytes) => (Frame::data(bytes), Self::Trailers),
            Self::Trailers => {
                let mut trailers = HeaderMap::with_capacity(1);
                trailers.insert(STATUS, HeaderValue::from_static("0"));
                (Frame::trailers(trailers), Self::Empty)
            }
            Self::Empty | Self::Other(_) => return Poll::Ready(None),
        };
        *self = rest;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Message(_) | Self::Trailers => false,
            Self::Empty => true,
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Message(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Trailers | Self::Empty => SizeHint::with_exact(0),
            Self::Other(body) => body.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_names_gzip_to_clients_that_accept_it() {
        let encoding = |accepts_gzip| {
            let response = message(EncodedMessage::of(&vec![7_u8; 10]), accepts_gzip);
            response.headers().get(ENCODING).cloned()
        };
        assert_eq!((encoding(true), encoding(false)), (Some(HeaderValue::from_static(GZIP)), None));
    }
}
