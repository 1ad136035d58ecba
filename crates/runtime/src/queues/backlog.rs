//! Tasks that wait for a poller: the most urgent first, and fair among those equally urgent.

use std::collections::BTreeMap;

use perennial_engine::Time;
use perennial_proto::store::WaitingTask;

/// Priority of a task that names none. 1 is the most urgent, 5 the least.
const DEFAULT_PRIORITY: i32 = 3;
/// A pass moves on by this much for a key of weight 1.
const STRIDE: f64 = 1_000_000.0;

/// Waiting tasks of one queue.
///
/// Within a priority each fairness key has a pass, moved on by each of its tasks the more the less its
/// weight is; the task with the smallest pass is next. So keys share the workers by their weights, however
/// long one key's own line is.
#[derive(Default)]
pub(super) struct Backlog {
    by_priority: BTreeMap<i32, Level>,
    len: usize,
}

#[derive(Default)]
struct Level {
    waiting: BTreeMap<(u64, i64), WaitingTask>,
    passes: BTreeMap<String, u64>,
    /// The pass of the last task taken: a key that comes anew begins here, not in the past.
    now: u64,
}

impl Backlog {
    pub(super) fn push(&mut self, task: WaitingTask) {
        let priority = task.priority.clone().unwrap_or_default();
        let level =
            if priority.priority_key > 0 { priority.priority_key } else { DEFAULT_PRIORITY };
        let level = self.by_priority.entry(level).or_default();
        let weight = if priority.fairness_weight > 0.0 {
            f64::from(priority.fairness_weight).clamp(0.001, 1000.0)
        } else {
            1.0
        };
        let last = level.passes.get(&priority.fairness_key).copied().unwrap_or(0).max(level.now);
        let pass = last + (STRIDE / weight) as u64;
        level.passes.insert(priority.fairness_key, pass);
        level.waiting.insert((pass, task.key), task);
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<WaitingTask> {
        let mut level = self.by_priority.first_entry()?;
        let ((pass, _), task) = level.get_mut().waiting.pop_first()?;
        level.get_mut().now = pass;
        if level.get().waiting.is_empty() {
            level.remove();
        }
        self.len -= 1;
        Some(task)
    }

    /// Drops those that aren't to be kept.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&WaitingTask) -> bool) {
        self.by_priority.retain(|_, level| {
            level.waiting.retain(|_, task| is_kept(task));
            !level.waiting.is_empty()
        });
        self.len = self.by_priority.values().map(|level| level.waiting.len()).sum();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn oldest(&self) -> Option<Time> {
        let tasks = self.by_priority.values().flat_map(|level| level.waiting.values());
        tasks.map(|task| Time(task.created_at)).min()
    }
}

#[cfg(test)]
mod tests {
    use perennial_proto::temporal::common::v1::Priority;

    use super::*;

    fn task(key: i64, priority_key: i32, fairness_key: &str, fairness_weight: f32) -> WaitingTask {
        let fairness_key = fairness_key.to_owned();
        let priority = Priority { priority_key, fairness_key, fairness_weight };
        WaitingTask { key, priority: Some(priority), ..WaitingTask::default() }
    }

    fn drained(tasks: Vec<WaitingTask>) -> Vec<i64> {
        let mut backlog = Backlog::default();
        tasks.into_iter().for_each(|task| backlog.push(task));
        std::iter::from_fn(|| backlog.pop()).map(|task| task.key).collect()
    }

    #[test]
    fn urgent_tasks_come_first_and_equal_ones_in_order() {
        let tasks = vec![
            task(1, 0, "", 0.0),
            task(2, 5, "", 0.0),
            task(3, 1, "", 0.0),
            task(4, 3, "", 0.0),
        ];
        assert_eq!(drained(tasks), [3, 1, 4, 2]);
    }

    #[test]
    fn a_key_with_a_long_line_doesnt_hold_up_another() {
        let mut tasks: Vec<_> = (1..=100).map(|key| task(key, 0, "big", 1.0)).collect();
        tasks.extend((101..=110).map(|key| task(key, 0, "small", 1.0)));
        let first: Vec<_> = drained(tasks).into_iter().take(20).collect();
        assert_eq!(first.iter().filter(|key| **key > 100).count(), 10);
    }

    #[test]
    fn keys_share_by_their_weights() {
        let mut tasks: Vec<_> = (1..=100).map(|key| task(key, 0, "heavy", 3.0)).collect();
        tasks.extend((101..=200).map(|key| task(key, 0, "light", 1.0)));
        let first: Vec<_> = drained(tasks).into_iter().take(40).collect();
        assert_eq!(first.iter().filter(|key| **key <= 100).count(), 30);
    }
}
