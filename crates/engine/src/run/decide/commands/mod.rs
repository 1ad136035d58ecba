//! What a workflow wants done, command by command.

mod activities;
mod attributes;
mod closing;
mod messages;
mod timers;

use perennial_proto::temporal::command::v1::Command;
use perennial_proto::temporal::command::v1::command::Attributes as Wanted;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;

pub(super) use messages::{is_rejection, rejections};

use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};
use crate::run::{CompleteWorkflowTask, UpdateProgress};

/// A command that can't be carried out: the whole workflow task fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandFailure {
    pub(super) cause: WorkflowTaskFailedCause,
    pub(super) message: String,
    /// It is so bad that the run ends.
    pub(super) ends_run: bool,
}

impl CommandFailure {
    fn new(cause: WorkflowTaskFailedCause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), ends_run: false }
    }
}

/// What the commands led to so far, beside events.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Started at once on the worker.
    pub(super) eager_activities: Vec<i64>,
    /// There is something for the workflow to look at.
    pub(super) wants_task: bool,
    /// What became of updates.
    pub(super) updates: Vec<(String, UpdateProgress)>,
}

/// One command on its way.
struct Step<'d, 'a> {
    draft: &'d mut Draft<'a>,
    complete: &'d CompleteWorkflowTask,
    completed_event_id: i64,
    progress: &'d mut Progress,
    /// For people; goes with the event.
    command: &'d Command,
}

impl Step<'_, '_> {
    /// Records the command's event, with what the workflow says about it to people.
    fn record(&mut self, attributes: Attributes) -> i64 {
        let mut event = event(attributes);
        event.user_metadata.clone_from(&self.command.user_metadata);
        event.event_group_markers.clone_from(&self.command.event_group_markers);
        self.draft.record_event(event)
    }

    fn check_payloads(
        &self,
        cause: WorkflowTaskFailedCause,
        bytes: usize,
        what: &str,
    ) -> Result<(), CommandFailure> {
        if bytes <= self.draft.cx.limits.payload_bytes {
            return Ok(());
        }
        Err(CommandFailure {
            cause,
            message: format!("{what} exceeds size limit."),
            ends_run: true,
        })
    }
}

/// Carries out all commands and messages of a completion.
pub(super) fn carry_out(
    draft: &mut Draft<'_>,
    complete: &CompleteWorkflowTask,
    completed_event_id: i64,
) -> Result<Progress, CommandFailure> {
    let mut progress = Progress::default();
    let mut messages = messages::Messages::new(complete);
    for command in &complete.commands {
        if !draft.run.is_open() {
            break;
        }
        let mut step =
            Step { draft, complete, completed_event_id, progress: &mut progress, command };
        carry_out_one(&mut step, &mut messages)?;
    }
    if draft.run.is_open() {
        messages.carry_out_rest(draft, &mut progress)?;
    }
    Ok(progress)
}

fn carry_out_one(
    step: &mut Step<'_, '_>,
    messages: &mut messages::Messages<'_>,
) -> Result<(), CommandFailure> {
    use WorkflowTaskFailedCause::UnhandledCommand;
    let Some(wanted) = step.command.attributes.clone() else {
        return Err(CommandFailure::new(
            WorkflowTaskFailedCause::Unspecified,
            "Command attributes are not set.",
        ));
    };
    match wanted {
        Wanted::ScheduleActivityTaskCommandAttributes(wanted) => activities::schedule(step, wanted),
        Wanted::RequestCancelActivityTaskCommandAttributes(wanted) => {
            activities::request_cancel(step, wanted)
        }
        Wanted::StartTimerCommandAttributes(wanted) => timers::start(step, wanted),
        Wanted::CancelTimerCommandAttributes(wanted) => timers::cancel(step, wanted),
        Wanted::RecordMarkerCommandAttributes(wanted) => attributes::record_marker(step, wanted),
        Wanted::UpsertWorkflowSearchAttributesCommandAttributes(wanted) => {
            attributes::upsert_search_attributes(step, wanted)
        }
        Wanted::ModifyWorkflowPropertiesCommandAttributes(wanted) => {
            attributes::modify_properties(step, wanted)
        }
        Wanted::CompleteWorkflowExecutionCommandAttributes(wanted) => {
            closing::complete(step, wanted)
        }
        Wanted::FailWorkflowExecutionCommandAttributes(wanted) => closing::fail(step, wanted),
        Wanted::CancelWorkflowExecutionCommandAttributes(wanted) => closing::cancel(step, wanted),
        Wanted::ContinueAsNewWorkflowExecutionCommandAttributes(wanted) => {
            closing::continue_as_new(step, wanted)
        }
        Wanted::ProtocolMessageCommandAttributes(wanted) => messages.carry_out(step, &wanted),
        Wanted::StartChildWorkflowExecutionCommandAttributes(_)
        | Wanted::RequestCancelExternalWorkflowExecutionCommandAttributes(_)
        | Wanted::SignalExternalWorkflowExecutionCommandAttributes(_)
        | Wanted::ScheduleNexusOperationCommandAttributes(_)
        | Wanted::RequestCancelNexusOperationCommandAttributes(_) => {
            Err(CommandFailure::new(UnhandledCommand, "this command is not supported"))
        }
    }
}
