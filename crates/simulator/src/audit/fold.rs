//! Checks that the history-derived part of a run's state is the fold of its history.

use perennial_engine::NamespaceKey;
use perennial_engine::run::{Identity, Origin, Run};

use super::Violation;
use super::histories::Recorded;

pub(super) fn check(recorded: &Recorded) -> Option<Violation> {
    let run = &recorded.run;
    // Buffered events are in no history yet. What a reset changes besides is tested in the engine.
    if !run.buffered.is_empty() || !run.head.ancestors.is_empty() || !run.is_open() {
        return None;
    }
    let identity = Identity {
        key: run.key,
        namespace: NamespaceKey(run.head.namespace),
        origin: Origin::default(),
        run_id: run.head.run_id.clone(),
        request_id: run.head.start_request_id.clone(),
    };
    let promise = "the state is the fold of the history";
    let Some(folded) = Run::replay(identity, &recorded.events) else {
        return Some(recorded.violation(promise, "the history can't be folded".to_owned()));
    };
    let (told, is) = (folded.history_derived(), run.history_derived());
    if told == is {
        return None;
    }
    let differs = |what, differs: bool| differs.then_some(what);
    let parts = [
        differs("head", told.head != is.head),
        differs("activities", told.activities != is.activities),
        differs("timers", told.timers != is.timers),
        differs("children", told.children != is.children),
        differs("signals", told.signals != is.signals),
        differs("cancels", told.cancels != is.cancels),
        differs("requests", told.requests != is.requests),
        differs("updates", told.updates != is.updates),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let (told, is) = (format!("{:?}", told.head), format!("{:?}", is.head));
    let what = format!("they differ in {}\n    told: {told}\n    is:   {is}", parts.join(", "));
    Some(recorded.violation(promise, what))
}
