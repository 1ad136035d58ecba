//! Polls of workers for tasks.

use std::time::Duration;

use crate::api::{ActivityGrant, Demand, LentPoll, Polled, Poller, WorkflowTaskGrant};
use crate::queues::{self, Grant, QueueKind};
use crate::{Refusal, Runtime};

impl Runtime {
    /// Waits for a workflow task. The caller drops the future when its time is up.
    pub async fn poll_workflow_task(&self, poller: Poller) -> Result<WorkflowTaskGrant, Refusal> {
        match self.poll_workflow_task_or_lend(poller, false).await? {
            Polled::Granted(grant) => Ok(grant),
            Polled::Lent(_) => Err(unexpected_grant()),
        }
    }

    /// Waits for an activity.
    pub async fn poll_activity(&self, poller: Poller) -> Result<ActivityGrant, Refusal> {
        match self.poll_activity_or_lend(poller, false).await? {
            Polled::Granted(grant) => Ok(grant),
            Polled::Lent(_) => Err(unexpected_grant()),
        }
    }

    /// Waits for a workflow task. In a cluster a poll that may be lent may have to go on at another node.
    pub async fn poll_workflow_task_or_lend(
        &self,
        poller: Poller,
        may_be_lent: bool,
    ) -> Result<Polled<WorkflowTaskGrant>, Refusal> {
        let (grant, demand) = self.poll(poller, QueueKind::Workflow, may_be_lent).await?;
        match grant {
            Grant::Workflow(grant) => Ok(Polled::Granted(WorkflowTaskGrant { demand, ..*grant })),
            Grant::Lent(lent) => Ok(Polled::Lent(LentPoll(lent))),
            Grant::Activity(_) => Err(unexpected_grant()),
        }
    }

    /// Waits for an activity. In a cluster a poll that may be lent may have to go on at another node.
    pub async fn poll_activity_or_lend(
        &self,
        poller: Poller,
        may_be_lent: bool,
    ) -> Result<Polled<ActivityGrant>, Refusal> {
        let (grant, demand) = self.poll(poller, QueueKind::Activity, may_be_lent).await?;
        match grant {
            Grant::Activity(grant) => Ok(Polled::Granted(ActivityGrant { demand, ..grant })),
            Grant::Lent(lent) => Ok(Polled::Lent(LentPoll(lent))),
            Grant::Workflow(_) => Err(unexpected_grant()),
        }
    }

    async fn poll(
        &self,
        poller: Poller,
        kind: QueueKind,
        may_be_lent: bool,
    ) -> Result<(Grant, Demand), Refusal> {
        let since = self.node.monotonic();
        let (poller, mut granted) =
            queues::WaitingPoll::new(poller, kind, self.principal.clone(), may_be_lent);
        let (queues, queue) = (&self.node.queues, poller.queue.clone());
        let is_sticky = poller.is_sticky();
        let mut matched = queues.poll(poller, since);
        let recheck = queues.recheck(&queue, is_sticky);
        // The waiting polls themselves match rate-limited tasks when the limit allows: no other thread does.
        loop {
            self.node.dispatch(matched.take());
            let mut rechecked = std::pin::pin!(recheck.notified());
            rechecked.as_mut().enable();
            self.node.read_tasks_if_few(&queue);
            let rate_limited_for = queues.rate_limited_for(&queue, self.node.monotonic());
            tokio::select! {
                biased;
                grant = &mut granted => {
                    let grant = grant.map_err(|_| Refusal::TimedOut)?;
                    return Ok((grant, queues.demand(&queue, since, self.node.monotonic())));
                }
                () = rechecked => {}
                () = sleep(rate_limited_for) => matched = queues.match_next(&queue, self.node.monotonic()),
            }
        }
    }
}

/// Sleeps for a duration, or forever.
async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

fn unexpected_grant() -> Refusal {
    Refusal::Unavailable("the poll got a task of another kind".to_owned())
}
