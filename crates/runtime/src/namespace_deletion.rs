//! Deletes the runs and schedules of a deleted namespace in the background, in bounded steps.
//!
//! The namespace's record is marked deleted before the first run is deleted, and empty after the last. A process
//! that restarts in between continues.

use std::time::Duration;

use perennial_engine::{NamespaceKey, Slot};
use perennial_proto::store::{NamespaceRecord, RunName};

use crate::{Refusal, Runtime, namespaces};

/// Runs deleted before the list is read again.
const PAGE: usize = 100;
/// Delay between attempts when the store doesn't answer.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Runtime {
    /// Deletes every run of a namespace that has been deleted, in the background.
    pub fn purge_namespace(&self, record: NamespaceRecord) {
        let runtime = self.clone();
        let Some(place) = self.begin_work(format!("namespace {}", record.key)) else { return };
        tokio::spawn(async move {
            let _place = place;
            while runtime.purge(&record).await.is_err() {
                tokio::time::sleep(RETRY_DELAY).await;
            }
        });
    }

    /// Continues with namespaces that weren't empty when the process ended.
    pub async fn resume_purges(&self) -> Result<(), Refusal> {
        for record in self.with_store(namespaces::stored).await? {
            let is_left = record.deleted_at != 0 && record.emptied_at == 0;
            if is_left && self.node.owns(Slot::of(NamespaceKey(record.key), &record.name)) {
                self.purge_namespace(record);
            }
        }
        Ok(())
    }

    async fn purge(&self, record: &NamespaceRecord) -> Result<(), Refusal> {
        self.purge_schedules(record).await?;
        loop {
            let page = self.list(record, "", PAGE, None).await?;
            if page.executions.is_empty() {
                break;
            }
            let mut is_stuck = true;
            for run in page.executions {
                let target = RunName {
                    namespace: record.key,
                    workflow_id: run.workflow_id,
                    run_id: run.run_id,
                    first_run_id: String::new(),
                };
                match self.delete_anywhere(target).await {
                    Ok(()) => is_stuck = false,
                    // Already deleted by its retention; or damaged, which doesn't stop the others.
                    Err(Refusal::Rejected(_) | Refusal::Damaged(_)) => {}
                    Err(unanswered) => return Err(unanswered),
                }
            }
            if is_stuck {
                return Err(Refusal::Unavailable("listed runs aren't there".to_owned()));
            }
        }
        let _lock = self.record_lock.lock().await;
        let emptied = NamespaceRecord { emptied_at: self.now().0, ..record.clone() };
        self.put_namespace(emptied, Some(record.clone())).await.map(|_| ())
    }

    async fn purge_schedules(&self, record: &NamespaceRecord) -> Result<(), Refusal> {
        loop {
            let page = self.list_schedules(record, "", true, PAGE, None).await?;
            if page.schedules.is_empty() {
                return Ok(());
            }
            for schedule in page.schedules {
                self.purge_schedule_anywhere(schedule.name()).await?;
            }
        }
    }
}
