//! `perennial task-queue describe`.

use std::collections::BTreeMap;

use clap::ValueEnum;
use perennial_proto::temporal::enums::v1::{
    BuildIdTaskReachability, DescribeTaskQueueMode, TaskQueueKind, TaskQueueType,
};
use perennial_proto::temporal::taskqueue::v1::{
    TaskQueue, TaskQueueVersionInfo, TaskQueueVersionSelection,
};
use perennial_proto::temporal::workflowservice::v1::DescribeTaskQueueRequest;
use serde::Serialize;

use super::TaskQueueArgs;
use super::age::age;
use crate::output::{Column, Output, Row, instant, serialize_instant};
use crate::session::Session;

/// Show the pollers and the backlog of a task queue
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    queue: TaskQueueArgs,

    /// Only this type of tasks; repeatable
    #[arg(long, aliases = ["tqt", "task-queue-type-legacy"], value_name = "KIND", value_enum)]
    #[arg(ignore_case = true, value_delimiter = ',')]
    task_queue_type: Vec<Type>,

    /// Don't show statistics
    #[arg(long)]
    disable_stats: bool,

    /// Show whether builds may still get tasks
    #[arg(long)]
    report_reachability: bool,

    /// Only workers of this build; repeatable
    #[arg(long, value_name = "ID")]
    select_build_id: Vec<String>,

    /// Only workers without a build
    #[arg(long)]
    select_unversioned: bool,

    /// All builds with recent tasks or polls
    #[arg(long)]
    select_all_active: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Type {
    Workflow,
    Activity,
    Nexus,
}

const EXAMPLES: &str = r#"Examples:
  perennial task-queue describe --task-queue main
  perennial task-queue describe main --task-queue-type activity -o json | jq .stats
"#;

/// JSON output, with the field names of Temporal's command line.
#[derive(Serialize)]
struct Description {
    reachability: Option<Vec<Reachability>>,
    pollers: Option<Vec<Poller>>,
    stats: Option<Vec<Stats>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Reachability {
    build_id: String,
    reachability: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Poller {
    build_id: String,
    task_queue_type: &'static str,
    identity: String,
    #[serde(serialize_with = "serialize_instant")]
    last_access_time: Option<jiff::Timestamp>,
    rate_per_second: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    build_id: String,
    task_queue_type: &'static str,
    approximate_backlog_count: i64,
    approximate_backlog_age: String,
    backlog_increase_rate: f32,
    tasks_add_rate: f32,
    tasks_dispatch_rate: f32,
}

#[allow(deprecated, reason = "the only way to ask for all kinds of tasks at once")]
pub(super) async fn run(args: Args, session: &mut Session) -> anyhow::Result<()> {
    let selected =
        !args.select_build_id.is_empty() || args.select_unversioned || args.select_all_active;
    let kinds = args.task_queue_type.iter().map(|kind| match kind {
        Type::Workflow => TaskQueueType::Workflow,
        Type::Activity => TaskQueueType::Activity,
        Type::Nexus => TaskQueueType::Nexus,
    });
    let request = DescribeTaskQueueRequest {
        namespace: session.client.namespace.clone(),
        task_queue: Some(TaskQueue {
            name: args.queue.get(),
            kind: TaskQueueKind::Normal.into(),
            ..TaskQueue::default()
        }),
        api_mode: DescribeTaskQueueMode::Enhanced.into(),
        versions: selected.then(|| TaskQueueVersionSelection {
            build_ids: args.select_build_id.clone(),
            unversioned: args.select_unversioned,
            all_active: args.select_all_active,
        }),
        task_queue_types: kinds.map(i32::from).collect(),
        report_pollers: true,
        report_stats: !args.disable_stats,
        report_task_reachability: args.report_reachability,
        ..DescribeTaskQueueRequest::default()
    };
    let answer = session.client.workflow().describe_task_queue(request).await?.into_inner();
    // The unversioned entry has an empty name, so it sorts first.
    let versions: BTreeMap<_, _> = answer.versions_info.into_iter().collect();
    let description = Description {
        reachability: rows(args.report_reachability, &versions, |build, version| {
            let reachability = reachability(version.task_reachability());
            vec![Reachability { build_id: build, reachability }]
        }),
        pollers: rows(true, &versions, pollers),
        stats: rows(!args.disable_stats, &versions, stats),
    };
    session.output.record(&description, |output| write(&description, output))
}

/// `None` if the section wasn't requested.
fn rows<T>(
    wanted: bool,
    versions: &BTreeMap<String, TaskQueueVersionInfo>,
    read: impl Fn(String, &TaskQueueVersionInfo) -> Vec<T>,
) -> Option<Vec<T>> {
    let name = |build: &String| match build.as_str() {
        "" => "UNVERSIONED".to_owned(),
        build => build.to_owned(),
    };
    let rows = versions.iter().flat_map(|(build, version)| read(name(build), version));
    Some(rows.collect::<Vec<_>>()).filter(|rows| wanted && !rows.is_empty())
}

fn pollers(build: String, version: &TaskQueueVersionInfo) -> Vec<Poller> {
    let of_types: BTreeMap<_, _> = version.types_info.iter().collect();
    let pollers = of_types
        .into_iter()
        .flat_map(|(&kind, info)| info.pollers.iter().map(move |poller| (kind, poller)));
    let read = pollers.map(|(kind, poller)| Poller {
        build_id: build.clone(),
        task_queue_type: type_name(kind),
        identity: poller.identity.clone(),
        last_access_time: instant(poller.last_access_time.as_ref()),
        rate_per_second: poller.rate_per_second,
    });
    read.collect()
}

fn stats(build: String, version: &TaskQueueVersionInfo) -> Vec<Stats> {
    let of_types: BTreeMap<_, _> = version.types_info.iter().collect();
    let read = of_types.into_iter().map(|(&kind, info)| {
        let stats = info.stats.unwrap_or_default();
        Stats {
            build_id: build.clone(),
            task_queue_type: type_name(kind),
            approximate_backlog_count: stats.approximate_backlog_count,
            approximate_backlog_age: age(stats.approximate_backlog_age.as_ref()),
            backlog_increase_rate: stats.tasks_add_rate - stats.tasks_dispatch_rate,
            tasks_add_rate: stats.tasks_add_rate,
            tasks_dispatch_rate: stats.tasks_dispatch_rate,
        }
    });
    read.collect()
}

fn write(description: &Description, output: &mut Output) -> anyhow::Result<()> {
    if let Some(reachable) = &description.reachability {
        output.line("Task Reachability:")?;
        let rows = reachable
            .iter()
            .map(|row| Row::from([row.build_id.clone(), row.reachability.to_owned()]));
        output.table(["BuildId", "Reachability"].map(Column::new).to_vec(), rows)?;
        output.line("")?;
    }
    if let Some(stats) = &description.stats {
        output.line("Task Queue Statistics:")?;
        let columns = ["Build", "Type", "Backlog", "Oldest"].map(Column::new);
        let rates = ["AddedPerSecond", "DispatchedPerSecond"].map(Column::if_room);
        let rows = stats.iter().map(|row| {
            Row::from([
                row.build_id.clone(),
                row.task_queue_type.to_owned(),
                row.approximate_backlog_count.to_string(),
                row.approximate_backlog_age.clone(),
                format!("{:.2}", row.tasks_add_rate),
                format!("{:.2}", row.tasks_dispatch_rate),
            ])
        });
        output.table(columns.into_iter().chain(rates).collect(), rows)?;
        output.line("")?;
    }
    output.line("Pollers:")?;
    let times = output.times.clone();
    let Some(pollers) = &description.pollers else {
        return Ok(output.note("no worker polls this task queue")?);
    };
    let columns = ["Type", "Identity", "LastAccessTime"].map(Column::new);
    let more = ["Build", "RatePerSecond"].map(Column::if_room);
    let rows = pollers.iter().map(|row| {
        Row::from([
            row.task_queue_type.to_owned(),
            row.identity.clone(),
            times.show(row.last_access_time),
            row.build_id.clone(),
            row.rate_per_second.to_string(),
        ])
    });
    Ok(output.table(columns.into_iter().chain(more).collect(), rows)?)
}

fn type_name(kind: i32) -> &'static str {
    match TaskQueueType::try_from(kind) {
        Ok(TaskQueueType::Workflow) => "workflow",
        Ok(TaskQueueType::Activity) => "activity",
        Ok(TaskQueueType::Nexus) => "nexus",
        Ok(TaskQueueType::Unspecified) | Err(_) => "unspecified",
    }
}

fn reachability(code: BuildIdTaskReachability) -> &'static str {
    match code {
        BuildIdTaskReachability::Unspecified => "unspecified",
        BuildIdTaskReachability::Reachable => "reachable",
        BuildIdTaskReachability::ClosedWorkflowsOnly => "closedWorkflowsOnly",
        BuildIdTaskReachability::Unreachable => "unreachable",
    }
}
