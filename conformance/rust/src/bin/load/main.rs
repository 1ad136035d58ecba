//! Load generator: prints its measurements as one line of JSON.
//!
//! `load <host:port> <sdk|raw> <at once> <seconds> <process id of the server>` runs workflows of one
//! activity each: how many, how long each took from its start to its result, and what they cost the
//! server. With `sdk` the worker and the client are the official SDK's with its defaults; with `raw` they
//! make the same calls and nothing else, so that the server is what limits them. With `empty` there are no
//! workflows: each is one call that asks nothing of the store, which tells how fast the machine is.
//!
//! `load <host:port> sleep <at once> <workflows> <process id of the server>` starts workflows that sleep;
//! `load <host:port> crash <at once> 0 0` runs workflows until its standard input ends, on a server that is
//! killed meanwhile, and says what was lost. It can be several addresses, as in `host:port,host:port`: those of the
//! nodes of a cluster; the same for `schedules crash`.
//!
//! `load <host:port> memory <at once> <waiting tasks> <process id of the server>` is large in bytes ([`memory`]).
//!
//! `load <host:port> schedules …` makes schedules; [`schedules`] says which there are.

mod cost;
mod crash;
mod memory;
mod raw;
mod schedules;
mod sdk;
mod worker;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::cost::Cost;

/// The C library's gives memory back after every compressed request and takes it again for the next: the
/// page faults were a third of what the load cost.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Not measured: connections open, caches fill.
const WARM_UP: Duration = Duration::from_secs(2);

const USAGE: &str = "\
usage: load <host:port> <sdk|raw|empty|sleep|crash|memory> <at once> <seconds or workflows> <process id of the server>
       load <host:port> schedules <fire|create|burst|look|crash> …";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let uses_sdk = arguments.get(1).is_some_and(|what| matches!(what.as_str(), "sdk" | "crash"));
    // Users of the SDK have as many threads as processors. Bare calls are made on one, which wakes no other: what
    // they cost is taken from the server.
    let runtime = if uses_sdk {
        Builder::new_multi_thread().enable_all().build()
    } else {
        Builder::new_current_thread().enable_all().build()
    };
    let runtime = runtime.expect("the machine has room for threads");
    let Some(result) = runtime.block_on(run(&arguments)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("{result}");
    ExitCode::SUCCESS
}

/// `None`: the command line can't be understood.
async fn run(arguments: &[String]) -> Option<serde_json::Value> {
    match arguments {
        [address, what, rest @ ..] if what == "schedules" => schedules::run(address, rest).await,
        arguments => workflows(arguments).await,
    }
}

/// The same.
async fn workflows(arguments: &[String]) -> Option<serde_json::Value> {
    let (address, client, load) = read(arguments)?;
    Some(match client {
        "sdk" => sdk::run(address, load).await,
        "empty" => raw::make_empty_calls(address, load).await,
        "sleep" => raw::put_to_sleep(address, load).await,
        "crash" => crash::run(address, load).await,
        "memory" => memory::run(address, load).await,
        _ => raw::run(address, load).await,
    })
}

fn read(arguments: &[String]) -> Option<(&str, &str, Load)> {
    let [address, client, at_once, amount, server] = arguments else { return None };
    let is_known =
        matches!(client.as_str(), "sdk" | "raw" | "empty" | "sleep" | "crash" | "memory");
    let load = Load {
        at_once: at_once.parse().ok()?,
        amount: amount.parse().ok()?,
        server: server.parse().ok()?,
    };
    is_known.then_some((address.as_str(), client.as_str(), load))
}

/// What is asked of a server.
#[derive(Clone, Copy)]
struct Load {
    /// Workflows in flight.
    at_once: usize,
    /// How many seconds it is measured, or how many workflows there are.
    amount: u64,
    /// The process that serves.
    server: u32,
}

impl Load {
    /// Keeps so many workflows in flight, each run from its start to its result by a call of `workflow`
    /// with an id of its own, and says what it measured.
    async fn put<W>(self, workflow: impl Fn(String) -> W) -> serde_json::Value
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let began = Instant::now() + WARM_UP;
        let ends = began + Duration::from_secs(self.amount);
        let mut in_flight = JoinSet::new();
        let mut taken = Vec::new();
        let mut before = None;
        let mut made = 0_u64;
        loop {
            while in_flight.len() < self.at_once && Instant::now() < ends {
                made += 1;
                let id = format!("load-{}-{made}", std::process::id());
                let running = workflow(id);
                in_flight.spawn(async move {
                    let started = Instant::now();
                    running.await;
                    (started, Instant::now())
                });
            }
            if before.is_none() && Instant::now() >= began {
                before =
                    Some((Instant::now(), Cost::of(self.server), Cost::of(std::process::id())));
            }
            let Some(ended) = in_flight.join_next().await else { break };
            let (started, ended) = ended.expect("a workflow runs to its result");
            if ended >= began && ended <= ends {
                taken.push(ended - started);
            }
        }
        let (since, before, before_itself) = before.expect("the warm-up is shorter than the load");
        let cost = Cost::of(self.server).minus(before);
        let itself = Cost::of(std::process::id()).minus(before_itself);
        let measured = (ends - since).as_secs_f64();
        taken.sort_unstable();
        let at = |share: f64| {
            let index = ((taken.len() as f64 * share) as usize).min(taken.len().saturating_sub(1));
            taken.get(index).map(|taken| taken.as_secs_f64() * 1_000.0)
        };
        let each = |total: f64| total / taken.len().max(1) as f64;
        json!({
            "ran": made,
            "measured": taken.len(),
            "a_second": taken.len() as f64 / measured,
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
            "server_cpu_ms": each(cost.cpu.as_secs_f64() * 1_000.0),
            "client_cpu_ms": each(itself.cpu.as_secs_f64() * 1_000.0),
            "server_bytes_written": each(cost.bytes_written as f64),
            "server_rss_mb": cost.resident_bytes as f64 / 1e6,
        })
    }
}
