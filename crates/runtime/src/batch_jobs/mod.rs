//! Batch jobs: one operation on every run that matches a query.
//!
//! A job is a record, written before the first run is changed. Its progress is written after each page of runs, so it
//! continues there after a crash. Repeated operations are idempotent: a signal has the job's id as its request id, and
//! closed runs stay as they are.

mod operation;
mod work;

pub(crate) use self::operation::operate;

use perennial_engine::run::{Rejection, Taken};
use perennial_engine::{NamespaceKey, Slot};
use perennial_proto::encoded;
use perennial_proto::store::BatchJob;
use perennial_proto::temporal::enums::v1::BatchOperationState;
use perennial_store::{RecordKind, RecordWrite, Store};
use prost::Message;

use crate::cell::Request;
use crate::damage::Damaged;
use crate::{Refusal, Runtime};

impl Runtime {
    /// Starts a job with a query or a list of runs, and an operation. Rejected if its id is taken.
    pub async fn start_batch(&self, mut job: BatchJob) -> Result<(), Refusal> {
        let namespace = NamespaceKey(job.namespace);
        {
            let _lock = self.record_lock.lock().await;
            if self.find_batch(namespace, &job.job_id).await?.is_some() {
                return Err(Rejection::AlreadyStarted {
                    workflow_id: job.job_id.clone(),
                    run_id: String::new(),
                    start_request_id: String::new(),
                    first_run_id: String::new(),
                    taken: Taken::Running,
                }
                .into());
            }
            job.principal = self.principal.as_deref().cloned();
            job.total = self.size_of(&job).await?;
            job.started_at = self.now().0;
            job.state = BatchOperationState::Running.into();
            self.put_batch(&job).await?;
        }
        self.spawn_batch(job);
        Ok(())
    }

    /// Stops a job after its current page.
    pub async fn stop_batch(&self, namespace: NamespaceKey, job_id: &str) -> Result<(), Refusal> {
        let _lock = self.record_lock.lock().await;
        let mut job = self.batch_or_refusal(namespace, job_id).await?;
        if job.state() != BatchOperationState::Running {
            return Err(Rejection::AlreadyClosed.into());
        }
        job.state = BatchOperationState::Failed.into();
        job.closed_at = self.now().0;
        self.put_batch(&job).await
    }

    /// The current state of a job.
    pub async fn batch(&self, namespace: NamespaceKey, job_id: &str) -> Result<BatchJob, Refusal> {
        self.batch_or_refusal(namespace, job_id).await
    }

    /// A page of a namespace's jobs by id, after the id `after`.
    pub async fn batches(
        &self,
        namespace: NamespaceKey,
        after: &str,
        limit: usize,
    ) -> Result<Vec<BatchJob>, Refusal> {
        let prefix = key_of(namespace, "");
        let after = key_of(namespace, after);
        let found = self
            .with_store(move |store| store.records(RecordKind::BatchJob, &prefix, &after, limit))
            .await?;
        found.iter().map(|(_, value)| decoded(value)).collect()
    }

    /// Continues with jobs that were running when the process ended.
    pub async fn resume_batches(&self) -> Result<(), Refusal> {
        const PAGE: usize = 100;
        for namespace in self.namespaces().iter() {
            let namespace = NamespaceKey(namespace.key);
            let mut after = String::new();
            loop {
                let prefix = key_of(namespace, "");
                let read = move |store: &dyn Store| {
                    store.records(RecordKind::BatchJob, &prefix, &after, PAGE)
                };
                let page = self.with_store(read).await?;
                let Some((last, _)) = page.last() else { break };
                after = last.clone();
                for (key, value) in page {
                    match BatchJob::decode(value.as_slice()) {
                        Ok(job) => {
                            let is_running = job.state() == BatchOperationState::Running;
                            if is_running && self.node.owns(slot_of(&job)) {
                                self.spawn_batch(job);
                            }
                        }
                        Err(error) => self.node.damage.report(Damaged::BatchJob { key }, &error),
                    }
                }
            }
        }
        Ok(())
    }

    /// Works on a job, unless this node does so already.
    fn spawn_batch(&self, job: BatchJob) {
        let runtime = self.called_by(job.principal.clone());
        let key = key_of(NamespaceKey(job.namespace), &job.job_id);
        let Some(place) = self.begin_work(format!("job {key}")) else { return };
        tokio::spawn(async move {
            let _place = place;
            work::work(&runtime, job).await;
        });
    }

    async fn size_of(&self, job: &BatchJob) -> Result<i64, Refusal> {
        if job.query.is_empty() {
            return Ok(i64::try_from(job.executions.len()).unwrap_or(i64::MAX));
        }
        let namespaces = self.namespaces();
        let namespace = namespaces.by_key(NamespaceKey(job.namespace));
        let gone = || Rejection::NotFound("the namespace is gone".to_owned());
        let namespace = namespace.ok_or_else(gone)?;
        Ok(self.count(namespace, &job.query).await?.total)
    }

    async fn batch_or_refusal(
        &self,
        namespace: NamespaceKey,
        job_id: &str,
    ) -> Result<BatchJob, Refusal> {
        let found = self.find_batch(namespace, job_id).await?;
        found.ok_or_else(|| Rejection::RunNotFound(job_id.to_owned()).into())
    }

    async fn find_batch(
        &self,
        namespace: NamespaceKey,
        job_id: &str,
    ) -> Result<Option<BatchJob>, Refusal> {
        let key = key_of(namespace, job_id);
        let prefix = key.clone();
        let found = self
            .with_store(move |store| store.records(RecordKind::BatchJob, &prefix, "", 1))
            .await?;
        // Of the keys with this prefix, the first is the shortest.
        found
            .first()
            .filter(|(found, _)| *found == key)
            .map(|(_, value)| decoded(value))
            .transpose()
    }

    async fn put_batch(&self, job: &BatchJob) -> Result<(), Refusal> {
        let record = RecordWrite {
            kind: RecordKind::BatchJob,
            key: key_of(NamespaceKey(job.namespace), &job.job_id),
            value: Some(encoded(job)),
        };
        // The owner of the job's slot runs it and writes its progress.
        let slot = slot_of(job);
        self.ask(Request::PutRecord { slot, record }).await.map(|_| ())
    }
}

/// The slot whose owner works on a job and writes its progress.
fn slot_of(job: &BatchJob) -> Slot {
    Slot::of(NamespaceKey(job.namespace), &job.job_id)
}

fn key_of(namespace: NamespaceKey, job_id: &str) -> String {
    format!("{:010}/{job_id}", namespace.0)
}

fn decoded(value: &[u8]) -> Result<BatchJob, Refusal> {
    BatchJob::decode(value)
        .map_err(|error| Refusal::Damaged(format!("a batch job can't be read: {error}")))
}
