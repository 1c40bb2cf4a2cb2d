//! HAProxy's filter for OpenTelemetry is in no registry: its configurations are checked against what both of
//! its forms accept, by `addons/otel/README-configuration` of HAProxy 3.4-dev10 and `README-configuration` of
//! haproxytech/haproxy-opentelemetry 2.3.0.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

/// The events of both; the standalone filter has one more.
const EVENTS: [&str; 29] = [
    "on-stream-start",
    "on-stream-stop",
    "on-idle-timeout",
    "on-backend-set",
    "on-client-session-start",
    "on-frontend-tcp-request",
    "on-http-wait-request",
    "on-http-body-request",
    "on-frontend-http-request",
    "on-switching-rules-request",
    "on-backend-tcp-request",
    "on-backend-http-request",
    "on-process-server-rules-request",
    "on-http-process-request",
    "on-tcp-rdp-cookie-request",
    "on-process-sticking-rules-request",
    "on-http-headers-request",
    "on-http-end-request",
    "on-client-session-end",
    "on-server-unavailable",
    "on-server-session-start",
    "on-tcp-response",
    "on-http-wait-response",
    "on-process-store-rules-response",
    "on-http-response",
    "on-http-headers-response",
    "on-http-end-response",
    "on-http-reply",
    "on-server-session-end",
];

/// Why a statement is wrong.
fn mistake(words: &[&str]) -> Option<&'static str> {
    let (keyword, arguments) = words.split_first()?;
    let is_right = match (*keyword, arguments) {
        ("span", [_, rest @ ..]) => {
            let mut rest = rest.iter();
            let is_option = |word: &&str, rest: &mut std::slice::Iter<'_, &str>| match *word {
                "root" => true,
                "parent" | "link" => rest.next().is_some(),
                _ => false,
            };
            loop {
                match rest.next() {
                    None => break true,
                    Some(word) if is_option(word, &mut rest) => {}
                    Some(_) => break false,
                }
            }
        }
        ("attribute" | "baggage", [_, _, ..]) | ("event", [_, _, _, ..]) => true,
        // The addon's documentation calls the description optional, and its code demands it.
        ("status", [code, _, ..]) => {
            ["\"ignore\"", "\"unset\"", "\"ok\"", "\"error\""].contains(code)
        }
        ("inject" | "extract", [_, by @ ..]) => by
            .iter()
            .all(|word| ["use-headers", "use-vars"].contains(word)),
        ("finish" | "link" | "scopes" | "groups", [_, ..]) | ("acl", [_, _, ..]) => true,
        ("instrument", ["update", _, ..] | [_, _, ..]) | ("log-record", [_, _, ..]) => true,
        ("otel-event", [event, condition @ ..]) => {
            EVENTS.contains(event) && matches!(condition, [] | ["if" | "unless", _, ..])
        }
        ("config" | "rate-limit", [_]) | ("otel-instrumentation", [_]) => true,
        ("otel-scope" | "otel-group", [_]) => true,
        ("option", [option]) => ["disabled", "hard-errors", "dontlog-normal"].contains(option),
        ("[tracing]", []) | (".if", [_]) | (".endif", []) => true,
        _ => false,
    };
    (!is_right).then_some("not in the filter's grammar")
}

/// Words, of which quoted ones may have spaces.
fn words(line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let parts = line.split(|c: char| {
        is_quoted ^= c == '"';
        c.is_whitespace() && !is_quoted
    });
    parts.filter(|word| !word.is_empty()).collect()
}

fn folder() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("experiments/haproxy/opentelemetry")
}

#[test]
fn every_statement_for_the_opentelemetry_filter_is_in_its_grammar() {
    for name in ["sa", "cmp", "ctx", "frontend", "backend"] {
        let text = fs::read_to_string(folder().join(format!("{name}.cfg"))).unwrap();
        let statements: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .map(words)
            .filter(|words| !words.is_empty())
            .collect();
        assert!(statements.len() > 30, "{name}");
        for statement in &statements {
            assert_eq!(mistake(statement), None, "{name}: {statement:?}");
        }
        let named = |keyword: &str| -> BTreeSet<&str> {
            let of = statements.iter().filter(|words| words[0] == keyword);
            of.flat_map(|words| words[1..].iter().copied()).collect()
        };
        assert_eq!(named("scopes"), named("otel-scope"), "{name}");
        assert_eq!(named("groups"), named("otel-group"), "{name}");
        // What a span refers to, or what is finished, was opened or extracted. The standalone filter does not take
        // a name that is only injected.
        let first = |keyword: &str| -> BTreeSet<&str> {
            let of = statements.iter().filter(|words| words[0] == keyword);
            of.map(|words| words[1]).collect()
        };
        let known = &first("span") | &first("extract");
        let mut referred = named("finish");
        for words in statements.iter().filter(|words| words[0] == "span") {
            let pairs = words
                .windows(2)
                .filter(|pair| ["parent", "link"].contains(&pair[0]));
            referred.extend(pairs.map(|pair| pair[1]));
        }
        referred.retain(|name| name.starts_with('"') && !name.starts_with("\"*"));
        assert!(
            referred.is_subset(&known),
            "{name}: {:?}",
            &referred - &known
        );
    }
}

#[test]
fn what_either_form_refuses_is_found() {
    for line in [
        "status \"error\"",
        "span \"exchange\" root kind server",
        "attribute \"a\"",
        "option noflush",
        "otel-event on-no-event",
        "rate \"10\"",
        "event \"noted\" \"host\"",
    ] {
        assert!(mistake(&words(line)).is_some(), "{line}");
    }
    assert_eq!(
        mistake(&words("status \"error\" str(\"503: no server\")")),
        None
    );
}

#[test]
fn the_filter_is_told_from_what_haproxy_prints() {
    let dir = tempfile::tempdir().unwrap();
    let haproxy = dir.path().join("haproxy");
    let says = dir.path().join("says");
    fs::write(&haproxy, format!("#!/bin/sh\ncat {}\n", says.display())).unwrap();
    fs::set_permissions(&haproxy, fs::Permissions::from_mode(0o700)).unwrap();
    let ask = |verb: &str, prints: &str| {
        fs::write(&says, prints).unwrap();
        let mut filter = Command::new("sh");
        filter.arg(folder().join("../filter.sh")).arg(verb);
        let output = filter.env("WINDAGE_HAPROXY", &haproxy).output().unwrap();
        let text = if output.status.success() {
            output.stdout
        } else {
            output.stderr
        };
        String::from_utf8(text).unwrap().trim().to_owned()
    };
    let filters = "Available filters :\n\t[COMP] compression\n\t[OTEL] opentelemetry";
    let built = |of: &str| {
        format!(
            "HAProxy version 3.4.0 2026/10/07\nBuilt with OpenTelemetry support ({of}).\n{filters}"
        )
    };
    for of in [
        "filter version 2.3.0, C++ version 1.26.0, C Wrapper version 3.4.0-1028",
        "C++ version 1.26.0, C Wrapper version 1.0.2-844",
    ] {
        assert_eq!(ask("name", &built(of)), "otel");
        assert_eq!(ask("why", &built(of)), format!("opentelemetry ({of})"));
    }
    let dummy = built("filter version 2.3.0, C++ version none, C Wrapper version none");
    assert!(ask("name", &dummy).contains("sends nothing"));
    let older = "HAProxy version 2.6.12-1 2023/12/16\nAvailable filters :\n\t[  OT] opentracing";
    assert_eq!(ask("name", older), "ot");
    assert!(ask("why", older).starts_with("opentracing (HAProxy 2.6.12-1 has no"));
    assert_eq!(
        ask("why", filters),
        "opentelemetry",
        "it does not say its version"
    );
    let none = ask("name", "HAProxy version 3.4.0 2026/10/07");
    assert!(none.contains("neither"), "{none}");
}

#[test]
fn exporters_for_the_opentelemetry_filter_have_what_it_demands() {
    let text = fs::read_to_string(folder().join("otel.yml")).unwrap();
    let count = |what: &str| text.matches(what).count();
    let exporters = count("otlp_http\n");
    assert_eq!(exporters, 3);
    assert_eq!(count("content_type: binary\n"), exporters);
    assert_eq!(count("http_headers:\n      - "), exporters);
}
