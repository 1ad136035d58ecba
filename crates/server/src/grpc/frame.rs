//! gRPC frames: a byte that says whether the message is compressed, its length, and the message.

use std::cell::RefCell;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::Body;
use hyper::header::HeaderName;
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};
use tonic::Status;
use tonic::metadata::MetadataValue;

use crate::encoded_message::EncodedMessage;
use crate::errors::{RpcResult, message_too_large};
use crate::memory::MemoryBudget;

pub(super) const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
pub(super) const GZIP: &str = "gzip";

/// Smaller responses aren't compressed: that costs more than it saves, even on a slow link.
const COMPRESSED_FROM: usize = 8 * 1024;

/// Reads the one message of a call. While it is incomplete, its bytes are reserved from `incomplete`.
pub(super) async fn read<B>(
    mut body: B,
    headers: &HeaderMap,
    bytes_max: usize,
    incomplete: &MemoryBudget,
) -> RpcResult<Bytes>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut received = Received::default();
    let mut reserved = incomplete.empty_reservation();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Status::cancelled(format!("the message didn't arrive: {error}")))?;
        if let Ok(data) = frame.into_data() {
            let bytes = data.len();
            received.add(data);
            received.check(bytes_max)?;
            if !received.is_whole() {
                reserved.grow(bytes)?;
            }
        }
    }
    let mut frame = received
        .whole()
        .ok_or_else(|| Status::invalid_argument("the call has no complete message"))?;
    let is_compressed = frame.get_u8() != 0;
    frame.advance(size_of::<u32>());
    if is_compressed { decompressed(&frame, headers, bytes_max) } else { Ok(frame) }
}

/// A frame with a message that isn't compressed.
pub(super) fn uncompressed(message: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(EncodedMessage::HEAD + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    frame.put_slice(message);
    frame.freeze()
}

/// The bytes of a frame that have arrived. Most frames arrive in one piece, which isn't copied.
#[derive(Default)]
struct Received {
    first: Bytes,
    all: BytesMut,
}

impl Received {
    fn add(&mut self, piece: Bytes) {
        if self.first.is_empty() && self.all.is_empty() {
            self.first = piece;
            return;
        }
        self.all.extend_from_slice(&std::mem::take(&mut self.first));
        self.all.extend_from_slice(&piece);
    }

    fn bytes(&self) -> &[u8] {
        if self.all.is_empty() { &self.first } else { &self.all }
    }

    /// The message's length according to the header.
    fn length(&self) -> Option<usize> {
        let head = self.bytes().first_chunk::<{ EncodedMessage::HEAD }>()?;
        Some(u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize)
    }

    /// Refuses a frame that is too long as soon as its header has arrived.
    fn check(&self, bytes_max: usize) -> RpcResult<()> {
        let Some(length) = self.length() else { return Ok(()) };
        if length > bytes_max {
            return Err(message_too_large(bytes_max));
        }
        if self.bytes().len() > EncodedMessage::HEAD + length {
            return Err(Status::invalid_argument("the call has more than one message"));
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.length().is_some_and(|length| length == self.bytes().len() - EncodedMessage::HEAD)
    }

    /// The frame with its header, if it is complete.
    fn whole(self) -> Option<Bytes> {
        let is_whole = self.is_whole();
        let bytes = if self.all.is_empty() { self.first } else { self.all.freeze() };
        is_whole.then_some(bytes)
    }
}

fn decompressed(message: &[u8], headers: &HeaderMap, bytes_max: usize) -> RpcResult<Bytes> {
    let encoding = headers.get(ENCODING).map_or(&b""[..], |value| value.as_bytes());
    if encoding != GZIP.as_bytes() {
        let encoding = String::from_utf8_lossy(encoding);
        let mut status = Status::unimplemented(format!(
            "the message is compressed with {encoding:?}; this server accepts gzip"
        ));
        let accepted = MetadataValue::from_static("gzip,identity");
        status.metadata_mut().insert(ACCEPT_ENCODING, accepted);
        return Err(status);
    }
    // The last four bytes hold the length.
    let length = message.last_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    if length > bytes_max {
        return Err(message_too_large(bytes_max));
    }
    let mut whole = vec![0; length];
    let done = DECOMPRESSOR.with_borrow_mut(|it| it.gzip_decompress(message, &mut whole));
    match done {
        Ok(written) if written == length => Ok(whole.into()),
        // gzip stores the length modulo 2^32, so a longer message appears shorter.
        Err(DecompressionError::InsufficientSpace) => Err(message_too_large(bytes_max)),
        Ok(_) | Err(DecompressionError::BadData) => {
            Err(Status::invalid_argument("the message isn't valid gzip"))
        }
    }
}

thread_local! {
    /// Reused: making one takes longer than decompressing a message.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// Whether the client accepts compressed messages.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.split(',').any(|it| it.trim() == GZIP))
}

/// A message with its header, compressed if it is large and the client accepts gzip.
pub(super) fn framed(message: EncodedMessage, accepts_gzip: bool) -> Bytes {
    if accepts_gzip && message.as_message().len() >= COMPRESSED_FROM {
        return compressed(message.as_message());
    }
    message.into_framed(|message| head(0, message.len()))
}

fn compressed(message: &[u8]) -> Bytes {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut frame = vec![0; EncodedMessage::HEAD + compressor.gzip_compress_bound(message.len())];
    let (room, compressed) = frame.split_at_mut(EncodedMessage::HEAD);
    let length = compressor.gzip_compress(message, compressed).expect("there is room for it");
    room.copy_from_slice(&head(1, length));
    frame.truncate(EncodedMessage::HEAD + length);
    frame.into()
}

fn head(flag: u8, length: usize) -> [u8; EncodedMessage::HEAD] {
    // No response comes near four gigabytes, and every client would refuse it.
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    [flag, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;
    use hyper::header::HeaderValue;
    use tonic::Code;

    use super::*;

    const MAX: usize = 20_000;

    /// A body that arrives in pieces.
    struct Pieces(VecDeque<Bytes>);

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
        }
    }

    async fn read_in_pieces(
        body: &[u8],
        size: usize,
        encoding: Option<&'static str>,
    ) -> RpcResult<Bytes> {
        let pieces = body.chunks(size).map(Bytes::copy_from_slice).collect();
        let mut headers = HeaderMap::new();
        if let Some(encoding) = encoding {
            headers.insert(ENCODING, HeaderValue::from_static(encoding));
        }
        read(Pieces(pieces), &headers, MAX, &MemoryBudget::new(4 * MAX, "tests")).await
    }

    fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
        [&head(flag, message.len())[..], message].concat()
    }

    fn gzip(message: &[u8]) -> Vec<u8> {
        compressed(message)[EncodedMessage::HEAD..].to_vec()
    }

    #[tokio::test]
    async fn message_is_read_in_pieces_of_any_size() {
        let message: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        let (plain, packed) = (frame(0, &message), frame(1, &gzip(&message)));
        for size in [1, 4, 5, 6, 999, 10_000] {
            assert_eq!(read_in_pieces(&plain, size, None).await.unwrap(), message);
            assert_eq!(read_in_pieces(&packed, size, Some("gzip")).await.unwrap(), message);
        }
        assert_eq!(read_in_pieces(&frame(0, b""), 10, None).await.unwrap(), b"".as_slice());
    }

    #[tokio::test]
    async fn too_large_message_gets_the_text_that_workers_look_for() {
        let too_long = vec![0; MAX + 1];
        // The first is refused by its header. The others are small before they are decompressed, and the last one has a
        // wrong length.
        let (plain, packed) = (head(0, MAX + 1).to_vec(), frame(1, &gzip(&too_long)));
        let mut lie = packed.clone();
        let end = lie.len() - 4;
        lie[end..].copy_from_slice(&7_u32.to_le_bytes());
        for body in [plain, packed, lie] {
            let status = read_in_pieces(&body, 7, Some("gzip")).await.unwrap_err();
            assert_eq!(status.code(), Code::ResourceExhausted);
            let words = "grpc: received message after decompression larger than max 20000";
            assert_eq!(status.message(), words);
        }
        assert_eq!(read_in_pieces(&frame(0, &too_long[1..]), 999, None).await.unwrap().len(), MAX);
        let packed = frame(1, &gzip(&too_long[1..]));
        assert_eq!(read_in_pieces(&packed, 999, Some("gzip")).await.unwrap().len(), MAX);
    }

    #[tokio::test]
    async fn incomplete_messages_share_a_memory_budget() {
        let incomplete = MemoryBudget::new(15_000, "messages that arrive");
        let half = |body: Vec<u8>| {
            let pieces =
                VecDeque::from([body[..10_000].to_vec().into(), body[10_000..].to_vec().into()]);
            let incomplete = incomplete.clone();
            async move { read(Pieces(pieces), &HeaderMap::new(), MAX, &incomplete).await }
        };
        let mut other = incomplete.empty_reservation();
        assert!(half(frame(0, &[7; 12_000])).await.is_ok());
        other.grow(6_000).unwrap();
        let refusal = half(frame(0, &[7; 12_000])).await.unwrap_err();
        assert_eq!(refusal.code(), Code::ResourceExhausted, "{refusal}");
        // A message in one piece reserves nothing.
        let whole = VecDeque::from([Bytes::from(frame(0, &[7; 18_000]))]);
        assert!(read(Pieces(whole), &HeaderMap::new(), MAX, &incomplete).await.is_ok());
    }

    #[tokio::test]
    async fn invalid_frames_are_refused() {
        let two = [frame(0, b"a"), frame(0, b"b")].concat();
        let mut damaged = frame(1, &gzip(b"abcdefghijkl"));
        damaged[EncodedMessage::HEAD + 16] ^= 1;
        for (body, encoding, code) in [
            (&b""[..], None, Code::InvalidArgument),
            (&frame(0, b"abc")[..6], None, Code::InvalidArgument),
            (&two, None, Code::InvalidArgument),
            (&frame(1, b"abc"), Some("gzip"), Code::InvalidArgument),
            (&damaged, Some("gzip"), Code::InvalidArgument),
            (&frame(1, b"abc"), None, Code::Unimplemented),
            (&frame(1, b"abc"), Some("zstd"), Code::Unimplemented),
        ] {
            let status = read_in_pieces(body, 100, encoding).await.unwrap_err();
            assert_eq!(status.code(), code, "{body:?}: {status}");
        }
    }

    #[test]
    fn large_responses_are_compressed_if_the_client_accepts_it() {
        let accepting = |accepted: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            accepts_gzip(&headers)
        };
        assert!(accepting("gzip") && accepting("identity, deflate, gzip"));
        assert!(!accepting("identity") && !accepts_gzip(&HeaderMap::new()));

        let response = |size: usize| EncodedMessage::of(&vec![7_u8; size]);
        for (size, accepts_gzip, is_compressed) in
            [(0, true, false), (100, true, false), (10_000, false, false), (10_000, true, true)]
        {
            let bytes = framed(response(size), accepts_gzip);
            assert_eq!(
                bytes[..EncodedMessage::HEAD],
                head(u8::from(is_compressed), bytes.len() - EncodedMessage::HEAD)
            );
            let mut message = bytes.slice(EncodedMessage::HEAD..);
            if is_compressed {
                let mut headers = HeaderMap::new();
                headers.insert(ENCODING, HeaderValue::from_static(GZIP));
                message = decompressed(&message, &headers, MAX).unwrap();
            }
            assert_eq!(message, response(size).into_message());
        }
    }
}
