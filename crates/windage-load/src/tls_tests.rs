use std::path::PathBuf;

use super::*;

fn options(server_name: &str, ca_file: Option<PathBuf>, insecure: bool) -> TlsOptions {
    TlsOptions {
        server_name: server_name.to_owned(),
        ca_file,
        insecure,
        alpn: Protocol::Http1,
    }
}

#[test]
fn host_names_and_addresses_are_accepted_unchanged() {
    for name in ["localhost", "a-b.example.org", "127.0.0.1", "::1"] {
        let made = TlsClient::new(options(name, None, false));
        assert!(made.is_ok(), "{name}: {made:?}");
    }
    for name in ["", "[::1]", "a b", "example.org:443", "https://example.org"] {
        let error = TlsClient::new(options(name, None, false)).unwrap_err();
        let expected = format!("`{name}` is not a server name for TLS");
        assert!(error.to_string().starts_with(&expected), "{name}: {error}");
    }
}

#[test]
fn an_unusable_ca_file_is_named() {
    const NO_BASE64: &str = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
    const NO_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    const A_KEY: &str = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let directory = tempfile::tempdir().unwrap();
    let table: [(&str, Option<&[u8]>, &str); 6] = [
        ("missing.pem", None, "can't read the CA file"),
        ("empty.pem", Some(b""), "has no certificate"),
        (
            "der.pem",
            Some(b"\x30\x82\x01\x0a\x02\x82"),
            "has no certificate",
        ),
        ("key.pem", Some(A_KEY.as_bytes()), "has no certificate"),
        (
            "torn.pem",
            Some(NO_BASE64.as_bytes()),
            "certificate 1 of the CA file",
        ),
        (
            "other.pem",
            Some(NO_CERTIFICATE.as_bytes()),
            "certificate 1 of the CA file",
        ),
    ];
    for (name, content, expected) in table {
        let path = directory.path().join(name);
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let error = TlsClient::new(options("localhost", Some(path), false)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{name}: {text}");
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn an_unused_ca_file_is_refused() {
    let error = TlsClient::new(options("localhost", Some("ca.pem".into()), true)).unwrap_err();
    assert!(matches!(error, TlsError::Contradiction { .. }), "{error}");
    assert!(error.to_string().contains("ca.pem"), "{error}");
}

#[test]
fn alpn_offers_the_protocol_in_use() {
    let table: [(Protocol, &[u8], bool); 3] = [
        (Protocol::Http1, b"http/1.1", false),
        (Protocol::Http2, b"h2", true),
        (Protocol::Grpc, b"h2", true),
    ];
    for (protocol, name, needs_h2) in table {
        let client = TlsClient::new(TlsOptions {
            alpn: protocol,
            ..options("localhost", None, true)
        })
        .unwrap();
        assert_eq!(client.config.alpn_protocols, [name.to_vec()]);
        assert_eq!(client.needs_h2, needs_h2);
    }
}
