//! `DescribeServer`: the state of the server itself.

use std::time::{Duration, SystemTime};

use perennial_engine::{Span, Time};
use perennial_identity::jwt::IssuerStatus;
use perennial_proto::Timestamp;
use perennial_proto::perennial::{
    DescribeServerRequest, DescribeServerResponse, ExpiringApiKey, RecentCommits,
    ServerCertificate, ServerStorage, TokenIssuer, UnpolledTaskQueue,
};
use perennial_runtime::{DamageCount, UnpolledQueue};

use crate::access::api_keys::ExpiringKey;
use crate::admin::AdminCall;
use crate::errors::RpcResult;
use crate::tls::TlsStatus;
use crate::workflow::SERVER_VERSION;

/// A key is shown when it expires within this time.
const EXPIRES_SOON: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Task queues that are shown.
const QUEUES_MAX: usize = 100;

impl AdminCall<'_> {
    /// Describes the server itself. Reads nothing from the store, so that it works while the store doesn't.
    pub(crate) async fn describe_server(
        &self,
        _: DescribeServerRequest,
    ) -> RpcResult<DescribeServerResponse> {
        let (runtime, shared) = (self.0.runtime(), self.0.shared());
        let readiness = shared.readiness();
        let commits = runtime.commit_times();
        let access = shared.access();
        let expiring = access.api_keys().expiring(SystemTime::now(), EXPIRES_SOON);
        let unpolled = runtime.unpolled_queues(QUEUES_MAX);
        let certificates = shared.tls().map(|tls| tls.status()).unwrap_or_default();
        Ok(DescribeServerResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            api_version: SERVER_VERSION.to_owned(),
            started_at: Some(shared.started_at.into()),
            time: Some(runtime.now().into()),
            ready: readiness.is_ok(),
            not_ready_reason: readiness.err().unwrap_or_default(),
            storage: Some(self.storage().await),
            recent_commits: Some(RecentCommits {
                count: count(commits.count),
                median: Some(span(commits.median).into()),
                p99: Some(span(commits.p99).into()),
                max: Some(span(commits.max).into()),
            }),
            schedule_lag: Some(runtime.wake_lag().into()),
            certificates: certificates.into_iter().map(certificate).collect(),
            expiring_api_keys: expiring.into_iter().map(expiring_key).collect(),
            token_issuers: access.token_issuers().into_iter().map(issuer).collect(),
            unpolled_task_queues: unpolled.into_iter().map(unpolled_queue).collect(),
        })
    }

    async fn storage(&self) -> ServerStorage {
        let runtime = self.0.runtime();
        let status = runtime.storage_status().await;
        let DamageCount { runs, schedules, tasks, messages, batch_jobs } = runtime.damage();
        ServerStorage {
            kind: self.0.shared().config.store_name.clone(),
            path: status.place.unwrap_or_default(),
            bytes: bytes(status.bytes),
            disk_bytes: status.disk.map_or(0, |disk| bytes(disk.total_bytes)),
            disk_free_bytes: status.disk.map_or(0, |disk| bytes(disk.free_bytes)),
            damaged_rows: count(runs + schedules + tasks + messages + batch_jobs),
        }
    }
}

fn certificate(status: TlsStatus) -> ServerCertificate {
    let TlsStatus { file, subject, not_before, not_after } = status;
    // Certificates may end after the year 2262, where nanoseconds of Unix time end.
    let time = |time: jiff::Timestamp| Timestamp {
        seconds: time.as_second(),
        nanos: time.subsec_nanosecond(),
    };
    ServerCertificate {
        file: file.display().to_string(),
        subject,
        not_before: Some(time(not_before)),
        not_after: Some(time(not_after)),
    }
}

fn expiring_key(key: ExpiringKey) -> ExpiringApiKey {
    let ExpiringKey { id, name, expires_at, last_used, last_refused } = key;
    ExpiringApiKey {
        id,
        name,
        expires_at: Some(time_of(expires_at).into()),
        last_used_at: last_used.get().map(Into::into),
        last_refused_at: last_refused.get().map(Into::into),
    }
}

fn issuer(status: IssuerStatus) -> TokenIssuer {
    let IssuerStatus { issuer, loaded_at, problem } = status;
    TokenIssuer {
        issuer,
        keys_loaded_at: loaded_at.map(|at| time_of(at).into()),
        problem: problem.unwrap_or_default(),
    }
}

fn unpolled_queue(queue: UnpolledQueue) -> UnpolledTaskQueue {
    let UnpolledQueue { namespace, name, kind, backlog, oldest } = queue;
    UnpolledTaskQueue {
        namespace,
        name,
        kind: kind.into(),
        backlog: count(backlog),
        oldest_task_at: oldest.map(Into::into),
    }
}

fn time_of(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

fn span(time: Duration) -> Span {
    Span(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
