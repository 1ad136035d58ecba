//! Workflows of one activity each, under the same load, against our server and Temporal's dev server.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use super::chart::{Bars, chart};
use super::servers::{Contender, machine, ours, resident_mb, temporal};
use super::{GOALS, goal_row, write};
use crate::dev_server::DevServer;
use crate::process;
use crate::repository::Repository;
use crate::sdk_suites;

/// Workflows in flight.
const AT_ONCE: [u32; 4] = [1, 16, 64, 256];
/// How long each load is measured.
const SECONDS: u32 = 10;

/// The measurements of one load.
struct Measured {
    at_once: u32,
    a_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    cpu_ms: f64,
    client_cpu_ms: f64,
    bytes_written: f64,
    rss_mb: f64,
}

pub(super) fn run(repository: &Repository, sleepers: u32) -> Result<()> {
    let load = sdk_suites::build_load(repository, "release")?;
    let contenders = [ours(repository)?, temporal(repository)?];
    let mut report = String::new();
    let mut bars = Vec::new();

    // The servers take turns at each concurrency, so that noise of the machine affects both.
    let mut sdk: Vec<Vec<Measured>> = contenders.iter().map(|_| Vec::new()).collect();
    let mut idle_rss = Vec::new();
    let mut ready = Vec::new();
    let mut servers = Vec::new();
    for contender in &contenders {
        let server = DevServer::start(repository, &contender.binary)?;
        ready.push(server.ready_in());
        idle_rss.push(resident_mb(server.process_id())?);
        servers.push(server);
    }
    for at_once in AT_ONCE {
        for ((contender, server), measured) in contenders.iter().zip(&servers).zip(&mut sdk) {
            println!("{}: {at_once} at once", contender.name);
            measured.push(measure(&load, server, "sdk", at_once, SECONDS)?);
        }
    }
    writeln!(report, "## With the official SDK's worker\n")?;
    writeln!(report, "{}", table(&contenders, &sdk)?)?;
    for (contender, measured) in contenders.iter().zip(&sdk) {
        let values = measured.iter().map(|it| it.a_second).collect();
        bars.push(Bars { name: contender.name, values });
    }

    let mut raw = Vec::new();
    for at_once in AT_ONCE {
        println!("{}: {at_once} at once, bare gRPC", contenders[0].name);
        raw.push(measure(&load, &servers[0], "raw", at_once, SECONDS)?);
    }
    let raw = [raw];
    writeln!(report, "## With bare gRPC calls\n")?;
    writeln!(report, "{}", table(&contenders[..1], &raw)?)?;
    let mut empty = Vec::new();
    for at_once in EMPTY_AT_ONCE {
        println!("{}: {at_once} at once, empty calls", contenders[0].name);
        empty.push(measure(&load, &servers[0], "empty", at_once, SECONDS / 2)?);
    }
    let after_all_mb = resident_mb(servers[0].process_id())?;
    drop(servers);

    writeln!(report, "## Syncs, start and memory\n")?;
    writeln!(report, "| | {} | {} |", contenders[0].name, contenders[1].name)?;
    writeln!(report, "|---|---:|---:|")?;
    let syncs = [1, 64].map(|at_once| {
        contenders.each_ref().map(|contender| syncs(repository, &load, contender, at_once))
    });
    for (at_once, [ours, theirs]) in [1, 64].into_iter().zip(syncs) {
        writeln!(report, "| fsyncs a workflow, {at_once} at once | {} | {} |", ours?, theirs?)?;
    }
    let shown = |ready: Duration| format!("{:.0} ms", ready.as_secs_f64() * 1_000.0);
    writeln!(report, "| ready, new file | {} | {} |", shown(ready[0]), shown(ready[1]))?;
    writeln!(report, "| RSS idle | {:.0} MB | {:.0} MB |", idle_rss[0], idle_rss[1])?;
    if sleepers > 0 {
        let asleep = sleeping(repository, &load, &contenders[0], sleepers)?;
        writeln!(
            report,
            "| ready after SIGKILL, {sleepers} sleeping workflows in a file of {:.0} MB | {} | – |",
            asleep.file_mb,
            shown(asleep.ready)
        )?;
        writeln!(report, "| RSS then, idle | {:.0} MB | – |", asleep.rss_mb)?;
        writeln!(report, "| workflows put to sleep a second | {:.0} | – |", asleep.a_second)?;
    }

    let labels = AT_ONCE.map(|at_once| format!("{at_once} at once"));
    let title = "One-activity workflows a second, official SDK (logarithmic)";
    write(repository, "workflows.svg", &chart(title, &labels, &bars))?;
    let mut whole = heading(&contenders);
    goals(&mut whole, &sdk[0], &raw[0], idle_rss[0], after_all_mb)?;
    empty_calls(&mut whole, &empty)?;
    write(repository, "workflows.md", &(whole + &report))
}

/// The goals, with the SDK's worker (`sdk`) and with bare calls (`raw`).
fn goals(
    text: &mut String,
    sdk: &[Measured],
    raw: &[Measured],
    idle_mb: f64,
    after_all_mb: f64,
) -> Result<()> {
    let (alone, at_64) = (at(sdk, 1)?, at(sdk, 64)?);
    let rows = [
        ("start to result, one at a time, p50", " ms", alone.p50_ms, Goal::AtMost(2.0)),
        ("a second, 16 at once", "", at(sdk, 16)?.a_second, Goal::AtLeast(1_500.0)),
        ("a second, 64 at once", "", at_64.a_second, Goal::AtLeast(2_500.0)),
        ("a second, 64 at once, bare gRPC", "", at(raw, 64)?.a_second, Goal::AtLeast(4_000.0)),
        ("CPU of the server each, one at a time", " ms", alone.cpu_ms, Goal::AtMost(1.0)),
        ("CPU of the server each, 64 at once", " ms", at_64.cpu_ms, Goal::AtMost(0.3)),
        ("RSS idle", " MB", idle_mb, Goal::AtMost(25.0)),
        ("RSS after all of these loads", " MB", after_all_mb, Goal::AtMost(60.0)),
    ];
    writeln!(text, "{GOALS}")?;
    for (what, unit, measured, goal) in rows {
        let (sign, bound, is_met) = match goal {
            Goal::AtMost(most) => ("≤", most, measured <= most),
            Goal::AtLeast(least) => ("≥", least, measured >= least),
        };
        let (goal, measured) = (format!("{sign} {bound}{unit}"), format!("{measured:.2}{unit}"));
        writeln!(text, "{}", goal_row(what, &goal, &measured, is_met))?;
    }
    writeln!(text)?;
    Ok(())
}

fn at(measured: &[Measured], at_once: u32) -> Result<&Measured> {
    let found = measured.iter().find(|it| it.at_once == at_once);
    found.with_context(|| format!("{at_once} at once wasn't measured"))
}

enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// Concurrency of the empty calls that measure the machine.
const EMPTY_AT_ONCE: [u32; 2] = [1, 64];

fn empty_calls(text: &mut String, measured: &[Measured]) -> Result<()> {
    writeln!(
        text,
        "## Cost of an empty call on this machine\n\n\
         `GetSystemInfo` of our server, which doesn't use the store. A workflow takes seven calls and four\n\
         commits. The goals were set on a machine with two faster cores: there an empty call of a bare gRPC\n\
         server took 0.11 ms alone, and there were 80,000 calls a second with 64 at once.\n\n\
         | at once | a second | p50 | CPU each, server | CPU each, client |\n\
         |---:|---:|---:|---:|---:|"
    )?;
    for it in measured {
        let micros = |ms: f64| format!("{:.0} µs", ms * 1_000.0);
        writeln!(
            text,
            "| {} | {:.0} | {:.2} ms | {} | {} |",
            it.at_once,
            it.a_second,
            it.p50_ms,
            micros(it.cpu_ms),
            micros(it.client_cpu_ms)
        )?;
    }
    writeln!(text)?;
    Ok(())
}

fn heading(contenders: &[Contender]) -> String {
    let versions: Vec<_> = contenders.iter().map(|it| it.version.as_str()).collect();
    format!(
        "\
# Workflows: throughput, latency and cost

Repeat with `cargo xtask bench workflows`. A workflow runs one activity and returns its result. The
worker and the client are one process with the official Rust SDK and its defaults, including gzip. The
server is another process on the same machine, with its database in a file on the same disk. The servers take
turns at each concurrency. Each load is measured for {SECONDS} s after a warm-up. Latency is from the start
call to the result. CPU, bytes and RSS are the server's, as the kernel counts them. The last column is the
CPU of the worker and the client.

- Date: {}
- Machine: {}
- Servers: {}

![Workflows a second](workflows.svg)

[Where the time goes](workflows-profile.md)

",
        process::probe(Command::new("date").arg("+%Y-%m-%d")).unwrap_or_default(),
        machine(),
        versions.join("; "),
    )
}

fn table(contenders: &[Contender], measured: &[Vec<Measured>]) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "| at once | server | a second | p50 | p99 | CPU each | written each | RSS | CPU each, client |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    for (index, at_once) in AT_ONCE.iter().enumerate() {
        for (contender, measured) in contenders.iter().zip(measured) {
            let Some(it) = measured.get(index) else { continue };
            ensure!(it.at_once == *at_once, "the loads came in another order");
            writeln!(
                text,
                "| {} | {} | {:.0} | {:.2} ms | {:.2} ms | {:.2} ms | {:.1} KB | {:.0} MB | {:.2} ms |",
                it.at_once,
                contender.name,
                it.a_second,
                it.p50_ms,
                it.p99_ms,
                it.cpu_ms,
                it.bytes_written / 1_000.0,
                it.rss_mb,
                it.client_cpu_ms
            )?;
        }
    }
    Ok(text)
}

fn measure(
    load: &Path,
    server: &DevServer,
    client: &str,
    at_once: u32,
    seconds: u32,
) -> Result<Measured> {
    let said = run_load(load, server, client, at_once, seconds)?;
    let number = |name: &str| {
        said[name].as_f64().ok_or_else(|| anyhow!("the load printed no `{name}`: {said}"))
    };
    Ok(Measured {
        at_once,
        a_second: number("a_second")?,
        p50_ms: number("p50_ms")?,
        p99_ms: number("p99_ms")?,
        cpu_ms: number("server_cpu_ms")?,
        client_cpu_ms: number("client_cpu_ms")?,
        bytes_written: number("server_bytes_written")?,
        rss_mb: number("server_rss_mb")?,
    })
}

/// Counts syncs in a separate run, because strace slows the server down.
fn syncs(
    repository: &Repository,
    load: &Path,
    contender: &Contender,
    at_once: u32,
) -> Result<String> {
    if process::probe(Command::new("strace").arg("--version")).is_none() {
        return Ok("not counted: no strace".to_owned());
    }
    println!("{}: counting fsyncs, {at_once} at once", contender.name);
    let server = DevServer::start(repository, &contender.binary)?;
    let calls = repository.target.join("conformance").join("strace.txt");
    let mut strace = Command::new("strace")
        .args(["--follow-forks", "--trace=fsync,fdatasync", "--quiet=all"])
        .args(["--attach", &server.process_id().to_string()])
        .arg("--output")
        .arg(&calls)
        .spawn()
        .context("cannot start strace")?;
    let said = run_load(load, &server, "sdk", at_once, SECONDS / 2);
    // strace detaches from the server when it is interrupted.
    let ended = strace.kill().and_then(|()| strace.wait());
    ended.context("cannot end strace")?;
    let calls = std::fs::read_to_string(&calls).context("strace wrote nothing")?;
    let ran = said?["ran"].as_f64().context("the load printed no `ran`")?;
    Ok(format!("{:.2}", calls.lines().count() as f64 / ran.max(1.0)))
}

fn run_load(
    load: &Path,
    server: &DevServer,
    client: &str,
    at_once: u32,
    amount: u32,
) -> Result<Value> {
    let said = process::output(
        Command::new(load)
            .args([server.address().to_string().as_str(), client])
            .args([at_once, amount, server.process_id()].map(|it| it.to_string())),
    )?;
    serde_json::from_str(&said).context("the load printed no JSON")
}

struct Asleep {
    a_second: f64,
    ready: Duration,
    rss_mb: f64,
    file_mb: f64,
}

fn sleeping(
    repository: &Repository,
    load: &Path,
    contender: &Contender,
    sleepers: u32,
) -> Result<Asleep> {
    println!("{}: putting {sleepers} workflows to sleep", contender.name);
    let mut server = DevServer::start(repository, &contender.binary)?;
    let said = run_load(load, &server, "sleep", 256, sleepers)?;
    server.restart(&contender.binary)?;
    Ok(Asleep {
        a_second: said["a_second"].as_f64().context("the load printed no `a_second`")?,
        ready: server.ready_in(),
        rss_mb: resident_mb(server.process_id())?,
        file_mb: server.bytes_on_disk()? as f64 / 1e6,
    })
}
