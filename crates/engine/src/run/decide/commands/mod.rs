//! The commands of a workflow, as they come with a completed workflow task.

mod activities;
mod attributes;
pub(super) mod children;
mod closing;
pub(super) mod external;
mod messages;
mod timers;

use std::collections::BTreeSet;

use perennial_proto::temporal::command::v1::Command;
use perennial_proto::temporal::command::v1::command::Attributes as Wanted;
use perennial_proto::temporal::common::v1::SearchAttributes;
use perennial_proto::temporal::enums::v1::{CommandType, WorkflowTaskFailedCause};

pub(super) use activities::start_eager;
pub(super) use messages::{is_rejection, rejections};

use crate::run::draft::Draft;
use crate::run::event::{Attributes, event};
use crate::run::{CompleteWorkflowTask, NamespaceRef, Rejection, UpdateProgress};
use crate::search_attributes::{SearchAttributeError, check};

/// A command that can't be carried out, so that the whole workflow task fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandFailure {
    pub(super) cause: WorkflowTaskFailedCause,
    pub(super) message: String,
    /// The failure also closes the run.
    pub(super) ends_run: bool,
    /// The request is so wrong that it is rejected and the task stays started: the worker may answer again.
    pub(super) leaves_task: Option<Box<Rejection>>,
}

impl CommandFailure {
    pub(super) fn new(cause: WorkflowTaskFailedCause, message: impl Into<String>) -> Self {
        Self { cause, message: message.into(), ends_run: false, leaves_task: None }
    }

    pub(super) fn ending_run(cause: WorkflowTaskFailedCause, message: impl Into<String>) -> Self {
        Self { ends_run: true, ..Self::new(cause, message) }
    }

    /// Whether the worker is to blame, and the workflow can continue.
    pub(super) fn is_workers(&self) -> bool {
        self.cause != WorkflowTaskFailedCause::UnhandledCommand && !self.ends_run
    }

    fn leaving_task(rejection: Rejection) -> Self {
        let cause = WorkflowTaskFailedCause::Unspecified;
        Self { leaves_task: Some(Box::new(rejection)), ..Self::new(cause, "") }
    }
}

/// The results of the commands so far, beside events.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Activities to be started at once on the worker.
    pub(super) eager_activities: Vec<i64>,
    /// Whether events arrived during the task that the workflow hasn't seen.
    pub(super) has_unseen: bool,
    /// The progress of updates.
    pub(super) updates: Vec<(String, UpdateProgress)>,
}

/// The state while one command is carried out.
struct Step<'d, 'a> {
    draft: &'d mut Draft<'a>,
    complete: &'d CompleteWorkflowTask,
    completed_event_id: i64,
    progress: &'d mut Progress,
    /// The command itself, whose metadata is copied to the event.
    command: &'d Command,
    /// Workflow ids of the children that this completion starts.
    initiated_children: &'d mut BTreeSet<String>,
}

impl Step<'_, '_> {
    /// Records the command's event, with the user metadata of the command.
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
        self.check_bytes(cause, bytes, self.draft.cx.limits.payload_bytes, what)
    }

    fn check_memo(
        &self,
        cause: WorkflowTaskFailedCause,
        bytes: usize,
        what: &str,
    ) -> Result<(), CommandFailure> {
        self.check_bytes(cause, bytes, self.draft.cx.limits.memo_bytes, what)
    }

    fn check_bytes(
        &self,
        cause: WorkflowTaskFailedCause,
        bytes: usize,
        limit: usize,
        what: &str,
    ) -> Result<(), CommandFailure> {
        if bytes <= limit {
            return Ok(());
        }
        Err(CommandFailure::ending_run(cause, format!("{what} exceeds size limit.")))
    }

    /// Checks that one more item may be pending.
    fn check_pending(
        &self,
        cause: WorkflowTaskFailedCause,
        pending: usize,
        what: &str,
    ) -> Result<(), CommandFailure> {
        let limit = self.draft.cx.limits.pending;
        if pending < limit {
            return Ok(());
        }
        Err(CommandFailure::new(
            cause,
            format!(
                "the number of {what}, {pending}, has reached the per-workflow limit of {limit}"
            ),
        ))
    }

    /// Checks search attributes, and writes the type into each value. `about` adds the place to an error message.
    fn typed_search_attributes(
        &self,
        mut attributes: Option<SearchAttributes>,
        namespace: &NamespaceRef,
        about: impl FnOnce(String) -> String,
    ) -> Result<Option<SearchAttributes>, CommandFailure> {
        // Attributes of another namespace aren't known here: that namespace checks them at the start.
        let is_own = namespace.key.0 == self.draft.run.head.namespace;
        let Some(own) = attributes.as_mut().filter(|_| is_own) else { return Ok(attributes) };
        let known = &self.complete.search_attribute_types;
        let cause = WorkflowTaskFailedCause::BadSearchAttributes;
        match check(own, known, &namespace.name) {
            Ok(()) => Ok(attributes),
            Err(SearchAttributeError::Invalid(why)) => Err(CommandFailure::new(cause, about(why))),
            Err(SearchAttributeError::TooLarge(why)) => Err(CommandFailure::ending_run(cause, why)),
        }
    }

    /// The namespace a command names; the run's own if it names none.
    fn namespace(&self, name: &str) -> Result<NamespaceRef, CommandFailure> {
        if name.is_empty() {
            return Ok(self.own_namespace());
        }
        self.complete.namespaces.get(name).cloned().ok_or_else(|| {
            let message = format!("Namespace {name} is not found.");
            CommandFailure::leaving_task(Rejection::NotFound(message))
        })
    }

    fn own_namespace(&self) -> NamespaceRef {
        NamespaceRef::of_run(&self.draft.run, self.complete.namespaces.values())
    }
}

/// Carries out all commands and messages of a completion.
pub(super) fn carry_out(
    draft: &mut Draft<'_>,
    complete: &CompleteWorkflowTask,
    completed_event_id: i64,
) -> Result<Progress, CommandFailure> {
    check_sequence(&complete.commands)?;
    let has_unseen = !draft.run.buffered.is_empty();
    let mut progress = Progress { has_unseen, ..Progress::default() };
    let mut initiated_children = BTreeSet::new();
    let mut messages = messages::Messages::new(complete);
    for command in &complete.commands {
        if !draft.run.is_open() {
            break;
        }
        let mut step = Step {
            draft,
            complete,
            completed_event_id,
            progress: &mut progress,
            command,
            initiated_children: &mut initiated_children,
        };
        carry_out_one(&mut step, &mut messages)?;
    }
    if draft.run.is_open() {
        messages.carry_out_rest(draft, &mut progress)?;
    } else {
        messages.reject_rest(&mut progress);
    }
    Ok(progress)
}

/// Checks that the command that closes the run is the last one.
fn check_sequence(commands: &[Command]) -> Result<(), CommandFailure> {
    let closes = |command: &&Command| {
        matches!(
            command.command_type(),
            CommandType::CompleteWorkflowExecution
                | CommandType::FailWorkflowExecution
                | CommandType::CancelWorkflowExecution
                | CommandType::ContinueAsNewWorkflowExecution
        )
    };
    let before_last = commands.split_last().map_or(&[][..], |(_, before)| before);
    let Some(closing) = before_last.iter().find(closes) else { return Ok(()) };
    let name = |command: &Command| {
        let name = command.command_type().as_str_name().trim_start_matches("COMMAND_TYPE_");
        super::fail_workflow_task::camel_case(name)
    };
    let all: Vec<_> = commands.iter().map(name).collect();
    Err(CommandFailure::leaving_task(Rejection::InvalidArgument(format!(
        "invalid command sequence: [{}], command {} must be the last command.",
        all.join(", "),
        name(closing)
    ))))
}

fn carry_out_one(
    step: &mut Step<'_, '_>,
    messages: &mut messages::Messages<'_>,
) -> Result<(), CommandFailure> {
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
        Wanted::StartChildWorkflowExecutionCommandAttributes(wanted) => {
            children::start(step, wanted)
        }
        Wanted::SignalExternalWorkflowExecutionCommandAttributes(wanted) => {
            external::signal(step, wanted)
        }
        Wanted::RequestCancelExternalWorkflowExecutionCommandAttributes(wanted) => {
            external::request_cancel(step, wanted)
        }
        Wanted::ScheduleNexusOperationCommandAttributes(_)
        | Wanted::RequestCancelNexusOperationCommandAttributes(_) => Err(CommandFailure::new(
            WorkflowTaskFailedCause::FeatureDisabled,
            "Nexus operations disabled",
        )),
    }
}
