//! `windage sink`, with requests over raw sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::workshop::{Going, Workshop};

/// A trace of two spans, as OTLP/JSON.
const TWO_SPANS: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",
    "value":{"stringValue":"shop"}}]},"scopeSpans":[{"scope":{"name":"http"},"spans":[
    {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"GET /",
     "endTimeUnixNano":"1763800000000000000","events":[{}],"attributes":[{"key":"a"}]},
    {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175",
     "parentSpanId":"eee19b7ec3c1b174","name":"SELECT"}]}]}]}"#;

/// Waits for the address of this receiver.
fn address(sink: &mut Going, protocol: &str) -> SocketAddr {
    sink.until_said("says where it listens", |text| {
        let mut lines = text.lines();
        let address = lines.find_map(|line| line.strip_prefix(protocol)?.strip_prefix(' '));
        Some(address?.parse().unwrap())
    })
}

/// Posts a body and returns the status, or `None` if there is no answer.
fn post(to: SocketAddr, path: &str, content_type: &str, body: &[u8]) -> Option<u16> {
    let mut stream = TcpStream::connect(to).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: sink\r\nconnection: close\r\ncontent-type: \
         {content_type}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

fn end(sink: &Going) {
    let pid = Pid::from_raw(i32::try_from(sink.pid()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
}

#[test]
fn counts_are_printed_as_one_document() {
    let shop = Workshop::new();
    let mut sink = shop.start(&["sink", "--json"], &[]);
    let otlp = address(&mut sink, "otlp-http");
    let zipkin = address(&mut sink, "zipkin");
    let json = "application/json";
    assert_eq!(
        post(otlp, "/v1/traces", json, TWO_SPANS.as_bytes()),
        Some(200)
    );
    let span = r#"[{"traceId":"1","id":"2","localEndpoint":{"serviceName":"cart"}}]"#;
    assert_eq!(
        post(zipkin, "/api/v2/spans", json, span.as_bytes()),
        Some(202)
    );
    assert_eq!(post(otlp, "/nowhere", json, b"{}"), Some(404));
    assert_eq!(post(otlp, "/v1/logs", json, b"{"), Some(400));
    end(&sink);
    let document = sink.end().code(0).json();
    for (key, value) in [
        ("requests", 4),
        ("spans", 3),
        ("root_spans", 2),
        ("span_events", 1),
        ("links", 0),
        ("attributes", 1),
        ("metric_points", 0),
        ("log_records", 0),
        ("rejected", 1),
        ("malformed", 1),
        ("refused", 0),
    ] {
        assert_eq!(document[key], value, "{key}");
    }
    assert_eq!(document["bytes"], TWO_SPANS.len() + span.len());
    assert!(document["wire_bytes"].as_u64() > document["bytes"].as_u64());
    assert_eq!(document["by_protocol"]["otlp-http"]["spans"], 2);
    assert_eq!(document["by_protocol"]["zipkin"]["spans"], 1);
    assert!(
        document["by_protocol"]["datadog"].is_null(),
        "nothing arrived"
    );
    assert_eq!(document["by_source"][0]["service"], "shop");
    assert_eq!(document["by_source"][0]["scope"], "http");
    assert_eq!(document["traces"]["complete"], 2);
    assert_eq!(document["export_delay_us"]["spans"], 1);
}

#[test]
fn the_backend_obeys_while_it_runs() {
    let shop = Workshop::new();
    let args = [
        "sink",
        "--otlp-http",
        "127.0.0.1:0",
        "--backend",
        "reject 429",
        "--print",
    ];
    let mut sink = shop.start_listening(&args);
    let otlp = address(&mut sink, "otlp-http");
    let send = || post(otlp, "/v1/traces", "application/json", TWO_SPANS.as_bytes());
    assert_eq!(send(), Some(429));
    for (order, heard, status) in [
        ("reject 503", "the backend is now: reject 503", Some(503)),
        ("gone fishing", "`gone fishing` is not a backend", Some(503)),
        ("reset", "the backend is now: reset", None),
        ("down", "the backend is now: down", None),
        ("ok", "the backend is now: ok", Some(200)),
    ] {
        sink.tell(order);
        sink.until_said(heard, |text| text.find(heard));
        // The order is confirmed before it takes effect, which takes a thread a moment.
        let patience = std::time::Instant::now() + Duration::from_secs(10);
        let mut found = send();
        while found != status && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(20));
            found = send();
        }
        assert_eq!(found, status, "{order}");
    }
    end(&sink);
    let ended = sink.end().code(0);
    assert!(
        ended
            .stdout
            .contains("were refused by the simulated backend"),
        "{}",
        ended.stdout
    );
}

#[test]
fn the_first_spans_are_shown_on_request() {
    let shop = Workshop::new();
    let args = [
        "sink",
        "--otlp-http",
        "127.0.0.1:0",
        "--print=1",
        "--keep",
        "kept",
    ];
    let mut sink = shop.start(&args, &[]);
    let otlp = address(&mut sink, "otlp-http");
    // One line each for the resource, the scope and the two spans.
    let body = b"\x0a\x12\x12\x10\x12\x06\x2a\x04Wind\x12\x06\x2a\x04lull";
    assert_eq!(
        post(otlp, "/v1/traces", "application/x-protobuf", body),
        Some(200)
    );
    end(&sink);
    let ended = sink.end().code(0).says(&["Wind · 0 µs"]);
    assert!(!ended.stderr.contains("lull"), "{}", ended.stderr);
    let kept = std::fs::read(shop.dir().join("kept/0-otlp-http/00000001-traces.pb")).unwrap();
    assert_eq!(kept, body);
}

#[test]
fn errors_name_the_remedy() {
    let shop = Workshop::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let sink = |args: &[&str]| shop.windage(&[&["sink"], args].concat());
    sink(&["--datadog", &address])
        .code(5)
        .says(&["datadog", &address, "name another port"]);
    sink(&["--backend", "reject 200"])
        .code(2)
        .says(&["200 is not an error status", "slow 200ms"]);
    sink(&["--otlp-http", "4318"])
        .code(2)
        .says(&["--otlp-http"]);
    let ended = sink(&["--for", "100ms", "--quiet"]).code(0);
    assert!(ended.stdout.contains("nothing arrived"), "{}", ended.stdout);
    assert_eq!(ended.stderr, "");
}
