//! Asks for a workflow of each cell all the time, through nodes that no fault has struck, and measures how long none of
//! them answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use perennial_test_postgres::TestPostgres;

const NAMESPACE: &str = "probes";
/// Workflows from which one of each cell is taken.
const CANDIDATES: usize = 200;
const PROBE_INTERVAL: Duration = Duration::from_millis(50);
/// A call that has no answer by then is made again.
const ANSWERED_MAX: Duration = Duration::from_secs(1);
/// No node is struck.
const NOBODY: usize = usize::MAX;

/// Threads that ask, one for each cell. Dropping it ends them.
pub(super) struct Probes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    /// Of all nodes, for HTTP.
    nodes: Vec<SocketAddr>,
    ids: Vec<String>,
    /// The node that isn't asked.
    struck: AtomicUsize,
    is_over: AtomicBool,
    answers: Mutex<Vec<Answers>>,
}

/// When an id answered.
#[derive(Clone, Copy)]
struct Answers {
    last: Instant,
    longest_gap: Duration,
}

impl Probes {
    /// Starts a workflow in each cell, and the threads.
    pub(super) fn start(
        postgres: &TestPostgres,
        database: &str,
        nodes: Vec<SocketAddr>,
    ) -> Result<Self> {
        let namespace =
            format!(r#"{{"namespace":"{NAMESPACE}","workflowExecutionRetentionPeriod":"86400s"}}"#);
        call(nodes[0], "POST", "/api/v1/namespaces", &namespace)?;
        for number in 0..CANDIDATES {
            let path = workflow(&format!("probe-{number}"));
            let order = r#"{"workflowType":{"name":"Probe"},"taskQueue":{"name":"probes"}}"#;
            call(nodes[number % nodes.len()], "POST", &path, order)?;
        }
        let one_of_each = "SELECT min(workflow_id) FROM perennial.cells \
             LEFT JOIN perennial.runs ON slot BETWEEN first_slot AND last_slot AND workflow_id LIKE 'probe-%' \
             GROUP BY first_slot ORDER BY first_slot";
        let ids = postgres.sql(database, one_of_each)?;
        let ids: Vec<String> = ids.lines().map(str::to_owned).collect();
        ensure!(ids.iter().all(|id| !id.is_empty()), "a cell has no workflow to ask for");
        let answers =
            vec![Answers { last: Instant::now(), longest_gap: Duration::ZERO }; ids.len()];
        let shared = Arc::new(Shared {
            nodes,
            ids,
            struck: AtomicUsize::new(NOBODY),
            is_over: AtomicBool::new(false),
            answers: Mutex::new(answers),
        });
        let ask = |index| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.ask(index))
        };
        let threads = (0..shared.ids.len()).map(ask).collect();
        Ok(Self { shared, threads })
    }

    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        self.shared.ids.len()
    }

    /// Measures anew, because a fault begins. The struck node, if there is one, isn't asked.
    pub(super) fn begin_fault(&self, node: Option<usize>) {
        let now = Instant::now();
        self.shared.struck.store(node.unwrap_or(NOBODY), Ordering::Release);
        for answers in self.shared.answers().iter_mut() {
            *answers = Answers { last: now, longest_gap: Duration::ZERO };
        }
    }

    /// The struck node may be asked again.
    pub(super) fn end_fault(&self) {
        self.shared.struck.store(NOBODY, Ordering::Release);
    }

    /// Waits until every id has answered again. Returns the longest time without an answer since the fault began.
    pub(super) fn longest_gap(&self, patience: Duration) -> Result<Duration> {
        let since = Instant::now();
        loop {
            let answers = self.shared.answers().clone();
            let silent = answers.iter().position(|answers| answers.last <= since);
            let Some(silent) = silent else {
                let gaps = answers.iter().map(|answers| answers.longest_gap);
                return Ok(gaps.max().unwrap_or_default());
            };
            if since.elapsed() > patience {
                bail!("{} doesn't answer any more", self.shared.ids[silent]);
            }
            std::thread::sleep(PROBE_INTERVAL);
        }
    }

    /// Checks that every node answers for every id.
    pub(super) fn check_all(&self) -> Result<()> {
        for node in &self.shared.nodes {
            for id in &self.shared.ids {
                call(*node, "GET", &workflow(id), "")
                    .with_context(|| format!("the node {node} doesn't answer for {id}"))?;
            }
        }
        Ok(())
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            // It has no result.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn ask(&self, index: usize) {
        let path = workflow(&self.ids[index]);
        let mut turn = index;
        while !self.is_over.load(Ordering::Acquire) {
            turn += 1;
            let node = turn % self.nodes.len();
            if node == self.struck.load(Ordering::Acquire) {
                continue;
            }
            let asked = Instant::now();
            if call(self.nodes[node], "GET", &path, "").is_ok() {
                let now = Instant::now();
                let answers = &mut self.answers()[index];
                // An answer to a question from before the fault says nothing about it.
                if asked >= answers.last {
                    answers.longest_gap = answers.longest_gap.max(now - answers.last);
                    answers.last = now;
                }
            }
            std::thread::sleep(PROBE_INTERVAL);
        }
    }

    fn answers(&self) -> MutexGuard<'_, Vec<Answers>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn workflow(id: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/workflows/{id}")
}

/// A call over HTTP. Anything but 200 is an error.
fn call(node: SocketAddr, method: &str, path: &str, body: &str) -> Result<()> {
    let mut stream = TcpStream::connect_timeout(&node, ANSWERED_MAX).context("cannot connect")?;
    stream.set_read_timeout(Some(ANSWERED_MAX)).context("cannot set a timeout")?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).context("cannot send a request")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("there is no answer")?;
    ensure!(answer.starts_with("HTTP/1.1 200 "), "{method} {path}: {answer}");
    Ok(())
}
