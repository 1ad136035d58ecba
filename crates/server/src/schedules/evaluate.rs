//! One look at the schedules that are due.

use perennial_engine::Time;
use perennial_proto::perennial::{EvaluateSchedulesRequest, EvaluateSchedulesResponse, Evaluated};

use super::{ScheduleCall, page_limit};
use crate::errors::{Answer, refused};

const LIMIT_MAX: usize = 1_000;

impl ScheduleCall<'_> {
    pub(crate) async fn evaluate_schedules(
        &self,
        request: EvaluateSchedulesRequest,
    ) -> Answer<EvaluateSchedulesResponse> {
        let limit = page_limit(request.limit, LIMIT_MAX);
        let evaluated = self.0.runtime().evaluate_schedules(limit).await.map_err(refused)?;
        let evaluated = evaluated.into_iter().map(|(before, after)| {
            let (was, is) = (&before.head, &after.head);
            let started = is.recent_actions.last().filter(|_| is.action_count > was.action_count);
            let outcome = if started.is_some() {
                "triggered"
            } else if after.buffer.len() > before.buffer.len() {
                "buffered"
            } else if is.settled_up_to > was.settled_up_to {
                "skipped"
            } else {
                "nothing_due"
            };
            let is_settled = is.settled_up_to > was.settled_up_to;
            Evaluated {
                namespace: self.0.namespace_name(is.namespace),
                schedule_id: is.schedule_id.clone(),
                instance_id: started.map(|it| it.workflow_id.clone()).unwrap_or_default(),
                outcome: outcome.to_owned(),
                occurrence_time: is_settled.then(|| Time(is.settled_up_to).into()),
                last_fired_at: Time(is.last_fired_at).get().map(Into::into),
                next_fire_at: after.next_due().map(Into::into),
            }
        });
        Ok(EvaluateSchedulesResponse { evaluated: evaluated.collect() })
    }
}
