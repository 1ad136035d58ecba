//! The way to a server: where it is, who asks, and how long we wait.
//!
//! What was said on the command line comes before the environment, and that before the profile of the
//! configuration file ([`settings`]). A [`Client`] hands out the services of one connection; every request it
//! sends carries the credentials and a deadline.

mod args;
mod config_file;
mod connect;
mod headers;
mod long_poll;
mod presets;
mod private_file;
mod settings;
mod tls;

use std::time::Duration;

use perennial_proto::perennial::schedule_service_client::ScheduleServiceClient;
use perennial_proto::service::operator::operator_service_client::OperatorServiceClient;
use perennial_proto::service::workflow::workflow_service_client::WorkflowServiceClient;
use tonic::codec::CompressionEncoding;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic_health::pb::health_client::HealthClient;

pub(crate) use self::args::{ConfigArgs, ConnectionArgs};
pub(crate) use self::headers::Headers;
pub(crate) use self::long_poll::long_poll;
pub(crate) use self::presets::Presets;
pub(crate) use self::private_file::write_private;
pub(crate) use self::settings::{Environment, Settings};

/// A history of fifty thousand events is asked for in pages, but one event may be as large as a server takes.
const ANSWER_BYTES_MAX: usize = 128 * 1024 * 1024;

/// A connection whose requests say who asks.
pub(crate) type Connection = InterceptedService<Channel, Headers>;

/// A server, and the namespace we mean.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    connection: Connection,
    pub(crate) namespace: String,
    /// The namespace, if a flag names it.
    pub(crate) named_namespace: Option<String>,
    pub(crate) identity: String,
}

impl Client {
    /// Connects. That the server can be reached is known afterwards.
    pub(crate) async fn connect(
        settings: Settings,
        connect_timeout: Option<Duration>,
    ) -> anyhow::Result<Self> {
        let channel = connect::connect(&settings, connect_timeout).await?;
        let headers = Headers::new(&settings)?;
        Ok(Client {
            connection: InterceptedService::new(channel, headers),
            namespace: settings.namespace,
            named_namespace: settings.named_namespace,
            identity: settings.identity,
        })
    }

    /// Temporal's `WorkflowService`.
    pub(crate) fn workflow(&self) -> WorkflowServiceClient<Connection> {
        WorkflowServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// Temporal's `OperatorService`.
    pub(crate) fn operator(&self) -> OperatorServiceClient<Connection> {
        OperatorServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// Perennial's own service of schedules, which other servers don't have.
    pub(crate) fn schedules(&self) -> ScheduleServiceClient<Connection> {
        ScheduleServiceClient::new(self.connection.clone())
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    /// Whether the server says that it serves.
    pub(crate) fn health(&self) -> HealthClient<Connection> {
        HealthClient::new(self.connection.clone())
    }

    /// An id for a request that is sent once, however often it is tried.
    pub(crate) fn new_request_id() -> String {
        uuid::Uuid::new_v4().to_string()
    }
}
