//! The runtime's methods for schedules.

use std::sync::Arc;

use perennial_engine::run::Rejection;
use perennial_engine::schedule::{
    Command, CreateSchedule, EvaluatedTime, LedgerLine, Reply, Schedule,
};
use perennial_engine::{
    Entity, EntityId, EntityKey, EntityRef, Kind, NamespaceKey, Slot, SlotRange, Time,
};
use perennial_proto::perennial::ScheduleEvent;
use perennial_proto::store::{NamespaceRecord, Occurrence, ScheduleName};
use perennial_proto::temporal::enums::v1::WorkflowExecutionStatus;
use perennial_store::visibility::{
    AttributeColumn, Column, Comparison, Count, Filter, Position, Predefined, Query,
};
use perennial_store::{Log, RecordKind, RecordWrite, Store, StoredEntity};
use prost::Message;

use crate::cell::{Request, Response, ScheduleRequest, read_entity};
use crate::damage::Damaged;
use crate::listing::{SCHEDULE_DIVISION, attributes_of};
use crate::{Refusal, Runtime, unexpected};

/// Wake-ups read at a time.
const DUE_PAGE: usize = 1_000;

/// Times evaluated in one pass, approximately. The rest stays due.
const EVALUATED_MAX: usize = 10_000;

/// Page size of the schedule list when time zones have changed.
const ZONES_PAGE: usize = 200;

/// A page of schedules, and where the next one begins.
#[derive(Debug)]
pub struct SchedulePage {
    /// Their committed state.
    pub schedules: Vec<Schedule>,
    /// `None` if this is the last page.
    pub next: Option<Position>,
}

/// Result of one evaluation pass.
#[derive(Debug, Default)]
pub struct EvaluationPass {
    /// In the order they were due.
    pub schedules: Vec<EvaluatedSchedule>,
    /// More schedules are due.
    pub has_more: bool,
}

impl EvaluationPass {
    fn times(&self) -> usize {
        self.schedules.iter().map(|it| it.times.len()).sum()
    }
}

/// A schedule after it was evaluated.
#[derive(Debug)]
pub struct EvaluatedSchedule {
    /// Its current state.
    pub schedule: Arc<Schedule>,
    /// Outcome of each time evaluated in this pass.
    pub times: Vec<EvaluatedTime>,
}

/// A ledger of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ledger {
    /// Times of its spec.
    Scheduled,
    /// Times requested by clients: triggers and backfills.
    Manual,
}

/// Selects lines of a ledger.
#[derive(Debug, Clone, Copy)]
pub struct LedgerQuery {
    /// The ledger to read.
    pub ledger: Ledger,
    /// The first and the last time. Includes a line that begins before the window and overlaps it.
    pub window: (Time, Time),
    /// End position of the previous page.
    pub after: Option<i64>,
    /// Maximum number of lines.
    pub limit: usize,
    /// Return the latest lines first.
    pub reverse: bool,
}

/// A page of a ledger.
#[derive(Debug)]
pub struct LedgerPage {
    /// May be fewer than the limit even if more follow.
    pub lines: Vec<Occurrence>,
    /// End position of the page, if more follow.
    pub next: Option<i64>,
}

impl Runtime {
    /// Creates a schedule.
    pub async fn create_schedule(
        &self,
        namespace: NamespaceKey,
        schedule_id: String,
        create: CreateSchedule,
    ) -> Result<Arc<Schedule>, Refusal> {
        let target = ScheduleName { namespace: namespace.0, schedule_id, key: 0 };
        let ask = ScheduleRequest::Create(Box::new(create));
        self.ask_schedule(target, ask).await.map(|(schedule, _)| schedule)
    }

    /// Sends a command to a schedule. Returns its state afterwards.
    pub async fn send_to_schedule(
        &self,
        target: ScheduleName,
        command: Command,
    ) -> Result<(Arc<Schedule>, Reply), Refusal> {
        self.ask_schedule(target, ScheduleRequest::Command(command)).await
    }

    /// The current state of a schedule, deleted or not.
    pub async fn read_schedule(&self, target: ScheduleName) -> Result<Arc<Schedule>, Refusal> {
        self.ask_schedule(target, ScheduleRequest::Read).await.map(|(schedule, _)| schedule)
    }

    async fn ask_schedule(
        &self,
        target: ScheduleName,
        ask: ScheduleRequest,
    ) -> Result<(Arc<Schedule>, Reply), Refusal> {
        match self.ask(Request::Schedule { target, ask }).await? {
            Response::Schedule(schedule, reply) => Ok((schedule, reply)),
            other => Err(unexpected(&other)),
        }
    }

    /// A page of a namespace's schedules that match a filter.
    pub async fn list_schedules(
        &self,
        namespace: &NamespaceRecord,
        filter: &str,
        with_deleted: bool,
        page_size: usize,
        after: Option<Position>,
    ) -> Result<SchedulePage, Refusal> {
        let query = among_schedules(namespace, filter, with_deleted)?;
        self.schedules_found(NamespaceKey(namespace.key), query, page_size, after).await
    }

    async fn schedules_found(
        &self,
        key: NamespaceKey,
        query: Query,
        page_size: usize,
        after: Option<Position>,
    ) -> Result<SchedulePage, Refusal> {
        let node = Arc::clone(&self.node);
        self.with_store(move |store| {
            let page = store.list(key, &query, page_size, after.as_ref())?;
            let keys: Vec<_> = page.executions.iter().map(|row| EntityKey(row.run_key)).collect();
            let stored = store.load_by_keys(&keys)?;
            // A damaged schedule doesn't fail the list.
            let readable = |stored: &StoredEntity| match read_entity(stored, &node.zones) {
                Ok(Entity::Schedule(schedule)) => Some(Arc::unwrap_or_clone(schedule)),
                Ok(Entity::Run(_)) => None,
                Err(why) => {
                    let row = page.executions.iter().find(|row| row.run_key == stored.key.0);
                    let schedule_id = row.map(|row| row.workflow_id.clone()).unwrap_or_default();
                    let entity = EntityRef::current(EntityId::schedule(key, schedule_id));
                    node.damage.report(Damaged::Entity(entity), &why);
                    None
                }
            };
            let schedules = stored.iter().filter_map(readable).collect();
            Ok(SchedulePage { schedules, next: page.next })
        })
        .await
    }

    /// A schedule by incarnation. Its id may have been reused since.
    pub async fn earlier_schedule(
        &self,
        namespace: &NamespaceRecord,
        schedule_id: &str,
        incarnation: &str,
    ) -> Result<Option<Schedule>, Refusal> {
        let mut filters = schedules(true);
        filters.push(Filter::is_keyword(Column::RunId, incarnation));
        let query = Query { filter: Filter::And(filters), group_by: None };
        let page = self.schedules_found(NamespaceKey(namespace.key), query, 1, None).await?;
        Ok(page.schedules.into_iter().find(|it| it.head.schedule_id == schedule_id))
    }

    /// Number of a namespace's schedules that match a filter, by group if the filter groups.
    pub async fn count_schedules(
        &self,
        namespace: &NamespaceRecord,
        filter: &str,
    ) -> Result<Count, Refusal> {
        let query = among_schedules(namespace, filter, false)?;
        let key = NamespaceKey(namespace.key);
        self.with_store(move |store| store.count(key, &query)).await
    }

    /// Events of a schedule's audit stream, after a sequence number.
    pub async fn schedule_events(
        &self,
        key: EntityKey,
        after_sequence: i64,
        limit: usize,
    ) -> Result<Vec<ScheduleEvent>, Refusal> {
        let positions = (after_sequence.saturating_add(1), i64::MAX);
        self.with_store(move |store| {
            let lines = store.log(key, Log::Audit, positions, limit, false)?;
            lines.iter().map(|line| decode(&line.value)).collect()
        })
        .await
    }

    /// A page of a schedule's ledger: the outcome of each time.
    pub async fn schedule_ledger(
        &self,
        key: EntityKey,
        wanted: LedgerQuery,
    ) -> Result<LedgerPage, Refusal> {
        let LedgerQuery { ledger, window: (from, to), after, limit, reverse } = wanted;
        let log = match ledger {
            Ledger::Scheduled => Log::Ledger,
            Ledger::Manual => Log::ManualLedger,
        };
        self.with_store(move |store| {
            let (mut first, mut last) = LedgerLine::positions(ledger == Ledger::Manual, (from, to));
            let before = (i64::MIN, first.saturating_sub(1));
            for line in store.log(key, log, before, 1, true)? {
                if decode::<Occurrence>(&line.value)?.until >= from.0 {
                    first = line.position;
                }
            }
            match after {
                Some(position) if reverse => last = last.min(position.saturating_sub(1)),
                Some(position) => first = first.max(position.saturating_add(1)),
                None => {}
            }
            let lines = store.log(key, log, (first, last), limit + 1, reverse)?;
            let (page, rest) = lines.split_at(limit.min(lines.len()));
            let next = page.last().filter(|_| !rest.is_empty()).map(|line| line.position);
            let lines = page.iter().map(|line| decode(&line.value));
            let mut lines = lines.collect::<Result<Vec<Occurrence>, _>>()?;
            // Manual times are stored by their second, without its fraction.
            lines.retain(|line| line.until >= from.0 && line.nominal_at <= to.0);
            Ok(LedgerPage { lines, next })
        })
        .await
    }

    /// Evaluates up to `limit` due schedules, in the order they are due. Concurrent passes share the due times: each time
    /// is in the result of the pass that evaluated it.
    pub async fn evaluate_schedules(
        &self,
        namespace: Option<NamespaceKey>,
        limit: usize,
    ) -> Result<EvaluationPass, Refusal> {
        let now = self.now();
        let mut pass = EvaluationPass::default();
        let mut after = (Time(i64::MIN), EntityKey(i64::MIN));
        loop {
            let read = move |store: &dyn Store| store.wakes(SlotRange::ALL, after, now, DUE_PAGE);
            let page = self.with_store(read).await?;
            let Some(last) = page.last() else { return Ok(pass) };
            after = (last.at, last.key);
            for wake in page {
                let EntityId { namespace: of, kind, id: schedule_id } = wake.entity.id;
                // In a cluster each node evaluates its own.
                let is_own = self.node.owns(Slot::of(of, &schedule_id));
                if kind != Kind::Schedule || namespace.is_some_and(|only| only != of) || !is_own {
                    continue;
                }
                if pass.schedules.len() == limit || pass.times() >= EVALUATED_MAX {
                    pass.has_more = true;
                    return Ok(pass);
                }
                let target = ScheduleName { namespace: of.0, schedule_id, key: wake.key.0 };
                match self.evaluate_schedule(target).await {
                    Ok(evaluated) => pass.schedules.push(evaluated),
                    // Deleted, replaced by another of the same id, or damaged: continue with the others.
                    Err(Refusal::Rejected(_) | Refusal::Damaged(_)) => {}
                    Err(unanswered) => return Err(unanswered),
                }
            }
        }
    }

    /// Evaluates all due times of a schedule, in as many steps as needed.
    async fn evaluate_schedule(&self, target: ScheduleName) -> Result<EvaluatedSchedule, Refusal> {
        let mut all = Vec::new();
        loop {
            let (schedule, reply) =
                self.send_to_schedule(target.clone(), Command::Evaluate).await?;
            let Reply::Evaluated { times, has_more } = reply else {
                return Ok(EvaluatedSchedule { schedule, times: all });
            };
            all.extend(times);
            if !has_more || all.len() >= EVALUATED_MAX {
                return Ok(EvaluatedSchedule { schedule, times: all });
            }
        }
    }

    /// Re-evaluates every schedule that uses time zones if the zone database has changed since the last start: its next
    /// time may have moved. Cron chains keep their stored time.
    pub async fn take_up_zones(&self) -> Result<(), Refusal> {
        const KEY: &str = "zones";
        if !self.node.owns(Slot::CLUSTER) {
            return Ok(());
        }
        let zones = Arc::clone(&self.node.zones);
        let (stored, present) = self
            .with_store(move |store| {
                let stored = store.records(RecordKind::Cluster, KEY, "", 1)?.pop();
                Ok((stored.map(|(_, value)| value), zones.fingerprint().to_le_bytes().to_vec()))
            })
            .await?;
        if stored.as_ref() == Some(&present) {
            return Ok(());
        }
        for namespace in self.namespaces().iter() {
            let mut after = None;
            loop {
                let page =
                    self.list_schedules(namespace, "", false, ZONES_PAGE, after.take()).await?;
                for schedule in page.schedules.iter().filter(|it| it.times.depend_on_zones()) {
                    match self.wake_schedule_anywhere(schedule.name()).await {
                        // Deleted, replaced by another of the same id, or damaged.
                        Ok(()) | Err(Refusal::Rejected(_) | Refusal::Damaged(_)) => {}
                        Err(unanswered) => return Err(unanswered),
                    }
                }
                match page.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
        }
        // Written last: a process that ends before this starts again.
        let record =
            RecordWrite { kind: RecordKind::Cluster, key: KEY.to_owned(), value: Some(present) };
        self.ask(Request::PutRecord { slot: Slot::CLUSTER, record }).await.map(|_| ())
    }

    /// Deletes all rows of a schedule.
    pub(crate) async fn purge_schedule(&self, target: ScheduleName) -> Result<(), Refusal> {
        self.ask(Request::Schedule { target, ask: ScheduleRequest::Purge }).await.map(|_| ())
    }
}

/// A client's filter, restricted to schedules. Deleted ones only if requested.
fn among_schedules(
    namespace: &NamespaceRecord,
    filter: &str,
    with_deleted: bool,
) -> Result<Query, Rejection> {
    Query::parse_within(schedules(with_deleted), filter, &attributes_of(namespace))
        .map_err(|error| Rejection::InvalidArgument(error.to_string()))
}

/// Filters that select schedules.
fn schedules(with_deleted: bool) -> Vec<Filter> {
    let division = AttributeColumn::Predefined(Predefined::TemporalNamespaceDivision);
    let mut filters = vec![Filter::is_keyword(Column::Attribute(division), SCHEDULE_DIVISION)];
    if !with_deleted {
        let present = WorkflowExecutionStatus::Running.into();
        filters.push(Filter::status(Comparison::Equal, present));
    }
    filters
}

fn decode<T: Message + Default>(bytes: &[u8]) -> Result<T, perennial_store::Error> {
    T::decode(bytes).map_err(|error| perennial_store::Error::Corrupt(error.to_string()))
}
