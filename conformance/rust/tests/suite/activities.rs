//! The activities that the tests' workflows use.

use std::sync::Arc;
use std::time::Duration;

use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::Notify;

/// What `heartbeat_until_canceled` tells the test that follows it step by step.
#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) started: Arc<Notify>,
    pub(crate) canceled: Arc<Notify>,
}

pub(crate) struct Activities {
    told: Told,
}

impl Activities {
    pub(crate) fn new(told: &Told) -> Self {
        Self { told: told.clone() }
    }
}

#[activities]
impl Activities {
    #[activity]
    pub(crate) async fn greet(_: ActivityContext, name: String) -> Result<String, ActivityError> {
        Ok(format!("Hello, {name}!"))
    }

    #[activity]
    pub(crate) async fn succeed_on_third_attempt(
        context: ActivityContext,
    ) -> Result<u32, ActivityError> {
        let attempt = context.info().attempt;
        if attempt < 3 {
            return Err(ApplicationFailure::new("not yet").into());
        }
        Ok(attempt)
    }

    #[activity]
    pub(crate) async fn resume(context: ActivityContext) -> Result<String, ActivityError> {
        if let Some(resumed_from) = context.heartbeat_details().deserialize()? {
            return Ok(resumed_from);
        }
        context.record_heartbeat("page 7".to_owned()).await?;
        Err(ApplicationFailure::new("lost the connection").into())
    }

    #[activity]
    pub(crate) async fn heartbeat_until_canceled(
        self: Arc<Self>,
        context: ActivityContext,
    ) -> Result<(), ActivityError> {
        self.told.started.notify_one();
        while !context.is_cancelled() {
            context.record_heartbeat(()).await?;
            let pause = Duration::from_millis(20);
            // Whichever comes first: the cancellation, or the time of the next heartbeat.
            let _ = tokio::time::timeout(pause, context.cancelled()).await;
        }
        self.told.canceled.notify_one();
        Err(ActivityError::cancelled())
    }

    #[activity]
    pub(crate) async fn run_out_of_stock(_: ActivityContext) -> Result<(), ActivityError> {
        let failure = ApplicationFailure::builder("no more teapots")
            .type_name("OutOfStock".to_owned())
            .non_retryable(true)
            .details(3_u32)
            .build();
        Err(failure.into())
    }
}
