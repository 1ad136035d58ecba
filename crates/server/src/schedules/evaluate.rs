//! Evaluates the schedules that are due, on request.

use perennial_engine::{NamespaceKey, Time};
use perennial_proto::perennial::{EvaluateSchedulesRequest, EvaluateSchedulesResponse, Evaluated};
use perennial_runtime::EvaluatedSchedule;

use super::{ScheduleCall, explanation, page_limit};
use crate::errors::{RpcResult, refused};

const LIMIT_MAX: usize = 1_000;

impl ScheduleCall<'_> {
    pub(crate) async fn evaluate_schedules(
        &self,
        request: EvaluateSchedulesRequest,
    ) -> RpcResult<EvaluateSchedulesResponse> {
        let limit = page_limit(request.limit, LIMIT_MAX);
        let namespace = match request.namespace.as_str() {
            "" => None,
            name => Some(NamespaceKey(self.0.namespace(name)?.key)),
        };
        let pass = self.0.runtime().evaluate_schedules(namespace, limit).await.map_err(refused)?;
        let evaluated = pass.schedules.iter().flat_map(|it| self.entries(it)).collect();
        Ok(EvaluateSchedulesResponse { evaluated, has_more: pass.has_more })
    }

    /// An entry for each occurrence that got its verdict.
    fn entries(&self, evaluated: &EvaluatedSchedule) -> Vec<Evaluated> {
        let head = &evaluated.schedule.head;
        let namespace = self.0.namespace_name(head.namespace);
        let last_fired_at = Time(head.last_fired_at).get().map(Into::into);
        let next_fire_at = evaluated.schedule.next_due().map(Into::into);
        let entry = |time: &perennial_engine::schedule::EvaluatedTime| Evaluated {
            namespace: namespace.clone(),
            schedule_id: head.schedule_id.clone(),
            instance_id: time.workflow_id.clone(),
            outcome: explanation::outcome(time.verdict).to_owned(),
            occurrence_time: Some(time.nominal.into()),
            last_fired_at,
            next_fire_at,
            reason: time.reason.clone(),
            run_id: time.run_id.clone(),
            count: time.count,
        };
        evaluated.times.iter().map(entry).collect()
    }
}
