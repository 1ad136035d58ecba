use expect_test::expect;

use super::check;
use crate::perennial::{perennial, said_by};

const NEXT: [&str; 6] =
    ["calendar", "next", "0 9 * * *", "--from=2026-11-15T12:00:00Z", "-n1", "-o=jsonl"];

#[test]
fn neither_the_zone_nor_the_language_of_the_machine_matters() {
    let plain = said_by(&mut perennial(&NEXT));
    let mut elsewhere = perennial(&NEXT);
    elsewhere.envs([("TZ", "Asia/Tokyo"), ("LANG", "de_DE.UTF-8"), ("LC_ALL", "ar_EG.UTF-8")]);
    assert_eq!(said_by(&mut elsewhere), plain);
    expect![[r#"
        {"nominal":"2026-11-16T09:00:00Z","local":"2026-11-16T09:00:00+00:00[UTC]","due":"2026-11-16T09:00:00Z","part":"calendar 1"}
    "#]].assert_eq(&plain);
}

#[test]
fn local_is_the_zone_of_the_machine() {
    let mut command = perennial(&NEXT);
    command.arg("--tz=local").env("TZ", "Asia/Tokyo");
    expect![[r#"
        {"nominal":"2026-11-16T00:00:00Z","local":"2026-11-16T09:00:00+09:00[Asia/Tokyo]","due":"2026-11-16T00:00:00Z","part":"calendar 1"}
    "#]].assert_eq(&said_by(&mut command));
}

#[test]
fn a_machine_without_zones_uses_the_embedded_ones() {
    let mut command = perennial(&NEXT);
    command.arg("--tz=Asia/Tokyo").env("TZDIR", "/nowhere/at/all");
    expect![[r#"
        {"nominal":"2026-11-16T00:00:00Z","local":"2026-11-16T09:00:00+09:00[Asia/Tokyo]","due":"2026-11-16T00:00:00Z","part":"calendar 1"}
    "#]].assert_eq(&said_by(&mut command));
}

#[test]
fn a_system_that_lacks_a_zone_is_helped_out() {
    let directory = std::env::temp_dir().join(format!("perennial-zones-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("Somewhere")).unwrap();
    std::fs::write(directory.join("Somewhere/Else"), tzif_of_utc_plus_5()).unwrap();
    let mut known = perennial(&NEXT);
    known.arg("--tz=Somewhere/Else").env("TZDIR", &directory);
    expect![[r#"
        {"nominal":"2026-11-16T04:00:00Z","local":"2026-11-16T09:00:00+05:00[Somewhere/Else]","due":"2026-11-16T04:00:00Z","part":"calendar 1"}
    "#]].assert_eq(&said_by(&mut known));
    let mut unknown = perennial(&NEXT);
    unknown.arg("--tz=US/Pacific").env("TZDIR", &directory);
    expect![[r#"
        {"nominal":"2026-11-15T17:00:00Z","local":"2026-11-15T09:00:00-08:00[US/Pacific]","due":"2026-11-15T17:00:00Z","part":"calendar 1"}
    "#]].assert_eq(&said_by(&mut unknown));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_zone_may_be_a_file() {
    let file = std::env::temp_dir().join(format!("perennial-{}.tzif", std::process::id()));
    std::fs::write(&file, tzif_of_utc_plus_5()).unwrap();
    let tzif = format!("--tzif={}", file.display());
    let next = ["next", "0 9 * * *", "--from=2026-11-15T12:00:00Z", "-n1", "-o=jsonl"];
    check(
        &[&next[..], &[&tzif, "--tz=Ship/Time"]].concat(),
        expect![[r#"
        {"nominal":"2026-11-16T04:00:00Z","local":"2026-11-16T09:00:00+05:00[Ship/Time]","due":"2026-11-16T04:00:00Z","part":"calendar 1"}
    "#]],
    );
    let conflict = ["next", "CRON_TZ=Europe/Oslo @daily", &tzif, "--tz=Ship/Time"];
    check(
        &conflict,
        expect![[r#"
            -- stderr --
            error: --tzif: the spec's parts disagree on the time zone: Europe/Oslo and Ship/Time; name the same in each
            -- exit 2 --
        "#]],
    );
    std::fs::write(&file, "not a zone").unwrap();
    check(
        &["next", "@daily", &tzif, "--tz=Ship/Time"],
        expect![[r#"
        -- stderr --
        error: the time zone data of "Ship/Time" is not a readable TZif file: invalid 32-bit TZif header: too short
        -- exit 2 --
    "#]],
    );
    std::fs::remove_file(file).unwrap();
}

/// The smallest TZif file: one type of local time, no transitions, a footer.
fn tzif_of_utc_plus_5() -> Vec<u8> {
    let header = |version: &[u8]| {
        let mut bytes = b"TZif".to_vec();
        bytes.extend(version);
        bytes.extend([0; 15]);
        // Counts: UT flags, standard flags, leap seconds, transitions, types, bytes of names.
        for count in [0_u32, 0, 0, 0, 1, 4] {
            bytes.extend(count.to_be_bytes());
        }
        bytes.extend((5 * 3600_i32).to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(b"+05\0");
        bytes
    };
    [header(b"2"), header(b"2"), b"\n<+05>-5\n".to_vec()].concat()
}
