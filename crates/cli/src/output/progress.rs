//! Progress bars, on standard error.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Format, Output};

/// A progress bar. Hidden if standard error is no terminal, or with JSON output.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar with a known total.
    pub(crate) fn up_to(total: u64, output: &Output) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), target(output));
        bar.set_style(style("{bar:32} {human_pos}/{human_len}  {msg}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    /// A spinner, if the total is unknown.
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
    /// Removes the bar, so that only the result stays on the screen.
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn target(output: &Output) -> ProgressDrawTarget {
    match output.format {
        // indicatif hides it if standard error is no terminal.
        Format::Table => ProgressDrawTarget::stderr(),
        Format::Json | Format::Jsonl | Format::None => ProgressDrawTarget::hidden(),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
