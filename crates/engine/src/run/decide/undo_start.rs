//! The poller disconnected before its task was durable: the start is undone.

use perennial_proto::store as stored;
use perennial_proto::temporal::enums::v1::TimeoutType;
use perennial_proto::temporal::history::v1::WorkflowTaskTimedOutEventAttributes;

use super::Decided;
use super::fail_workflow_task::try_again;
use crate::run::event::Attributes;
use crate::run::{Context, Rejection, Reply, Run, TaskRef, TaskStamp};

pub(super) fn decide(run: &Run, task: TaskRef, cx: &Context<'_>) -> Decided {
    run.open()?;
    match task {
        TaskRef::Workflow(stamp) => {
            let task = run.task_of(stamp).map_err(|_| gone())?.clone();
            let mut draft = run.draft(cx);
            let problem = run.head.workflow_task_problem.clone();
            if task.kind() == stored::WorkflowTaskKind::Normal {
                draft.record(Attributes::WorkflowTaskTimedOutEventAttributes(
                    WorkflowTaskTimedOutEventAttributes {
                        scheduled_event_id: task.scheduled_event_id,
                        started_event_id: task.started_event_id,
                        timeout_type: TimeoutType::StartToClose.into(),
                    },
                ));
                // No worker had the task, so its attempts count from one again.
                draft.run.head.next_task_attempt = 1;
                draft.run.head.workflow_task_problem = problem;
                try_again(&mut draft);
            } else {
                if let Some(task) = &mut draft.run.head.workflow_task {
                    task.started_at = 0;
                    task.started_event_id = 0;
                }
                draft.offer_workflow_task();
            }
            Ok(draft.done(Reply::Done))
        }
        TaskRef::Activity(stamp) => {
            let is_it = |activity: &&std::sync::Arc<stored::PendingActivity>| {
                activity.started_at != 0 && TaskStamp::from(&***activity) == stamp
            };
            let activity = run.activities.get(&stamp.scheduled_event_id).filter(is_it);
            activity.ok_or_else(gone)?;
            let mut draft = run.draft(cx);
            draft.run.change_activity(stamp.scheduled_event_id, &mut draft.touched, |activity| {
                activity.started_at = 0;
                activity.request_id.clear();
                activity.identity.clear();
            });
            draft.offer_activity(stamp.scheduled_event_id);
            Ok(draft.done(Reply::Done))
        }
    }
}

fn gone() -> Rejection {
    Rejection::TaskNotFound("the task was not started, or has ended".to_owned())
}
