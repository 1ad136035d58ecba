//! Names of commands and flags in older tools.

use super::scene::Scene;

#[test]
fn what_tctl_and_older_versions_called_it_works() {
    let scene = Scene::new();
    let ran = scene.json("wf run --tq main --wt Echo --wid echo-1 --et 60 --input '\"x\"'");
    assert_eq!(ran["result"], "x");
    let run = ran["runId"].as_str().unwrap();
    let shown = scene.json(&format!("workflow show --workflow_id echo-1 --run_id {run}"));
    assert_eq!(shown["events"].as_array().unwrap().len(), 5);
    assert!(scene.say("workflow observe echo-1").contains("WorkflowExecutionCompleted"));
    assert!(scene.say(&format!("workflow observe --wid echo-1 --rid {run}")).contains("Results:"));
    assert_eq!(scene.json("workflow:list --ps 1").as_array().unwrap().len(), 1);
    scene.json("taskqueue describe --tq main");
    scene.json("tq describe --taskqueue main");
    scene.json("namespace register shop --rd 3");
    let described = scene.json("namespace describe shop");
    assert_eq!(described["config"]["workflowExecutionRetentionTtl"], "259200s");
    scene.json("workflow start --workflow_type Waits --taskqueue main --workflow_id order-1");
    scene.json("workflow query --wid order-1 --query-type state");
    scene.json("workflow signal --wid order-1 --type finish");
    assert_eq!(scene.json("workflow result --wid order-1")["result"], "done");
}
