//! Settings of a node of a cluster: servers that work on one PostgreSQL database.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use perennial_library::{NodeConfig, PeerTls, PeerTlsFiles};

use crate::failure::Usage;

#[derive(Debug, Default, clap::Args)]
pub(super) struct NodeArgs {
    /// Port for the other servers on the same PostgreSQL database [default: any free port]
    #[arg(long, value_name = "PORT", help_heading = "Cluster")]
    #[arg(env = "PERENNIAL_NODE_PORT", hide_env = true)]
    node_port: Option<u16>,

    /// Address at which they reach this one, as in 10.0.0.7:7235 [default: that of --ip and --node-port]
    #[arg(long, value_name = "HOST:PORT", help_heading = "Cluster")]
    #[arg(env = "PERENNIAL_NODE_ADDRESS", hide_env = true)]
    node_address: Option<String>,

    /// CA certificates of the other servers, for TLS between them; all have the same setting
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    #[arg(env = "PERENNIAL_NODE_TLS_CA", hide_env = true)]
    #[arg(requires_all = ["node_tls_cert", "node_tls_key"])]
    node_tls_ca: Option<PathBuf>,

    /// Certificate that this server shows to them
    #[arg(long, value_name = "FILE", help_heading = "Cluster", requires = "node_tls_ca")]
    #[arg(env = "PERENNIAL_NODE_TLS_CERT", hide_env = true)]
    node_tls_cert: Option<PathBuf>,

    /// Private key of that certificate
    #[arg(long, value_name = "FILE", help_heading = "Cluster", requires = "node_tls_ca")]
    #[arg(env = "PERENNIAL_NODE_TLS_KEY", hide_env = true)]
    node_tls_key: Option<PathBuf>,
}

impl NodeArgs {
    /// The node listens at the same address as the API.
    pub(super) fn config(
        self,
        ip: &str,
        port_in_file: Option<u16>,
        address_in_file: Option<String>,
    ) -> Result<NodeConfig, Usage> {
        let address = self.node_address.or(address_in_file);
        let port = self.node_port.or(port_in_file).unwrap_or(0);
        if let Some(address) = address.as_deref().filter(|address| !is_address(address)) {
            return Err(Usage::new(format!(
                "--node-address: `{address}` isn't an address; write HOST:PORT, as in 10.0.0.7:7235"
            )));
        }
        let tls = match (self.node_tls_ca, self.node_tls_cert, self.node_tls_key) {
            (Some(authorities), Some(certificate), Some(key)) => {
                let files = PeerTlsFiles { authorities, certificate, key };
                Some(PeerTls::read(&files).map_err(|error| Usage::new(error.to_string()))?)
            }
            _ => None,
        };
        // A name stands for this machine, which other servers on it reach.
        let ip: IpAddr = ip.parse().unwrap_or_else(|_| std::net::Ipv4Addr::LOCALHOST.into());
        let listen = SocketAddr::new(ip, port);
        Ok(NodeConfig { listen, address, tls, ..NodeConfig::default() })
    }

    /// Whether other machines couldn't find the node: it listens everywhere, and doesn't say where it is.
    pub(super) fn check(config: &NodeConfig) -> Result<(), Usage> {
        if config.listen.ip().is_unspecified() && config.address.is_none() {
            return Err(Usage::new(
                "--node-address: other servers need to know where to find this one, because it listens on all \
                 addresses; write HOST:PORT, as in 10.0.0.7:7235",
            ));
        }
        Ok(())
    }
}

/// Whether a text is a host and a port that others can connect to.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(ip: &str, address: Option<&str>) -> Result<NodeConfig, String> {
        let address = address.map(str::to_owned);
        let node = NodeArgs { node_port: Some(7235), node_address: address, ..NodeArgs::default() };
        let config = node.config(ip, None, None).map_err(|error| error.to_string())?;
        NodeArgs::check(&config).map_err(|error| error.to_string())?;
        Ok(config)
    }

    #[test]
    fn node_listens_where_the_api_does() {
        let node = config("10.0.0.7", None).unwrap();
        assert_eq!(node.listen.to_string(), "10.0.0.7:7235");
        assert_eq!(config("localhost", None).unwrap().listen.to_string(), "127.0.0.1:7235");
    }

    #[test]
    fn node_that_listens_everywhere_says_where_it_is() {
        assert!(config("0.0.0.0", None).unwrap_err().contains("--node-address"));
        let node = config("0.0.0.0", Some("node-1.internal:7235")).unwrap();
        assert_eq!(node.address.as_deref(), Some("node-1.internal:7235"));
        for bad in ["node-1", ":7235", "node-1:0", "node-1:port"] {
            assert!(config("0.0.0.0", Some(bad)).unwrap_err().contains(bad), "{bad}");
        }
    }
}
