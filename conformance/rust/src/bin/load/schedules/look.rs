//! Latency of describing, listing and counting many schedules.

use std::time::Instant;

use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::workflowservice::v1::{
    CountSchedulesRequest, DescribeScheduleRequest, ListSchedulesRequest,
};

use super::spec::schedule_id;
use super::{NAMESPACE, at, connect};

const DESCRIBED: u64 = 1_000;
const PAGES: usize = 100;
const PAGE: i32 = 100;
/// Prime, and larger than the number of schedules: steps of it visit all, far from each other.
const STRIDE: u64 = 15_485_863;

pub(super) async fn run(address: &str, schedules: u64) -> Value {
    let mut service = connect(address).await;
    let mut described = Vec::new();
    for number in 0..DESCRIBED {
        let describe = DescribeScheduleRequest {
            namespace: NAMESPACE.to_owned(),
            schedule_id: schedule_id(number * STRIDE % schedules.max(1)),
        };
        let began = Instant::now();
        service.describe_schedule(describe).await.expect("the schedule is there");
        described.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    let (mut listed, mut next_page_token) = (Vec::new(), Vec::new());
    for _ in 0..PAGES {
        let list = ListSchedulesRequest {
            namespace: NAMESPACE.to_owned(),
            maximum_page_size: PAGE,
            next_page_token,
            query: String::new(),
        };
        let began = Instant::now();
        let page = service.list_schedules(list).await.expect("the schedules are listed");
        listed.push(began.elapsed().as_secs_f64() * 1_000.0);
        next_page_token = page.into_inner().next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    let began = Instant::now();
    let count = CountSchedulesRequest { namespace: NAMESPACE.to_owned(), ..Default::default() };
    let counted = service.count_schedules(count).await.expect("the schedules are counted");
    let count_ms = began.elapsed().as_secs_f64() * 1_000.0;
    described.sort_unstable_by(f64::total_cmp);
    listed.sort_unstable_by(f64::total_cmp);
    json!({
        "describe_p50_ms": at(&described, 0.5),
        "describe_p99_ms": at(&described, 0.99),
        "list_p50_ms": at(&listed, 0.5),
        "list_p99_ms": at(&listed, 0.99),
        "count_ms": count_ms,
        "counted": counted.into_inner().count,
    })
}
