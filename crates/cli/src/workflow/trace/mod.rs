//! `perennial workflow trace`.

mod draw;
mod fetch;
mod tree;

use std::io::IsTerminal;
use std::time::Duration;

use clap::ValueEnum;

use self::draw::draw;
use self::fetch::fetch;
use crate::input::ExecutionArgs;
use crate::output::{Format, Times};
use crate::session::Session;

/// How often the tree is refreshed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Show activities, timers and child workflows as a live tree
///
/// On a terminal the tree is refreshed until the workflow ends. Otherwise it is shown once.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    execution: ExecutionArgs,

    /// Levels of child workflows to show; -1 for all
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true)]
    depth: i64,

    /// Collapse child workflows with this status; repeatable
    /// [default: completed, canceled, terminated]
    #[arg(long, value_name = "STATUS", value_enum, ignore_case = true, value_delimiter = ',')]
    fold: Vec<Fold>,

    /// Collapse no child workflows
    #[arg(long, conflicts_with = "fold")]
    no_fold: bool,

    /// Number of histories to fetch concurrently
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Fold {
    Running,
    Completed,
    Failed,
    Canceled,
    Terminated,
    TimedOut,
    ContinueAsNew,
}

const EXAMPLES: &str = r#"Examples:
  perennial workflow trace order-42
  perennial workflow trace order-42 --depth 1 --no-fold
  perennial workflow trace order-42 -o json
"#;

/// How much of the tree to show.
#[derive(Clone, Debug)]
struct Extent {
    /// `None` for all levels.
    depth: Option<u64>,
    folded: Vec<Fold>,
    concurrency: usize,
}

pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let execution = args.execution.get()?;
    let folded = match (args.no_fold, args.fold.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => vec![Fold::Completed, Fold::Canceled, Fold::Terminated],
        (false, false) => args.fold,
    };
    let extent = Extent {
        depth: u64::try_from(args.depth).ok(),
        folded,
        concurrency: args.concurrency.into(),
    };
    let live = session.output.format == Format::Table && std::io::stdout().is_terminal();
    let mut drawn = 0;
    loop {
        let tree = fetch(&session.client, execution.clone(), &extent).await?;
        let times = Times { now: jiff::Timestamp::now(), ..session.output.times.clone() };
        let look = session.output.look;
        session.output.record(&tree, |output| {
            let height = live.then(terminal_height).flatten();
            let lines = draw(&tree, look, &times, height);
            if drawn > 0 {
                // Move the cursor to the start of the previous tree, and erase it.
                write!(output.writer(), "\x1b[{drawn}A\x1b[J")?;
            }
            lines.iter().try_for_each(|line| output.line(line))?;
            drawn = lines.len();
            Ok(())
        })?;
        session.output.flush()?;
        if !live || tree.is_closed() {
            return Ok(());
        }
        tokio::time::sleep(REFRESH_INTERVAL).await;
    }
}

fn terminal_height() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(_, height)| height.0.into())
}
