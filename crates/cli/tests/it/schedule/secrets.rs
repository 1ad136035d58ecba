//! Secrets of a profile and of presets: who sees them.

use std::fs;
use std::path::Path;

use expect_test::expect;

use crate::perennial::{perennial, said_by};
use crate::server::Server;

const KEY: &str = "perennial_hunter2";

#[test]
fn secrets_of_a_profile_are_shown_only_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.toml");
    let says = |args: &[&str]| said_by(perennial(args).env("TEMPORAL_CONFIG_FILE", &path));
    for (property, value) in [
        ("api_key", KEY),
        ("codec.auth", KEY),
        ("grpc_meta.x-token", KEY),
        ("grpc_meta.team", "pay"),
    ] {
        says(&["config", "set", "--profile=dev", "--prop", property, "--value", value]);
    }
    expect![[r#"
        Property           Value
        api_key            (hidden)
        codec.auth         (hidden)
        grpc_meta.team     pay
        grpc_meta.x-token  (hidden)
    "#]]
    .assert_eq(&says(&["config", "get", "--profile=dev"]));
    assert!(!says(&["config", "get", "--profile=dev", "--output=json"]).contains(KEY));
    assert_eq!(says(&["config", "get", "--profile=dev", "--prop=api_key"]), format!("{KEY}\n"));
}

#[test]
fn secrets_of_presets_are_shown_only_by_name_and_never_in_help() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("presets.yaml");
    let says = |args: &[&str]| said_by(perennial(args).env("TEMPORAL_ENV_FILE", &path));
    says(&["env", "set", "dev.api-key", KEY]);
    says(&["env", "set", "dev.address", "perennial.example:7233"]);
    expect![[r#"
        Property  Value
        address   perennial.example:7233
        api-key   (hidden)
    "#]]
    .assert_eq(&says(&["env", "get", "dev"]));
    assert!(says(&["env", "get", "dev.api-key"]).contains(KEY));
    let help = says(&["workflow", "list", "--env=dev", "--help"]);
    assert!(help.contains("perennial.example:7233") && !help.contains(KEY), "{help}");
}

#[test]
fn errors_and_logs_hold_no_secret() {
    let server = Server::start();
    let address = server.address.as_str();
    let says = |args: &[&str]| {
        let mut args = args.to_vec();
        args.extend(["--address", address, "--tls=false"]);
        said_by(&mut perennial(&args))
    };
    let logged = says(&["workflow", "list", "--api-key", KEY, "--log-level=debug"]);
    assert!(logged.contains("DEBUG") && !logged.contains(KEY), "{logged}");
    let bad_header = says(&["workflow", "list", "--grpc-meta", KEY]);
    assert!(bad_header.contains("--grpc-meta is not of the form KEY=VALUE"), "{bad_header}");
    let unfit = says(&["workflow", "list", "--api-key", "perennial_hunter2\n"]);
    assert!(unfit.contains("authorization") && !unfit.contains("hunter2"), "{unfit}");

    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let profiles = file("bad.toml", &format!("[profile.default]\napi_key = \"{KEY}\n"));
    for command in [["workflow", "list"], ["config", "get"]] {
        let bad = said_by(perennial(&command).args(["--config-file", &profiles]));
        assert!(bad.contains("line 2") && !bad.contains(KEY), "{bad}");
    }
    let presets = file("bad.yaml", &format!("env:\n  default:\n    api-key: [{KEY}\n"));
    let bad = says(&["workflow", "list", "--env-file", &presets]);
    assert!(bad.contains("bad.yaml") && !bad.contains(KEY), "{bad}");
}

#[cfg(unix)]
#[test]
fn files_with_secrets_that_all_users_can_read_are_warned_about() {
    use std::os::unix::fs::PermissionsExt;

    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, flag: &str, text: &str, is_secret: bool| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let said_with = |mode: u32| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let path = path.display().to_string();
            let address = ["--address", &server.address, "--tls=false"];
            said_by(perennial(&["workflow", "count", flag, &path]).args(address))
        };
        let advice = format!("run `chmod 600 {}`", Path::new(&path).display());
        assert_eq!(said_with(0o644).contains(&advice), is_secret, "{name}");
        assert!(!said_with(0o600).contains(&advice), "{name}");
    };
    check("a.toml", "--config-file", "[profile.default]\napi_key = 'x'\n", true);
    check("b.toml", "--config-file", "[profile.default]\nnamespace = 'default'\n", false);
    check("c.yaml", "--env-file", "env:\n  default:\n    api-key: x\n", true);
    check("d.yaml", "--env-file", "env:\n  default:\n    namespace: default\n", false);
}
