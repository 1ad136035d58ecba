//! Profiles, presets and completion.

use std::path::PathBuf;

use expect_test::expect;

use crate::perennial::{perennial, said_by};
use crate::server::Server;

/// A file of this test's own.
fn file(name: &str) -> PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

#[test]
fn a_profile_says_where_the_server_is() {
    let server = Server::start();
    let path = file("profiles.toml");
    let says = |args: &[&str]| said_by(perennial(args).env("TEMPORAL_CONFIG_FILE", &path));
    let set = |prop: &str, value: &str| {
        let said = says(&["config", "set", "--profile=dev", "--prop", prop, "--value", value]);
        assert_eq!(said, "");
    };
    set("address", &server.address);
    set("grpc_meta.Team", "pay");
    set("tls", "true");
    set("tls.server_name", "x");
    let said = says(&["config", "get", "--profile=dev"]).replace(&server.address, "<address>");
    expect![[r#"
        Property         Value
        address          <address>
        grpc_meta.team   pay
        tls              true
        tls.server_name  x
    "#]]
    .assert_eq(&said);
    assert_eq!(says(&["config", "delete", "--profile=dev", "--prop=tls"]), "");
    assert_eq!(
        says(&["schedule", "list", "--profile=dev"]),
        "-- stderr --\nno schedules in the namespace default\n"
    );
    assert_eq!(says(&["config", "list", "--output=jsonl"]), "{\"name\":\"dev\"}\n");
    let missing = says(&["schedule", "list", "--profile=prod"]);
    assert!(missing.contains("there is no profile \"prod\" in "), "{missing}");
    assert!(missing.contains("it has dev\n-- exit 2 --"), "{missing}");
    assert_eq!(says(&["config", "delete-profile", "--profile=dev"]), "");
    assert_eq!(says(&["config", "list", "--output=jsonl"]), "");
}

#[test]
fn comments_in_the_file_stay() {
    let path = file("comments.toml");
    std::fs::write(&path, "# ours\n[profile.a]\naddress = \"x:1\" # here\n").unwrap();
    let args = ["config", "set", "--profile=a", "--prop=namespace", "--value=n"];
    said_by(perennial(&args).env("TEMPORAL_CONFIG_FILE", &path));
    expect![[r#"
        # ours
        [profile.a]
        address = "x:1" # here
        namespace = "n"
    "#]]
    .assert_eq(&std::fs::read_to_string(&path).unwrap());
}

#[test]
fn presets_are_values_of_flags() {
    let server = Server::start();
    let path = file("presets.yaml");
    let says = |args: &[&str]| said_by(perennial(args).env("TEMPORAL_ENV_FILE", &path));
    says(&["env", "set", "--env=dev", "--key=address", "--value", &server.address]);
    says(&["env", "set", "dev.task-queue", "main"]);
    let said = says(&["schedule", "create", "x", "--interval=1h", "--type=T", "--env=dev"]);
    assert_eq!(said, "Created x\n");
    let said = says(&["env", "get", "dev"]).replace(&server.address, "<address>");
    expect![[r#"
        Property    Value
        address     <address>
        task-queue  main
    "#]]
    .assert_eq(&said);
    says(&["env", "delete", "--env=dev", "--key=address"]);
    assert_eq!(says(&["env", "get", "dev", "--output=jsonl"]).lines().count(), 1);
    assert!(says(&["env", "get", "prod"]).ends_with("-- exit 3 --\n"));
}

#[test]
fn completion_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = said_by(&mut perennial(&["completion", shell]));
        assert!(script.contains("list-matching-times"), "{shell}");
    }
}
