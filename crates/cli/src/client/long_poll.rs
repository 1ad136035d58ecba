//! Long polls, with retries while the server is unavailable.

use std::time::Duration;

use tonic::{Code, Request, Response, Status};

/// Timeout of one poll. Servers respond within a minute, with or without a result.
const POLL_TIMEOUT: Duration = Duration::from_secs(90);

/// How long the retries go on: longer than a restart of the server takes.
const RETRY_TIME_MAX: Duration = Duration::from_secs(60);

const RETRY_DELAY_MIN: Duration = Duration::from_millis(100);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(3);

/// Calls an RPC that may take a while, and retries it. The RPC must be safe to repeat.
pub(crate) async fn long_poll<Q: Clone, A>(
    request: Q,
    mut call: impl AsyncFnMut(Request<Q>) -> Result<Response<A>, Status>,
) -> Result<A, Status> {
    let mut waited = Duration::ZERO;
    let mut delay = RETRY_DELAY_MIN;
    loop {
        let mut attempt = Request::new(request.clone());
        attempt.set_timeout(POLL_TIMEOUT);
        match call(attempt).await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) if is_transient(&status) && waited < RETRY_TIME_MAX => {
                tokio::time::sleep(delay).await;
                waited += delay;
                delay = (delay * 2).min(RETRY_DELAY_MAX);
            }
            Err(status) => return Err(status),
        }
    }
}

/// Whether a retry may succeed.
fn is_transient(status: &Status) -> bool {
    // A status with a source was made by this client: the connection broke.
    let broke = std::error::Error::source(status).is_some();
    broke || matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded)
}
