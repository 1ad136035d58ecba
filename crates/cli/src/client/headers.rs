//! Headers of every request: client name, credentials, deadline.

use std::time::Duration;

use tonic::metadata::{Ascii, MetadataKey, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

use super::secret::is_secret_header;
use super::settings::Settings;
use crate::failure::Usage;

/// Default timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Headers added to each request.
#[derive(Clone, Debug)]
pub(crate) struct Headers(Vec<(MetadataKey<Ascii>, MetadataValue<Ascii>)>);

impl Headers {
    pub(super) fn new(settings: &Settings) -> anyhow::Result<Self> {
        let mut headers = vec![
            ("client-name".to_owned(), "perennial-cli".to_owned()),
            ("client-version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            // Without it, the server changes close events that name a next run, for old clients.
            ("supported-features".to_owned(), "follows-next-run-id".to_owned()),
            ("temporal-namespace".to_owned(), settings.namespace.clone()),
        ];
        if let Some(key) = &settings.api_key {
            headers.push(("authorization".to_owned(), format!("Bearer {}", key.reveal())));
        }
        headers.extend(settings.meta.iter().map(|(k, v)| (k.clone(), v.reveal().to_owned())));
        let read = headers.into_iter().map(|(name, value)| {
            let name = name.to_ascii_lowercase();
            let key = name.parse::<MetadataKey<Ascii>>();
            let value = value.parse::<MetadataValue<Ascii>>();
            match (key, value) {
                (Ok(key), Ok(mut value)) => {
                    // `Debug` of a request then doesn't show it.
                    value.set_sensitive(is_secret_header(key.as_str()));
                    Ok((key, value))
                }
                (Err(_), _) => Err(Usage::new(format!("{name:?} is not a valid header name"))),
                (_, Err(_)) => Err(Usage::new(format!(
                    "the value of the header {name} contains invalid characters"
                ))),
            }
        });
        Ok(Headers(read.collect::<Result<_, _>>()?))
    }
}

impl Interceptor for Headers {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        for (name, value) in &self.0 {
            request.metadata_mut().insert(name.clone(), value.clone());
        }
        if request.metadata().get("grpc-timeout").is_none() {
            request.set_timeout(REQUEST_TIMEOUT);
        }
        Ok(request)
    }
}
