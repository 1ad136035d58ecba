//! Flags for traces.

use perennial_library::OtlpConfig;

use crate::failure::Usage;

/// Where traces go.
#[derive(Debug, clap::Args)]
pub(super) struct TraceArgs {
    /// Collector that gets traces over OTLP/gRPC, such as http://localhost:4317 [default: none]
    #[arg(
        long,
        value_name = "URL",
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        hide_env = true,
        help_heading = "Traces"
    )]
    otlp_endpoint: Option<String>,

    /// Share of the traces that begin here and are recorded, from 0 to 1 [default: 1]
    #[arg(
        long,
        value_name = "RATIO",
        env = "PERENNIAL_TRACE_RATIO",
        hide_env = true,
        help_heading = "Traces"
    )]
    trace_ratio: Option<f64>,
}

impl TraceArgs {
    /// Where traces go, from the flags or from the settings file. `None` records none.
    pub(super) fn config(
        self,
        endpoint_in_file: Option<String>,
        ratio_in_file: Option<f64>,
    ) -> Result<Option<OtlpConfig>, Usage> {
        let endpoint = self.otlp_endpoint.filter(|it| !it.is_empty()).or(endpoint_in_file);
        match (endpoint, self.trace_ratio.or(ratio_in_file)) {
            (Some(endpoint), ratio) => {
                Ok(Some(OtlpConfig { endpoint, ratio: ratio.unwrap_or(1.0) }))
            }
            (None, Some(_)) => Err(Usage::new(
                "--trace-ratio (trace_ratio in the file) has no effect without --otlp-endpoint: \
                 name a collector too",
            )),
            (None, None) => Ok(None),
        }
    }
}
