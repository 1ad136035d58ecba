//! Responses to polls: a workflow task, a query or an activity.

use perennial_engine::Time;
use perennial_proto::store::TaskToken;
use perennial_proto::temporal::common::v1::{Priority, WorkflowExecution};
use perennial_proto::temporal::enums::v1::TaskQueueKind;
use perennial_proto::temporal::protocol::v1::message::SequencingId;
use perennial_proto::temporal::taskqueue::v1::{PollerScalingDecision, TaskQueue};
use perennial_proto::temporal::workflowservice::v1::{
    PollActivityTaskQueueResponse, PollWorkflowTaskQueueResponse,
};
use perennial_runtime::{ActivityGrant, Demand, WorkflowTaskGrant};
use tonic::Status;

use crate::call::Call;
use crate::encoded_message::WithHistory;
use crate::errors::RpcResult;
use crate::history::{Events, PageLimits, read_forwards, transient_events};
use crate::tokens::{Direction, HistoryCursor, Keys, sign_task};

/// The response with a workflow task or a query, and as much history as fits.
pub(super) async fn workflow_task(
    call: &Call<'_>,
    grant: WorkflowTaskGrant,
) -> RpcResult<WithHistory<PollWorkflowTaskQueueResponse>> {
    let keys = call.token_keys().await?;
    let run = &grant.run;
    let head = &run.head;
    let is_query = grant.query.is_some();

    // A worker with the run in its cache has seen everything up to the previous task. For a query it needs
    // no more.
    let last = head.next_event_id - 1;
    let first = if grant.sticky { head.previous_started_event_id + 1 } else { 1 };
    let mut events = if grant.sticky && is_query {
        Events::default()
    } else {
        let limits = PageLimits::of_task();
        read_forwards(call.runtime(), run, grant.recent, first, last, limits).await?
    };
    let next = events.last_event_id.map_or(last + 1, |event_id| event_id + 1);
    let next_page_token = if next <= last {
        let cursor =
            HistoryCursor { run_id: head.run_id.clone(), next_event_id: next, last_event_id: last };
        cursor.signed(keys, Direction::Forwards, head.namespace, &head.workflow_id)
    } else {
        if !is_query {
            transient_events(run).iter().for_each(|event| events.push(event));
        }
        Vec::new()
    };

    let mut token = TaskToken {
        namespace: head.namespace,
        workflow_id: head.workflow_id.clone(),
        run_id: head.run_id.clone(),
        ..TaskToken::default()
    };
    let mut response = PollWorkflowTaskQueueResponse {
        workflow_execution: Some(WorkflowExecution {
            workflow_id: head.workflow_id.clone(),
            run_id: head.run_id.clone(),
        }),
        workflow_type: run.started.workflow_type.clone(),
        previous_started_event_id: head.previous_started_event_id,
        backlog_count_hint: grant.demand.backlog,
        next_page_token,
        workflow_execution_task_queue: run.started.task_queue.as_ref().map(|queue| TaskQueue {
            name: queue.name.clone(),
            kind: TaskQueueKind::Normal.into(),
            normal_name: String::new(),
        }),
        poller_scaling_decision: scaling(grant.demand),
        ..PollWorkflowTaskQueueResponse::default()
    };
    if let Some((query_id, query)) = grant.query {
        token.query_id = query_id;
        response.query = Some(query);
    } else {
        let task = head.workflow_task.as_ref();
        let task = task.ok_or_else(|| Status::internal("the granted task doesn't exist"))?;
        token.scheduled_event_id = task.scheduled_event_id;
        token.started_event_id = task.started_event_id;
        token.attempt = task.attempt;
        token.stamp = task.stamp;
        response.started_event_id = task.started_event_id;
        response.attempt = task.attempt;
        response.scheduled_time = Time(task.scheduled_at).get().map(Into::into);
        response.started_time = Time(task.started_at).get().map(Into::into);
        response.queries = grant.queries.into_iter().collect();
        response.messages = grant.messages;
        for message in &mut response.messages {
            // Workers process updates after the events before this task.
            message.sequencing_id.get_or_insert(SequencingId::EventId(task.started_event_id - 1));
        }
    }
    response.task_token = sign_task(keys, &token);
    Ok(WithHistory { response, history: Some(events) })
}

/// The response with an activity.
pub(super) fn activity(
    call: &Call<'_>,
    keys: &Keys,
    grant: &ActivityGrant,
) -> RpcResult<PollActivityTaskQueueResponse> {
    let head = &grant.run.head;
    let activity = grant.run.activities.get(&grant.scheduled_event_id);
    let activity =
        activity.ok_or_else(|| Status::internal("the granted activity doesn't exist"))?;
    let scheduled = activity.scheduled.clone().unwrap_or_default();
    let token = TaskToken {
        namespace: head.namespace,
        workflow_id: head.workflow_id.clone(),
        run_id: head.run_id.clone(),
        scheduled_event_id: activity.scheduled_event_id,
        attempt: activity.attempt,
        stamp: activity.stamp,
        activity_id: scheduled.activity_id.clone(),
        ..TaskToken::default()
    };
    Ok(PollActivityTaskQueueResponse {
        task_token: sign_task(keys, &token),
        workflow_namespace: call.namespace_name(head.namespace),
        workflow_type: grant.run.started.workflow_type.clone(),
        workflow_execution: Some(WorkflowExecution {
            workflow_id: head.workflow_id.clone(),
            run_id: head.run_id.clone(),
        }),
        activity_type: scheduled.activity_type,
        activity_id: scheduled.activity_id,
        header: scheduled.header,
        input: scheduled.input,
        heartbeat_details: activity.heartbeat_details.clone(),
        scheduled_time: Time(activity.first_scheduled_at).get().map(Into::into),
        current_attempt_scheduled_time: Time(activity.attempt_scheduled_at).get().map(Into::into),
        started_time: Time(activity.started_at).get().map(Into::into),
        attempt: activity.attempt,
        schedule_to_close_timeout: scheduled.schedule_to_close_timeout,
        start_to_close_timeout: scheduled.start_to_close_timeout,
        heartbeat_timeout: scheduled.heartbeat_timeout,
        retry_policy: scheduled.retry_policy,
        priority: merged(grant.run.priority(), scheduled.priority),
        poller_scaling_decision: scaling(grant.demand),
        ..PollActivityTaskQueueResponse::default()
    })
}

/// The priority of an activity. Unset parts are those of its workflow.
fn merged(workflow: Option<&Priority>, activity: Option<Priority>) -> Option<Priority> {
    let (Some(workflow), Some(activity)) = (workflow, &activity) else {
        return activity.or_else(|| workflow.cloned());
    };
    let or = |own: i32, other: i32| if own == 0 { other } else { own };
    Some(Priority {
        priority_key: or(activity.priority_key, workflow.priority_key),
        fairness_key: if activity.fairness_key.is_empty() {
            workflow.fairness_key.clone()
        } else {
            activity.fairness_key.clone()
        },
        fairness_weight: if activity.fairness_weight == 0.0 {
            workflow.fairness_weight
        } else {
            activity.fairness_weight
        },
    })
}

/// Advice to the worker on the number of its polls, if the server has any.
fn scaling(demand: Demand) -> Option<PollerScalingDecision> {
    let poll_request_delta_suggestion = demand.polls_delta;
    (demand.polls_delta != 0).then_some(PollerScalingDecision { poll_request_delta_suggestion })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority(priority_key: i32, fairness_key: &str) -> Priority {
        let fairness_key = fairness_key.to_owned();
        Priority { priority_key, fairness_key, fairness_weight: 0.0 }
    }

    #[test]
    fn activity_inherits_unset_parts_of_the_priority() {
        let workflow = priority(4, "tenant");
        assert_eq!(merged(Some(&workflow), None), Some(workflow.clone()));
        assert_eq!(merged(None, Some(priority(2, ""))), Some(priority(2, "")));
        assert_eq!(merged(Some(&workflow), Some(priority(2, ""))), Some(priority(2, "tenant")));
    }
}
