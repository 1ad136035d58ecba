//! Addresses of entities, to and from the names that each kind has.

use crate::store::{Address, EntityKind, EntityMessage, RunName, ScheduleName};

impl From<RunName> for Address {
    fn from(name: RunName) -> Self {
        let RunName { namespace, workflow_id, run_id, first_run_id } = name;
        let kind = EntityKind::Run.into();
        Self { namespace, id: workflow_id, run_id, first_run_id, kind, key: 0 }
    }
}

impl From<ScheduleName> for Address {
    fn from(name: ScheduleName) -> Self {
        let ScheduleName { namespace, schedule_id, key } = name;
        let kind = EntityKind::Schedule.into();
        Self { namespace, id: schedule_id, kind, key, ..Self::default() }
    }
}

impl Address {
    /// The run at this address, if it is a run's.
    pub fn run(&self) -> Option<RunName> {
        match self.kind() {
            EntityKind::Unspecified | EntityKind::Run => Some(RunName {
                namespace: self.namespace,
                workflow_id: self.id.clone(),
                run_id: self.run_id.clone(),
                first_run_id: self.first_run_id.clone(),
            }),
            EntityKind::Schedule => None,
        }
    }

    /// The schedule at this address, if it is a schedule's.
    pub fn schedule(&self) -> Option<ScheduleName> {
        match self.kind() {
            EntityKind::Schedule => Some(ScheduleName {
                namespace: self.namespace,
                schedule_id: self.id.clone(),
                key: self.key,
            }),
            EntityKind::Unspecified | EntityKind::Run => None,
        }
    }
}

impl EntityMessage {
    /// The message with its addresses where this version looks for them. Earlier versions stored a schedule's in
    /// fields of their own.
    ///
    /// ```
    /// use perennial_proto::store::{EntityKind, EntityMessage, ScheduleName};
    ///
    /// # #[allow(deprecated)]
    /// let stored = EntityMessage {
    ///     to_schedule: Some(ScheduleName { namespace: 1, schedule_id: "payroll".to_owned(), key: 7 }),
    ///     ..EntityMessage::default()
    /// };
    /// let target = stored.with_addresses().target.unwrap_or_default();
    /// assert_eq!((target.kind(), target.id.as_str(), target.key), (EntityKind::Schedule, "payroll", 7));
    /// ```
    #[allow(deprecated, reason = "this is the one reader of what earlier versions wrote")]
    pub fn with_addresses(mut self) -> Self {
        if let Some(schedule) = self.from_schedule.take() {
            self.sender = Some(schedule.into());
        }
        if let Some(schedule) = self.to_schedule.take() {
            self.target = Some(schedule.into());
        }
        self
    }
}
