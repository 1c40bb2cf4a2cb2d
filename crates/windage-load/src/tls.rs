//! Client side of TLS: trust and sessions.
//!
//! Every handshake is a full one. Resumption is off, because a connection reopened during a run
//! would otherwise cost the server less than the first one.

mod session;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use session::H2;
pub(crate) use session::Session;

use crate::work::Protocol;

/// How to reach a server through TLS.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// The name that the certificate must have: a host name, or an IP address without brackets. A
    /// host name is sent to the server (SNI).
    pub server_name: String,
    /// PEM file with the only authorities to trust. Without one, Mozilla's list applies.
    pub ca_file: Option<PathBuf>,
    /// Accepts any certificate, including those that are self-signed, expired or for other names.
    /// For test servers: the connection is encrypted, but the server is not authenticated.
    pub insecure: bool,
    /// The protocol within TLS, offered to the server by its registered name (ALPN).
    pub alpn: Protocol,
}

/// Why a [`TlsClient`] can't be created.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The name is neither a host name nor an IP address.
    #[error(
        "`{0}` is not a server name for TLS; give a host name, or an IP address without brackets"
    )]
    ServerName(String),
    /// The CA file could not be read.
    #[error("can't read the CA file {}: {source}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The CA file is not PEM, or has no certificate in it.
    #[error(
        "the CA file {} has no certificate; give PEM, with lines `-----BEGIN CERTIFICATE-----`",
        path.display()
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A certificate in the CA file is damaged.
    #[error("certificate {index} of the CA file {} can't be used: {why}", path.display())]
    BadCertificate {
        /// The file.
        path: PathBuf,
        /// Which certificate, counted from 1.
        index: usize,
        /// What is wrong.
        why: String,
    },
    /// A CA file together with `insecure`.
    #[error(
        "the CA file {} is not used with `insecure`; remove one of them",
        path.display()
    )]
    Contradiction {
        /// The file.
        path: PathBuf,
    },
    /// The cryptography library refuses its own defaults.
    #[error("TLS can't be set up: {0}")]
    Setup(#[from] rustls::Error),
}

/// State shared by all sessions with one server. A clone shares it.
#[derive(Clone, Debug)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
    needs_h2: bool,
}

impl TlsClient {
    /// Reads the CA file, if there is one, and prepares sessions: TLS 1.2 or 1.3, no client
    /// certificate, no resumption.
    ///
    /// # Errors
    /// When the name is invalid, or when the CA file has no usable certificate; the error names it.
    pub fn new(options: TlsOptions) -> Result<TlsClient, TlsError> {
        let server_name = ServerName::try_from(options.server_name.as_str())
            .map_err(|_| TlsError::ServerName(options.server_name.clone()))?
            .to_owned();
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match (options.ca_file, options.insecure) {
            (Some(path), true) => return Err(TlsError::Contradiction { path }),
            (Some(path), false) => builder.with_root_certificates(authorities_of(&path)?),
            (None, false) => builder.with_root_certificates(RootCertStore {
                roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
            }),
            (None, true) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))),
        };
        let mut config = builder.with_no_client_auth();
        config.resumption = Resumption::disabled();
        config.alpn_protocols = vec![alpn_name(options.alpn).to_vec()];
        Ok(TlsClient {
            config: Arc::new(config),
            server_name,
            needs_h2: alpn_name(options.alpn) == H2,
        })
    }

    /// A session that has not begun.
    pub(crate) fn session(&self) -> io::Result<Session> {
        let tls = ClientConnection::new(Arc::clone(&self.config), self.server_name.clone())
            .map_err(|error| io::Error::other(format!("TLS can't begin: {error}")))?;
        Ok(Session::new(tls, self.needs_h2))
    }
}

/// Accepts any certificate, but still verifies that the server holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The registered names of protocols within TLS.
fn alpn_name(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http1 => b"http/1.1",
        Protocol::Http2 | Protocol::Grpc => H2,
    }
}

fn authorities_of(path: &Path) -> Result<RootCertStore, TlsError> {
    let pem = std::fs::read(path).map_err(|source| TlsError::CaFile {
        path: path.to_owned(),
        source,
    })?;
    let mut authorities = RootCertStore::empty();
    for (position, certificate) in CertificateDer::pem_slice_iter(&pem).enumerate() {
        let unusable = |why: String| TlsError::BadCertificate {
            path: path.to_owned(),
            index: position + 1,
            why,
        };
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        authorities
            .add(certificate)
            .map_err(|error| unusable(error.to_string()))?;
    }
    if authorities.is_empty() {
        return Err(TlsError::NoCertificate {
            path: path.to_owned(),
        });
    }
    Ok(authorities)
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
