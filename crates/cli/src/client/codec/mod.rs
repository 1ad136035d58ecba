//! Payloads that only a codec server can read: encodes those of requests and decodes those of answers.
//!
//! A codec server belongs to the user, who encrypts or compresses payloads. It speaks JSON over HTTP:
//! `POST {endpoint}/decode` with `{"payloads": […]}` is answered by as many payloads, and `/encode` does the reverse.

mod http;
mod service;

use std::fmt;

use anyhow::Context;
use perennial_proto::json::{self, Payloads};
use perennial_proto::opaque_payloads;
use perennial_proto::prost_reflect::{DynamicMessage, ReflectMessage};
use serde_json::{Value, json};

use self::http::HttpEndpoint;
pub(super) use self::service::CodecService;
use super::secret::Secret;

/// The most payloads, and about the most bytes, in one request to the codec server.
const BATCH_PAYLOADS_MAX: usize = 1_000;
const BATCH_BYTES_MAX: usize = 4 << 20;

/// How the codec server is reached.
#[derive(Debug, Clone)]
pub(crate) struct CodecSettings {
    /// Its address. `{namespace}` in it stands for the namespace.
    pub(crate) endpoint: String,
    /// The header `authorization`.
    pub(crate) auth: Option<Secret>,
    pub(crate) headers: Vec<(String, Secret)>,
}

/// A client of a codec server.
#[derive(Debug)]
pub(crate) struct Codec {
    encode: HttpEndpoint,
    decode: HttpEndpoint,
}

/// What the codec server does with payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Encode,
    Decode,
}

impl fmt::Display for Direction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Encode => "encode",
            Self::Decode => "decode",
        })
    }
}

impl Codec {
    pub(crate) fn new(settings: &CodecSettings, namespace: &str) -> anyhow::Result<Self> {
        let base = settings.endpoint.replace("{namespace}", namespace);
        let base = base.trim_end_matches('/');
        let endpoint = |direction: Direction| {
            HttpEndpoint::new(&format!("{base}/{direction}"), settings, namespace)
        };
        Ok(Self { encode: endpoint(Direction::Encode)?, decode: endpoint(Direction::Decode)? })
    }

    /// Replaces all payloads of a message that the server doesn't read itself.
    async fn convert(
        &self,
        direction: Direction,
        message: &mut DynamicMessage,
    ) -> anyhow::Result<()> {
        let mut payloads = opaque_payloads(message);
        let mut rest = payloads.as_mut_slice();
        while !rest.is_empty() {
            let (batch, later) = rest.split_at_mut(batch_size(rest));
            self.convert_batch(direction, batch).await?;
            rest = later;
        }
        Ok(())
    }

    async fn convert_batch(
        &self,
        direction: Direction,
        payloads: &mut [&mut DynamicMessage],
    ) -> anyhow::Result<()> {
        let endpoint = match direction {
            Direction::Encode => &self.encode,
            Direction::Decode => &self.decode,
        };
        let full = payloads.iter().map(|payload| json::encode(payload, Payloads::Full));
        let request = json!({ "payloads": full.collect::<Vec<_>>() });
        let named = || format!("the codec server {} can't {direction} payloads", endpoint.url);
        let answer = endpoint.post(request.to_string()).await.with_context(named)?;
        let answer: Value = serde_json::from_slice(&answer)
            .context("the answer is not JSON")
            .with_context(named)?;
        let converted = answer["payloads"].as_array().map(Vec::as_slice).unwrap_or_default();
        if converted.len() != payloads.len() {
            let (sent, got) = (payloads.len(), converted.len());
            return Err(anyhow::anyhow!("it was sent {sent} and answered {got}").context(named()));
        }
        for (payload, converted) in payloads.iter_mut().zip(converted) {
            **payload = json::decode(payload.descriptor(), converted, Payloads::Full)
                .with_context(named)?;
        }
        Ok(())
    }
}

/// How many of these payloads go into one request: at least one.
fn batch_size(payloads: &[&mut DynamicMessage]) -> usize {
    let mut bytes = 0;
    let fits = payloads.iter().take(BATCH_PAYLOADS_MAX).take_while(|payload| {
        bytes += prost::Message::encoded_len(&***payload);
        bytes <= BATCH_BYTES_MAX
    });
    fits.count().max(1)
}
