//! `perennial demo`: a server, a worker and five schedules, live.

mod schedules;
mod server;
mod worker;

use std::path::PathBuf;
use std::time::Duration;

use perennial_calendar::parse_duration;

use self::server::DemoServer;
use self::worker::Worker;
use crate::client::{Client, ConnectionArgs, Environment, Settings};
use crate::output::Output;
use crate::server::shutdown_signal;
use crate::session::{self, GlobalArgs};
use crate::terminal::Style;

/// Try it out: a server, a worker and five schedules
///
/// The schedules fire every few seconds. State is in memory unless --db-filename is given. Stop with ctrl-c.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Store the state in this file
    #[arg(long, short = 'f', value_name = "FILE")]
    db_filename: Option<PathBuf>,

    /// Port of the gRPC API [default: 7233, or a free port]
    #[arg(long, short)]
    port: Option<u16>,

    /// Stop after this long
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Stop after this many runs
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
}

const EXAMPLES: &str = r#"Examples:
  perennial demo
  perennial demo --for 30s --db-filename demo.db
"#;

/// Runs the demo until a signal, `--for` or `--runs` ends it.
pub(crate) fn run(args: Args, global: &GlobalArgs) -> anyhow::Result<()> {
    let mut output = global.output();
    session::block_on(None, async {
        let shutdown = shutdown_signal()?;
        let mut server = DemoServer::start(args.db_filename.as_deref(), args.port).await?;
        let shown = show(&mut output, &server, &args, shutdown, global).await;
        server.stop().await?;
        shown?;
        output.line("Stopped.")?;
        Ok(output.flush()?)
    })
}

async fn show(
    output: &mut Output,
    server: &DemoServer,
    args: &Args,
    shutdown: impl Future<Output = ()>,
    global: &GlobalArgs,
) -> anyhow::Result<()> {
    let connection =
        ConnectionArgs { address: Some(server.address.clone()), ..ConnectionArgs::default() };
    // Ignore the user's connection settings: the demo connects to its own server.
    let mut config = global.config.clone();
    (config.disable_config_file, config.disable_config_env) = (true, true);
    let settings = Settings::resolve(connection, &config, &Environment::default())?;
    let client = Client::connect(settings, None).await?;
    schedules::create(&client).await?;
    greet(output, server)?;

    let deadline = async {
        match args.duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => std::future::pending().await,
        }
    };
    let mut worker = Worker::new(client.clone(), args.runs);
    tokio::select! {
        done = worker.work(output) => done?,
        () = deadline => {}
        () = shutdown => {}
    }
    schedules::summarize(&client, output).await
}

fn greet(output: &mut Output, server: &DemoServer) -> anyhow::Result<()> {
    let look = output.look;
    output.line(format!("{}  {}", look.paint(Style::Heading, "Server"), server.address))?;
    if let Some(http) = &server.http {
        output.line(format!("{}    {http}", look.paint(Style::Heading, "HTTP")))?;
    }
    output.line("")?;
    for (id, about) in schedules::DESCRIPTIONS {
        output.line(format!("  {id:16}  {about}"))?;
    }
    let address = &server.address;
    output.line(format!("\n{}", look.paint(Style::Heading, "Try these in another terminal")))?;
    for command in [
        "schedule list",
        "schedule describe demo-overlap",
        "schedule ledger demo-overlap",
        "schedule unpause demo-flaky --reason \"try again\"",
        "schedule trigger demo-limited",
        "schedule history demo-flaky",
        "doctor",
    ] {
        output.line(format!("  perennial {command} --address {address}"))?;
    }
    output.line("")?;
    Ok(output.flush()?)
}
