//! `perennial workflow reset`.
#![allow(deprecated, reason = "flags that Temporal deprecated still work")]

use clap::ValueEnum;
use perennial_proto::temporal::batch::v1::BatchOperationReset;
use perennial_proto::temporal::common::v1::{ResetOptions, WorkflowExecution, reset_options};
use perennial_proto::temporal::enums::v1::{ResetReapplyExcludeType, ResetReapplyType};
use perennial_proto::temporal::workflowservice::v1::ResetWorkflowExecutionRequest;
use perennial_proto::temporal::workflowservice::v1::start_batch_operation_request::Operation;

use super::reset_point::{Point, event_of};
use super::target::{Target, TargetArgs, start_batch};
use crate::client::Client;
use crate::failure::Usage;
use crate::session::Session;
use crate::unsupported::unsupported;

/// Reset one workflow or many to an earlier point
///
/// Terminates the run and starts a new one with the history up to that point. Later signals and updates are
/// applied to the new run again, unless excluded with --reapply-exclude.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    target: TargetArgs,

    /// Event to reset to: the end of a workflow task
    #[arg(long, short, value_name = "ID", conflicts_with_all = ["reset_type", "query"])]
    event_id: Option<i64>,

    /// Reset point
    #[arg(long = "type", short = 't', value_name = "POINT", value_enum, ignore_case = true)]
    #[arg(id = "reset_type", alias = "reset-type")]
    reset_type: Option<Point>,

    /// With --type BuildId: reset to the first workflow task of this build
    #[arg(long, value_name = "ID")]
    build_id: Option<String>,

    /// Events not to apply again; repeatable
    #[arg(long, value_name = "KIND", value_enum, ignore_case = true, value_delimiter = ',')]
    reapply_exclude: Vec<Exclude>,

    /// Events to apply again
    #[arg(long, value_name = "KIND", value_enum, ignore_case = true, default_value_t, hide = true)]
    #[arg(conflicts_with = "reapply_exclude")]
    reapply_type: Reapply,

    /// Reason, stored in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Exclude {
    All,
    Signal,
    Update,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Reapply {
    #[default]
    All,
    Signal,
    None,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow reset order-42 --type LastWorkflowTask --reason "fixed the bug"
  perennial workflow reset order-42 --event-id 14 --reapply-exclude Signal --reason "sent too early"
  perennial workflow reset --query 'BuildIds = "unversioned:7"' --type BuildId --build-id 7 --reason "bad build"
"#;

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    if args.target.is("with-workflow-update-options") {
        return Err(unsupported("versions of worker deployments", "reset without options"));
    }
    match args.target.confirmed("Reset", session).await? {
        Target::One(execution) => reset(args, execution, session).await,
        Target::Many { query, rps } => {
            let operation = Operation::ResetOperation(BatchOperationReset {
                identity: session.client.identity.clone(),
                options: Some(args.options()?),
                ..BatchOperationReset::default()
            });
            start_batch(query, rps, Some(args.reason), operation, session).await
        }
    }
}

async fn reset(
    args: Args,
    execution: WorkflowExecution,
    session: &mut Session,
) -> anyhow::Result<()> {
    let client = session.client.clone();
    let workflow_id = execution.workflow_id.clone();
    let (run_id, event_id) = match (args.event_id, args.reset_type) {
        (Some(event_id), _) => (execution.run_id, event_id),
        (None, Some(Point::BuildId)) => {
            let message = "--type BuildId works only with --query";
            return Err(Usage::new(message).into());
        }
        (None, Some(point)) => event_of(point, &client, execution).await?,
        (None, None) => {
            let message = "missing reset point: give --event-id ID or --type LastWorkflowTask";
            return Err(Usage::new(message).into());
        }
    };
    let request = ResetWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(WorkflowExecution { workflow_id: workflow_id.clone(), run_id }),
        reason: args.reason.clone(),
        workflow_task_finish_event_id: event_id,
        request_id: Client::new_request_id(),
        reset_reapply_type: args.reapplied().into(),
        reset_reapply_exclude_types: args.excluded(),
        identity: client.identity.clone(),
        ..ResetWorkflowExecutionRequest::default()
    };
    let answer = client.workflow().reset_workflow_execution(request).await?.into_inner();
    session.output.message(&answer, |output| {
        output.line(format!("Reset workflow {workflow_id} to event {event_id}"))?;
        Ok(output.line(format!("The new run is {}", answer.run_id))?)
    })
}

impl Args {
    fn options(&self) -> anyhow::Result<ResetOptions> {
        let target = match (self.reset_type, &self.build_id) {
            (Some(Point::FirstWorkflowTask), _) => reset_options::Target::FirstWorkflowTask(()),
            (Some(Point::LastWorkflowTask), _) => reset_options::Target::LastWorkflowTask(()),
            (Some(Point::BuildId), Some(build)) => reset_options::Target::BuildId(build.clone()),
            (Some(Point::BuildId), None) => {
                return Err(Usage::new("missing build: --build-id ID").into());
            }
            (Some(Point::LastContinuedAsNew), _) => {
                let message = "many workflows can't be reset to LastContinuedAsNew; write \
                               FirstWorkflowTask, LastWorkflowTask or BuildId";
                return Err(Usage::new(message).into());
            }
            (None, _) => {
                let message = "missing reset point: --type FirstWorkflowTask, \
                               LastWorkflowTask or BuildId";
                return Err(Usage::new(message).into());
            }
        };
        Ok(ResetOptions {
            reset_reapply_type: self.reapplied().into(),
            reset_reapply_exclude_types: self.excluded(),
            target: Some(target),
            ..ResetOptions::default()
        })
    }

    fn reapplied(&self) -> ResetReapplyType {
        match self.reapply_type {
            Reapply::All => ResetReapplyType::AllEligible,
            Reapply::Signal => ResetReapplyType::Signal,
            Reapply::None => ResetReapplyType::None,
        }
    }

    fn excluded(&self) -> Vec<i32> {
        use ResetReapplyExcludeType as Kind;
        let kinds = self.reapply_exclude.iter().flat_map(|kind| match kind {
            Exclude::All => vec![Kind::Signal, Kind::Update, Kind::Nexus, Kind::CancelRequest],
            Exclude::Signal => vec![Kind::Signal],
            Exclude::Update => vec![Kind::Update],
        });
        kinds.map(i32::from).collect()
    }
}
