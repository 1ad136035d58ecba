//! Payloads that go through a codec server.

use crate::codec_server::CodecServer;
use crate::server::Server;

const START: [&str; 9] = [
    "workflow",
    "start",
    "--type=Order",
    "--task-queue=orders",
    "--workflow-id=o1",
    "--input=\"sesame\"",
    "--memo=note=\"sesame\"",
    "--search-attribute=CustomKeywordField=\"open\"",
    "--static-summary=sesame",
];

fn started() -> (Server, CodecServer) {
    let args = ["start-dev", "--port", "0", "--search-attribute", "CustomKeywordField=Keyword"];
    let (server, codec) = (Server::start_with(&args), CodecServer::start());
    let said = server.says(&[&START[..], &["--codec-endpoint", &codec.url]].concat());
    assert!(said.contains("o1") && !said.contains("exit"), "{said}");
    (server, codec)
}

/// Whether the text has the payload as itself, or in base64 as in histories.
fn shows_payload(text: &str) -> bool {
    text.contains("sesame") || text.contains("InNlc2FtZSI=")
}

#[test]
fn payloads_are_encoded_and_only_the_codec_server_can_show_them() {
    let (server, codec) = started();
    for command in [["workflow", "show"], ["workflow", "describe"]] {
        let command = [command[0], command[1], "--workflow-id=o1"];
        let stored = server.json(&command).to_string();
        assert!(!shows_payload(&stored), "{stored}");
        let shown = server.json(&[&command[..], &["--codec-endpoint", &codec.url]].concat());
        assert!(shows_payload(&shown.to_string()), "{shown}");
    }
    // The server reads search attributes, so they are sent as they are.
    let found = ["workflow", "count", "--query", "CustomKeywordField = 'open'"];
    assert_eq!(server.json(&found)["count"], "1");
}

#[test]
fn payloads_of_schedules_and_signals_are_encoded_too() {
    let (server, codec) = started();
    let with_codec =
        |args: &[&str]| server.says(&[args, &["--codec-endpoint", &codec.url]].concat());
    let create = ["schedule", "create", "--schedule-id=s", "--interval=1h", "--type=Order"];
    with_codec(&[&create[..], &["--task-queue=orders", "--input=\"sesame\""]].concat());
    with_codec(&["workflow", "signal", "--workflow-id=o1", "--name=n", "--input=\"sesame\""]);
    for command in
        [["schedule", "describe", "--schedule-id=s"], ["workflow", "show", "--workflow-id=o1"]]
    {
        assert!(!shows_payload(&server.json(&command).to_string()));
        let shown = with_codec(&[&command[..], &["--output=json"]].concat());
        assert!(shows_payload(&shown), "{shown}");
    }
}

#[test]
fn codec_server_is_told_the_namespace_and_gets_its_headers() {
    let (server, codec) = started();
    let profile = tempfile::NamedTempFile::new().unwrap();
    let endpoint = format!("{}/of/{{namespace}}/", codec.url);
    let text = format!("[profile.default.codec]\nendpoint = '{endpoint}'\nauth = 'Bearer x'\n");
    std::fs::write(profile.path(), text).unwrap();
    let file = profile.path().display().to_string();
    let header = ["--config-file", &file, "--codec-header", "X-Team=pay"];
    server.json(&[&["workflow", "show", "--workflow-id=o1"], &header[..]].concat());
    let requests = codec.requests();
    let request = requests.last().unwrap();
    assert!(request.starts_with("POST /of/default/decode HTTP/1.1\n"), "{request}");
    for header in ["authorization: Bearer x", "x-namespace: default", "x-team: pay"] {
        assert!(request.contains(header), "{request}");
    }
}

#[test]
fn errors_of_a_codec_server_name_it() {
    let (server, _) = started();
    let show = |url: &str, wanted: &str| {
        let said = server.says(&["workflow", "show", "--workflow-id=o1", "--codec-endpoint", url]);
        assert!(said.contains(wanted) && said.contains("-- exit "), "{said}");
    };
    let refuses = CodecServer::answering(|_, _| ("403 Forbidden", "no\nway".to_owned()));
    let named = format!("the codec server {}/decode can't decode payloads: ", refuses.url);
    show(&refuses.url, &format!("{named}the answer is 403 Forbidden: no way"));
    let no_json = CodecServer::answering(|_, _| ("200 OK", "<html>".to_owned()));
    show(&no_json.url, "the answer is not JSON");
    let few = CodecServer::answering(|_, _| ("200 OK", "{\"payloads\":[]}".to_owned()));
    show(&few.url, "and answered 0");
    let bad = CodecServer::answering(|_, _| ("200 OK", "{\"payloads\":[7,7,7]}".to_owned()));
    show(&bad.url, &bad.url);
    show("http://127.0.0.1:1", "cannot connect");
    show("codec.example", "--codec-endpoint can't be used: write http://… or https://…");
    show("http://me:pw@codec.example", "give them with --codec-auth");
}
