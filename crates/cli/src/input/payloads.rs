//! Input flags of a workflow, signal, query or update.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use perennial_proto::temporal::common::v1::{Payload, Payloads};
use serde_json::Value;

use super::pairs::text_pair;
use crate::failure::Usage;

/// Any number of input values, JSON by default.
#[derive(Debug, Default, Clone, clap::Args)]
#[group(id = "input-args")]
pub(crate) struct InputArgs {
    /// Input value as JSON; repeatable
    #[arg(long, short, value_name = "JSON", help_heading = "Input", conflicts_with = "input_file")]
    #[arg(allow_hyphen_values = true)]
    input: Vec<String>,

    /// File with an input value; `-` for standard input; repeatable
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    input_file: Vec<PathBuf>,

    /// Payload metadata, such as encoding=json/protobuf; repeat it for each value
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Input", value_parser = text_pair)]
    input_meta: Vec<(String, String)>,

    /// Input values are base64
    #[arg(long, help_heading = "Input")]
    input_base64: bool,
}

impl InputArgs {
    /// For commands whose flags have other names.
    pub(crate) fn new(
        input: Vec<String>,
        input_file: Vec<PathBuf>,
        input_meta: Vec<(String, String)>,
        input_base64: bool,
    ) -> Self {
        InputArgs { input, input_file, input_meta, input_base64 }
    }

    /// Whether any value was given.
    pub(crate) fn is_given(&self) -> bool {
        !self.input.is_empty() || !self.input_file.is_empty()
    }

    /// The values as payloads; `None` without values.
    pub(crate) fn payloads(&self) -> anyhow::Result<Option<Payloads>> {
        let mut values: Vec<(Vec<u8>, String)> = self
            .input
            .iter()
            .map(|text| (text.clone().into_bytes(), "--input".to_owned()))
            .collect();
        for path in &self.input_file {
            values.push((read(path)?, format!("--input-file {}", path.display())));
        }
        if values.is_empty() {
            return Ok(None);
        }
        let mut payloads = Vec::with_capacity(values.len());
        for (n, (bytes, flag)) in values.into_iter().enumerate() {
            let data = match self.input_base64 {
                true => BASE64_STANDARD
                    .decode(bytes.trim_ascii())
                    .map_err(|error| Usage::new(format!("{flag}: not base64: {error}")))?,
                false => bytes,
            };
            let metadata = self.metadata(n);
            let encoding = metadata.get("encoding").map(Vec::as_slice);
            if encoding.is_some_and(|it| it.starts_with(b"json/")) {
                check_json(&data).map_err(|error| Usage::new(format!("{flag}: {error}")))?;
            }
            payloads.push(Payload { metadata, data, ..Payload::default() });
        }
        Ok(Some(Payloads { payloads }))
    }

    /// Metadata of the n-th value: the n-th entry of each key, or the key's last entry if there are fewer.
    fn metadata(&self, n: usize) -> HashMap<String, Vec<u8>> {
        let mut of_keys: HashMap<&str, Vec<&str>> = HashMap::new();
        for (key, value) in &self.input_meta {
            of_keys.entry(key).or_default().push(value);
        }
        let mut metadata = HashMap::from([("encoding".to_owned(), b"json/plain".to_vec())]);
        for (key, values) in of_keys {
            let value = values.get(n).or(values.last());
            metadata.extend(value.map(|value| (key.to_owned(), value.as_bytes().to_vec())));
        }
        metadata
    }
}

/// A JSON payload, as the SDKs encode it.
pub(crate) fn json_payload(value: &Value) -> Payload {
    Payload {
        metadata: HashMap::from([("encoding".to_owned(), b"json/plain".to_vec())]),
        data: value.to_string().into_bytes(),
        ..Payload::default()
    }
}

fn check_json(data: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<serde::de::IgnoredAny>(data) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "not JSON: {error}; quote text: '\"text\"'; for other data set --input-meta encoding=…"
        )),
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match path.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        false => std::fs::read(path),
    };
    read.with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payloads(args: &InputArgs) -> Result<Vec<Payload>, String> {
        let read = args.payloads().map_err(|error| error.to_string())?;
        Ok(read.unwrap_or_default().payloads)
    }

    #[test]
    fn values_are_json_unless_they_say_otherwise() {
        let given = InputArgs {
            input: vec!["{\"a\":1}".to_owned(), "AAE=".to_owned()],
            ..InputArgs::default()
        };
        assert!(payloads(&given).unwrap_err().starts_with("--input: not JSON"));

        let meta = |value: &str| ("encoding".to_owned(), value.to_owned());
        let given =
            InputArgs { input_meta: vec![meta("json/plain"), meta("binary/plain")], ..given };
        let read = payloads(&given).unwrap();
        assert_eq!(read[0].metadata["encoding"], b"json/plain");
        assert_eq!(read[1].metadata["encoding"], b"binary/plain");
        assert_eq!(read[1].data, b"AAE=");
    }

    #[test]
    fn base64_is_decoded() {
        let input = vec!["eyJhIjoxfQ==".to_owned()];
        let given = InputArgs { input, input_base64: true, ..InputArgs::default() };
        assert_eq!(payloads(&given).unwrap()[0].data, b"{\"a\":1}");
        let given = InputArgs { input: vec!["?".to_owned()], ..given };
        assert!(payloads(&given).unwrap_err().contains("not base64"));
    }

    #[test]
    fn nothing_given_is_no_input() {
        assert!(InputArgs::default().payloads().unwrap().is_none());
    }
}
