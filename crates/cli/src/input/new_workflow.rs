//! The flags that say what a new workflow is.

use std::time::Duration;

use perennial_calendar::parse_duration;
use perennial_proto::temporal::common::v1::{Priority, WorkflowType};
use perennial_proto::temporal::sdk::v1::UserMetadata;
use perennial_proto::temporal::taskqueue::v1::TaskQueue;
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use serde_json::Value;

use super::pairs::{headers, json_pair, memo, search_attributes};
use super::payloads::{InputArgs, json_payload};
use crate::failure::Usage;

/// A workflow to start. Its id isn't said here.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "new-workflow-args")]
pub(crate) struct NewWorkflowArgs {
    /// Workflow type
    #[arg(
        long = "type",
        alias = "name",
        alias = "workflow-type",
        alias = "wt",
        value_name = "NAME"
    )]
    #[arg(help_heading = "Workflow", id = "workflow_type")]
    workflow_type: Option<String>,

    /// Task queue whose workers run it
    #[arg(long, short, alias = "tq", alias = "taskqueue", value_name = "NAME")]
    #[arg(help_heading = "Workflow")]
    task_queue: Option<String>,

    /// Fail a workflow that takes longer than this, with retries and new runs
    #[arg(long, alias = "et", value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Workflow")]
    execution_timeout: Option<Duration>,

    /// Fail a run that takes longer than this
    #[arg(long, alias = "rt", value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Workflow")]
    run_timeout: Option<Duration>,

    /// Give a workflow task to another worker after this long [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    #[arg(help_heading = "Workflow")]
    task_timeout: Option<Duration>,

    /// Memo; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Workflow", value_parser = json_pair)]
    memo: Vec<(String, Value)>,

    /// Search attribute; repeatable
    #[arg(long, alias = "search-attr", value_name = "KEY=JSON", value_parser = json_pair)]
    #[arg(help_heading = "Workflow")]
    search_attribute: Vec<(String, Value)>,

    /// Header that workflow code sees; repeatable
    #[arg(long, value_name = "KEY=JSON", help_heading = "Workflow", value_parser = json_pair)]
    headers: Vec<(String, Value)>,

    /// One line on what it does, shown by user interfaces
    #[arg(long, value_name = "TEXT", help_heading = "Workflow")]
    static_summary: Option<String>,

    /// More on what it does, as Markdown
    #[arg(long, value_name = "TEXT", help_heading = "Workflow")]
    static_details: Option<String>,

    /// Priority of its tasks, 1 (first) to 5 (last)
    #[arg(long, value_name = "N", help_heading = "Workflow")]
    priority_key: Option<i32>,

    /// Tasks of one key share what workers can do
    #[arg(long, value_name = "KEY", help_heading = "Workflow")]
    fairness_key: Option<String>,

    /// How large the share of the key is, 0.001 to 1000
    #[arg(long, value_name = "WEIGHT", help_heading = "Workflow")]
    fairness_weight: Option<f32>,

    #[command(flatten)]
    input: InputArgs,
}

impl NewWorkflowArgs {
    /// The workflow; type and task queue have to be there.
    pub(crate) fn read(&self) -> anyhow::Result<NewWorkflowExecutionInfo> {
        let name = self.workflow_type.clone();
        let name = name.ok_or_else(|| Usage::new("say which workflow to start: --type NAME"))?;
        let queue = self.task_queue.clone();
        let queue =
            queue.ok_or_else(|| Usage::new("say whose workers run it: --task-queue NAME"))?;
        let length = |length: Option<Duration>| length.map(message_of).transpose();
        let text = |text: &Option<String>| text.clone().map(|text| json_payload(&text.into()));
        let (summary, details) = (text(&self.static_summary), text(&self.static_details));
        let is_told = summary.is_some() || details.is_some();
        Ok(NewWorkflowExecutionInfo {
            workflow_type: Some(WorkflowType { name }),
            task_queue: Some(TaskQueue { name: queue, ..TaskQueue::default() }),
            input: self.input.payloads()?,
            workflow_execution_timeout: length(self.execution_timeout)?,
            workflow_run_timeout: length(self.run_timeout)?,
            workflow_task_timeout: length(self.task_timeout)?,
            memo: memo(&self.memo),
            search_attributes: search_attributes(&self.search_attribute),
            header: headers(&self.headers),
            user_metadata: is_told.then_some(UserMetadata { summary, details }),
            priority: self.priority(),
            ..NewWorkflowExecutionInfo::default()
        })
    }

    fn priority(&self) -> Option<Priority> {
        let given = self.priority_key.is_some()
            || self.fairness_key.is_some()
            || self.fairness_weight.is_some();
        given.then(|| Priority {
            priority_key: self.priority_key.unwrap_or_default(),
            fairness_key: self.fairness_key.clone().unwrap_or_default(),
            fairness_weight: self.fairness_weight.unwrap_or_default(),
        })
    }
}

fn message_of(length: Duration) -> anyhow::Result<perennial_proto::Duration> {
    let read = perennial_proto::Duration::try_from(length);
    read.map_err(|_| Usage::new("a duration is too long").into())
}
