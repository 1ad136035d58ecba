//! Whether a run may take an update. Admitted updates wait outside of the durable state.

use crate::run::{Limits, Rejection, Run};

/// A workflow task that failed this often before keeps failing: an update would wait for nothing.
const FAILING_ATTEMPT: i32 = 3;

impl Run {
    /// Whether updates get through to the workflow at all, those that are known included.
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

    /// Whether the update of this id may wait for the workflow, beside `waiting` others that do.
    ///
    /// # Errors
    /// If the run has closed, or has had as many updates as it may.
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
    /// Whether a run takes another update beside `in_flight` ones that have no outcome, of `total`.
    ///
    /// # Errors
    /// If it has as many as it may.
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
