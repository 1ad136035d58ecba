//! Events carry the principal that caused them.

use expect_test::expect;
use perennial_proto::temporal::common::v1::Principal;
use perennial_proto::temporal::enums::v1::ParentClosePolicy;
use perennial_proto::temporal::history::v1::HistoryEvent;

use crate::run::check;
use crate::run::kit::{World, start_request};
use crate::run::wanted::{child, complete, timer};

impl World {
    /// The next commands come from the API key of this name.
    fn by(&mut self, name: &str) -> &mut Self {
        self.principal = Some(Principal { r#type: "api-key".to_owned(), name: name.to_owned() });
        self
    }

    /// The next steps are the server's own.
    fn by_nobody(&mut self) -> &mut Self {
        self.principal = None;
        self
    }

    fn principals(&self, workflow_id: &str) -> String {
        let run = self.current(workflow_id).expect("the workflow was started");
        let of = |event: &HistoryEvent| {
            let kind = event.event_type().as_str_name();
            let kind = kind.strip_prefix("EVENT_TYPE_").unwrap_or(kind);
            let by = event.principal.as_ref();
            let by = by.map_or("-".to_owned(), |it| format!("{}:{}", it.r#type, it.name));
            format!("{} {kind} {by}\n", event.event_id)
        };
        self.events(&run.head.run_id).iter().map(of).collect()
    }
}

#[test]
fn events_carry_whoever_caused_them() {
    let mut world = World::new();
    world.by("shop").start(start_request()).expect("nothing stands in the way");
    world.by("worker").poll();
    // Buffered until the worker completes its task.
    world.by("ops").signal("hurry");
    world.by("worker").complete(vec![timer("t", 5), child("child", ParentClosePolicy::Abandon)]);
    world.by_nobody().deliver().seconds(5);
    world.by("worker").poll().complete(vec![complete("done")]);
    check(
        &world.principals("wf"),
        expect![[r#"
        1 WORKFLOW_EXECUTION_STARTED api-key:shop
        2 WORKFLOW_TASK_SCHEDULED api-key:shop
        3 WORKFLOW_TASK_STARTED api-key:worker
        4 WORKFLOW_TASK_COMPLETED api-key:worker
        5 TIMER_STARTED api-key:worker
        6 START_CHILD_WORKFLOW_EXECUTION_INITIATED api-key:worker
        7 WORKFLOW_EXECUTION_SIGNALED api-key:ops
        8 WORKFLOW_TASK_SCHEDULED api-key:worker
        9 CHILD_WORKFLOW_EXECUTION_STARTED -
        10 TIMER_FIRED -
        11 WORKFLOW_TASK_STARTED api-key:worker
        12 WORKFLOW_TASK_COMPLETED api-key:worker
        13 WORKFLOW_EXECUTION_COMPLETED api-key:worker
    "#]],
    );
    check(
        &world.principals("child"),
        expect![[r#"
        1 WORKFLOW_EXECUTION_STARTED -
        2 WORKFLOW_TASK_SCHEDULED -
    "#]],
    );
}

#[test]
fn event_of_the_server_in_the_buffer_is_not_ascribed_to_the_worker() {
    let mut world = World::new();
    world.by("shop").start(start_request()).expect("nothing stands in the way");
    world.by("worker").poll().complete(vec![timer("t", 5)]);
    world.by("ops").signal("look");
    world.by("worker").poll();
    world.by_nobody().seconds(5);
    world.by("worker").complete(Vec::new());
    check(
        &world.principals("wf"),
        expect![[r#"
        1 WORKFLOW_EXECUTION_STARTED api-key:shop
        2 WORKFLOW_TASK_SCHEDULED api-key:shop
        3 WORKFLOW_TASK_STARTED api-key:worker
        4 WORKFLOW_TASK_COMPLETED api-key:worker
        5 TIMER_STARTED api-key:worker
        6 WORKFLOW_EXECUTION_SIGNALED api-key:ops
        7 WORKFLOW_TASK_SCHEDULED api-key:ops
        8 WORKFLOW_TASK_STARTED api-key:worker
        9 WORKFLOW_TASK_COMPLETED api-key:worker
        10 TIMER_FIRED -
        11 WORKFLOW_TASK_SCHEDULED api-key:worker
    "#]],
    );
}

#[test]
fn events_of_anonymous_callers_carry_none() {
    let mut world = World::started();
    world.poll().complete(vec![complete("done")]);
    let events = world.events(&world.run().head.run_id);
    assert!(events.iter().all(|event| event.principal.is_none()));
}
