//! Flags for metrics and health.

use crate::failure::Usage;

/// Where metrics and health are served.
#[derive(Debug, clap::Args)]
pub(super) struct MetricsArgs {
    /// Port of metrics and health: /metrics, /healthz, /readyz; 0 for any free port [default: not served]
    #[arg(
        long,
        value_name = "PORT",
        env = "PERENNIAL_METRICS_PORT",
        hide_env = true,
        help_heading = "Metrics"
    )]
    metrics_port: Option<u16>,

    /// Address of that port. It has no access control [default: 127.0.0.1]
    #[arg(
        long,
        value_name = "IP",
        env = "PERENNIAL_METRICS_IP",
        hide_env = true,
        help_heading = "Metrics"
    )]
    metrics_ip: Option<String>,
}

/// The address of metrics and health.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MetricsAddress {
    pub(super) ip: String,
    pub(super) port: u16,
}

impl MetricsArgs {
    /// The address, from the flags or from the settings file. `None` serves no metrics.
    pub(super) fn address(
        self,
        port_in_file: Option<u16>,
        ip_in_file: Option<String>,
    ) -> Result<Option<MetricsAddress>, Usage> {
        match (self.metrics_port.or(port_in_file), self.metrics_ip.or(ip_in_file)) {
            (Some(port), ip) => {
                let ip = ip.unwrap_or_else(|| "127.0.0.1".to_owned());
                Ok(Some(MetricsAddress { ip, port }))
            }
            (None, Some(_)) => Err(Usage::new(
                "--metrics-ip (metrics_ip in the file) has no effect without --metrics-port: give a port too",
            )),
            (None, None) => Ok(None),
        }
    }
}
