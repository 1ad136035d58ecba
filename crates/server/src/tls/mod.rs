//! TLS: certificates from files, their reload, and the certificates of clients.
//!
//! [`Tls::load`] reads the files of a [`TlsConfig`] and refuses bad ones. While a server serves, `Tls::watch` reads them again when they
//! change: new connections use the new certificates, and connections whose client certificate isn't valid any more
//! are ended. Bad new files never replace good ones.
//!
//! Sessions are never resumed. A resumed session would skip the verification of the client's certificate, and
//! connections live long enough that the full handshake costs nothing.

mod certificate_choice;
mod client_verifier;
mod config;
mod error;
mod expiry;
mod files;
mod listener;
mod loaded;
mod refusals;
mod watch;

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch as watch_channel};
use tokio_rustls::rustls::pki_types::UnixTime;

use self::files::Files;
use self::loaded::Loaded;

pub use self::config::{CertificateFiles, ClientAuth, TlsConfig};
pub use self::error::TlsError;
pub use self::expiry::TlsStatus;
pub(crate) use self::listener::{Protocol, TlsListener};
pub(crate) use self::refusals::RefusalLog;
pub use perennial_identity::certificate::PeerCertificate;
use perennial_identity::certificate::{distinguished_name, x509};

/// The certificates and client CAs that are in use. They are replaced when their files change.
///
/// ```no_run
/// use perennial_server::{CertificateFiles, Tls, TlsConfig};
///
/// let files = CertificateFiles { certificate: "server.pem".into(), key: "server.key".into() };
/// let tls = Tls::load(TlsConfig { certificates: vec![files], ..TlsConfig::default() })?;
/// for certificate in tls.status() {
///     println!("{}: {} until {}", certificate.file.display(), certificate.subject, certificate.not_after);
/// }
/// # Ok::<_, perennial_server::TlsError>(())
/// ```
pub struct Tls {
    config: TlsConfig,
    current: ArcSwap<Loaded>,
    /// Notified after `current` has been replaced.
    replaced: watch_channel::Sender<()>,
    reload_request: Notify,
}

impl Tls {
    /// Reads the files and checks them.
    pub fn load(config: TlsConfig) -> Result<Arc<Self>, TlsError> {
        let loaded = Loaded::new(&config, &Files::read(&config), UnixTime::now())?;
        Ok(Arc::new(Self {
            config,
            current: ArcSwap::from_pointee(loaded),
            replaced: watch_channel::Sender::new(()),
            reload_request: Notify::new(),
        }))
    }

    /// Reads the files again, and uses them for new connections. Whether they have changed; on an error the
    /// certificates in use stay in use.
    pub fn reload(&self) -> Result<bool, TlsError> {
        self.replace_with(&Files::read(&self.config))
    }

    /// Lets the server that uses these certificates read the files at once. It logs the outcome, also if nothing has
    /// changed.
    pub fn request_reload(&self) {
        self.reload_request.notify_one();
    }

    /// Whether clients need a certificate. `None` if they aren't asked for one.
    pub fn client_auth(&self) -> Option<ClientAuth> {
        (!self.config.client_cas.is_empty()).then_some(self.config.client_auth)
    }

    /// The certificates in use with their expiry: the server's chains first, then the CAs of clients.
    pub fn status(&self) -> Vec<TlsStatus> {
        self.current.load().status.clone()
    }

    fn replace_with(&self, files: &Files) -> Result<bool, TlsError> {
        if files.version() == self.current.load().version {
            return Ok(false);
        }
        let loaded = Loaded::new(&self.config, files, UnixTime::now())?;
        self.current.store(Arc::new(loaded));
        self.replaced.send_replace(());
        Ok(true)
    }
}
