//! Errors for clients, with Temporal's code, message and detail.
//!
//! SDKs react to the code, and to the detail in `grpc-status-details-bin`. A permanent error never has a code that
//! they retry.

use std::time::Duration;

use perennial_calendar::excerpt;
use perennial_engine::run::Rejection;
use perennial_proto::Any;
use perennial_proto::store::RunName;
use perennial_proto::temporal::enums::v1::{ResourceExhaustedCause, ResourceExhaustedScope};
use perennial_proto::temporal::errordetails::v1 as detail;
use perennial_proto::temporal::failure::v1::Failure;
use perennial_runtime::Refusal;
use prost::Message;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

/// The result of an RPC.
pub(crate) type RpcResult<T> = Result<T, Status>;

/// The error for a refusal of the runtime.
pub(crate) fn refused(refusal: Refusal) -> Status {
    match refusal {
        Refusal::Rejected(rejection) => rejected(rejection),
        Refusal::Unavailable(message) => Status::unavailable(message),
        Refusal::Moved => moved(),
        Refusal::Overloaded(message) => {
            resource_exhausted(message, ResourceExhaustedCause::SystemOverloaded)
        }
        Refusal::Exhausted(message) => {
            resource_exhausted(message, ResourceExhaustedCause::PersistenceStorageLimit)
        }
        Refusal::Damaged(message) => Status::data_loss(message),
        Refusal::PagesLost(message) => {
            let lost = detail::WorkflowTaskCompletionBufferLostFailure {};
            let name = "WorkflowTaskCompletionBufferLostFailure";
            with_detail(Code::Aborted, message, name, &lost)
        }
        Refusal::TimedOut => Status::deadline_exceeded("context deadline exceeded"),
    }
}

/// Marks [`moved`], so that no other error is taken for it.
const MOVED: &str = "perennial-moved";

/// Another node owns the entity, and nothing has happened: the call can be made there.
pub(crate) fn moved() -> Status {
    let mut status = Status::unavailable(Refusal::Moved.to_string());
    status.metadata_mut().insert(MOVED, MetadataValue::from_static("1"));
    status
}

/// Whether an error is [`moved`].
pub(crate) fn is_moved(status: &Status) -> bool {
    status.metadata().contains_key(MOVED)
}

/// The error for a refusal about a run. Names the run id if the request did.
pub(crate) fn refused_about(refusal: Refusal, target: &RunName) -> Status {
    match refusal {
        Refusal::Rejected(Rejection::RunNotFound(_)) if !target.run_id.is_empty() => {
            not_found(format!(
                "workflow execution not found for workflow ID {:?} and run ID {:?}",
                target.workflow_id, target.run_id
            ))
        }
        refusal => refused(refusal),
    }
}

/// The error for a schedule that can't be created. SDKs look for the detail of a workflow that is already started.
pub(crate) fn schedule_refused(refusal: Refusal, schedule_id: &str) -> Status {
    match refusal {
        Refusal::Rejected(taken @ Rejection::AlreadyStarted { .. }) => {
            let status = rejected(taken);
            let message = format!("schedule {schedule_id:?} already exists");
            Status::with_details(status.code(), message, status.details().to_vec().into())
        }
        refusal => refused(refusal),
    }
}

/// The error for a rejection by the engine.
pub(crate) fn rejected(rejection: Rejection) -> Status {
    let message = rejection.to_string();
    match rejection {
        Rejection::AlreadyStarted { run_id, start_request_id, first_run_id, .. } => {
            let already_started = detail::WorkflowExecutionAlreadyStartedFailure {
                start_request_id,
                run_id,
                first_execution_run_id: first_run_id,
            };
            with_detail(
                Code::AlreadyExists,
                message,
                "WorkflowExecutionAlreadyStartedFailure",
                &already_started,
            )
        }
        Rejection::RunNotFound(_)
        | Rejection::AlreadyClosed
        | Rejection::UpdateAborted
        | Rejection::TaskNotFound(_)
        | Rejection::NotFound(_) => not_found(message),
        Rejection::InvalidArgument(_)
        | Rejection::UnhandledCommand
        | Rejection::LimitExceeded(_) => Status::invalid_argument(message),
        Rejection::FailedPrecondition(_) => Status::failed_precondition(message),
        Rejection::NotReady(_) => {
            let not_ready = detail::WorkflowNotReadyFailure {};
            with_detail(Code::FailedPrecondition, message, "WorkflowNotReadyFailure", &not_ready)
        }
        Rejection::UpdateOvertaken => {
            let (cause, scope) =
                (ResourceExhaustedCause::BusyWorkflow, ResourceExhaustedScope::Namespace);
            exhausted(message, cause, scope)
        }
        Rejection::Busy(_) => Status::unavailable(message),
    }
}

/// A resource of the whole server is exhausted: clients retry later.
fn resource_exhausted(message: String, cause: ResourceExhaustedCause) -> Status {
    exhausted(message, cause, ResourceExhaustedScope::System)
}

fn exhausted(
    message: String,
    cause: ResourceExhaustedCause,
    scope: ResourceExhaustedScope,
) -> Status {
    let detail = detail::ResourceExhaustedFailure { cause: cause.into(), scope: scope.into() };
    with_detail(Code::ResourceExhausted, message, "ResourceExhaustedFailure", &detail)
}

/// A namespace or a principal has reached a limit of its own. The client is told when to try again: in the detail
/// `RetryInfo`, and in the metadata that gRPC libraries obey.
pub(crate) fn limit_reached(
    message: String,
    cause: ResourceExhaustedCause,
    scope: ResourceExhaustedScope,
    retry_after: Duration,
) -> Status {
    let code = Code::ResourceExhausted;
    let failure = detail::ResourceExhaustedFailure { cause: cause.into(), scope: scope.into() };
    let name = "errordetails.v1.ResourceExhaustedFailure";
    let retry = RetryInfo { retry_delay: retry_after.try_into().ok() };
    let retry = Any {
        type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
        value: retry.encode_to_vec(),
    };
    let details = vec![any(name, &failure.encode_to_vec()), retry];
    let status = RpcStatus { code: code.into(), message: message.clone(), details };
    let mut metadata = MetadataMap::new();
    // Rounded up: a client that comes too early is refused again.
    let millis = retry_after.as_millis().saturating_add(1).to_string();
    if let Ok(millis) = millis.parse() {
        metadata.insert(RETRY_AFTER_MILLIS, millis);
    }
    Status::with_details_and_metadata(code, message, status.encode_to_vec().into(), metadata)
}

/// When a client may try again, in milliseconds.
pub(crate) const RETRY_AFTER_MILLIS: &str = "grpc-retry-pushback-ms";

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<perennial_proto::Duration>,
}

/// The entity doesn't exist.
pub(crate) fn not_found(message: impl Into<String>) -> Status {
    let detail = detail::NotFoundFailure::default();
    with_detail(Code::NotFound, message, "NotFoundFailure", &detail)
}

/// The namespace doesn't exist.
pub(crate) fn namespace_not_found(namespace: &str) -> Status {
    let detail = detail::NamespaceNotFoundFailure { namespace: namespace.to_owned() };
    let message = format!("Namespace {namespace} is not found.");
    with_detail(Code::NotFound, message, "NamespaceNotFoundFailure", &detail)
}

/// The name of a new namespace is in use.
pub(crate) fn namespace_already_exists(namespace: &str) -> Status {
    let detail = detail::NamespaceAlreadyExistsFailure::default();
    let message = format!("Namespace \"{namespace}\" already exists");
    with_detail(Code::AlreadyExists, message, "NamespaceAlreadyExistsFailure", &detail)
}

/// The worker failed to answer a query.
pub(crate) fn query_failed(message: String, mut failure: Option<Failure>) -> Status {
    // An error travels in headers, of which clients read a few kilobytes. So a long failure loses its stack trace and
    // causes, and keeps its message.
    if let Some(failure) = failure.as_mut().filter(|it| it.encoded_len() > DETAILS_BYTES_MAX / 2) {
        let (message, source) = (excerpt(&failure.message, MESSAGE_CHARS_MAX), &failure.source);
        let source = excerpt(source, MESSAGE_CHARS_MAX).into_owned();
        *failure = Failure { message: message.into_owned(), source, ..Failure::default() };
    }
    let detail = detail::QueryFailedFailure { failure };
    with_detail(Code::InvalidArgument, message, "QueryFailedFailure", &detail)
}

/// The outcome of one operation of a multi-operation.
#[derive(Debug)]
pub(crate) enum Operation {
    /// The operation took effect.
    Done,
    /// The operation had no effect because another one failed.
    Aborted,
    /// The operation failed.
    Failed(Status),
}

/// An operation of a multi-operation failed.
pub(crate) fn multi_operation_failed(operations: [Operation; 2]) -> Status {
    use detail::multi_operation_execution_failure::OperationStatus;
    let failed = operations.iter().find_map(|operation| match operation {
        Operation::Failed(status) => Some(status.code()),
        Operation::Done | Operation::Aborted => None,
    });
    let statuses = operations
        .into_iter()
        .map(|operation| {
            let RpcStatus { code, message, details } = match operation {
                Operation::Done => RpcStatus::default(),
                Operation::Aborted => RpcStatus {
                    code: Code::Aborted.into(),
                    message: "Operation was aborted.".to_owned(),
                    details: vec![any("failure.v1.MultiOperationExecutionAborted", &[])],
                },
                Operation::Failed(status) => RpcStatus::of(&status),
            };
            OperationStatus { code, message, details }
        })
        .collect();
    let detail = detail::MultiOperationExecutionFailure { statuses };
    let message = "Update-with-Start could not be executed.";
    let code = failed.unwrap_or(Code::Aborted);
    with_detail(code, message, "MultiOperationExecutionFailure", &detail)
}

/// The message exceeds the size limit.
///
/// Workers look for this text: they fail the workflow task with the cause `GRPC_MESSAGE_TOO_LARGE` instead of
/// retrying for ever.
pub(crate) fn message_too_large(bytes_max: usize) -> Status {
    Status::resource_exhausted(format!(
        "grpc: received message after decompression larger than max {bytes_max}"
    ))
}

/// The RPC or option isn't implemented yet.
pub(crate) fn not_implemented(rpc: &str) -> Status {
    Status::unimplemented(format!("{rpc} is not implemented by this server"))
}

/// Shortens an error so that it fits into headers. Clients read 8 to 16 KB of headers, and drop the response or the
/// connection if there are more. Errors may repeat what the client sent, so they may have any length.
pub(crate) fn bounded(status: Status) -> Status {
    let message = excerpt(status.message(), MESSAGE_CHARS_MAX);
    if message.len() == status.message().len() && status.details().len() <= DETAILS_BYTES_MAX {
        return status;
    }
    let mut inner = RpcStatus::of(&status);
    inner.message = message.clone().into_owned();
    if inner.encoded_len() > DETAILS_BYTES_MAX {
        inner.details.clear();
    }
    let details = if inner.details.is_empty() { Vec::new() } else { inner.encode_to_vec() };
    let metadata = status.metadata().clone();
    Status::with_details_and_metadata(status.code(), message, details.into(), metadata)
}

/// Characters of a message. Each may take nine bytes in a header.
const MESSAGE_CHARS_MAX: usize = 600;
/// Bytes of details. Headers hold them in base64.
const DETAILS_BYTES_MAX: usize = 6 * 1024;

pub(crate) fn with_detail(
    code: Code,
    message: impl Into<String>,
    name: &str,
    detail: &impl Message,
) -> Status {
    let message = message.into();
    let details = vec![any(&format!("errordetails.v1.{name}"), &detail.encode_to_vec())];
    let status = RpcStatus { code: code.into(), message: message.clone(), details };
    Status::with_details(code, message, status.encode_to_vec().into())
}

fn any(name: &str, value: &[u8]) -> Any {
    let type_url = format!("type.googleapis.com/temporal.api.{name}");
    Any { type_url, value: value.to_vec() }
}

/// `google.rpc.Status`, the content of `grpc-status-details-bin`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

impl RpcStatus {
    fn of(status: &Status) -> Self {
        // Only statuses made here have details, so they always decode.
        Self::decode(status.details()).ok().filter(|own| !own.details.is_empty()).unwrap_or_else(
            || Self {
                code: status.code().into(),
                message: status.message().to_owned(),
                details: vec![],
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use perennial_engine::run::Taken;

    use super::*;

    fn check(status: &Status, expected: Expect) {
        let inner = RpcStatus::decode(status.details()).unwrap();
        let details: Vec<_> = inner
            .details
            .iter()
            .map(|any| format!("{} {:?}", any.type_url, String::from_utf8_lossy(&any.value)))
            .collect();
        let same = inner.details.is_empty()
            || (inner.code == i32::from(status.code()) && inner.message == status.message());
        assert!(same, "the detail repeats code and message");
        let text = format!("{:?}: {}\n{}\n", status.code(), status.message(), details.join("\n"));
        expected.assert_eq(&text);
    }

    fn already_started(taken: Taken) -> Status {
        rejected(Rejection::AlreadyStarted {
            workflow_id: "order".to_owned(),
            run_id: "run".to_owned(),
            start_request_id: "request".to_owned(),
            first_run_id: "first".to_owned(),
            taken,
        })
    }

    #[test]
    fn duplicate_start_names_the_run_that_is_there() {
        check(
            &already_started(Taken::Running),
            expect![[r#"
                AlreadyExists: Workflow execution is already running. WorkflowId: order, RunId: run.
                type.googleapis.com/temporal.api.errordetails.v1.WorkflowExecutionAlreadyStartedFailure "\n\u{7}request\u{12}\u{3}run\u{1a}\u{5}first"
            "#]],
        );
        check(
            &already_started(Taken::Finished),
            expect![[r#"
                AlreadyExists: Workflow execution already finished. WorkflowId: order, RunId: run. Workflow Id reuse policy: reject duplicate workflow Id.
                type.googleapis.com/temporal.api.errordetails.v1.WorkflowExecutionAlreadyStartedFailure "\n\u{7}request\u{12}\u{3}run\u{1a}\u{5}first"
            "#]],
        );
    }

    #[test]
    fn not_found_errors_have_their_detail() {
        check(
            &rejected(Rejection::RunNotFound("order".to_owned())),
            expect![[r#"
                NotFound: workflow not found for ID: order
                type.googleapis.com/temporal.api.errordetails.v1.NotFoundFailure ""
            "#]],
        );
        check(
            &namespace_not_found("shop"),
            expect![[r#"
                NotFound: Namespace shop is not found.
                type.googleapis.com/temporal.api.errordetails.v1.NamespaceNotFoundFailure "\n\u{4}shop"
            "#]],
        );
    }

    #[test]
    fn lost_pages_have_the_detail_that_makes_a_worker_send_them_again() {
        check(
            &refused(Refusal::PagesLost("page 0 is lost".to_owned())),
            expect![[r#"
                Aborted: page 0 is lost
                type.googleapis.com/temporal.api.errordetails.v1.WorkflowTaskCompletionBufferLostFailure ""
            "#]],
        );
    }

    #[test]
    fn store_errors_have_a_code_that_says_whether_to_retry() {
        use perennial_store::Error;
        let code = |error: Error| refused(Refusal::from(error)).code();
        assert_eq!(code(Error::Full("disk".to_owned())), Code::ResourceExhausted);
        assert_eq!(code(Error::Corrupt("row".to_owned())), Code::DataLoss);
        assert_eq!(code(Error::Unavailable("disk".to_owned())), Code::Unavailable);
        assert_eq!(code(Error::Fenced("cell 0".to_owned())), Code::Unavailable);
        check(
            &refused(Refusal::Exhausted("the store is full".to_owned())),
            expect![[r#"
                ResourceExhausted: the store is full
                type.googleapis.com/temporal.api.errordetails.v1.ResourceExhaustedFailure "\u{8}\u{7}\u{10}\u{2}"
            "#]],
        );
    }

    #[test]
    fn error_with_a_long_name_fits_into_headers() {
        let status = bounded(namespace_not_found(&"é".repeat(100_000)));
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().starts_with("Namespace é"), "{status}");
        assert!(status.message().ends_with("é is not found."), "{status}");
        let headers = status.into_http::<()>().headers().clone();
        let bytes: usize = headers.values().map(|value| value.len()).sum();
        assert!(bytes < 8 * 1024, "{bytes} bytes");

        let whole = namespace_not_found("shop");
        assert_eq!(bounded(whole.clone()).details(), whole.details());
    }

    #[test]
    fn failed_query_keeps_its_message_if_the_failure_is_long() {
        let failure = Failure {
            message: "no such order".to_owned(),
            stack_trace: "at line 1\n".repeat(10_000),
            ..Failure::default()
        };
        let status = bounded(query_failed("no such order".to_owned(), Some(failure)));
        let inner = RpcStatus::decode(status.details()).unwrap();
        let detail = detail::QueryFailedFailure::decode(inner.details[0].value.as_slice()).unwrap();
        assert_eq!(detail.failure.unwrap().message, "no such order");
        assert!(status.details().len() <= DETAILS_BYTES_MAX);
    }

    #[test]
    fn unhandled_command_has_exactly_the_text_that_sdks_look_for() {
        let status = rejected(Rejection::UnhandledCommand);
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "UnhandledCommand"));
    }

    #[test]
    fn permanent_errors_have_no_code_that_sdks_retry() {
        let permanent = [
            Rejection::RunNotFound(String::new()),
            Rejection::AlreadyClosed,
            Rejection::TaskNotFound(String::new()),
            Rejection::InvalidArgument(String::new()),
            Rejection::UnhandledCommand,
            Rejection::FailedPrecondition(String::new()),
            Rejection::NotReady(String::new()),
            Rejection::UpdateAborted,
            Rejection::LimitExceeded(String::new()),
            Rejection::NotFound(String::new()),
        ];
        let retried = [
            Code::DataLoss,
            Code::Internal,
            Code::Unknown,
            Code::ResourceExhausted,
            Code::Aborted,
            Code::OutOfRange,
            Code::Unavailable,
        ];
        for rejection in permanent {
            let code = rejected(rejection.clone()).code();
            assert!(!retried.contains(&code), "{rejection:?} is answered with {code:?}");
        }
    }

    #[test]
    fn failed_start_aborts_the_update_beside_it() {
        use detail::MultiOperationExecutionFailure;
        let status = multi_operation_failed([
            Operation::Failed(already_started(Taken::Running)),
            Operation::Aborted,
        ]);
        assert_eq!(status.code(), Code::AlreadyExists);
        let inner = RpcStatus::decode(status.details()).unwrap();
        let detail =
            MultiOperationExecutionFailure::decode(inner.details[0].value.as_slice()).unwrap();
        let operations: Vec<_> = detail
            .statuses
            .iter()
            .map(|status| (Code::from(status.code), status.details[0].type_url.as_str()))
            .collect();
        assert_eq!(
            operations,
            [
                (
                    Code::AlreadyExists,
                    "type.googleapis.com/temporal.api.errordetails.v1.\
                     WorkflowExecutionAlreadyStartedFailure"
                ),
                (
                    Code::Aborted,
                    "type.googleapis.com/temporal.api.failure.v1.MultiOperationExecutionAborted"
                ),
            ]
        );
    }
}
