//! `perennial calendar`: previews and explains specs, without a server.

mod between;
mod canonical;
mod clock_changes;
mod event;
mod explain;
mod listing;
mod next;
mod no_times;
mod output;
mod part;
mod spec_args;
mod table;
mod view;

use std::io::Write;

use clap::Subcommand;

pub(crate) use self::explain::explain;
pub(crate) use self::listing::{Limits, write as list_times};
pub(crate) use self::spec_args::mistakes_in;
pub(crate) use self::view::ViewArgs;

use crate::session::GlobalArgs;

/// Preview and explain cron strings and other specs, offline
///
/// A SPEC is one of
///
///   a cron string          '0 9 * * MON-FRI', '0 0 L * *', '@daily', 'CRON_TZ=Europe/Oslo 0 9 * * *'
///   an interval            '30m', '5h/15m' (5 hours, 15 minutes past), 'PT30M', '@every 30m'
///   a repeating interval   'R/2026-01-31T09:00/P1M' (monthly, from that day on)
///   a calendar as JSON     '{"dayOfWeek":"Fri","hour":"11"}'
///   a recurrence rule      'DTSTART:20260101T090000 RRULE:FREQ=MONTHLY;BYDAY=-1FR'
///
/// Several specs form a union. Quote each one, or the shell expands the asterisks.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Next(next::Args),
    Between(between::Args),
    Explain(explain::Args),
}

/// Runs a `calendar` command.
pub(crate) fn run(args: Args, global: &GlobalArgs, out: &mut impl Write) -> anyhow::Result<()> {
    match args.command {
        Command::Next(args) => next::run(args, global, out),
        Command::Between(args) => between::run(args, global, out),
        Command::Explain(args) => explain::run(args, global, out),
    }
}
