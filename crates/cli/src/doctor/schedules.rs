//! Checks for overdue, broken and paused schedules.

use jiff::{SignedDuration, Timestamp};
use perennial_proto::perennial::{
    DescribeScheduleRequest, DescribeScheduleResponse, ListSchedulesRequest, ScheduleStatus,
};
use tonic::Code;

use super::findings::{Findings, counted, join_names};
use crate::client::Client;
use crate::output::instant;

/// Schedules checked: enough to see whether the server keeps up.
const SCHEDULES_MAX: i32 = 200;

/// A time is overdue if it has no verdict this long after it has passed.
const OVERDUE: SignedDuration = SignedDuration::from_secs(10);

/// Checks the first schedules of the namespace, and returns them.
pub(super) async fn check(
    client: &Client,
    findings: &mut Findings,
) -> Vec<DescribeScheduleResponse> {
    let request = ListSchedulesRequest {
        namespace: client.namespace.clone(),
        page_size: SCHEDULES_MAX,
        ..ListSchedulesRequest::default()
    };
    let listed = match client.schedules().list_schedules(request).await {
        Ok(answer) => answer.into_inner().schedules,
        Err(status) if status.code() == Code::Unimplemented => {
            findings.notice("schedules", "not checked: this isn't Perennial's server");
            return Vec::new();
        }
        Err(status) => {
            findings.request_failed("schedules", &status, "see the server's log");
            return Vec::new();
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
    schedules
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
            let count = i64::try_from(schedules.len()).unwrap_or(i64::MAX);
            let details = format!("{} checked, none overdue", counted(count, "schedule"));
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
