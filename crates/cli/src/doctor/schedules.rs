//! Do schedules keep up, and does someone run what they start?

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

use super::findings::{Findings, named};
use crate::client::Client;
use crate::output::instant;

/// So many schedules are looked at: enough to see whether the server keeps up.
const LOOKED_AT: i32 = 200;

/// A time that passed so long ago without a verdict is overdue.
const OVERDUE: SignedDuration = SignedDuration::from_secs(10);

/// Looks at the first schedules of the namespace.
pub(super) async fn look(client: &Client, findings: &mut Findings) {
    let request = ListSchedulesRequest {
        namespace: client.namespace.clone(),
        page_size: LOOKED_AT,
        ..ListSchedulesRequest::default()
    };
    let listed = match client.schedules().list_schedules(request).await {
        Ok(answer) => answer.into_inner().schedules,
        Err(status) if status.code() == Code::Unimplemented => {
            findings.remark("schedules", "not looked at: this isn't Perennial's server");
            return;
        }
        Err(status) => {
            findings.asked("schedules", &status, "see the server's log");
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
        // One that is deleted meanwhile is of no interest.
        if let Ok(answer) = client.schedules().describe_schedule(request).await {
            schedules.push(answer.into_inner());
        }
    }
    keep_up(&schedules, findings);
    are_run(client, &schedules, findings).await;
}

fn keep_up(schedules: &[DescribeScheduleResponse], findings: &mut Findings) {
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
            let looked = format!("schedules looked at: {}, none overdue", schedules.len());
            findings.good("keeping up", looked);
        }
        false => findings.bad(
            "keeping up",
            format!(
                "overdue: {}; is the server too busy, or does it run with --schedule-evaluation on-demand?",
                named(overdue)
            ),
        ),
    }
    let broken = names(&|it| it.status() == ScheduleStatus::Broken);
    if !broken.is_empty() {
        findings.bad("broken", format!("{}; `schedule describe` says why", named(broken)));
    }
    let failed = names(&|it| {
        let state = it.schedule.as_ref().and_then(|it| it.schedule.as_ref()?.state.as_ref());
        let policies = it.schedule.as_ref().and_then(|it| it.schedule.as_ref()?.policies);
        state.is_some_and(|it| it.paused) && policies.is_some_and(|it| it.pause_on_failure)
    });
    if !failed.is_empty() {
        let why = "paused, perhaps by a run that failed; `schedule describe` shows the note";
        findings.remark("paused", format!("{}: {why}", named(failed)));
    }
}

/// Runs of a queue that nobody polls wait for ever.
async fn are_run(client: &Client, schedules: &[DescribeScheduleResponse], findings: &mut Findings) {
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
        let advice = "what is started there waits until a worker polls it";
        findings.bad("workers", format!("no worker polls {}; {advice}", named(unpolled)));
    } else if !queues.is_empty() {
        findings
            .good("workers", format!("all {} task queues of schedules are polled", queues.len()));
    }
}
