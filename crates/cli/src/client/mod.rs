//! The connection to a server: address, credentials and timeouts.
//!
//! Flags override environment variables, and those override the profile in the configuration file
//! ([`settings`]). A [`Client`] provides the gRPC services of one connection. Every request carries the
//! credentials and a deadline.

mod args;
mod codec;
mod config_file;
mod connect;
mod headers;
mod long_poll;
mod presets;
mod private_file;
mod secret;
mod settings;
mod tls;

use std::time::Duration;

use perennial_proto::perennial::admin_service_client::AdminServiceClient;
use perennial_proto::perennial::schedule_service_client::ScheduleServiceClient;
use perennial_proto::service::operator::operator_service_client::OperatorServiceClient;
use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use tonic::codec::CompressionEncoding;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic_health::pb::health_client::HealthClient;

pub(crate) use self::args::{ConfigArgs, ConnectionArgs};
use self::codec::{Codec, CodecService};
pub(crate) use self::headers::Headers;
pub(crate) use self::long_poll::long_poll;
pub(crate) use self::presets::Presets;
pub(crate) use self::private_file::write_private;
pub(crate) use self::secret::{HIDDEN, error_without_text, is_secret, warn_if_exposed};
pub(crate) use self::settings::{Environment, Settings};

/// Long histories come in pages, but a single event may be as large as the server accepts.
const RESPONSE_BYTES_MAX: usize = 128 * 1024 * 1024;

/// A connection that adds [`Headers`] to each request.
/// It also sends payloads through a codec server, if there is one.
pub(crate) type Connection = CodecService<InterceptedService<Channel, Headers>>;

/// A connection to a server, and the namespace of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    connection: Connection,
    pub(crate) namespace: String,
    /// The namespace, if given by a flag.
    pub(crate) named_namespace: Option<String>,
    pub(crate) identity: String,
}

impl Client {
    /// Connects. On success the server is reachable.
    pub(crate) async fn connect(
        settings: Settings,
        connect_timeout: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let channel = connect::connect(&settings, connect_timeout).await?;
        let headers = Headers::new(&settings)?;
        let codec = settings.codec.as_ref().map(|codec| Codec::new(codec, &settings.namespace));
        let codec = codec.transpose()?;
        Ok(Client {
            connection: CodecService::new(InterceptedService::new(channel, headers), codec),
            namespace: settings.namespace,
            named_namespace: settings.named_namespace,
            identity: settings.identity,
        })
    }

    /// Temporal's `WorkflowService`.
    pub(crate) fn workflow(&self) -> WorkflowServiceClient<Connection> {
        WorkflowServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(RESPONSE_BYTES_MAX)
    }

    /// Temporal's `OperatorService`.
    pub(crate) fn operator(&self) -> OperatorServiceClient<Connection> {
        OperatorServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(RESPONSE_BYTES_MAX)
    }

    /// Perennial's own `ScheduleService`. Temporal's server doesn't have it.
    pub(crate) fn schedules(&self) -> ScheduleServiceClient<Connection> {
        ScheduleServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(RESPONSE_BYTES_MAX)
    }

    /// Perennial's own `AdminService`.
    pub(crate) fn admin(&self) -> AdminServiceClient<Connection> {
        AdminServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(RESPONSE_BYTES_MAX)
    }

    /// The gRPC health service.
    pub(crate) fn health(&self) -> HealthClient<Connection> {
        HealthClient::new(self.connection.clone())
    }

    /// A new request id. Retries of a request use the same id, so it takes effect once.
    pub(crate) fn new_request_id() -> String {
        uuid::Uuid::new_v4().to_string()
    }
}
