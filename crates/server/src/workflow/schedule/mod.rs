//! Schedules in Temporal's API.

mod read;
mod show;

pub(crate) use read::{conflict_token as read_conflict_token, notes, overlap_policy};
pub(crate) use show::{conflict_token, described, list_entry};

use std::sync::Arc;
use std::time::Duration;

use perennial_engine::schedule::{Command, CreateSchedule, Schedule, UpdateSchedule};
use perennial_engine::{NamespaceKey, Time};
use perennial_proto::perennial::CommandContext;
use perennial_proto::store::{NamespaceRecord, ScheduleName};
use perennial_proto::temporal::enums::v1::{ResourceExhaustedCause, ResourceExhaustedScope};
use perennial_proto::temporal::workflowservice::v1::{
    CountSchedulesRequest, CountSchedulesResponse, CreateScheduleRequest, CreateScheduleResponse,
    DeleteScheduleRequest, DeleteScheduleResponse, DescribeScheduleRequest,
    DescribeScheduleResponse, ListScheduleMatchingTimesRequest, ListScheduleMatchingTimesResponse,
    ListSchedulesRequest, ListSchedulesResponse, PatchScheduleRequest, PatchScheduleResponse,
    UpdateScheduleRequest, UpdateScheduleResponse,
};
use perennial_telemetry::RefusalReason;

use super::visibility::page_size;
use crate::call::Call;
use crate::errors::{RpcResult, limit_reached, refused, rejected, schedule_refused};
use crate::search_attributes;
use crate::tokens::{PageTokens, Purpose};
use crate::validate::{self, invalid};

/// The most times in one preview.
const MATCHING_TIMES_MAX: usize = 1_000;

impl Call<'_> {
    pub(crate) async fn create_schedule(
        &self,
        request: CreateScheduleRequest,
    ) -> RpcResult<CreateScheduleResponse> {
        let namespace = self.namespace_key(&request.namespace)?;
        let schedule_id = request.schedule_id.clone();
        let create = self.schedule_to_create(request).await?;
        let created = self.runtime().create_schedule(namespace, schedule_id.clone(), create).await;
        let created = created.map_err(|why| schedule_refused(why, &schedule_id))?;
        Ok(CreateScheduleResponse { conflict_token: conflict_token(&created) })
    }

    /// Refuses another schedule in a namespace that has as many as it may have. One that exists is no other: its
    /// creation may be a retry.
    async fn check_schedule_count(
        &self,
        namespace: &NamespaceRecord,
        target: &ScheduleName,
    ) -> RpcResult<()> {
        let Some(max) = self.shared().limits().schedules_max(&namespace.name) else {
            return Ok(());
        };
        let present = self.runtime().count_schedules(namespace, "").await.map_err(refused)?;
        if usize::try_from(present.total).unwrap_or(0) < max
            || self.present_schedule(target.clone()).await.is_ok()
        {
            return Ok(());
        }
        self.runtime().metrics().refused(RefusalReason::Limit);
        let message = format!(
            "the namespace {:?} has {max} schedules, as many as it may have; delete some, or ask the \
             server's operator for more",
            namespace.name
        );
        let (cause, scope) =
            (ResourceExhaustedCause::ConcurrentLimit, ResourceExhaustedScope::Namespace);
        Err(limit_reached(message, cause, scope, Duration::from_secs(60)))
    }

    /// The schedule to create, with defaults filled in.
    pub(crate) async fn schedule_to_create(
        &self,
        request: CreateScheduleRequest,
    ) -> RpcResult<CreateSchedule> {
        let namespace = self.namespace(&request.namespace)?;
        let target = self.schedule_name(&request.namespace, &request.schedule_id)?;
        if request.request_id.is_empty() {
            return invalid("RequestId is not set on request.");
        }
        self.check_schedule_count(&namespace, &target).await?;
        let request_id = self.request_id(request.request_id)?;
        let schedule = request.schedule.unwrap_or_default();
        let mut config = self.schedule_config(&schedule, &target.schedule_id, &namespace)?;
        config.search_attributes =
            search_attributes::checked(request.search_attributes, &namespace)?;
        config.memo = self.checked_memo(request.memo)?;
        let context = self.asked_by(&request.identity, &request_id);
        let first = match request.initial_patch {
            Some(patch) => read::patch(patch, &request_id, context.as_ref())?,
            None => Vec::new(),
        };
        let state = read::state(schedule.state)?;
        Ok(CreateSchedule { request_id, config, state, first, context })
    }

    pub(crate) async fn describe_schedule(
        &self,
        request: DescribeScheduleRequest,
    ) -> RpcResult<DescribeScheduleResponse> {
        let target = self.schedule_name(&request.namespace, &request.schedule_id)?;
        let schedule = self.present_schedule(target).await?;
        Ok(described(&schedule, self.runtime().now()))
    }

    pub(crate) async fn update_schedule(
        &self,
        request: UpdateScheduleRequest,
    ) -> RpcResult<UpdateScheduleResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let target = self.schedule_name(&request.namespace, &request.schedule_id)?;
        let request_id = self.request_id(request.request_id)?;
        let schedule = request.schedule.unwrap_or_default();
        let given = search_attributes::checked(request.search_attributes.clone(), &namespace)?;
        let update = UpdateSchedule {
            conflict_token: read::conflict_token(&request.conflict_token)?,
            config: self.schedule_config(&schedule, &target.schedule_id, &namespace)?,
            state: read::state(schedule.state)?,
            search_attributes: request.search_attributes.map(|_| given.unwrap_or_default()),
            memo: self.checked_memo(request.memo)?,
            context: self.asked_by(&request.identity, &request_id),
            request_id,
        };
        let command = Command::Update(Box::new(update));
        self.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        Ok(UpdateScheduleResponse {})
    }

    pub(crate) async fn patch_schedule(
        &self,
        request: PatchScheduleRequest,
    ) -> RpcResult<PatchScheduleResponse> {
        let target = self.schedule_name(&request.namespace, &request.schedule_id)?;
        let Some(patch) = request.patch else {
            return invalid("Patch is not set on request.");
        };
        let request_id = self.request_id(request.request_id)?;
        let context = self.asked_by(&request.identity, &request_id);
        for command in read::patch(patch, &request_id, context.as_ref())? {
            self.runtime().send_to_schedule(target.clone(), command).await.map_err(refused)?;
        }
        Ok(PatchScheduleResponse {})
    }

    pub(crate) async fn list_schedule_matching_times(
        &self,
        request: ListScheduleMatchingTimesRequest,
    ) -> RpcResult<ListScheduleMatchingTimesResponse> {
        let target = self.schedule_name(&request.namespace, &request.schedule_id)?;
        let schedule = self.present_schedule(target).await?;
        let time = |given: Option<perennial_proto::Timestamp>| given.map_or(Time::NONE, Time::from);
        let (from, to) = (time(request.start_time), time(request.end_time));
        let times = schedule.times.due_between(from, to).take(MATCHING_TIMES_MAX);
        Ok(ListScheduleMatchingTimesResponse { start_time: times.map(Into::into).collect() })
    }

    pub(crate) async fn delete_schedule(
        &self,
        request: DeleteScheduleRequest,
    ) -> RpcResult<DeleteScheduleResponse> {
        let target = self.schedule_name(&request.namespace, &request.schedule_id)?;
        let context = self.asked_by(&request.identity, "");
        let command = Command::Delete { reason: "deleted".to_owned(), context };
        self.runtime().send_to_schedule(target, command).await.map_err(refused)?;
        Ok(DeleteScheduleResponse {})
    }

    pub(crate) async fn list_schedules(
        &self,
        request: ListSchedulesRequest,
    ) -> RpcResult<ListSchedulesResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let (keys, query) = (self.token_keys().await?, &request.query);
        let key = NamespaceKey(namespace.key);
        let pages = PageTokens::of_filter(keys, Purpose::ListSchedules, key, query);
        let size = page_size(request.maximum_page_size);
        let after = pages.after_position(&request.next_page_token)?;
        let page = self.runtime().list_schedules(&namespace, query, false, size, after).await;
        let page = page.map_err(refused)?;
        let now = self.runtime().now();
        Ok(ListSchedulesResponse {
            schedules: page.schedules.iter().map(|it| show::list_entry(it, now)).collect(),
            next_page_token: pages.next(page.next.map(|next| next.to_token())),
        })
    }

    pub(crate) async fn count_schedules(
        &self,
        request: CountSchedulesRequest,
    ) -> RpcResult<CountSchedulesResponse> {
        let namespace = self.namespace(&request.namespace)?;
        let counted = self.runtime().count_schedules(&namespace, &request.query).await;
        let counted = counted.map_err(refused)?;
        let groups = counted.groups.into_iter().map(show::count_group).collect();
        Ok(CountSchedulesResponse { count: counted.total, groups })
    }

    /// The current state of a schedule that isn't deleted.
    pub(crate) async fn present_schedule(&self, target: ScheduleName) -> RpcResult<Arc<Schedule>> {
        let schedule = self.runtime().read_schedule(target).await.map_err(refused)?;
        schedule.present().map_err(rejected)?;
        Ok(schedule)
    }

    /// The context of a command for the audit stream.
    fn asked_by(&self, identity: &str, request_id: &str) -> Option<CommandContext> {
        let given = CommandContext { principal: identity.to_owned(), ..CommandContext::default() };
        self.command_context(Some(given), request_id)
    }

    /// The schedule that a request names.
    pub(crate) fn schedule_name(
        &self,
        namespace: &str,
        schedule_id: &str,
    ) -> RpcResult<ScheduleName> {
        let namespace = self.namespace_key(namespace)?.0;
        if schedule_id.is_empty() {
            return invalid("ScheduleId is not set on request.");
        }
        validate::no_longer_than_an_id(schedule_id, "ScheduleId")?;
        Ok(ScheduleName { namespace, schedule_id: schedule_id.to_owned(), key: 0 })
    }
}
