//! Admission of updates. Admitted updates are kept in memory until a workflow task delivers them.

use crate::run::{Limits, Rejection, Run};

/// From this attempt on, a workflow task is considered failing, and updates are rejected instead of waiting for it.
const FAILING_ATTEMPT: i32 = 3;

impl Run {
    /// Whether updates can reach the workflow at all, including updates that are known already.
    ///
    /// # Errors
    /// If its workflow task keeps failing.
    pub fn may_be_updated(&self) -> Result<(), Rejection> {
        let attempt = self.head.workflow_task.as_ref().map(|task| task.attempt);
        let attempt = attempt.unwrap_or(self.head.next_task_attempt);
        if self.is_open() && attempt >= FAILING_ATTEMPT {
            return Err(Rejection::NotReady(
                "Unable to perform workflow execution update due to Workflow Task in failed state."
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Whether a new update may wait for the workflow, beside `waiting` other updates that do.
    ///
    /// # Errors
    /// If the run has closed, or has reached a limit of updates.
    pub fn may_admit_update(
        &self,
        update_id: &str,
        waiting: usize,
        limits: &Limits,
    ) -> Result<(), Rejection> {
        self.open()?;
        if self.updates.contains_key(update_id) {
            return Ok(());
        }
        let unfinished = self.updates.values().filter(|update| update.outcome.is_none()).count();
        limits.admit_update(waiting + unfinished, waiting + self.updates.len())
    }
}

impl Limits {
    /// Whether a run may take another update, with `in_flight` updates without an outcome and `total` updates so far.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn admit_update(&self, in_flight: usize, total: usize) -> Result<(), Rejection> {
        if in_flight >= self.updates_in_flight {
            return Err(Rejection::LimitExceeded(format!(
                "limit on number of concurrent in-flight updates has been reached ({})",
                self.updates_in_flight
            )));
        }
        if total >= self.updates {
            return Err(Rejection::FailedPrecondition(format!(
                "The limit on the total number of distinct updates in this workflow has been reached ({}). Make sure any duplicate updates share an Update ID so the server can deduplicate them, and consider rejecting updates that you aren't going to process. You can also Continue-as-New to avoid this; we recommend you check Continue-as-New Suggested in your Workflow.",
                self.updates
            )));
        }
        Ok(())
    }
}
