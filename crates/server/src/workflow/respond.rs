//! Results of workflow tasks from workers.

use perennial_engine::run::{Command, CompleteWorkflowTask, FailWorkflowTask, Reply, TaskStamp};
use perennial_engine::{NamespaceKey, Span};
use perennial_identity::{Role, RoleSet};
use perennial_proto::store::{RunName, StickyQueue, TaskToken};
use perennial_proto::temporal::command::v1::Command as WantedCommand;
use perennial_proto::temporal::enums::v1::WorkflowTaskFailedCause;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_proto::temporal::failure::v1::ServerFailureInfo;
use perennial_proto::temporal::failure::v1::failure::FailureInfo;
use perennial_proto::temporal::taskqueue::v1::StickyExecutionAttributes;
use perennial_proto::temporal::workflowservice::v1::{
    RespondWorkflowTaskCompletedRequest, RespondWorkflowTaskCompletedResponse,
    RespondWorkflowTaskFailedRequest, RespondWorkflowTaskFailedResponse,
};
use perennial_runtime::CompletionPage;
use prost::Message;

use super::task;
use crate::call::Call;
use crate::errors::{RpcResult, namespace_not_found, refused_about};
use crate::validate::{self, invalid};
use crate::{failures, search_attributes, tokens};

impl Call<'_> {
    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn respond_workflow_task_completed(
        &self,
        mut request: RespondWorkflowTaskCompletedRequest,
    ) -> RpcResult<RespondWorkflowTaskCompletedResponse> {
        let token = self.task_token(&request.namespace, &request.task_token).await?;
        validate::identity(&request.identity)?;
        failures::check_commands(&request.commands)?;
        failures::check_messages(&request.messages)?;
        for (query_id, result) in &request.query_results {
            failures::check(result.failure.as_ref(), &format!("queryResults[{query_id}].failure"))?;
        }
        let namespaces = self.runtime().namespaces();
        let namespace = namespaces
            .by_key(NamespaceKey(token.namespace))
            .ok_or_else(|| namespace_not_found(&request.namespace))?;
        let target = tokens::run_of(&token);
        let task = tokens::workflow_task_of(&token);

        if request.intermediate_page {
            self.keep_page(target, task, request).await?;
            return Ok(RespondWorkflowTaskCompletedResponse::default());
        }
        // Before any effect: a worker that has to send its pages again repeats this one too.
        let earlier = self.earlier_pages(&target, task, request.page_number).await?;
        request.commands.splice(..0, earlier);

        let mut completion = CompleteWorkflowTask {
            token: task,
            commands: request.commands,
            messages: request.messages,
            sticky: request.sticky_attributes.and_then(sticky),
            force_new_task: request.force_create_new_workflow_task,
            return_new_task: request.return_new_workflow_task,
            can_forget_events: request
                .capabilities
                .is_some_and(|it| it.discard_speculative_workflow_task_with_events),
            identity: request.identity,
            sdk_metadata: request.sdk_metadata,
            metering_metadata: request.metering_metadata,
            binary_checksum: request.binary_checksum,
            worker_version: request.worker_version_stamp,
            query_answers: request.query_results.into_iter().collect(),
            ..CompleteWorkflowTask::default()
        };
        if completion.sets_search_attributes() {
            completion.search_attribute_types = search_attributes::settable(namespace);
        }
        let command = Command::CompleteWorkflowTask(Box::new(completion));
        let sent = self.send(target, command).await?;

        let workflow_task = match sent.next_task {
            Some(grant) => Some(task::workflow_task(self, grant).await?.decoded()?),
            None => None,
        };
        let eager = sent.eager_activities.iter();
        let keys = self.token_keys().await?;
        let activity_tasks =
            eager.map(|grant| task::activity(self, keys, grant)).collect::<RpcResult<Vec<_>>>()?;
        let reset_history_event_id = match sent.reply {
            Reply::WorkflowTaskCompleted(completed) => completed.reset_history_event_id,
            Reply::Done | Reply::TaskStarted | Reply::Heartbeat(_) | Reply::Answered(_) => 0,
        };
        Ok(RespondWorkflowTaskCompletedResponse {
            workflow_task,
            activity_tasks,
            reset_history_event_id,
        })
    }

    /// Keeps the commands of a page before the last one. Everything else is on the last page.
    async fn keep_page(
        &self,
        target: RunName,
        task: TaskStamp,
        request: RespondWorkflowTaskCompletedRequest,
    ) -> RpcResult<()> {
        let number = page_number(request.page_number)?;
        let RespondWorkflowTaskCompletedRequest { commands, identity, .. } = request;
        if commands.is_empty() {
            return invalid("intermediate workflow task page must carry at least one command");
        }
        let page = CompletionPage { task, number, commands, identity };
        let kept = self.runtime().keep_page(target.clone(), page).await;
        kept.map_err(|refusal| refused_about(refusal, &target))
    }

    /// The commands of the pages before the last one, whose number is `last`.
    async fn earlier_pages(
        &self,
        target: &RunName,
        task: TaskStamp,
        last: i32,
    ) -> RpcResult<Vec<WantedCommand>> {
        if last <= 0 {
            return Ok(Vec::new());
        }
        let taken = self.runtime().take_pages(target.clone(), task, page_number(last)?).await;
        taken.map_err(|refusal| refused_about(refusal, target))
    }

    #[allow(deprecated, reason = "workers without deployments tell their build the old way")]
    pub(crate) async fn respond_workflow_task_failed(
        &self,
        request: RespondWorkflowTaskFailedRequest,
    ) -> RpcResult<RespondWorkflowTaskFailedResponse> {
        let token = self.task_token(&request.namespace, &request.task_token).await?;
        validate::identity(&request.identity)?;
        failures::check(request.failure.as_ref(), "failure")?;
        let failure = match request.failure {
            Some(failure) if failure.encoded_len() > self.runtime().limits().payload_bytes => {
                Some(server_failure(FAILURE_TOO_LARGE))
            }
            failure => failure,
        };
        let command = Command::FailWorkflowTask(Box::new(FailWorkflowTask {
            token: tokens::workflow_task_of(&token),
            cause: WorkflowTaskFailedCause::try_from(request.cause).unwrap_or_default(),
            failure,
            identity: request.identity,
            binary_checksum: request.binary_checksum,
        }));
        self.send(tokens::run_of(&token), command).await?;
        Ok(RespondWorkflowTaskFailedResponse {})
    }

    /// Reads a task token, and checks its namespace against the request's. As with Temporal's server, a request
    /// without a namespace means the token's.
    pub(super) async fn task_token(&self, namespace: &str, bytes: &[u8]) -> RpcResult<TaskToken> {
        let named = if namespace.is_empty() { None } else { Some(self.namespace_key(namespace)?) };
        let token = tokens::read_task(self.token_keys().await?, bytes)?;
        let key = NamespaceKey(token.namespace);
        if named.is_some_and(|named| named != key) {
            return Err(tokens::task_unknown());
        }
        let namespaces = self.runtime().namespaces();
        let Some(record) = namespaces.by_key(key) else {
            return Err(namespace_not_found(&token.namespace.to_string()));
        };
        // A token grants nothing: its holder needs the role too.
        self.require(RoleSet::of(&[Role::Worker]), &record.name)?;
        if named.is_none() {
            self.count_call(record)?;
        }
        Ok(token)
    }
}

/// Checks the number of a completion's page.
fn page_number(number: i32) -> RpcResult<usize> {
    const PAGES_MAX: usize = 1_024;
    match usize::try_from(number) {
        Ok(number) if number < PAGES_MAX => Ok(number),
        Ok(_) => invalid(format!(
            "workflow task completion pagination supports at most {PAGES_MAX} pages"
        )),
        Err(_) => invalid("workflow task completion pagination page number must be non-negative"),
    }
}

/// The message that replaces a failure that is too large.
pub(super) const FAILURE_TOO_LARGE: &str = "Failure exceeds size limit.";

/// A non-retryable failure reported by the server itself.
pub(super) fn server_failure(message: &str) -> Failure {
    Failure {
        message: message.to_owned(),
        source: "Server".to_owned(),
        failure_info: Some(FailureInfo::ServerFailureInfo(ServerFailureInfo {
            non_retryable: true,
        })),
        ..Failure::default()
    }
}

fn sticky(attributes: StickyExecutionAttributes) -> Option<StickyQueue> {
    let queue = attributes.worker_task_queue.filter(|queue| !queue.name.is_empty())?;
    Some(StickyQueue {
        name: queue.name,
        schedule_to_start_nanos: Span::of(attributes.schedule_to_start_timeout.as_ref()).0,
    })
}
