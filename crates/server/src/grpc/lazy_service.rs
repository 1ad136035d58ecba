//! A service that is made when it is first called, so that it takes neither memory nor start-up time unless a client
//! uses it.

use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::Request;
use tonic::server::NamedService;
use tower::ServiceExt;
use tower::util::Oneshot;

/// A service that is made when it is first called.
pub(crate) struct LazyService<S> {
    made: Arc<LazyLock<S, Box<dyn FnOnce() -> S + Send>>>,
}

impl<S> LazyService<S> {
    pub(crate) fn new(make: impl FnOnce() -> S + Send + 'static) -> Self {
        Self { made: Arc::new(LazyLock::new(Box::new(make))) }
    }
}

impl<S> Clone for LazyService<S> {
    fn clone(&self) -> Self {
        Self { made: Arc::clone(&self.made) }
    }
}

impl<S: NamedService> NamedService for LazyService<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: Service<Request<Body>> + Clone> Service<Request<Body>> for LazyService<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Oneshot<S, Request<Body>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        S::clone(&self.made).oneshot(request)
    }
}
