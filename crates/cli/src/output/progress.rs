//! Progress of something that takes a while, on standard error and only for people.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Format, Output};

/// A bar that shows how far something has come. Where nobody watches, it shows nothing.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar up to a total that is known.
    pub(crate) fn up_to(total: u64, output: &Output) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), target(output));
        bar.set_style(style("{bar:32} {human_pos}/{human_len}  {msg}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    /// A sign of life where no total is known.
    pub(crate) fn unbounded(output: &Output) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(output));
        bar.set_style(style("{spinner} {human_pos}  {msg}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    pub(crate) fn at(&self, position: u64, message: impl Into<String>) {
        self.bar.set_position(position);
        self.bar.set_message(message.into());
    }
}

impl Drop for Progress {
    /// The answer that follows has the last word.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn target(output: &Output) -> ProgressDrawTarget {
    match output.format {
        // Hides itself where standard error is no terminal.
        Format::Table => ProgressDrawTarget::stderr(),
        Format::Json | Format::Jsonl | Format::None => ProgressDrawTarget::hidden(),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
