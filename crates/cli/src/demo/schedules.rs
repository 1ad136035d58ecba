//! The schedules of the demo.

use perennial_calendar::{Definition, Dialect};
use perennial_engine::schedule::spec;
use perennial_proto::perennial::DescribeScheduleRequest;
use perennial_proto::temporal::common::v1::WorkflowType;
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{
    Schedule, ScheduleAction, SchedulePolicies, ScheduleState,
};
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_proto::temporal::workflowservice::v1::CreateScheduleRequest;
use tonic::Code;

use super::worker::{FLAKY, QUICK, SLOW, TASK_QUEUE};
use crate::client::Client;
use crate::output::{Column, Output, Row};

/// Ids and descriptions of the schedules.
pub(super) const DESCRIPTIONS: [(&str, &str); 5] = [
    ("demo-heartbeat", "every 3 seconds"),
    ("demo-oslo", "every 10 seconds by the clock in Oslo"),
    ("demo-overlap", "every 2 seconds, but a run takes 5: one waits, others are skipped"),
    ("demo-flaky", "every 4 seconds; its third run fails, which pauses the schedule"),
    ("demo-limited", "every 5 seconds, three times"),
];

struct Demo {
    when: &'static str,
    workflow_type: &'static str,
    policies: SchedulePolicies,
    state: ScheduleState,
}

/// Creates the schedules. Those in an existing database file stay as they are.
pub(super) async fn create(client: &Client) -> anyhow::Result<()> {
    for (id, _) in DESCRIPTIONS {
        let demo = demo(id);
        let definition = Definition::read(&[demo.when], Dialect::Temporal)?;
        let workflow = NewWorkflowExecutionInfo {
            workflow_id: id.to_owned(),
            workflow_type: Some(WorkflowType { name: demo.workflow_type.to_owned() }),
            task_queue: Some(TaskQueue { name: TASK_QUEUE.to_owned(), ..TaskQueue::default() }),
            ..NewWorkflowExecutionInfo::default()
        };
        let request = CreateScheduleRequest {
            namespace: client.namespace.clone(),
            schedule_id: id.to_owned(),
            schedule: Some(Schedule {
                spec: Some(spec::canonical(&definition)),
                action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
                policies: Some(demo.policies),
                state: Some(demo.state),
            }),
            identity: client.identity.clone(),
            request_id: Client::new_request_id(),
            ..CreateScheduleRequest::default()
        };
        match client.workflow().create_schedule(request).await {
            Ok(_) => {}
            Err(status) if status.code() == Code::AlreadyExists => {}
            Err(status) => return Err(status.into()),
        }
    }
    Ok(())
}

/// Writes a table with the result of each schedule.
pub(super) async fn summarize(client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for (id, _) in DESCRIPTIONS {
        let request = DescribeScheduleRequest {
            namespace: client.namespace.clone(),
            schedule_id: id.to_owned(),
            ..DescribeScheduleRequest::default()
        };
        // The user may have deleted it.
        let Ok(answer) = client.schedules().describe_schedule(request).await else { continue };
        let described = answer.into_inner().schedule.unwrap_or_default();
        let info = described.info.unwrap_or_default();
        let state = described.schedule.and_then(|it| it.state).unwrap_or_default();
        let status = match (state.paused, state.limited_actions && state.remaining_actions == 0) {
            (true, _) => "paused",
            (false, true) => "used up",
            (false, false) => "active",
        };
        rows.push(Row::from([
            id.to_owned(),
            status.to_owned(),
            info.action_count.to_string(),
            info.overlap_skipped.to_string(),
            state.notes,
        ]));
    }
    let columns = ["Schedule", "Status", "Runs", "Skipped", "Notes"].map(Column::new).to_vec();
    output.line("")?;
    Ok(output.table(columns, rows)?)
}

fn demo(id: &str) -> Demo {
    let plain = Demo {
        when: "3s",
        workflow_type: QUICK,
        policies: SchedulePolicies::default(),
        state: ScheduleState::default(),
    };
    match id {
        "demo-oslo" => Demo { when: "CRON_TZ=Europe/Oslo */10 * * * * * *", ..plain },
        "demo-overlap" => Demo {
            when: "2s",
            workflow_type: SLOW,
            policies: SchedulePolicies {
                overlap_policy: ScheduleOverlapPolicy::BufferOne.into(),
                ..SchedulePolicies::default()
            },
            ..plain
        },
        "demo-flaky" => Demo {
            when: "4s",
            workflow_type: FLAKY,
            policies: SchedulePolicies { pause_on_failure: true, ..SchedulePolicies::default() },
            ..plain
        },
        "demo-limited" => Demo {
            when: "5s",
            state: ScheduleState {
                limited_actions: true,
                remaining_actions: 3,
                ..ScheduleState::default()
            },
            ..plain
        },
        _ => plain,
    }
}
