//! How a command fails: what it says, and its exit code.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use tonic::{Code, Status};

use crate::client::Settings;
use crate::terminal::say;

/// What scripts can tell failures by. Documented in docs/cli.md, and in `perennial --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Anything that has no code of its own.
    Failed = 1,
    /// An argument that can't be read, or that the server refuses.
    Usage = 2,
    NotFound = 3,
    /// It is there already, or is no longer what the caller saw.
    Conflict = 4,
    /// No server, or one that can't answer now: worth another try.
    Unreachable = 5,
    TimedOut = 6,
    NotAllowed = 7,
}

/// An argument that is readable to clap but makes no sense to us.
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

/// There is no way to the server.
#[derive(Debug)]
pub(crate) struct Unreachable(String);

impl Unreachable {
    pub(crate) fn because(settings: &Settings, why: impl std::fmt::Display) -> Self {
        let Settings { address, tls, .. } = settings;
        let advice = match (tls.is_some(), is_here(address)) {
            (true, _) => {
                "does the server speak TLS there, and is its certificate trusted? See --tls-ca-path, --tls-server-name"
            }
            (false, true) => {
                "is it running? `perennial server start-dev` starts one; --address names another"
            }
            (false, false) => "is the address right, and does the server want --tls?",
        };
        Unreachable(format!("cannot reach the server at {address}: {why}\n{advice}"))
    }
}

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// A failure that says by itself what code it ends with.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) with: Exit,
    pub(crate) message: String,
}

impl std::fmt::Display for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Ends {}

/// Says what went wrong and gives the exit code. A reader that left (`| head`) is not a failure.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    // What broke under a request is the connection, not the reader's pipe.
    let ours = error.chain().take_while(|cause| !cause.is::<Status>());
    if ours.into_iter().any(is_closed_pipe) {
        return ExitCode::SUCCESS;
    }
    let exit = error.chain().find_map(exit_of).unwrap_or(Exit::Failed);
    let mut words: Vec<String> = Vec::new();
    let mut advice = None;
    for cause in error.chain() {
        match cause.downcast_ref::<Status>() {
            Some(status) => {
                words.push(in_words(status));
                advice = advice_on(status);
                break;
            }
            None => words.push(cause.to_string()),
        }
    }
    say(format_args!("error: {}", words.join(": ")));
    if let Some(advice) = advice {
        say(format_args!("{advice}"));
    }
    ExitCode::from(exit as u8)
}

fn is_here(address: &str) -> bool {
    ["localhost", "127.", "[::1]", "::1"].iter().any(|here| address.starts_with(here))
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
    if let Some(ends) = cause.downcast_ref::<Ends>() {
        return Some(ends.with);
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
        // Without one of the server's, it is this side that gave up.
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

/// What broke, if no server said this.
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

/// The server's words, or ours where it has none.
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

/// In Perennial's words, or in those of Temporal's server, whose schedules are workflows.
fn is_about_a_schedule(status: &Status) -> bool {
    let message = status.message();
    message.contains("schedule not found") || message.contains("temporal-sys-scheduler:")
}

/// What to do about it, where the server's words don't say so.
fn advice_on(status: &Status) -> Option<&'static str> {
    if broken_connection(status).is_some() {
        return Some(
            "does the server speak TLS there, or want a certificate? See --tls, --tls-cert-path",
        );
    }
    match exit_of_status(status) {
        Exit::Unreachable => Some("try again; `perennial doctor` looks at what is wrong"),
        Exit::TimedOut => Some(
            "what was asked may still happen; --command-timeout gives it longer, `perennial doctor` looks at what is wrong",
        ),
        Exit::NotAllowed => {
            Some("name a key with --api-key, or a profile that has one with --profile")
        }
        Exit::Failed if status.code() == Code::Unimplemented => {
            Some("this server doesn't have it; `perennial server` is one that does")
        }
        Exit::Failed if status.code() == Code::ResourceExhausted => {
            Some("wait a little, then try again")
        }
        Exit::NotFound if status.message().to_lowercase().contains("namespace") => Some(
            "`perennial operator namespace list` shows those that are there; --namespace names one",
        ),
        Exit::NotFound if is_about_a_schedule(status) => Some(
            "`perennial schedule list` shows those that are there; --namespace names another namespace",
        ),
        Exit::Failed | Exit::Usage | Exit::NotFound | Exit::Conflict => None,
    }
}
