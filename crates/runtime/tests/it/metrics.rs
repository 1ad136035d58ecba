//! Metrics of queues and schedules.

use std::sync::Arc;
use std::task::{Context, Waker};

use perennial_engine::schedule::{Command, CreateSchedule, State, spec};
use perennial_engine::{Span, Time};
use perennial_proto::store::ScheduleConfig;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{IntervalSpec, ScheduleAction, ScheduleSpec};
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{Poller, Runtime, RuntimeConfig};
use perennial_store::MemoryStore;
use perennial_telemetry::Metrics;

use crate::kit;

fn node(clock: &Clock) -> Node {
    let config = RuntimeConfig { metrics: Metrics::enabled(), ..RuntimeConfig::default() };
    Node::open(Arc::new(MemoryStore::new()), &config, clock, 1).unwrap()
}

/// The series of a metric, with their values.
fn series(runtime: &Runtime, metric: &str) -> Vec<String> {
    let metrics = runtime.metrics();
    let scrape = metrics.scrape();
    runtime.collect_metrics(&scrape);
    let text = metrics.render(scrape);
    let lines = text.lines().filter_map(|line| line.strip_prefix(metric));
    let mut lines: Vec<_> = lines.filter(|line| line.starts_with('{')).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// A schedule that fires every second. Its first run stays open, so later times are skipped.
fn every_second() -> CreateSchedule {
    let second = perennial_proto::Duration { seconds: 1, nanos: 0 };
    let given = ScheduleSpec {
        interval: vec![IntervalSpec { interval: Some(second), phase: None }],
        ..ScheduleSpec::default()
    };
    let workflow = NewWorkflowExecutionInfo {
        workflow_id: "run".to_owned(),
        ..NewWorkflowExecutionInfo::default()
    };
    let config = ScheduleConfig {
        spec: Some(spec::canonical(&spec::read(&given).unwrap())),
        action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
        ..ScheduleConfig::default()
    };
    let request_id = "create".to_owned();
    CreateSchedule { request_id, config, state: State::default(), first: Vec::new(), context: None }
}

#[test]
fn each_time_of_a_schedule_is_counted_once_until_the_schedule_is_deleted() {
    let clock = Clock::at(Time(0));
    let mut node = node(&clock);
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, kit::namespace(&runtime));
    let create = runtime.create_schedule(namespace, "often".to_owned(), every_second());
    let created = kit::drive(&mut node, create).unwrap();
    for _ in 0..5 {
        clock.pass(Span::seconds(1));
        while node.take_any_turn() {}
    }
    let verdicts = series(&runtime, "perennial_schedule_verdicts_total");
    assert!(verdicts.contains(&r#"{verdict="fired"} 1"#.to_owned()), "{verdicts:?}");
    assert!(verdicts.contains(&r#"{verdict="skipped"} 4"#.to_owned()), "{verdicts:?}");
    let other = r#"{namespace="_other",schedule_id="_other"} 0"#;
    let own = r#"{namespace="default",schedule_id="often"} 4"#;
    assert_eq!(series(&runtime, "perennial_schedule_skipped_total"), [other, own]);

    let delete = runtime
        .send_to_schedule(created.name(), Command::Delete { reason: String::new(), context: None });
    kit::drive(&mut node, delete).unwrap();
    assert_eq!(series(&runtime, "perennial_schedule_skipped_total"), [other]);
}

#[test]
fn queues_have_a_bounded_number_of_series_until_they_are_unused() {
    let clock = Clock::at(Time(0));
    let mut node = node(&clock);
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, kit::namespace(&runtime));
    let poll = |queue: String, normal_queue: Option<String>| {
        let poller = Poller { queue, normal_queue, ..kit::poller(namespace) };
        let runtime = runtime.clone();
        let mut poll = Box::pin(async move { runtime.poll_workflow_task(poller).await });
        assert!(poll.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        poll
    };
    let sticky: Vec<_> =
        (0..3).map(|it| poll(format!("random {it}"), Some("orders".to_owned()))).collect();
    let polls: Vec<_> = (0..300).map(|it| poll(format!("queue {it}"), None)).collect();

    let pollers = series(&runtime, "perennial_task_queue_pollers");
    assert_eq!(pollers.len(), 201, "{pollers:?}");
    let other = r#"{namespace="_other",task_queue="_other",kind="_other"} 101"#;
    let sticky_queues = r#"{namespace="default",task_queue="_sticky",kind="workflow"} 3"#;
    for expected in [other, sticky_queues] {
        assert!(pollers.contains(&expected.to_owned()), "{pollers:?}");
    }

    drop((sticky, polls));
    clock.pass(Span::seconds(301));
    let pollers = series(&runtime, "perennial_task_queue_pollers");
    assert_eq!(pollers, [r#"{namespace="_other",task_queue="_other",kind="_other"} 0"#]);
    let _poll = poll("queue 299".to_owned(), None);
    let matches = series(&runtime, "perennial_task_queue_matches_total");
    let own = r#"{namespace="default",task_queue="queue 299",kind="workflow",match="sync"} 0"#;
    assert!(matches.contains(&own.to_owned()), "{matches:?}");
}
