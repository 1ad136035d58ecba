//! Flags of a workflow to start.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::common::v1::{Priority, WorkflowType};
use perennial_proto::temporal::sdk::v1::UserMetadata;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use serde_json::Value;

use super::length;
use super::pairs::{headers, json_pair, memo, search_attributes};
use super::payloads::{InputArgs, json_payload};
use crate::failure::Usage;

/// A workflow to start, except for its id: that flag differs between commands.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "new-workflow-args")]
pub(crate) struct NewWorkflowArgs {
    /// Workflow type
    #[arg(long = "type", aliases = ["name", "workflow-type", "wt"], value_name = "NAME")]
    #[arg(help_heading = "Workflow", id = "workflow_type")]
    workflow_type: Option<String>,

    /// Task queue of the workers that run it
    #[arg(long, short = 't', aliases = ["tq", "taskqueue"], value_name = "NAME", help_heading = "Workflow")]
    task_queue: Option<String>,

    /// Timeout of the workflow, including retries and runs that continue it as new
    #[arg(long, alias = "et", value_name = "DURATION", value_parser = timeout)]
    #[arg(help_heading = "Workflow")]
    execution_timeout: Option<Duration>,

    /// Timeout of a single run
    #[arg(long, alias = "rt", value_name = "DURATION", value_parser = timeout)]
    #[arg(help_heading = "Workflow")]
    run_timeout: Option<Duration>,

    /// Timeout of a workflow task; then another worker gets it [default: 10s]
    #[arg(long, value_name = "DURATION", help_heading = "Workflow", value_parser = parse_duration)]
    task_timeout: Option<Duration>,

    /// Memo of each run; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Workflow", value_parser = json_pair)]
    memo: Vec<(String, Value)>,

    /// Search attribute of each run; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Workflow", value_parser = json_pair)]
    search_attribute: Vec<(String, Value)>,

    /// Header of each run; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Workflow", value_parser = json_pair)]
    headers: Vec<(String, Value)>,

    /// One-line summary, shown by user interfaces
    #[arg(long, value_name = "TEXT", help_heading = "Workflow")]
    static_summary: Option<String>,

    /// Details in Markdown, shown by user interfaces
    #[arg(long, value_name = "TEXT", help_heading = "Workflow")]
    static_details: Option<String>,

    /// Priority of its tasks, 1 (highest) to 5 (lowest)
    #[arg(long, value_name = "N", help_heading = "Workflow")]
    priority_key: Option<i32>,

    /// Fairness key: workers are shared fairly between keys
    #[arg(long, value_name = "KEY", help_heading = "Workflow")]
    fairness_key: Option<String>,

    /// Weight of the fairness key, 0.001 to 1000
    #[arg(long, value_name = "WEIGHT", help_heading = "Workflow")]
    fairness_weight: Option<f32>,

    #[command(flatten)]
    input: InputArgs,
}

impl NewWorkflowArgs {
    /// Whether any flag was given.
    pub(crate) fn is_given(&self) -> bool {
        let texts = [
            &self.workflow_type,
            &self.task_queue,
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

    /// A new workflow from the flags.
    pub(crate) fn read(&self) -> anyhow::Result<NewWorkflowExecutionInfo> {
        if self.workflow_type.is_none() {
            return Err(Usage::new("missing workflow type: --type NAME").into());
        }
        if self.task_queue.is_none() {
            return Err(Usage::new("missing task queue: --task-queue NAME").into());
        }
        self.change(NewWorkflowExecutionInfo::default())
    }

    /// Applies the given flags to a workflow; everything else stays.
    pub(crate) fn change(
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
        for (given, place) in [
            (self.execution_timeout, &mut action.workflow_execution_timeout),
            (self.run_timeout, &mut action.workflow_run_timeout),
            (self.task_timeout, &mut action.workflow_task_timeout),
        ] {
            if let Some(given) = given {
                *place = Some(length(given)?);
            }
        }
        if let Some(input) = self.input.payloads()? {
            action.input = Some(input);
        }
        action.memo = memo(&self.memo).or(action.memo);
        let attributes = search_attributes(&self.search_attribute);
        action.search_attributes = attributes.or(action.search_attributes);
        action.header = headers(&self.headers).or(action.header);
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

/// Parses a duration. A bare number is seconds, as in tctl.
fn timeout(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => parse_duration(text).map_err(|error| error.to_string()),
    }
}
