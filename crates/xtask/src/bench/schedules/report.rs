//! The report in Markdown.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::Result;

use super::{Burst, Fired, Results, Size};
use crate::bench::servers::machine;
use crate::bench::{GOALS, goal_row};
use crate::process;

pub(super) fn report(size: &Size, results: &Results) -> Result<String> {
    let mut text = heading(size, results);
    goals(&mut text, size, results)?;
    lags(&mut text, size, results)?;
    creating(&mut text, results)?;
    burst(&mut text, size, results)?;
    idle(&mut text, results)?;
    Ok(text)
}

fn heading(size: &Size, results: &Results) -> String {
    format!(
        "\
# Schedules: lag, throughput and memory

Repeat with `cargo xtask bench schedules`. The load and the worker are one process with bare gRPC calls. The
server is another process on the same machine, with its database in an empty file on the same disk for each
measurement. DBOS is a library: its scheduler and its worker are one process. The measurements take turns.
DBOS's schedules fire as soon as they exist, and are counted from the first run that arrives.
The lag of a start is from the nominal second to the moment the worker receives it; the worker completes each run at
once. Schedules fire every second for {} s, and runs that arrive up to 10 s later still count. CPU and RSS are
the server's, as the kernel counts them.

- Date: {}
- Machine: {}; load average when it began: {}
- Servers: {}

![Lag](schedules.svg)

[Where the time goes](schedules-profile.md)

",
        size.seconds,
        process::probe(Command::new("date").arg("+%Y-%m-%d")).unwrap_or_default(),
        machine(),
        results.load_average,
        results.versions.join("; "),
    )
}

fn goals(text: &mut String, size: &Size, results: &Results) -> Result<()> {
    writeln!(text, "{GOALS}")?;
    let mut goal = |what: &str, goal: &str, measured: String, is_met: bool| {
        writeln!(text, "{}", goal_row(what, goal, &measured, is_met))
    };
    for ((schedules, fired), p99_max) in size.acting.iter().zip(&results.fired[0]).zip(LAG_MAX) {
        goal(
            &format!("{schedules} every second: p99 of the lag, none lost"),
            &format!("≤ {p99_max} ms"),
            format!("{}, {:.0} lost", ms(fired.p99_ms), fired.expected - fired.fired),
            fired.p99_ms.is_some_and(|it| it <= p99_max) && fired.fired == fired.expected,
        )?;
    }
    let created = &results.created[0];
    let a_second = created.a_second;
    goal("created a second", "≥ 5,000", format!("{a_second:.0}"), a_second >= 5_000.0)?;
    let Burst { started, all_started_s, .. } = results.burst;
    goal(
        &format!("{} due in the same second: all started", size.burst),
        "≤ 2 s",
        format!("{started:.0} after {all_started_s:.2} s"),
        all_started_s <= 2.0 && started == f64::from(size.burst),
    )?;
    let idle = &results.idle;
    let each = idle.created.bytes_each();
    goal(
        &format!("memory a schedule in the server that created {:.0}", idle.created.created),
        "≤ 300 bytes",
        format!("{each:.0} bytes"),
        each <= 300.0,
    )?;
    goal(
        &format!("RSS with {:.0} idle schedules", idle.created.created),
        "≤ 300 MB",
        format!("{:.0} MB", idle.rss_mb),
        idle.rss_mb <= 300.0,
    )?;
    let ready = idle.ready.as_secs_f64();
    goal("ready then, after SIGKILL", "≤ 1 s", format!("{ready:.3} s"), ready <= 1.0)?;
    writeln!(text)?;
    Ok(())
}

/// Milliseconds, at each number of schedules that act every second.
const LAG_MAX: [f64; 3] = [10.0, 20.0, 100.0];

fn lags(text: &mut String, size: &Size, results: &Results) -> Result<()> {
    writeln!(
        text,
        "## Lag of schedules that fire every second\n\n\
         If a server starts no runs at all, we don't know whether that is its limit or our configuration.\n\n\
         | schedules | | fired | p50 | p99 | max | CPU a start |\n\
         |---:|---|---:|---:|---:|---:|---:|"
    )?;
    for (index, schedules) in size.acting.iter().enumerate() {
        for (name, fired) in results.names.iter().zip(&results.fired) {
            let it: &Fired = &fired[index];
            let late = if it.created_late { ", some created late" } else { "" };
            let cpu = it.cpu_ms.map_or("–".to_owned(), |cpu| format!("{cpu:.2} ms"));
            writeln!(
                text,
                "| {schedules} | {name} | {:.0} of {:.0}{late} | {} | {} | {} | {cpu} |",
                it.fired,
                it.expected,
                ms(it.p50_ms),
                ms(it.p99_ms),
                ms(it.max_ms),
            )?;
        }
    }
    writeln!(text)?;
    Ok(())
}

fn creating(text: &mut String, results: &Results) -> Result<()> {
    writeln!(
        text,
        "## Creating schedules\n\n\
         64 concurrent requests; with DBOS one at a time. DBOS's schedules fire once a year, those of the servers begin in\n\
         a year. The memory afterwards includes caches; see below for the cost of an idle schedule.\n\n\
         | | created | a second | RSS before | RSS after | each |\n\
         |---|---:|---:|---:|---:|---:|"
    )?;
    for (name, it) in results.names.iter().zip(&results.created) {
        writeln!(
            text,
            "| {name} | {:.0} | {:.0} | {:.0} MB | {:.0} MB | {:.1} KB |",
            it.created,
            it.a_second,
            it.rss_mb_before,
            it.rss_mb_after,
            it.bytes_each() / 1_000.0
        )?;
    }
    writeln!(text)?;
    Ok(())
}

fn burst(text: &mut String, size: &Size, results: &Results) -> Result<()> {
    writeln!(
        text,
        "## {} due in the same second\n\n\
         Perennial only: at the rates above, the others would take minutes to create them.\n\n\
         | | started | the worker has all |\n|---|---:|---:|",
        size.burst
    )?;
    for (what, it) in [
        ("no worker", &results.burst),
        ("a worker completes each at once", &results.burst_with_worker),
    ] {
        let received = it.all_received_s.map_or("–".to_owned(), |it| format!("{it:.2} s"));
        let late = if it.created_late { ", some created late" } else { "" };
        writeln!(
            text,
            "| {what} | {:.0} after {:.2} s{late} | {received} |",
            it.started, it.all_started_s
        )?;
    }
    writeln!(text)?;
    Ok(())
}

fn idle(text: &mut String, results: &Results) -> Result<()> {
    let it = &results.idle;
    writeln!(
        text,
        "## {:.0} idle schedules\n\nIn a file of {:.0} MB, after a kill of the server.\n\n| | |\n|---|---:|",
        it.created.created, it.file_mb
    )?;
    writeln!(text, "| ready | {:.0} ms |", it.ready.as_secs_f64() * 1_000.0)?;
    writeln!(text, "| RSS of the server that created them | {:.0} MB |", it.created.rss_mb_after)?;
    writeln!(text, "| RSS once ready | {:.0} MB |", it.rss_mb)?;
    writeln!(text, "| RSS after the requests below | {:.0} MB |", it.rss_mb_looked_at)?;
    let looked = |name: &str| it.looked[name].as_f64().unwrap_or(f64::NAN);
    for (what, name) in [("describe one", "describe"), ("list a page of 100", "list")] {
        let (p50, p99) = (looked(&format!("{name}_p50_ms")), looked(&format!("{name}_p99_ms")));
        writeln!(text, "| {what}, p50 and p99 | {p50:.2} ms, {p99:.2} ms |")?;
    }
    writeln!(text, "| count all | {:.0} ms |", looked("count_ms"))?;
    Ok(())
}

fn ms(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.1} ms"))
}
