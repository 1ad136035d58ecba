//! An answer on the wire: headers, one message, and how it ended.

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

/// The answer to a call that went well.
pub(super) fn message(message: EncodedMessage, accepts_gzip: bool) -> Response<Body> {
    let mut response = Response::new(Body::Message(frame::framed(message, accepts_gzip)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    // How messages are compressed that say they are. Clients see by it that they are understood.
    if accepts_gzip {
        headers.insert(ENCODING, HeaderValue::from_static(GZIP));
    }
    response
}

/// The answer to something else than a call.
pub(super) fn not_grpc() -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response
}

/// What comes after the headers. A refusal has nothing: its headers say it all.
#[derive(Default)]
pub(super) enum Body {
    /// A message, then the trailers.
    Message(Bytes),
    /// They say that it went well.
    Trailers,
    #[default]
    Empty,
    /// Of a service that isn't ours.
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
    fn a_client_that_accepts_gzip_is_told_that_it_is_understood() {
        let encoding = |accepts_gzip| {
            let response = message(EncodedMessage::of(&vec![7_u8; 10]), accepts_gzip);
            response.headers().get(ENCODING).cloned()
        };
        assert_eq!((encoding(true), encoding(false)), (Some(HeaderValue::from_static(GZIP)), None));
    }
}
