//! A message on the wire: a byte that says whether it is compressed, its length, and the message.

use std::cell::RefCell;

use bytes::{Buf, Bytes, BytesMut};
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

/// Below this, compressing an answer costs more than it saves, even on a slow link.
const COMPRESSED_FROM: usize = 8 * 1024;

/// Reads the one message of a call. What has arrived of it, and isn't all, takes from `incomplete`.
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
        .ok_or_else(|| Status::invalid_argument("the call has no whole message"))?;
    let is_compressed = frame.get_u8() != 0;
    frame.advance(size_of::<u32>());
    if is_compressed { decompressed(&frame, headers, bytes_max) } else { Ok(frame) }
}

/// What has arrived of a message: most come in one piece, which isn't copied.
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

    /// How long the message says it is.
    fn length(&self) -> Option<usize> {
        let head = self.bytes().first_chunk::<{ EncodedMessage::HEAD }>()?;
        Some(u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize)
    }

    /// Refuses what will be too long, before it is all there.
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

    /// The message with its head, if it is all there.
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
            "the message is compressed with {encoding:?}; this server reads gzip"
        ));
        let accepted = MetadataValue::from_static("gzip,identity");
        status.metadata_mut().insert(ACCEPT_ENCODING, accepted);
        return Err(status);
    }
    // It ends with how long it is.
    let told = message.last_chunk().map_or(0, |length| u32::from_le_bytes(*length) as usize);
    if told > bytes_max {
        return Err(message_too_large(bytes_max));
    }
    let mut whole = vec![0; told];
    let done = DECOMPRESSOR.with_borrow_mut(|it| it.gzip_decompress(message, &mut whole));
    match done {
        Ok(length) if length == told => Ok(whole.into()),
        // Whoever is longer than it says is longer by whole turns of the number.
        Err(DecompressionError::InsufficientSpace) => Err(message_too_large(bytes_max)),
        Ok(_) | Err(DecompressionError::BadData) => {
            Err(Status::invalid_argument("the message isn't what gzip makes"))
        }
    }
}

thread_local! {
    /// To make one takes longer than to use it.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// Whether a client reads what is compressed.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.split(',').any(|it| it.trim() == GZIP))
}

/// A message with its head, compressed if that is worth it and the client can read it.
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
    // No answer comes near four gigabytes, and every client would refuse one that did.
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
    async fn message_is_read_however_it_is_cut() {
        let message: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        let (plain, packed) = (frame(0, &message), frame(1, &gzip(&message)));
        for size in [1, 4, 5, 6, 999, 10_000] {
            assert_eq!(read_in_pieces(&plain, size, None).await.unwrap(), message);
            assert_eq!(read_in_pieces(&packed, size, Some("gzip")).await.unwrap(), message);
        }
        assert_eq!(read_in_pieces(&frame(0, b""), 10, None).await.unwrap(), b"".as_slice());
    }

    #[tokio::test]
    async fn message_that_is_too_large_is_refused_in_the_words_workers_look_for() {
        let too_long = vec![0; MAX + 1];
        // Of the first it is enough to see the head. The others are small before they are decompressed, and the
        // last one lies about how long it will be.
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
    async fn parts_of_messages_share_a_bounded_memory() {
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
        // What comes in one piece waits for nothing.
        let whole = VecDeque::from([Bytes::from(frame(0, &[7; 18_000]))]);
        assert!(read(Pieces(whole), &HeaderMap::new(), MAX, &incomplete).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
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
    fn large_answers_are_compressed_for_those_who_can_read_them() {
        let accepting = |accepted: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            accepts_gzip(&headers)
        };
        assert!(accepting("gzip") && accepting("identity, deflate, gzip"));
        assert!(!accepting("identity") && !accepts_gzip(&HeaderMap::new()));

        let answer = |size: usize| EncodedMessage::of(&vec![7_u8; size]);
        for (size, accepts_gzip, is_compressed) in
            [(0, true, false), (100, true, false), (10_000, false, false), (10_000, true, true)]
        {
            let bytes = framed(answer(size), accepts_gzip);
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
            assert_eq!(message, answer(size).into_message());
        }
    }
}
