//! Questions that are answered late, and asked again when the server goes away in between.

use std::time::Duration;

use tonic::{Code, Request, Response, Status};

/// Servers answer within a minute, if only that there is nothing yet.
const ANSWERED_WITHIN: Duration = Duration::from_secs(90);

/// A server that is away for longer isn't being restarted.
const AWAY_MAX: Duration = Duration::from_secs(60);

const RETRIED_AFTER: Duration = Duration::from_millis(100);
const RETRIED_AFTER_MAX: Duration = Duration::from_secs(3);

/// Asks for something that may take a while. The question must be one that can be asked twice.
pub(crate) async fn long_poll<Q: Clone, A>(
    question: Q,
    mut ask: impl AsyncFnMut(Request<Q>) -> Result<Response<A>, Status>,
) -> Result<A, Status> {
    let mut waited = Duration::ZERO;
    let mut pause = RETRIED_AFTER;
    loop {
        let mut request = Request::new(question.clone());
        request.set_timeout(ANSWERED_WITHIN);
        match ask(request).await {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) if is_passing(&status) && waited < AWAY_MAX => {
                tokio::time::sleep(pause).await;
                waited += pause;
                pause = (pause * 2).min(RETRIED_AFTER_MAX);
            }
            Err(status) => return Err(status),
        }
    }
}

/// Whether the next try may fare better.
fn is_passing(status: &Status) -> bool {
    // One with a cause was made here: the connection broke.
    let broke = std::error::Error::source(status).is_some();
    broke || matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded)
}
