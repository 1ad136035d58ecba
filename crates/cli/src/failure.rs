//! Error messages, hints and exit codes of a command that fails.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use tonic::{Code, Status};

use crate::client::Settings;
use crate::terminal::print_stderr;

/// Exit codes, for scripts. Documented in docs/cli.md and in `perennial --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Any failure without a code of its own.
    Failed = 1,
    /// An invalid argument, found by the CLI or by the server.
    Usage = 2,
    NotFound = 3,
    /// The thing already exists, or someone else has changed it.
    Conflict = 4,
    /// The server can't be reached or is unavailable. A retry may succeed.
    Unreachable = 5,
    TimedOut = 6,
    NotAllowed = 7,
}

/// An invalid argument that clap accepts.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Usage(message.into())
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The server can't be reached.
#[derive(Debug)]
pub(crate) struct Unreachable(String);

impl Unreachable {
    pub(crate) fn because(settings: &Settings, why: impl std::fmt::Display) -> Self {
        let Settings { address, tls, api_key, .. } = settings;
        let hint = match (tls.is_some(), is_local(address)) {
            (true, true) if api_key.is_some() => {
                "an API key turns TLS on: does the server use it? If not, pass --tls=false"
            }
            (true, _) => {
                "does the server use TLS, and is its certificate trusted? See --tls-ca-path and --tls-server-name"
            }
            (false, true) => {
                "is it running? `perennial server start-dev` starts a server; --address connects to another one"
            }
            (false, false) => "is the address right? Does the server need --tls?",
        };
        Unreachable(format!("cannot reach the server at {address}: {why}\n{hint}"))
    }
}

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// A failure with an exit code.
#[derive(Debug)]
pub(crate) struct ExitError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl std::fmt::Display for ExitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExitError {}

/// Prints the error and returns the exit code. A closed pipe (`| head`) is not a failure.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    // A broken pipe below a gRPC status is the connection to the server, not standard output.
    let ours = error.chain().take_while(|cause| !cause.is::<Status>());
    if ours.into_iter().any(is_closed_pipe) {
        return ExitCode::SUCCESS;
    }
    let exit = error.chain().find_map(exit_of).unwrap_or(Exit::Failed);
    let mut words: Vec<String> = Vec::new();
    let mut hint = None;
    for cause in error.chain() {
        match cause.downcast_ref::<Status>() {
            Some(status) => {
                words.push(in_words(status));
                hint = hint_for(status);
                break;
            }
            None => words.push(cause.to_string()),
        }
    }
    print_stderr(format_args!("error: {}", words.join(": ")));
    if let Some(hint) = hint {
        print_stderr(format_args!("{hint}"));
    }
    ExitCode::from(exit as u8)
}

fn is_local(address: &str) -> bool {
    ["localhost", "127.", "[::1]", "::1"].iter().any(|local| address.starts_with(local))
}

fn is_closed_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    let kind = match cause.downcast_ref::<io::Error>() {
        Some(error) => Some(error.kind()),
        None => cause.downcast_ref::<serde_json::Error>().and_then(|error| error.io_error_kind()),
    };
    kind == Some(io::ErrorKind::BrokenPipe)
}

fn exit_of(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if let Some(status) = cause.downcast_ref::<Status>() {
        return Some(exit_of_status(status));
    }
    if let Some(error) = cause.downcast_ref::<ExitError>() {
        return Some(error.exit);
    }
    if cause.is::<Unreachable>() {
        return Some(Exit::Unreachable);
    }
    let usage = cause.is::<Usage>()
        || cause.is::<perennial_calendar::Error>()
        || cause.is::<perennial_calendar::ParseError>();
    usage.then_some(Exit::Usage)
}

fn exit_of_status(status: &Status) -> Exit {
    if broken_connection(status).is_some() {
        return Exit::Unreachable;
    }
    match status.code() {
        Code::InvalidArgument | Code::OutOfRange => Exit::Usage,
        Code::NotFound => Exit::NotFound,
        Code::AlreadyExists | Code::FailedPrecondition | Code::Aborted => Exit::Conflict,
        Code::Unavailable => Exit::Unreachable,
        Code::DeadlineExceeded => Exit::TimedOut,
        // The client's own timeout: tonic reports it as a cancellation.
        Code::Cancelled if status.message().contains("Timeout expired") => Exit::TimedOut,
        Code::PermissionDenied | Code::Unauthenticated => Exit::NotAllowed,
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::ResourceExhausted
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss => Exit::Failed,
    }
}

/// Why the connection broke; `None` if the status comes from the server.
fn broken_connection(status: &Status) -> Option<String> {
    let mut cause: &dyn std::error::Error = status.source()?;
    if cause.is::<tonic::TimeoutExpired>() {
        return None;
    }
    while let Some(next) = cause.source() {
        cause = next;
    }
    Some(cause.to_string())
}

/// The server's message, or ours if the server sent none.
fn in_words(status: &Status) -> String {
    if let Some(why) = broken_connection(status) {
        return format!("the connection broke: {why}");
    }
    match (status.code(), status.message()) {
        (Code::Cancelled, message) if message.contains("Timeout expired") => {
            "the server didn't answer in time".to_owned()
        }
        (Code::DeadlineExceeded, "") => "the server didn't answer in time".to_owned(),
        (code, "") => code.description().to_owned(),
        (_, message) => message.to_owned(),
    }
}

/// Recognises Perennial's message and that of Temporal's server, where a schedule is a workflow.
fn is_about_a_schedule(status: &Status) -> bool {
    let message = status.message();
    message.contains("schedule not found") || message.contains("temporal-sys-scheduler:")
}

/// A hint what to do next, where the server's message has none.
fn hint_for(status: &Status) -> Option<&'static str> {
    if broken_connection(status).is_some() {
        return Some(
            "does the server use TLS, or need a client certificate? See --tls and --tls-cert-path",
        );
    }
    match exit_of_status(status) {
        Exit::Unreachable => Some("try again; `perennial doctor` checks what is wrong"),
        Exit::TimedOut => Some(
            "the server may still complete the request; --command-timeout sets a longer timeout, `perennial doctor` checks what is wrong",
        ),
        Exit::NotAllowed if status.code() == Code::PermissionDenied => {
            Some("an admin of the namespace creates keys: `perennial operator api-key create`")
        }
        Exit::NotAllowed => {
            Some("pass a key with --api-key, or a profile that has one with --profile")
        }
        Exit::Failed if status.code() == Code::Unimplemented => {
            Some("this server doesn't support it; `perennial server` does")
        }
        Exit::Failed if status.code() == Code::ResourceExhausted => {
            Some("try again in a few seconds")
        }
        Exit::NotFound if status.message().to_lowercase().contains("namespace") => Some(
            "`perennial operator namespace list` lists the namespaces; choose one with --namespace",
        ),
        Exit::NotFound if is_about_a_schedule(status) => Some(
            "`perennial schedule list` lists the schedules; --namespace selects another namespace",
        ),
        Exit::Failed | Exit::Usage | Exit::NotFound | Exit::Conflict => None,
    }
}
