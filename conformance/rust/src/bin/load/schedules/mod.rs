//! Load made of schedules, as bare gRPC calls.
//!
//! - `schedules fire <schedules> <seconds> <process id>`: every second, each; how late a worker hears of it.
//! - `schedules create <at once> <schedules> <seconds at most> <process id>`: that do nothing for a year.
//! - `schedules burst <schedules> <with a worker: 0 or 1>`: all due in the same second.
//! - `schedules look <schedules>`: describes and lists what `create` has made.
//! - `schedules crash <schedules> <log>`: every second, each, until the standard input ends, on a server
//!   that is killed meanwhile.

mod burst;
mod crash;
mod create;
mod fire;
mod look;
mod spec;
mod worker;

use serde_json::Value;
use temporalio_common::protos::temporal::api::workflowservice::v1::workflow_service_client::WorkflowServiceClient;
use tonic::transport::{Channel, Endpoint};

const NAMESPACE: &str = "default";
const IDENTITY: &str = "schedules";

type Service = WorkflowServiceClient<Channel>;

/// `None`: the command line can't be understood.
pub(crate) async fn run(address: &str, arguments: &[String]) -> Option<Value> {
    let (verb, rest) = arguments.split_first()?;
    let numbers: Option<Vec<u64>> = rest.iter().map(|it| it.parse().ok()).collect();
    Some(match (verb.as_str(), numbers.as_deref(), rest) {
        ("fire", Some(&[schedules, seconds, server]), _) => {
            fire::run(address, schedules, seconds, u32::try_from(server).ok()?).await
        }
        ("create", Some(&[at_once, schedules, seconds_max, server]), _) => {
            create::run(address, at_once, schedules, seconds_max, u32::try_from(server).ok()?).await
        }
        ("burst", Some(&[schedules, worker]), _) => {
            burst::run(address, schedules, worker != 0).await
        }
        ("look", Some(&[schedules]), _) => look::run(address, schedules).await,
        ("crash", None, [schedules, log]) => {
            crash::run(address, schedules.parse().ok()?, log.as_ref()).await
        }
        _ => return None,
    })
}

/// With several addresses, as in `host:port,host:port`, each call goes to one of these nodes.
async fn connect(addresses: &str) -> Service {
    let endpoint = |address| Endpoint::from_shared(format!("http://{address}"));
    let nodes: Result<Vec<Endpoint>, _> = addresses.split(',').map(endpoint).collect();
    match nodes.expect("an address is host:port").as_slice() {
        [node] => Service::new(node.connect().await.expect("the server answers")),
        nodes => Service::new(Channel::balance_list(nodes.iter().cloned())),
    }
}

/// At a share of the sorted values, in the values' unit.
fn at(sorted: &[f64], share: f64) -> Option<f64> {
    let index = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied()
}
