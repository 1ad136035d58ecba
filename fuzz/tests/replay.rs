//! Every input the fuzzer has kept goes through its target again.

use std::fs;
use std::path::Path;

fn replay(target: &str, attack: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&corpus).expect("every target has a corpus") {
        let path = entry.expect("the folder is readable").path();
        let data = fs::read(&path).expect("the corpus is readable");
        let told = std::panic::catch_unwind(|| attack(&data));
        assert!(told.is_ok(), "{} breaks {target}", path.display());
        inputs += 1;
    }
    assert!(inputs > 0, "the corpus of {target} is empty");
}

macro_rules! replays {
    ($($target:ident)*) => {$(
        #[test]
        fn $target() {
            replay(stringify!($target), perennial_fuzz::$target);
        }
    )*};
}

replays! {
    cron_temporal cron_dbos cron_classic calendar_json interval repeat recurrence settings zone_data
    several_lines token key_set client_certificate headers
}

#[test]
fn every_target_is_replayed() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets");
    let replayed = include_str!("replay.rs");
    for entry in fs::read_dir(targets).expect("the targets are there") {
        let path = entry.expect("the folder is readable").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a Rust file's name");
        assert!(replayed.contains(&format!(" {name}")), "{name} is missing in replay.rs");
    }
}
