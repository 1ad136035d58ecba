//! The workflows under test.

use std::time::Duration;

use temporalio_client::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityCancellationType, ActivityExecutionError, ActivityOptions, ChildWorkflowOptions,
    ContinueAsNewOptions, LocalActivityOptions, SyncWorkflowContext, WorkerOptionsBuilder,
    WorkflowContext, WorkflowContextView, WorkflowResult, WorkflowTermination,
};

use crate::activities::Activities;
use crate::scene::PATIENCE;

pub(crate) fn register(options: WorkerOptionsBuilder) -> WorkerOptionsBuilder {
    let registered = || {
        options
            .register_workflow::<GreetByActivity>()?
            .register_workflow::<GreetByLocalActivity>()?
            .register_workflow::<AttemptUntilSuccess>()?
            .register_workflow::<ResumeFromHeartbeat>()?
            .register_workflow::<WaitForActivity>()?
            .register_workflow::<FailInActivity>()?
            .register_workflow::<CollectSignals>()?
            .register_workflow::<AnswerQueries>()?
            .register_workflow::<KeepTotal>()?
            .register_workflow::<Sleep>()?
            .register_workflow::<AskChild>()?
            .register_workflow::<CountDown>()?
            .register_workflow::<DrawOnce>()?
            .register_workflow::<RustListed>()
    };
    registered().expect("every workflow has a name of its own")
}

fn options() -> ActivityOptions {
    ActivityOptions::start_to_close_timeout(PATIENCE)
}

fn retried_at_once() -> ActivityOptions {
    let at_once = RetryPolicy::builder()
        .initial_interval(Duration::from_millis(1))
        .backoff_coefficient(1.0)
        .build();
    ActivityOptions::with_start_to_close_timeout(PATIENCE)
        .heartbeat_timeout(PATIENCE)
        .retry_policy(at_once)
        .build()
}

#[workflow]
#[derive(Default)]
pub(crate) struct GreetByActivity;

#[workflow_methods]
impl GreetByActivity {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        name: String,
    ) -> WorkflowResult<String> {
        Ok(ctx.execute_activity(Activities::greet, name, options()).await?)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct GreetByLocalActivity;

#[workflow_methods]
impl GreetByLocalActivity {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        name: String,
    ) -> WorkflowResult<String> {
        let options = LocalActivityOptions::builder().start_to_close_timeout(PATIENCE).build();
        Ok(ctx.execute_local_activity(Activities::greet, name, options).await?)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct AttemptUntilSuccess;

#[workflow_methods]
impl AttemptUntilSuccess {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<u32> {
        let activity = Activities::succeed_on_third_attempt;
        Ok(ctx.execute_activity(activity, (), retried_at_once()).await?)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct ResumeFromHeartbeat;

#[workflow_methods]
impl ResumeFromHeartbeat {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        Ok(ctx.execute_activity(Activities::resume, (), retried_at_once()).await?)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct WaitForActivity;

#[workflow_methods]
impl WaitForActivity {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let options = ActivityOptions::with_start_to_close_timeout(PATIENCE)
            .heartbeat_timeout(PATIENCE)
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .build();
        match ctx.execute_activity(Activities::heartbeat_until_canceled, (), options).await {
            Err(ActivityExecutionError::Cancelled(_)) => Err(WorkflowTermination::cancelled()),
            other => Ok(other?),
        }
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct FailInActivity;

#[workflow_methods]
impl FailInActivity {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(ctx.execute_activity(Activities::run_out_of_stock, (), options()).await?)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct CollectSignals {
    received: Vec<usize>,
}

#[workflow_methods]
impl CollectSignals {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        count: usize,
    ) -> WorkflowResult<Vec<usize>> {
        ctx.wait_condition(|state| state.received.len() == count).await?;
        Ok(ctx.state(|state| state.received.clone()))
    }

    #[signal]
    pub(crate) fn number(&mut self, _: &mut SyncWorkflowContext<Self>, number: usize) {
        self.received.push(number);
    }
}

#[workflow]
pub(crate) struct AnswerQueries {
    state: String,
    finished: bool,
}

#[workflow_methods]
impl AnswerQueries {
    #[init]
    fn new(_: &WorkflowContextView, name: String) -> Self {
        Self { state: format!("waiting for {name}"), finished: false }
    }

    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        ctx.wait_condition(|state| state.finished).await?;
        ctx.state_mut(|state| state.state = state.state.replace("waiting for", "done with"));
        Ok(())
    }

    #[query]
    pub(crate) fn state(&self, _: &WorkflowContextView) -> String {
        self.state.clone()
    }

    #[signal]
    pub(crate) fn finish(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.finished = true;
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct KeepTotal {
    total: i32,
    finished: bool,
}

#[workflow_methods]
impl KeepTotal {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<i32> {
        ctx.wait_condition(|state| state.finished).await?;
        Ok(ctx.state(|state| state.total))
    }

    #[update_validator(add)]
    fn only_positive(
        &self,
        _: &WorkflowContextView,
        number: &i32,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        if *number > 0 { Ok(()) } else { Err("only positive numbers".into()) }
    }

    #[update]
    pub(crate) fn add(&mut self, _: &mut SyncWorkflowContext<Self>, number: i32) -> i32 {
        self.total += number;
        self.total
    }

    #[signal]
    pub(crate) fn finish(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.finished = true;
    }
}

/// Returns how many milliseconds it slept by the server's clock.
#[workflow]
#[derive(Default)]
pub(crate) struct Sleep;

#[workflow_methods]
impl Sleep {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        milliseconds: u64,
    ) -> WorkflowResult<u64> {
        let began = ctx.workflow_time().expect("a workflow knows the time");
        ctx.timer(Duration::from_millis(milliseconds)).await;
        let ended = ctx.workflow_time().expect("a workflow knows the time");
        let slept = ended.duration_since(began).expect("the server's clock goes forward");
        Ok(slept.as_millis().try_into().expect("it slept less than a lifetime"))
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct AskChild;

#[workflow_methods]
impl AskChild {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        name: String,
    ) -> WorkflowResult<String> {
        let options = ChildWorkflowOptions::default();
        let child = ctx.start_child_workflow(GreetByActivity::run, name, options).await?;
        Ok(format!("{} (from a child)", child.result().await?))
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct CountDown;

#[workflow_methods]
impl CountDown {
    #[run]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (from, said): (u32, String),
    ) -> WorkflowResult<String> {
        if from > 0 {
            let next = (from - 1, format!("{said}{from} "));
            ctx.continue_as_new(next, ContinueAsNewOptions::default())?;
        }
        Ok(said)
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct DrawOnce {
    drawn: String,
}

#[workflow_methods]
impl DrawOnce {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let mut drawn = ctx.uuid4();
        if ctx.patched("with-suffix") {
            drawn.push_str(" (version 1)");
        }
        ctx.state_mut(|state| state.drawn = drawn.clone());
        Ok(drawn)
    }

    #[query]
    pub(crate) fn drawn(&self, _: &WorkflowContextView) -> String {
        self.drawn.clone()
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct RustListed;

#[workflow_methods]
impl RustListed {
    #[run]
    pub(crate) async fn run(_: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}
