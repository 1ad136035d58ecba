//! PageTokens of a schedule's audit stream.

use perennial_proto::perennial::{ListScheduleEventsRequest, ListScheduleEventsResponse};

use super::{ScheduleCall, page_limit};
use crate::errors::{RpcResult, refused};

const LIMIT_MAX: usize = 500;

impl ScheduleCall<'_> {
    pub(crate) async fn list_schedule_events(
        &self,
        request: ListScheduleEventsRequest,
    ) -> RpcResult<ListScheduleEventsResponse> {
        let (namespace, id) = (&request.namespace, &request.schedule_id);
        let schedule = self.incarnation(namespace, id, &request.internal_id).await?;
        let limit = page_limit(request.limit, LIMIT_MAX);
        let after = request.after_sequence.max(0);
        // One more than the limit, to know whether there is another page.
        let read = self.0.runtime().schedule_events(schedule.key, after, limit + 1).await;
        let mut events = read.map_err(refused)?;
        let has_more = events.len() > limit;
        events.truncate(limit);
        let next_cursor = events.last().map_or(after, |event| event.sequence);
        Ok(ListScheduleEventsResponse { events, has_more, next_cursor })
    }
}
