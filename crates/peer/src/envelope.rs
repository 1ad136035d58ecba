//! The body of a request or response: `length of the head (4 bytes, big-endian) | head | body`.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// Bytes of the length.
const LENGTH_BYTES: usize = 4;
/// Bodies up to this size are copied behind the head: two frames cost more.
const COPIED_BODY_BYTES_MAX: usize = 16 * 1024;

/// Head and body on their way out. A large body isn't copied.
pub(crate) struct Envelope {
    first: Bytes,
    second: Bytes,
}

impl Envelope {
    pub(crate) fn new(head: &Bytes, body: Bytes) -> Self {
        let copied = if body.len() <= COPIED_BODY_BYTES_MAX { body.len() } else { 0 };
        let mut first = BytesMut::with_capacity(LENGTH_BYTES + head.len() + copied);
        // Longer heads are refused before, by the limit of messages.
        first.put_u32(u32::try_from(head.len()).unwrap_or(u32::MAX));
        first.extend_from_slice(head);
        first.extend_from_slice(&body[..copied]);
        Self { first: first.freeze(), second: body.slice(copied..) }
    }
}

impl Body for Envelope {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let part = if this.first.is_empty() { &mut this.second } else { &mut this.first };
        let part = std::mem::take(part);
        Poll::Ready((!part.is_empty()).then(|| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.second.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact((self.first.len() + self.second.len()) as u64)
    }
}

/// Reads head and body of at most `bytes_max` together. They share one buffer.
pub(crate) async fn read(
    mut body: Incoming,
    bytes_max: usize,
) -> Result<(Bytes, Bytes), ReadError> {
    let total_max = bytes_max.saturating_add(LENGTH_BYTES);
    // From `content-length`, which HTTP/2 compares with the bytes that arrive.
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if expected > total_max {
        return Err(ReadError::TooLarge { bytes_max });
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(ReadError::Connection)?.into_data() else { continue };
        if all.len() + first.len() + data.len() > total_max {
            return Err(ReadError::TooLarge { bytes_max });
        }
        if all.is_empty() && first.is_empty() {
            // Small messages arrive in one frame, and need no copy.
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(expected.max(first.len() + data.len()));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    split(if all.is_empty() { first } else { all.freeze() })
}

fn split(mut bytes: Bytes) -> Result<(Bytes, Bytes), ReadError> {
    let length = bytes.first_chunk::<LENGTH_BYTES>().ok_or(ReadError::Malformed)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| ReadError::Malformed)?;
    let mut rest = bytes.split_off(LENGTH_BYTES);
    if length > rest.len() {
        return Err(ReadError::Malformed);
    }
    let head = rest.split_to(length);
    Ok((head, rest))
}

/// Why a message can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("it is larger than {bytes_max} bytes, the limit of messages between nodes")]
    TooLarge { bytes_max: usize },
    #[error("its head is longer than the message")]
    Malformed,
    #[error(transparent)]
    Connection(hyper::Error),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(head: &[u8], body: &[u8]) -> Bytes {
        let envelope = Envelope::new(&Bytes::copy_from_slice(head), Bytes::copy_from_slice(body));
        assert_eq!(
            envelope.size_hint().exact(),
            Some((LENGTH_BYTES + head.len() + body.len()) as u64)
        );
        Bytes::from([envelope.first, envelope.second].concat())
    }

    #[test]
    fn head_and_body_of_any_size_are_read_as_they_were_written() {
        for (head, body) in [(0, 0), (3, 0), (0, 3), (5, 16 * 1024), (5, 16 * 1024 + 1)] {
            let (head, body) = (vec![1; head], vec![2; body]);
            let (read_head, read_body) = split(written(&head, &body)).unwrap();
            assert_eq!((&*read_head, &*read_body), (&*head, &*body));
        }
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((head, body)) = split(Bytes::from(bytes.clone())) {
                prop_assert_eq!(written(&head, &body), bytes);
            }
        }
    }
}
