//! `windage load URL`, with servers in this process.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::load_servers::{HELLO, answering, nobody, request, server};
use crate::workshop::{Ended, Workshop};

pub(crate) fn load(args: &[&str]) -> Ended {
    let words: Vec<&str> = ["load"].into_iter().chain(args.iter().copied()).collect();
    Workshop::new().windage(&words)
}

/// The JSON document, checked for every key of the contract.
pub(crate) fn document(ended: &Ended) -> Value {
    let document = ended.json();
    for pointer in [
        "/requests",
        "/errors/connect",
        "/errors/timeout",
        "/errors/closed",
        "/errors/protocol",
        "/seconds",
        "/rate/intended",
        "/rate/offered",
        "/rate/achieved",
        "/generator/cpu_us_per_request",
        "/generator/rss_peak_bytes",
        "/validity/verdict",
        "/validity/reasons",
    ] {
        assert!(
            document.pointer(pointer).is_some(),
            "{pointer}: {document:#}"
        );
    }
    for times in ["response_time_us", "service_time_us", "send_lag_us"] {
        for quantile in ["p50", "p90", "p99", "p999", "max"] {
            assert!(
                document[times].get(quantile).is_some(),
                "{times}.{quantile}: {document:#}"
            );
        }
    }
    document
}

pub(crate) fn codes(document: &Value) -> Vec<&str> {
    let reasons = document["validity"]["reasons"].as_array().unwrap();
    reasons
        .iter()
        .map(|r| r["code"].as_str().unwrap())
        .collect()
}

#[test]
fn a_closed_loop_counts_and_times_answers() {
    let url = answering(HELLO);
    let ended = load(&[&url, "--for", "300ms", "--connections", "2", "--json"]).code(0);
    assert_eq!(ended.stderr, "", "nothing is shown without a terminal");
    let document = document(&ended);
    let requests = document["requests"].as_u64().unwrap();
    assert!(requests > 10, "{document:#}");
    assert_eq!(document["status"]["2xx"], requests);
    assert_eq!(document["rate"]["intended"], Value::Null);
    assert_eq!(document["send_lag_us"]["p50"], Value::Null);
    assert!(document["response_time_us"]["p50"].as_f64().unwrap() > 0.0);
    assert!(
        document["generator"]["cpu_us_per_request"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert!(document["generator"]["rss_peak_bytes"].as_u64().unwrap() > 1_000_000);
    assert_eq!(document["bytes"]["received"], requests * HELLO.len() as u64);
    assert!(!document["slowest"].as_array().unwrap().is_empty());
}

#[test]
fn an_open_loop_keeps_its_schedule_on_one_thread_and_on_several() {
    for threads in ["1", "3"] {
        let url = answering(HELLO);
        let args = [
            &url,
            "--rate",
            "200/s",
            "--for",
            "1s",
            "--threads",
            threads,
            "--json",
        ];
        let document = document(&load(&args).code(0));
        assert_eq!(document["requests"], 200, "{threads}: {document:#}");
        assert_eq!(document["rate"]["intended"], 200.0, "{threads}");
        assert!(
            document["send_lag_us"]["p50"].as_f64().is_some(),
            "{threads}"
        );
        assert_eq!(document["load"]["threads"].to_string(), threads);
    }
}

#[test]
fn starts_follow_a_profile_or_a_recording() {
    let shop = Workshop::new();
    shop.write("starts.csv", "0.0\n0.01\n0.05\n0.05\n");
    let url = answering(HELLO);
    let table: [(&[&str], u64); 2] = [
        (&["--profile", "0..100/s for 400ms, 100/s for 100ms"], 30),
        (&["--replay", "starts.csv"], 4),
    ];
    for (args, starts) in table {
        let words: Vec<&str> = ["load", &url, "--json"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let document = document(&shop.windage(&words).code(0));
        assert_eq!(document["requests"], starts, "{args:?}");
    }
}

#[test]
fn connections_grow_when_none_is_free() {
    let address = server(|mut stream| {
        while request(&mut stream, 0).is_some() {
            std::thread::sleep(Duration::from_millis(50));
            if stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let url = format!("http://{address}/");
    let args = [
        &url,
        "--rate",
        "100/s",
        "--for",
        "1s",
        "--connections",
        "1",
        "--max-connections",
        "50",
        "--warmup",
        "0s",
        "--json",
    ];
    let document = document(&load(&args).code(0));
    assert_eq!(document["requests"], 100, "{document:#}");
    assert!(document["grown"].as_u64().unwrap() > 0, "{document:#}");
}

#[test]
fn a_unix_socket_is_loaded_like_any_other() {
    let shop = Workshop::new();
    let listener = UnixListener::bind(shop.dir().join("app.sock")).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                while let Some(text) = request(&mut stream, 0) {
                    assert!(text.contains("Host: app.example\r\n"), "{text}");
                    if stream.write_all(HELLO).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let args = [
        "load",
        "http://app.example/",
        "--unix",
        "app.sock",
        "--for",
        "200ms",
        "--json",
    ];
    let document = document(&shop.windage(&args).code(0));
    assert!(document["status"]["2xx"].as_u64().unwrap() > 0);
    assert_eq!(document["to"], "unix:app.sock");
}

#[test]
fn flags_make_the_request_and_secrets_stay_secret() {
    let (send, received) = std::sync::mpsc::channel();
    let address = server(move |mut stream| {
        while let Some(text) = request(&mut stream, 7) {
            let _ = send.send(text);
            if stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let shop = Workshop::new();
    shop.write("order.json", "{\"a\":1}");
    let url = format!("http://{address}/orders?x=1");
    let args = [
        "load",
        &url,
        "--for",
        "100ms",
        "--data-file",
        "order.json",
        "-X",
        "PUT",
        "-H",
        "X-Plain: yes",
        "-H",
        "Authorization: $WINDAGE_TEST_SECRET",
    ];
    let secret = [("WINDAGE_TEST_SECRET", "Bearer hush-4711")];
    let ended = shop.start(&args, &secret).end().code(0);
    let seen = received.recv().unwrap();
    assert!(seen.starts_with("PUT /orders?x=1 HTTP/1.1\r\n"), "{seen}");
    let lower = seen.to_lowercase();
    for line in [
        format!("\r\nhost: {address}\r\n"),
        "\r\ncontent-length: 7\r\n".to_owned(),
        "\r\nx-plain: yes\r\n".to_owned(),
        "\r\nauthorization: bearer hush-4711\r\n".to_owned(),
    ] {
        assert!(lower.contains(&line), "{line} is not in {seen}");
    }
    assert!(seen.ends_with("{\"a\":1}"), "{seen}");
    assert!(!ended.stdout.contains("hush") && !ended.stderr.contains("hush"));
}

#[test]
fn ctrl_c_ends_the_run_and_reports_it() {
    let answered = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&answered);
    let address = server(move |mut stream| {
        while request(&mut stream, 0).is_some() && stream.write_all(HELLO).is_ok() {
            counts.fetch_add(1, Ordering::Relaxed);
        }
    });
    let url = format!("http://{address}/");
    let shop = Workshop::new();
    for args in [&["--rate", "100/s"][..], &[]] {
        let words = ["load", &url, "--for", "100s", "--warmup", "0s", "--json"];
        let words: Vec<&str> = words.iter().chain(args).copied().collect();
        answered.store(0, Ordering::Relaxed);
        let mut going = shop.start(&words, &[]);
        // More than there are connections: a connection has read an answer before it sends again.
        going.until("answered", || answered.load(Ordering::Relaxed) > 64);
        kill(
            Pid::from_raw(going.pid().try_into().unwrap()),
            Signal::SIGINT,
        )
        .unwrap();
        let document = document(&going.end().code(130));
        assert_eq!(document["interrupted"], true);
        assert!(document["requests"].as_u64().unwrap() > 0, "{document:#}");
        assert!(document["seconds"].as_f64().unwrap() < 50.0, "{document:#}");
        assert!(
            codes(&document).contains(&"load_interrupted"),
            "{document:#}"
        );
    }
}

#[test]
fn a_person_reads_this() {
    let url = answering(HELLO);
    let closed = load(&[&url, "--for", "300ms"]).code(0);
    insta::assert_snapshot!("load_closed", redacted(&closed.stdout));
    let open = load(&[
        &url,
        "--for",
        "1s",
        "--rate",
        "100/s",
        "--arrivals",
        "poisson",
    ])
    .code(0);
    insta::assert_snapshot!("load_open", redacted(&open.stdout));
    let refused = load(&[&nobody()]).code(5);
    insta::assert_snapshot!("load_refused", redacted(&refused.stdout));
}

/// The report without figures, and without verdict and reasons, which depend on the machine. A
/// figure and its unit become `#`, and several blanks become one.
fn redacted(report: &str) -> String {
    let is_verdict = |line: &&str| {
        ["valid:", "suspect:"]
            .iter()
            .all(|word| !line.starts_with(word))
    };
    let units = ["µs", "ms", "s", "B", "kB", "MB", "GB"];
    let mut text = String::new();
    for line in report.lines().take_while(is_verdict) {
        let mut words: Vec<String> = Vec::new();
        for word in line.split_whitespace() {
            let (bare, tail) = word.split_at(word.trim_end_matches([',', ':']).len());
            let (unit, rest) = bare.split_once('/').unwrap_or((bare, ""));
            let follows_figure = words.last().is_some_and(|last| last == "#");
            if follows_figure && units.contains(&unit) {
                let slash = if rest.is_empty() { "" } else { "/" };
                words.pop();
                words.push(format!("#{slash}{rest}{tail}"));
            } else if bare.starts_with(|c: char| c.is_ascii_digit()) {
                let rate = if bare.ends_with("/s") { "/s" } else { "" };
                words.push(format!("#{rate}{tail}"));
            } else if bare.starts_with("http://") {
                words.push("URL".to_owned());
            } else {
                words.push(word.to_owned());
            }
        }
        text.push_str(&words.join(" "));
        text.push('\n');
    }
    text
}
