//! `windage load URL` with wrong flags, and with servers that fail.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;
use windage_model::{Soundness, WarningCode};

use crate::load_servers::{BROKEN, HELLO, answering, nobody, request, server};
use crate::load_verb::{codes, document, load};
use crate::workshop::Workshop;

#[test]
fn mistakes_are_usage_errors_that_name_the_remedy() {
    let table: &[(&[&str], &[&str])] = &[
        (&["127.0.0.1:8080"], &["begins with http://"]),
        (&["ftp://127.0.0.1/"], &["`ftp`", "http or https"]),
        (&["http://127.0.0.1:0/"], &["not HOST"]),
        (
            &["http://127.0.0.1/", "--rate", "0"],
            &["--rate", "above 0/s"],
        ),
        (
            &["http://127.0.0.1/", "--rate", "-5/s"],
            &["--rate", "above 0/s"],
        ),
        (&["http://127.0.0.1/", "--rate", "fast"], &["not a rate"]),
        (&["http://127.0.0.1/", "--rate", "nan"], &["not a rate"]),
        (
            &["http://127.0.0.1/", "--connections", "0"],
            &["--connections"],
        ),
        (&["http://127.0.0.1/", "--for", "0s"], &["--for"]),
        (
            &["http://192.0.2.1/"],
            &["not this machine", "--allow 192.0.2.1"],
        ),
        (
            &["http://127.0.0.1/", "-H", "A: $WINDAGE_TEST_UNSET"],
            &["WINDAGE_TEST_UNSET"],
        ),
        (&["http://127.0.0.1/", "-H", "no colon"], &["Name: value"]),
        (&["http://127.0.0.1/", "-X", "GE T"], &["method"]),
        (
            &["http://127.0.0.1/", "--data-file", "none"],
            &["--data-file", "none"],
        ),
        (
            &["http://127.0.0.1/", "--cpus", "100000"],
            &["--cpus", "100000"],
        ),
        (&["https://127.0.0.1/", "--ca", "none.pem"], &["none.pem"]),
        (
            &["http://127.0.0.1/", "--replay", "none"],
            &["--replay", "none"],
        ),
    ];
    for (args, words) in table {
        let ended = load(args).code(2).says(&["error: "]).says(words);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}

#[test]
fn more_connections_than_descriptors_are_refused() {
    let shop = Workshop::new();
    let script = format!(
        "ulimit -n 256; exec {} load http://127.0.0.1:9/ --connections 500",
        env!("CARGO_BIN_EXE_windage")
    );
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &script])
        .current_dir(shop.dir())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    for word in ["500 connections", "256", "ulimit -n", "--connections"] {
        assert!(stderr.contains(word), "{word}: {stderr}");
    }
}

#[test]
fn a_soft_limit_is_raised_to_what_the_connections_need() {
    let url = answering(HELLO);
    let script = format!(
        "ulimit -Sn 64; exec {} load {url} --connections 100 --for 200ms --json",
        env!("CARGO_BIN_EXE_windage")
    );
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &script])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
}

#[test]
fn a_name_without_an_address_is_an_error() {
    // RFC 2606 guarantees that this name never has one.
    let ended = load(&["http://nowhere.invalid/", "--allow", "nowhere.invalid"]).code(5);
    ended.says(&["can't resolve", "nowhere.invalid"]);
}

#[test]
fn nobody_listens() {
    let began = Instant::now();
    let ended = load(&[&nobody(), "--for", "20s", "--json"]).code(5);
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "it did not wait for --for"
    );
    let document = document(&ended);
    assert_eq!(document["requests"], 0);
    assert_eq!(document["errors"]["connect"], 8);
    assert_eq!(document["response_time_us"]["p99"], Value::Null);
    assert_eq!(document["validity"]["verdict"], "void");
    ended.says(&["nothing was completed", "refused"]);
}

#[test]
fn server_errors_are_counted_by_class() {
    type Serve = fn(TcpStream);
    let garbage: Serve = |mut stream| {
        while request(&mut stream, 0).is_some()
            && stream.write_all(b"\0\x01garbage\r\n\r\n").is_ok()
        {}
    };
    let closing: Serve = |mut stream| {
        request(&mut stream, 0);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    };
    let silent: Serve = |mut stream| while request(&mut stream, 0).is_some() {};
    for (serve, class) in [
        (garbage, "protocol"),
        (closing, "closed"),
        (silent, "timeout"),
    ] {
        let url = format!("http://{}/", server(serve));
        let began = Instant::now();
        let args = [
            &url,
            "--for",
            "500ms",
            "--timeout",
            "200ms",
            "--warmup",
            "0s",
            "--json",
        ];
        let ended = load(&args).code(5);
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{class}: did not end in time"
        );
        let document = document(&ended);
        assert!(
            document["errors"][class].as_u64().unwrap() > 0,
            "{class}: {document:#}"
        );
        assert_eq!(document["requests"], 0, "{class}");
        assert!(document["first_error"].is_string(), "{class}");
    }
}

#[test]
fn a_load_with_only_errors_is_void() {
    let document = document(&load(&[&answering(BROKEN), "--for", "200ms", "--json"]).code(4));
    assert_eq!(document["requests"], document["status"]["5xx"]);
    assert_eq!(document["validity"]["verdict"], "void");
    // The machine may add reasons of its own, such as steal.
    let mut void = codes(&document);
    void.retain(|code| WarningCode::from_name(code).unwrap().soundness() == Soundness::Void);
    assert_eq!(void, ["only_errors"]);
}
