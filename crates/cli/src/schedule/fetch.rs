//! Fetches a schedule, from Perennial's or Temporal's server.

use perennial_proto::perennial;
use perennial_proto::temporal::schedule::v1::ScheduleSpec;
use perennial_proto::temporal::workflowservice::v1::{
    DescribeScheduleRequest, DescribeScheduleResponse,
};
use tonic::Status;

use super::is_unimplemented;
use crate::client::Client;

/// A schedule, with Perennial's additional fields.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) id: String,
    pub(super) schedule: DescribeScheduleResponse,
    /// Perennial's fields; its own `schedule` is moved out. `None` from Temporal's server.
    pub(super) ours: Option<perennial::DescribeScheduleResponse>,
}

impl Described {
    pub(super) fn spec(&self) -> ScheduleSpec {
        let schedule = self.schedule.schedule.as_ref();
        schedule.and_then(|schedule| schedule.spec.clone()).unwrap_or_default()
    }
}

/// Fetches one schedule.
pub(super) async fn describe(client: &Client, id: &str) -> Result<Described, Status> {
    let id = id.to_owned();
    let request = perennial::DescribeScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        ..perennial::DescribeScheduleRequest::default()
    };
    match client.schedules().describe_schedule(request).await {
        Ok(response) => {
            let mut ours = response.into_inner();
            let schedule = ours.schedule.take().unwrap_or_default();
            Ok(Described { id, schedule, ours: Some(ours) })
        }
        Err(status) if is_unimplemented(&status) => {
            let request = DescribeScheduleRequest {
                namespace: client.namespace.clone(),
                schedule_id: id.clone(),
            };
            let schedule = client.workflow().describe_schedule(request).await?.into_inner();
            Ok(Described { id, schedule, ours: None })
        }
        Err(status) => Err(status),
    }
}
