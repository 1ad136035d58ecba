//! A codec server for a test: wraps payloads so that nobody else can show them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A running codec server. Its thread ends with the test's process.
pub(crate) struct CodecServer {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl CodecServer {
    pub(crate) fn start() -> Self {
        Self::answering(convert)
    }

    /// A server that answers each request, by its path and body, with a status line and a body.
    pub(crate) fn answering(answer: fn(&str, &Value) -> (&'static str, String)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (head, body) = read(&mut BufReader::new(stream.as_ref().unwrap()));
                let path = head.split_whitespace().nth(1).unwrap().to_owned();
                let (status, body) = answer(&path, &body);
                kept.lock().unwrap().push(head);
                let length = body.len();
                let said = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
                stream.unwrap().write_all(said.as_bytes()).unwrap();
            }
        });
        Self { url, requests }
    }

    /// The heads of the requests so far: the line with the path, and the headers in lower case.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &mut BufReader<&TcpStream>) -> (String, Value) {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line.replace('\r', ""));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

fn convert(path: &str, request: &Value) -> (&'static str, String) {
    let payloads = request["payloads"].as_array().unwrap().iter();
    let wrapped = STANDARD.encode("binary/wrapped");
    let converted: Vec<Value> = match path.rsplit('/').next() {
        Some("encode") => payloads
            .map(|it| json!({"metadata": {"encoding": wrapped}, "data": STANDARD.encode(it.to_string())}))
            .collect(),
        _ => payloads
            .map(|it| match it["metadata"]["encoding"] == wrapped.as_str() {
                true => {
                    let data = STANDARD.decode(it["data"].as_str().unwrap()).unwrap();
                    serde_json::from_slice(&data).unwrap()
                }
                false => it.clone(),
            })
            .collect(),
    };
    ("200 OK", json!({ "payloads": converted }).to_string())
}
