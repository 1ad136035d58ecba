//! `perennial workflow signal-with-start`.

use std::path::PathBuf;

use perennial_proto::temporal::workflowservice::v1::SignalWithStartWorkflowExecutionRequest;

use super::start_args::StartArgs;
use super::started::Started;
use crate::failure::Usage;
use crate::input::{InputArgs, text_pair};
use crate::session::Session;

/// Send a signal, starting the workflow if needed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    start: StartArgs,

    /// Signal name
    #[arg(long, alias = "signal-type", value_name = "NAME", help_heading = "Signal")]
    signal_name: String,

    /// Signal input as JSON; repeatable
    #[arg(long, value_name = "JSON", help_heading = "Signal", allow_hyphen_values = true)]
    #[arg(conflicts_with = "signal_input_file")]
    signal_input: Vec<String>,

    /// File with a signal input; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Signal")]
    signal_input_file: Vec<PathBuf>,

    /// Payload metadata of the signal inputs; repeat it for each value
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Signal", value_parser = text_pair)]
    signal_input_meta: Vec<(String, String)>,

    /// Signal inputs are base64
    #[arg(long, help_heading = "Signal")]
    signal_input_base64: bool,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow signal-with-start -w cart-7 --type Cart -t shop --signal-name add --signal-input '{"sku": 7}'
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    if !args.start.has_id() {
        return Err(Usage::new("missing workflow id: --workflow-id ID").into());
    }
    let start = args.start.request(&session.client)?;
    let signal_input = InputArgs::new(
        args.signal_input,
        args.signal_input_file,
        args.signal_input_meta,
        args.signal_input_base64,
    )
    .payloads()?;
    let mut started = Started::of(&start, String::new());
    let request = SignalWithStartWorkflowExecutionRequest {
        namespace: start.namespace,
        workflow_id: start.workflow_id,
        workflow_type: start.workflow_type,
        task_queue: start.task_queue,
        input: start.input,
        workflow_execution_timeout: start.workflow_execution_timeout,
        workflow_run_timeout: start.workflow_run_timeout,
        workflow_task_timeout: start.workflow_task_timeout,
        identity: start.identity,
        request_id: start.request_id,
        workflow_id_reuse_policy: start.workflow_id_reuse_policy,
        workflow_id_conflict_policy: start.workflow_id_conflict_policy,
        signal_name: args.signal_name,
        signal_input,
        cron_schedule: start.cron_schedule,
        memo: start.memo,
        search_attributes: start.search_attributes,
        header: start.header,
        workflow_start_delay: start.workflow_start_delay,
        user_metadata: start.user_metadata,
        priority: start.priority,
        ..SignalWithStartWorkflowExecutionRequest::default()
    };
    let answer = session.client.workflow().signal_with_start_workflow_execution(request).await?;
    started.run_id = answer.into_inner().run_id;
    started.task_queue = None;
    session.output.record(&started, |output| started.write(output))
}
