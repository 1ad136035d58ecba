//! The flags that say what a schedule starts.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::common::v1::{Header, Priority, WorkflowType};
use perennial_proto::temporal::sdk::v1::UserMetadata;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use serde_json::Value;

use crate::failure::Usage;
use crate::input::{InputArgs, json_pair, json_payload, memo, search_attributes};

/// The workflow that is started.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "what-args")]
pub(super) struct WhatArgs {
    /// Workflow type
    #[arg(long = "type", alias = "name", alias = "workflow-type", value_name = "NAME")]
    #[arg(help_heading = "What", id = "workflow_type")]
    workflow_type: Option<String>,

    /// Task queue whose workers run it
    #[arg(long, short = 't', alias = "tq", value_name = "NAME", help_heading = "What")]
    task_queue: Option<String>,

    /// Workflow id, to which the time is added [default: the schedule's id]
    #[arg(long, short = 'w', alias = "wid", value_name = "ID", help_heading = "What")]
    workflow_id: Option<String>,

    /// Fail a workflow that takes longer than this, with retries and new runs
    #[arg(long, value_name = "DURATION", help_heading = "What", value_parser = parse_duration)]
    execution_timeout: Option<Duration>,

    /// Fail a run that takes longer than this
    #[arg(long, value_name = "DURATION", help_heading = "What", value_parser = parse_duration)]
    run_timeout: Option<Duration>,

    /// Give a workflow task to another worker after this long [default: 10s]
    #[arg(long, value_name = "DURATION", help_heading = "What", value_parser = parse_duration)]
    task_timeout: Option<Duration>,

    /// Memo of each run; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "What", value_parser = json_pair)]
    memo: Vec<(String, Value)>,

    /// Search attribute of each run; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "What", value_parser = json_pair)]
    search_attribute: Vec<(String, Value)>,

    /// Header of each run; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "What", value_parser = json_pair)]
    headers: Vec<(String, Value)>,

    /// One line on what it does, shown by user interfaces
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    static_summary: Option<String>,

    /// More on what it does, as Markdown
    #[arg(long, value_name = "TEXT", help_heading = "What")]
    static_details: Option<String>,

    /// Priority of its tasks, 1 (first) to 5 (last)
    #[arg(long, value_name = "N", help_heading = "What")]
    priority_key: Option<i32>,

    /// Tasks of one key share what workers can do
    #[arg(long, value_name = "KEY", help_heading = "What")]
    fairness_key: Option<String>,

    /// How large the share of the key is, 0.001 to 1000
    #[arg(long, value_name = "WEIGHT", help_heading = "What")]
    fairness_weight: Option<f32>,

    #[command(flatten)]
    input: InputArgs,
}

impl WhatArgs {
    /// Whether any of them was given.
    pub(super) fn is_given(&self) -> bool {
        let texts = [
            &self.workflow_type,
            &self.task_queue,
            &self.workflow_id,
            &self.static_summary,
            &self.static_details,
            &self.fairness_key,
        ];
        let timeouts = [self.execution_timeout, self.run_timeout, self.task_timeout];
        let pairs = [&self.memo, &self.search_attribute, &self.headers];
        texts.iter().any(|it| it.is_some())
            || timeouts.iter().any(|it| it.is_some())
            || pairs.iter().any(|it| !it.is_empty())
            || self.priority_key.is_some()
            || self.fairness_weight.is_some()
            || self.input.is_given()
    }

    /// A new action.
    pub(super) fn read(&self) -> anyhow::Result<NewWorkflowExecutionInfo> {
        if self.workflow_type.is_none() {
            return Err(Usage::new("say which workflow to start: --type NAME").into());
        }
        if self.task_queue.is_none() {
            return Err(Usage::new("say whose workers run it: --task-queue NAME").into());
        }
        self.change(NewWorkflowExecutionInfo::default())
    }

    /// What they make of an action: what is given takes the place of what was there.
    pub(super) fn change(
        &self,
        present: NewWorkflowExecutionInfo,
    ) -> anyhow::Result<NewWorkflowExecutionInfo> {
        let mut action = present;
        if let Some(name) = &self.workflow_type {
            action.workflow_type = Some(WorkflowType { name: name.clone() });
        }
        if let Some(name) = &self.task_queue {
            action.task_queue = Some(TaskQueue { name: name.clone(), ..TaskQueue::default() });
        }
        if let Some(id) = &self.workflow_id {
            action.workflow_id.clone_from(id);
        }
        for (given, place) in [
            (self.execution_timeout, &mut action.workflow_execution_timeout),
            (self.run_timeout, &mut action.workflow_run_timeout),
            (self.task_timeout, &mut action.workflow_task_timeout),
        ] {
            if let Some(length) = given {
                *place = Some(super::length(length)?);
            }
        }
        if let Some(input) = self.input.payloads()? {
            action.input = Some(input);
        }
        action.memo = memo(&self.memo).or(action.memo);
        let attributes = search_attributes(&self.search_attribute);
        action.search_attributes = attributes.or(action.search_attributes);
        if !self.headers.is_empty() {
            let fields = self.headers.iter().map(|(key, value)| (key.clone(), json_payload(value)));
            action.header = Some(Header { fields: fields.collect() });
        }
        let text =
            |text: &Option<String>| text.clone().map(|text| json_payload(&Value::from(text)));
        let (summary, details) = (text(&self.static_summary), text(&self.static_details));
        if summary.is_some() || details.is_some() {
            let present = action.user_metadata.unwrap_or_default();
            action.user_metadata = Some(UserMetadata {
                summary: summary.or(present.summary),
                details: details.or(present.details),
            });
        }
        let given = self.priority_key.is_some()
            || self.fairness_key.is_some()
            || self.fairness_weight.is_some();
        if given {
            let present = action.priority.unwrap_or_default();
            action.priority = Some(Priority {
                priority_key: self.priority_key.unwrap_or(present.priority_key),
                fairness_key: self.fairness_key.clone().unwrap_or(present.fairness_key),
                fairness_weight: self.fairness_weight.unwrap_or(present.fairness_weight),
            });
        }
        Ok(action)
    }
}
