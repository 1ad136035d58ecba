//! Calls that every node answers for itself: the client gets one answer for all of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use perennial_proto::encoded;
use perennial_proto::perennial::{EvaluateSchedulesRequest, EvaluateSchedulesResponse, Evaluated};
use perennial_proto::temporal::taskqueue::v1::{PollerInfo, TaskQueueStats, TaskQueueVersionInfo};
use perennial_proto::temporal::workflowservice::v1::DescribeTaskQueueResponse;
use prost::Message;
use tokio::task::JoinSet;
use tonic::Status;

use super::forwarding;
use crate::call_context::CallContext;
use crate::encoded_message::EncodedMessage;
use crate::errors::RpcResult;
use crate::services::{Rpc, Services};

/// Answers a call at this node, and has all others answer it too.
pub(super) async fn answer(
    services: Services,
    path: &str,
    rpc: Rpc,
    context: CallContext,
    message: Bytes,
) -> RpcResult<EncodedMessage> {
    if path.ends_with("/EvaluateSchedules") {
        return evaluate(services, path, rpc, context, message).await;
    }
    ask_all(services, path, rpc, context, message).await
}

/// Evaluates schedules at one node after the other, as many as the caller wants of all together.
async fn evaluate(
    services: Services,
    path: &str,
    rpc: Rpc,
    context: CallContext,
    message: Bytes,
) -> RpcResult<EncodedMessage> {
    let own = (rpc.handler)(services.clone(), rpc.needs, context.clone(), message.clone()).await?;
    // This node has decoded it, too.
    let request: EvaluateSchedulesRequest = decode(&message)?;
    let mut all: EvaluateSchedulesResponse = decode(own.as_message())?;
    for address in services.runtime().other_nodes() {
        let evaluated = all.evaluated.chunk_by(is_same).count();
        let left = i32::try_from(evaluated).map_or(0, |done| request.limit.saturating_sub(done));
        if request.limit > 0 && left <= 0 {
            // The other nodes weren't asked.
            all.has_more = true;
            break;
        }
        let rest = EvaluateSchedulesRequest { limit: left.max(0), ..request.clone() };
        let rest = encoded(&rest).into();
        match forwarding::pass_on(&services, &address, path, &context, &rest).await {
            Ok(answer) => add_evaluated(&mut all, decode(answer.as_message())?),
            Err(status) => {
                let why = status.message();
                tracing::warn!(address, why, "a node's schedules couldn't be evaluated");
                all.has_more = true;
            }
        }
    }
    Ok(EncodedMessage::of(&all))
}

async fn ask_all(
    services: Services,
    path: &str,
    rpc: Rpc,
    context: CallContext,
    message: Bytes,
) -> RpcResult<EncodedMessage> {
    // A call that is refused here is refused everywhere.
    let own = (rpc.handler)(services.clone(), rpc.needs, context.clone(), message.clone()).await?;
    let mut asked = JoinSet::new();
    for address in services.runtime().other_nodes() {
        let (services, path) = (services.clone(), path.to_owned());
        let (context, message) = (context.clone(), message.clone());
        asked.spawn(async move {
            let result = forwarding::pass_on(&services, &address, &path, &context, &message).await;
            (address, result)
        });
    }
    let mut others = Vec::new();
    while let Some(asked) = asked.join_next().await {
        match asked {
            Ok((_, Ok(answer))) => others.push(answer),
            Ok((address, Err(status))) => {
                let why = status.message();
                tracing::warn!(address, path, why, "a node couldn't be asked: its part is missing");
            }
            Err(error) => tracing::warn!(path, %error, "a node couldn't be asked"),
        }
    }
    match path.rsplit('/').next() {
        Some("DescribeTaskQueue") => merged(own, others, add_queue),
        Some(_) | None => Ok(own),
    }
}

fn merged<T: Message + Default>(
    own: EncodedMessage,
    others: Vec<EncodedMessage>,
    add: fn(&mut T, T),
) -> RpcResult<EncodedMessage> {
    let mut all = decode(own.as_message())?;
    for other in others {
        add(&mut all, decode(other.as_message())?);
    }
    Ok(EncodedMessage::of(&all))
}

fn decode<T: Message + Default>(message: &[u8]) -> RpcResult<T> {
    T::decode(message)
        .map_err(|error| Status::internal(format!("a message of a node can't be read: {error}")))
}

/// Whether two entries are of one schedule.
fn is_same(left: &Evaluated, right: &Evaluated) -> bool {
    (&left.namespace, &left.schedule_id) == (&right.namespace, &right.schedule_id)
}

/// The entries of a schedule stay together, and the schedules are in the order in which they were due.
fn add_evaluated(all: &mut EvaluateSchedulesResponse, other: EvaluateSchedulesResponse) {
    let mut schedules: Vec<Vec<Evaluated>> = Vec::new();
    for evaluated in [std::mem::take(&mut all.evaluated), other.evaluated] {
        schedules.extend(evaluated.chunk_by(is_same).map(<[Evaluated]>::to_vec));
    }
    schedules.sort_by_key(|times| {
        let first = times.first().and_then(|it| it.occurrence_time);
        first.map(|at| (at.seconds, at.nanos))
    });
    all.evaluated = schedules.into_iter().flatten().collect();
    all.has_more |= other.has_more;
}

#[allow(deprecated, reason = "tools still ask in the old modes")]
fn add_queue(all: &mut DescribeTaskQueueResponse, other: DescribeTaskQueueResponse) {
    add_pollers(&mut all.pollers, other.pollers);
    add_stats(&mut all.stats, other.stats);
    for (key, stats) in other.stats_by_priority_key {
        let mut present = all.stats_by_priority_key.remove(&key);
        add_stats(&mut present, Some(stats));
        all.stats_by_priority_key.extend(present.map(|stats| (key, stats)));
    }
    if let (Some(status), Some(other)) = (&mut all.task_queue_status, other.task_queue_status) {
        status.backlog_count_hint += other.backlog_count_hint;
    }
    for (build, info) in other.versions_info {
        add_version(all.versions_info.entry(build).or_default(), info);
    }
}

#[allow(deprecated, reason = "tools still ask in the old modes")]
fn add_version(all: &mut TaskQueueVersionInfo, other: TaskQueueVersionInfo) {
    for (kind, info) in other.types_info {
        let present = all.types_info.entry(kind).or_default();
        add_pollers(&mut present.pollers, info.pollers);
        add_stats(&mut present.stats, info.stats);
    }
}

/// A worker whose polls were lent is known to several nodes: the latest news of it counts.
fn add_pollers(all: &mut Vec<PollerInfo>, others: Vec<PollerInfo>) {
    let time = |poller: &PollerInfo| poller.last_access_time.map(|at| (at.seconds, at.nanos));
    let mut latest: BTreeMap<String, PollerInfo> = BTreeMap::new();
    for poller in std::mem::take(all).into_iter().chain(others) {
        match latest.get(&poller.identity) {
            Some(known) if time(known) >= time(&poller) => {}
            Some(_) | None => drop(latest.insert(poller.identity.clone(), poller)),
        }
    }
    all.extend(latest.into_values());
}

fn add_stats(all: &mut Option<TaskQueueStats>, other: Option<TaskQueueStats>) {
    let Some(other) = other else { return };
    let Some(all) = all else {
        *all = Some(other);
        return;
    };
    all.approximate_backlog_count += other.approximate_backlog_count;
    let age = |stats: &TaskQueueStats| {
        stats.approximate_backlog_age.map_or((0, 0), |age| (age.seconds, age.nanos))
    };
    if age(&other) > age(all) {
        all.approximate_backlog_age = other.approximate_backlog_age;
    }
    all.tasks_add_rate += other.tasks_add_rate;
    all.tasks_dispatch_rate += other.tasks_dispatch_rate;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(deprecated, reason = "a field that tools still read")]
    fn descriptions_of_a_queue_add_up() {
        let stats = |count, seconds| {
            Some(TaskQueueStats {
                approximate_backlog_count: count,
                approximate_backlog_age: Some(perennial_proto::Duration { seconds, nanos: 0 }),
                tasks_add_rate: 1.5,
                ..TaskQueueStats::default()
            })
        };
        let poller = |identity: &str, seconds| PollerInfo {
            identity: identity.to_owned(),
            last_access_time: Some(perennial_proto::Timestamp { seconds, nanos: 0 }),
            ..PollerInfo::default()
        };
        let node = |count, seconds, pollers: &[PollerInfo]| DescribeTaskQueueResponse {
            pollers: pollers.to_vec(),
            stats: stats(count, seconds),
            ..DescribeTaskQueueResponse::default()
        };
        let mut all = node(2, 5, &[poller("a", 10), poller("b", 10)]);
        add_queue(&mut all, node(3, 9, &[poller("a", 12), poller("c", 1)]));
        let seen: Vec<_> = all.pollers.iter().map(|it| it.identity.as_str()).collect();
        assert_eq!(seen, ["a", "b", "c"]);
        assert_eq!(all.pollers[0].last_access_time.unwrap().seconds, 12);
        let stats = all.stats.unwrap();
        assert_eq!(stats.approximate_backlog_count, 5);
        assert_eq!(stats.approximate_backlog_age.unwrap().seconds, 9);
        assert!((stats.tasks_add_rate - 3.0).abs() < f32::EPSILON);
    }
}
