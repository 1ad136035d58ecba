//! A call that has arrived: from its bytes to its response.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};

use crate::call::{PeerAnswer, PeerCall, PeerNode};
use crate::envelope::{self, Envelope, ReadError};

/// Reads a call, hands it to the handler, and returns its response. When the caller cancels the call or the
/// connection ends, hyper drops this future, and with it the handler's.
pub(crate) async fn respond<F>(
    request: Request<Incoming>,
    node: PeerNode,
    bytes_max: usize,
    handler: impl Fn(PeerNode, PeerCall) -> F,
) -> Result<Response<Envelope>, Infallible>
where
    F: Future<Output = PeerAnswer>,
{
    let (request, body) = request.into_parts();
    if request.method != Method::POST {
        return Ok(refusal(
            StatusCode::METHOD_NOT_ALLOWED,
            "calls between nodes are POST requests",
        ));
    }
    let path = request.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let (head, body) = match envelope::read(body, bytes_max).await {
        Ok(read) => read,
        Err(error) => {
            let status = match error {
                ReadError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
                ReadError::Malformed | ReadError::Connection(_) => StatusCode::BAD_REQUEST,
            };
            return Ok(refusal(status, &format!("the call can't be read: {error}")));
        }
    };
    let (caller, called) = (node.id.clone(), path.clone());
    let handled = async { handler(node, PeerCall { path, head, body }).await };
    Ok(match caught(handled).await {
        Ok(answer) if answer.head.len().saturating_add(answer.body.len()) > bytes_max => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!(
                "the answer is larger than {bytes_max} bytes, the limit of messages between nodes"
            ),
        ),
        Ok(PeerAnswer { head, body }) => Response::new(Envelope::new(&head, body)),
        Err(Panicked) => {
            // The panic's own message says where.
            tracing::error!("the handler of `{called}` panicked on a call of the node `{caller}`");
            refusal(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the handler failed: the node's log says why",
            )
        }
    })
}

fn refusal(status: StatusCode, text: &str) -> Response<Envelope> {
    let mut response =
        Response::new(Envelope::new(&Bytes::new(), Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = status;
    response
}

struct Panicked;

/// A panic ends the call and nothing else: what the handler shares with others is its own business.
async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Err(Panicked).into(),
        }
    })
    .await
}
