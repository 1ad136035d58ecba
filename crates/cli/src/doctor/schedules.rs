//! Checks for overdue, broken and paused schedules, and for task queues without workers.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use perennial_proto::perennial::{
    DescribeScheduleRequest, DescribeScheduleResponse, ListSchedulesRequest, ScheduleStatus,
};
use perennial_proto::temporal::enums::v1::TaskQueueType;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflowservice::v1::DescribeTaskQueueRequest;
use tonic::Code;

use super::findings::{Findings, join_names};
use crate::client::Client;
use crate::output::instant;

/// Schedules checked: enough to see whether the server keeps up.
const SCHEDULES_MAX: i32 = 200;

/// A time is overdue if it has no verdict this long after it has passed.
const OVERDUE: SignedDuration = SignedDuration::from_secs(10);

/// Checks the first schedules of the namespace.
pub(super) async fn check(client: &Client, findings: &mut Findings) {
    let request = ListSchedulesRequest {
        namespace: client.namespace.clone(),
        page_size: SCHEDULES_MAX,
        ..ListSchedulesRequest::default()
    };
    let listed = match client.schedules().list_schedules(request).await {
        Ok(answer) => answer.into_inner().schedules,
        Err(status) if status.code() == Code::Unimplemented => {
            findings.notice("schedules", "not checked: this isn't Perennial's server");
            return;
        }
        Err(status) => {
            findings.request_failed("schedules", &status, "see the server's log");
            return;
        }
    };
    let mut schedules = Vec::new();
    for listed in listed {
        let request = DescribeScheduleRequest {
            namespace: client.namespace.clone(),
            schedule_id: listed.schedule.unwrap_or_default().schedule_id,
            ..DescribeScheduleRequest::default()
        };
        // A schedule deleted meanwhile is ignored.
        if let Ok(answer) = client.schedules().describe_schedule(request).await {
            schedules.push(answer.into_inner());
        }
    }
    check_progress(&schedules, findings);
    check_workers(client, &schedules, findings).await;
}

fn check_progress(schedules: &[DescribeScheduleResponse], findings: &mut Findings) {
    let now = Timestamp::now();
    let names = |which: &dyn Fn(&DescribeScheduleResponse) -> bool| -> Vec<String> {
        schedules.iter().filter(|it| which(it)).map(|it| it.schedule_id.clone()).collect()
    };
    let overdue = names(&|it| {
        let next = instant(it.next_fire_at.as_ref());
        it.status() == ScheduleStatus::Active
            && next.is_some_and(|next| now.duration_since(next) > OVERDUE)
    });
    match overdue.is_empty() {
        true => {
            let details = format!("{} schedules checked, none overdue", schedules.len());
            findings.good("keeping up", details);
        }
        false => findings.bad(
            "keeping up",
            format!(
                "overdue: {}; is the server too busy, or does it run with --schedule-evaluation on-demand?",
                join_names(overdue)
            ),
        ),
    }
    let broken = names(&|it| it.status() == ScheduleStatus::Broken);
    if !broken.is_empty() {
        findings.bad("broken", format!("{}; `schedule describe` says why", join_names(broken)));
    }
    let failed = names(&|it| {
        let state = it.schedule.as_ref().and_then(|it| it.schedule.as_ref()?.state.as_ref());
        let policies = it.schedule.as_ref().and_then(|it| it.schedule.as_ref()?.policies);
        state.is_some_and(|it| it.paused) && policies.is_some_and(|it| it.pause_on_failure)
    });
    if !failed.is_empty() {
        let why = "paused, perhaps by a run that failed; `schedule describe` shows the note";
        findings.notice("paused", format!("{}: {why}", join_names(failed)));
    }
}

/// Checks that a worker polls each task queue: otherwise its runs wait for ever.
async fn check_workers(
    client: &Client,
    schedules: &[DescribeScheduleResponse],
    findings: &mut Findings,
) {
    let mut queues: BTreeMap<String, String> = BTreeMap::new();
    for it in schedules.iter().filter(|it| it.status() == ScheduleStatus::Active) {
        let action = it.schedule.as_ref().and_then(|it| it.schedule.as_ref()?.action.as_ref());
        if let Some(Action::StartWorkflow(action)) = action.and_then(|it| it.action.as_ref()) {
            let queue = action.task_queue.clone().unwrap_or_default().name;
            queues.entry(queue).or_insert_with(|| it.schedule_id.clone());
        }
    }
    let mut unpolled = Vec::new();
    for (queue, schedule) in &queues {
        let request = DescribeTaskQueueRequest {
            namespace: client.namespace.clone(),
            task_queue: Some(TaskQueue { name: queue.clone(), ..TaskQueue::default() }),
            task_queue_type: TaskQueueType::Workflow.into(),
            ..DescribeTaskQueueRequest::default()
        };
        let answer = client.workflow().describe_task_queue(request).await;
        if answer.is_ok_and(|answer| answer.get_ref().pollers.is_empty()) {
            unpolled.push(format!("{queue} (of {schedule})"));
        }
    }
    if !unpolled.is_empty() {
        let effect = "runs wait until a worker polls it";
        findings.bad("workers", format!("no worker polls {}; {effect}", join_names(unpolled)));
    } else if !queues.is_empty() {
        findings
            .good("workers", format!("all {} task queues of schedules are polled", queues.len()));
    }
}
