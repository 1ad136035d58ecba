//! Checks what the server knows of itself: disk, commits, lag, damage and task queues without workers.

use jiff::{SignedDuration, Timestamp};
use perennial_proto::perennial::{
    DescribeServerRequest, DescribeServerResponse, RecentCommits, ServerStorage, UnpolledTaskQueue,
};
use perennial_proto::temporal::enums::v1::TaskQueueType;
use tonic::Code;

use super::findings::{Findings, counted, join_names};
use super::{credentials, left};
use crate::client::Client;
use crate::output::instant;

const GIB: i64 = 1 << 30;
/// With less free space than this, the disk is about to be full.
const FREE_BYTES_MIN: i64 = GIB / 2;
/// Below a tenth of the disk and less than this, space is short.
const FREE_BYTES_SHORT: i64 = 20 * GIB;

/// Commits slower than this slow down every workflow.
const COMMIT_SLOW: SignedDuration = SignedDuration::from_millis(100);
/// Commits slower than this make clients time out.
const COMMIT_STUCK: SignedDuration = SignedDuration::from_secs(1);

/// Timers and schedules that are later than this are noticed by people.
const LAG_LARGE: SignedDuration = SignedDuration::from_secs(1);
/// A server that is behind by more than this doesn't keep up.
const LAG_TOO_LARGE: SignedDuration = SignedDuration::from_secs(10);

/// Asks the server for its state. `None` if it doesn't tell: Temporal's server doesn't know the question.
pub(super) async fn describe(
    client: &Client,
    findings: &mut Findings,
) -> Option<DescribeServerResponse> {
    match client.admin().describe_server(DescribeServerRequest {}).await {
        Ok(answer) => Some(answer.into_inner()),
        Err(status) if status.code() == Code::Unimplemented => None,
        Err(status) if status.code() == Code::PermissionDenied => {
            let why =
                "not allowed to look at the server itself; needs the role read on the whole server";
            findings.notice("server itself", why);
            None
        }
        Err(status) => {
            findings.request_failed("server itself", &status, "see the server's log");
            None
        }
    }
}

/// Checks the state of the server, by its own clock.
pub(super) fn check(server: &DescribeServerResponse, findings: &mut Findings) {
    let now = instant(server.time.as_ref()).unwrap_or_else(Timestamp::now);
    check_storage(&server.storage.clone().unwrap_or_default(), findings);
    check_commits(&server.recent_commits.unwrap_or_default(), findings);
    check_lag(time(server.schedule_lag.as_ref()), findings);
    credentials::check(server, now, findings);
    check_queues(&server.unpolled_task_queues, now, findings);
}

fn check_storage(storage: &ServerStorage, findings: &mut Findings) {
    let ServerStorage { path, disk_bytes, disk_free_bytes: free, damaged_rows, .. } = storage;
    if path.is_empty() {
        findings.good("database", "in memory: it is gone when the server stops");
    } else if *damaged_rows == 0 {
        findings.good("database", format!("{path}, {}", bytes(storage.bytes)));
    }
    if *damaged_rows > 0 {
        let rows = counted(*damaged_rows, "row");
        findings.bad(
            "database",
            format!(
                "{path} is damaged: {rows} can't be read; the server's log says which; keep a copy of the files, and \
                 restore a backup"
            ),
        );
    }
    // The disk of a database server is its operator's business.
    if path.is_empty() || path.starts_with("postgres://") {
        return;
    }
    let space = format!("{} of {} are free", bytes(*free), bytes(*disk_bytes));
    match (*disk_bytes, *free) {
        (0, _) => findings.notice("disk", "unknown: the disk of the database doesn't answer"),
        (_, ..FREE_BYTES_MIN) => findings.bad(
            "disk",
            format!("almost full: {space}; make room, or the server will refuse writes"),
        ),
        (_, ..FREE_BYTES_SHORT) if *free < *disk_bytes / 10 => {
            findings.notice("disk", format!("getting full: {space}"))
        }
        _ => findings.good("disk", space),
    }
}

fn check_commits(commits: &RecentCommits, findings: &mut Findings) {
    let (median, p99) = (time(commits.median.as_ref()), time(commits.p99.as_ref()));
    let times = format!(
        "of {}, half took at most {}, 99 % {}, the slowest {}",
        counted(commits.count, "commit"),
        shown(median),
        shown(p99),
        shown(time(commits.max.as_ref()))
    );
    if commits.count == 0 {
        findings.good("sync", "no commits yet");
    } else if p99 > COMMIT_STUCK {
        findings
            .bad("sync", format!("the disk is too slow: {times}; use a faster or less busy disk"));
    } else if p99 > COMMIT_SLOW {
        findings.notice("sync", format!("the disk is slow: {times}; every workflow waits for it"));
    } else {
        findings.good("sync", times);
    }
}

fn check_lag(lag: SignedDuration, findings: &mut Findings) {
    let behind = format!("timers and schedules are {} behind", shown(lag));
    if lag > LAG_TOO_LARGE {
        findings.bad("lag", format!("{behind}; is the server too busy, or its disk too slow?"));
    } else if lag > LAG_LARGE {
        findings.notice("lag", behind);
    } else {
        findings.good("lag", "timers and schedules are evaluated on time");
    }
}

fn check_queues(unpolled: &[UnpolledTaskQueue], now: Timestamp, findings: &mut Findings) {
    if unpolled.is_empty() {
        findings.good("waiting tasks", "workers poll every task queue that has tasks");
        return;
    }
    let named = unpolled.iter().map(|queue| {
        let UnpolledTaskQueue { namespace, name, backlog, .. } = queue;
        let tasks = match queue.kind() {
            TaskQueueType::Activity => counted(*backlog, "activity task"),
            TaskQueueType::Workflow | TaskQueueType::Nexus | TaskQueueType::Unspecified => {
                counted(*backlog, "workflow task")
            }
        };
        let since = instant(queue.oldest_task_at.as_ref());
        let since = since.map(|at| format!(", for {}", left(at, now))).unwrap_or_default();
        format!("{name} of {namespace} ({tasks}{since})")
    });
    let advice = "start a worker, or see why its workers don't poll";
    let details = format!(
        "no worker has polled these task queues for a minute: {}; {advice}",
        join_names(named.collect())
    );
    findings.bad("waiting tasks", details);
}

fn time(time: Option<&perennial_proto::Duration>) -> SignedDuration {
    time.map_or(SignedDuration::ZERO, |it| SignedDuration::new(it.seconds, it.nanos))
}

/// `1.2ms`, `3.4s`.
fn shown(time: SignedDuration) -> String {
    format!("{:.1?}", time.unsigned_abs())
}

/// `1.2 GiB`.
fn bytes(bytes: i64) -> String {
    let units = [(GIB << 10, "TiB"), (GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use perennial_proto::Duration;
    use perennial_proto::perennial::{ExpiringApiKey, ServerCertificate, TokenIssuer};

    use super::*;
    use crate::output::stamp;

    fn at(time: &str) -> Option<perennial_proto::Timestamp> {
        Some(stamp(time.parse().unwrap()))
    }

    fn millis(millis: i32) -> Option<Duration> {
        Some(Duration { seconds: 0, nanos: millis * 1_000_000 })
    }

    fn well() -> DescribeServerResponse {
        DescribeServerResponse {
            time: at("2026-11-18T12:00:00Z"),
            ready: true,
            storage: Some(ServerStorage {
                path: "/data/perennial.db".to_owned(),
                bytes: 1_300_000_000,
                disk_bytes: 100 * GIB,
                disk_free_bytes: 60 * GIB,
                ..ServerStorage::default()
            }),
            recent_commits: Some(RecentCommits {
                count: 1_000,
                median: millis(1),
                p99: millis(4),
                max: millis(9),
            }),
            ..DescribeServerResponse::default()
        }
    }

    fn check_text(server: &DescribeServerResponse, expected: Expect) {
        let mut findings = Findings::default();
        check(server, &mut findings);
        let line = |it: &super::super::findings::Finding| {
            format!("{}: {}: {}\n", it.check, it.result.name(), it.details)
        };
        expected.assert_eq(&findings.all.iter().map(line).collect::<String>());
    }

    #[test]
    fn healthy_server_is_found_well() {
        check_text(
            &well(),
            expect![[r#"
            database: ok: /data/perennial.db, 1.2 GiB
            disk: ok: 60.0 GiB of 100.0 GiB are free
            sync: ok: of 1000 commits, half took at most 1.0ms, 99 % 4.0ms, the slowest 9.0ms
            lag: ok: timers and schedules are evaluated on time
            waiting tasks: ok: workers poll every task queue that has tasks
        "#]],
        );
    }

    #[test]
    fn server_in_trouble_is_described_with_advice() {
        let mut server = well();
        server.storage = server.storage.map(|storage| ServerStorage {
            disk_free_bytes: 100 << 20,
            damaged_rows: 1,
            ..storage
        });
        server.recent_commits = server.recent_commits.map(|it| RecentCommits {
            p99: Some(Duration { seconds: 2, nanos: 0 }),
            max: Some(Duration { seconds: 3, nanos: 0 }),
            ..it
        });
        server.schedule_lag = Some(Duration { seconds: 75, nanos: 0 });
        server.certificates = vec![
            ServerCertificate {
                file: "server.pem".to_owned(),
                subject: "CN=shop".to_owned(),
                not_before: at("2026-01-01T00:00:00Z"),
                not_after: at("2026-11-18T11:00:00Z"),
            },
            ServerCertificate {
                file: "other.pem".to_owned(),
                subject: "CN=other".to_owned(),
                not_before: at("2026-01-01T00:00:00Z"),
                not_after: at("2026-11-19T11:00:00Z"),
            },
        ];
        server.expiring_api_keys = vec![ExpiringApiKey {
            id: "1".to_owned(),
            name: "ci".to_owned(),
            expires_at: at("2026-11-18T11:00:00Z"),
            last_used_at: at("2026-11-18T10:59:00Z"),
            last_refused_at: at("2026-11-18T11:58:00Z"),
        }];
        server.token_issuers = vec![
            TokenIssuer {
                issuer: "https://login".to_owned(),
                keys_loaded_at: at("2026-11-17T22:00:00Z"),
                problem: "connection refused".to_owned(),
            },
            TokenIssuer {
                issuer: "https://never".to_owned(),
                keys_loaded_at: None,
                problem: "no such host".to_owned(),
            },
        ];
        server.unpolled_task_queues = vec![
            UnpolledTaskQueue {
                namespace: "default".to_owned(),
                name: "payments".to_owned(),
                kind: TaskQueueType::Activity.into(),
                backlog: 3,
                oldest_task_at: at("2026-11-18T11:00:00Z"),
            },
            UnpolledTaskQueue {
                namespace: "shop".to_owned(),
                name: "orders".to_owned(),
                kind: TaskQueueType::Workflow.into(),
                backlog: 1,
                oldest_task_at: at("2026-11-18T11:58:30Z"),
            },
        ];
        check_text(
            &server,
            expect![[r#"
            database: bad: /data/perennial.db is damaged: 1 row can't be read; the server's log says which; keep a copy of the files, and restore a backup
            disk: bad: almost full: 100.0 MiB of 100.0 GiB are free; make room, or the server will refuse writes
            sync: bad: the disk is too slow: of 1000 commits, half took at most 1.0ms, 99 % 2.0s, the slowest 3.0s; use a faster or less busy disk
            lag: bad: timers and schedules are 75.0s behind; is the server too busy, or its disk too slow?
            certificates: bad: `CN=shop` in server.pem expired 1 h ago: connections fail; replace the file
            certificates: bad: `CN=other` in other.pem expires in 23 h; replace the file
            API keys: bad: ci expired 1 h ago, and was shown 2 min ago: its holder is refused; create another with `perennial operator api-key create`
            token issuers: bad: the keys of https://login were last loaded 14 h ago, and after a day its tokens are refused: connection refused
            token issuers: bad: the keys of https://never were never loaded, so its tokens are refused: no such host
            waiting tasks: bad: no worker has polled these task queues for a minute: payments of default (3 activity tasks, for 1 h), orders of shop (1 workflow task, for 1 min 30 s); start a worker, or see why its workers don't poll
        "#]],
        );
    }

    #[test]
    fn what_will_be_a_problem_is_a_note() {
        let mut server = well();
        server.storage =
            server.storage.map(|storage| ServerStorage { disk_free_bytes: 5 * GIB, ..storage });
        server.recent_commits = server.recent_commits.map(|it| RecentCommits {
            p99: millis(150),
            max: millis(300),
            ..it
        });
        server.schedule_lag = Some(Duration { seconds: 3, nanos: 500_000_000 });
        server.certificates = vec![ServerCertificate {
            file: "server.pem".to_owned(),
            subject: "CN=shop".to_owned(),
            not_before: at("2026-01-01T00:00:00Z"),
            not_after: at("2026-12-01T12:00:00Z"),
        }];
        server.expiring_api_keys = vec![ExpiringApiKey {
            id: "1".to_owned(),
            name: "ci".to_owned(),
            expires_at: at("2026-11-20T12:00:00Z"),
            ..ExpiringApiKey::default()
        }];
        server.token_issuers = vec![TokenIssuer {
            issuer: "https://login".to_owned(),
            keys_loaded_at: at("2026-11-18T11:30:00Z"),
            problem: "connection refused".to_owned(),
        }];
        check_text(
            &server,
            expect![[r#"
            database: ok: /data/perennial.db, 1.2 GiB
            disk: note: getting full: 5.0 GiB of 100.0 GiB are free
            sync: note: the disk is slow: of 1000 commits, half took at most 1.0ms, 99 % 150.0ms, the slowest 300.0ms; every workflow waits for it
            lag: note: timers and schedules are 3.5s behind
            certificates: note: `CN=shop` in server.pem expires in 13 d; replace the file
            API keys: note: ci expires in 2 d; create another with `perennial operator api-key create`
            token issuers: note: the keys of https://login were last loaded 30 min ago, and after a day its tokens are refused: connection refused
            waiting tasks: ok: workers poll every task queue that has tasks
        "#]],
        );
    }

    #[test]
    fn certificates_and_issuers_without_problems_are_well() {
        let mut server = well();
        server.storage = Some(ServerStorage::default());
        server.recent_commits = None;
        // A day is the whole life of this certificate, so most of it is left.
        server.certificates = vec![ServerCertificate {
            file: "server.pem".to_owned(),
            subject: "CN=shop".to_owned(),
            not_before: at("2026-11-18T06:00:00Z"),
            not_after: at("2026-11-19T06:00:00Z"),
        }];
        server.token_issuers = vec![TokenIssuer {
            issuer: "https://login".to_owned(),
            keys_loaded_at: at("2026-11-18T11:55:00Z"),
            problem: String::new(),
        }];
        check_text(
            &server,
            expect![[r#"
            database: ok: in memory: it is gone when the server stops
            sync: ok: no commits yet
            lag: ok: timers and schedules are evaluated on time
            certificates: ok: 1 certificate, none expires soon
            token issuers: ok: the keys of 1 issuer are loaded
            waiting tasks: ok: workers poll every task queue that has tasks
        "#]],
        );
    }
}
