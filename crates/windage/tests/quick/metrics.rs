//! Metrics for other programs: `--metrics` during a run, `--otlp` after it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::Signal;
use windage_serve::{FAMILIES, Kind};

use crate::contract;
use crate::interruption::send;
use crate::plans::Plan;
use crate::scrape::{address, get, value};
use crate::workshop::{Going, Workshop};

/// A name that has to be escaped.
const QUOTED: &str = r#"[[arm]]
name = 'Say "again" \ now'
env = { TOKEN = "a-secret-of-the-environment" }"#;

const ARM: &str = "say-again-now";

/// A run that is long enough for estimates, which are rare on a busy machine.
fn plan() -> String {
    let plan = Plan {
        arms: QUOTED,
        length: "10m",
        rounds: 200,
        load: "headers = { authorization = '$WINDAGE_TEST_SECRET' }",
        ..Plan::default()
    };
    plan.text()
}

/// The low end, estimate and high end for an arm's CPU per request; `None` before there is an interval.
fn cpu(text: &str) -> Option<[f64; 3]> {
    let labels = format!("{{arm=\"{ARM}\",metric=\"cpu_per_request\"}}");
    let [low, estimate, high] = ["_low", "", "_high"]
        .map(|end| value(text, &format!("windage_overhead{end}_ratio{labels}")));
    Some([low?, estimate?, high?])
}

/// Measures with `--metrics`, and waits until a round is measured and estimated.
fn in_the_second_round(shop: &Workshop) -> (Going, SocketAddr, String) {
    shop.write("plan.toml", &plan());
    let args = [
        "run",
        "plan.toml",
        "--out",
        &shop.run,
        "--metrics",
        "127.0.0.1:0",
        "--quiet",
    ];
    let secret = [("WINDAGE_TEST_SECRET", "a-secret-of-the-request")];
    let mut going = shop.start(&args, &secret);
    let from = address(&mut going);
    let seen = RefCell::new(String::new());
    going.until("in its second round and estimated", || {
        std::thread::sleep(Duration::from_millis(40));
        let text = get(from, "/metrics").map_or_else(String::new, |answer| answer.body);
        let begun = value(&text, "windage_rounds_begun");
        let is_estimated = cpu(&text).is_some();
        seen.replace(text);
        begun >= Some(2.0) && is_estimated
    });
    (going, from, seen.into_inner())
}

#[test]
fn a_run_publishes_its_progress() {
    let shop = Workshop::new();
    let (going, from, text) = in_the_second_round(&shop);
    // `windage report` works on the same directory at any time, and says that the run is not over.
    let run = shop.of_run("").display().to_string();
    let report = Workshop::new().windage(&["report", &run, "--json"]);
    let report = report.code(0).json();
    contract::check(&report);
    assert!(contract::reasons(&report).contains(&"run_incomplete"));
    assert!(report["design"]["blocks"].as_u64() > Some(0));

    let answer = get(from, "/metrics").unwrap();
    let content_type = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(answer.head.contains(" 200 OK"), "{}", answer.head);
    assert!(answer.head.contains(content_type), "{}", answer.head);
    assert!(get(from, "/nowhere").unwrap().head.contains(" 404 "));
    // The rest of the run adds nothing to the test.
    send(&going, Signal::SIGINT);
    going.end().code(130);
    assert!(get(from, "/metrics").is_none(), "it ended with the run");

    is_openmetrics(&text);
    for (series, least) in [
        (
            r#"windage_arm_info{arm="say-again-now",name="Say \"again\" \\ now",role="treatment"}"#
                .to_owned(),
            1.0,
        ),
        ("windage_blocks_total".to_owned(), 1.0),
        (format!("windage_requests_total{{arm=\"{ARM}\"}}"), 1.0),
        (
            format!("windage_window_seconds_total{{arm=\"{ARM}\"}}"),
            0.01,
        ),
        (r#"windage_run_state{state="ended"}"#.to_owned(), 0.0),
    ] {
        let found = value(&text, &series);
        assert!(found >= Some(least), "{series}: {found:?} in {text}");
    }
    let [low, estimate, high] = cpu(&text).unwrap();
    assert!(
        low <= estimate && estimate <= high,
        "{low} {estimate} {high}"
    );
    assert!(!text.contains("run_incomplete"), "{text}");
    for secret in ["a-secret-of-the-environment", "a-secret-of-the-request"] {
        assert!(!text.contains(secret), "{text}");
    }
}

/// Checks the format: known families, each in one piece, numeric values, an end.
fn is_openmetrics(text: &str) {
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let mut described = BTreeSet::new();
    let mut family = "";
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split(' ').next().unwrap();
            assert!(described.insert(family), "{family} is there twice");
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(name.starts_with(family), "{line} is not of {family}");
            let known = FAMILIES.iter().find(|f| f.series_name() == name);
            let known = known.unwrap_or_else(|| panic!("{line}"));
            let number: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(number.is_finite(), "{line}");
            assert!(known.kind() == Kind::Gauge || number >= 0.0, "{line}");
        }
    }
}

#[test]
fn an_address_in_use_is_named() {
    let shop = Workshop::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    shop.write("plan.toml", &Plan::default().text());
    let run = |address: &str| shop.windage(&["run", "plan.toml", "--metrics", address]);
    run(&address)
        .code(5)
        .says(&[&address, "in use", "--metrics"]);
    run("localhost")
        .code(2)
        .says(&["--metrics", "127.0.0.1:9464"]);
    let made = shop.dir().join("windage-runs").exists();
    assert!(!made, "nothing was measured");
}

#[test]
fn results_are_pushed_and_counted() {
    let [shop, receiving] = [Workshop::new(), Workshop::new()];
    let mut sink = receiving.start(&["sink", "--otlp-http", "127.0.0.1:0", "--json"], &[]);
    let to = sink.until_said("says where it listens", |lines| {
        let mut lines = lines.lines();
        let address = lines.find_map(|line| line.strip_prefix("otlp-http "));
        address.map(str::to_owned)
    });
    let url = format!("http://{to}");
    shop.write("plan.toml", &Plan::default().text());
    let args = ["run", "plan.toml", "--out", &shop.run, "--quiet"];
    let pushed = shop.windage(&[&args[..], &["--otlp", &url]].concat());
    let report = pushed.code(0).stdout;
    let again = shop.windage(&["report", &shop.run, "--otlp", &url]);
    assert_eq!(again.code(0).stdout, report);
    send(&sink, Signal::SIGTERM);
    let received = sink.end().code(0).json();
    assert_eq!(received["requests"], 2);
    assert_eq!(received["malformed"], 0);
    assert_eq!(received["by_source"][0]["service"], "windage");

    let analysis = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    assert_eq!(received["metric_points"], 2 * points(&analysis));
}

/// The number of points of a result: three per interval, three for the verdict, and one per warning
/// code.
fn points(analysis: &serde_json::Value) -> usize {
    let mut points = 3 + contract::reasons(analysis)
        .iter()
        .collect::<BTreeSet<_>>()
        .len();
    for arm in analysis["arms"].as_array().unwrap() {
        for metric in arm["metrics"].as_object().unwrap().values() {
            points += 3 * usize::from(!metric["difference"].is_null());
            points += 3 * usize::from(!metric["relative"].is_null());
        }
        for key in ["expected", "delivered"] {
            points += usize::from(arm["fidelity"][key].is_number());
        }
    }
    points
}

#[test]
fn headers_come_from_the_environment_and_failures_lose_nothing() {
    let shop = Workshop::new();
    shop.write("plan.toml", &Plan::default().text());
    let run = ["run", "plan.toml", "--out", &shop.run, "--quiet"];
    shop.windage(&run).code(0);
    let report = shop.windage(&["report", &shop.run]).code(0).stdout;

    let (to, received) = receiver();
    let url = format!("http://{to}/");
    let env = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hush")];
    let args = ["report", &shop.run, "--otlp", &url];
    assert_eq!(shop.start(&args, &env).end().code(0).stdout, report);
    let head = received.join().unwrap().to_ascii_lowercase();
    for part in [
        "post /v1/metrics http/1.1",
        "content-type: application/x-protobuf",
        "authorization: bearer hush",
    ] {
        assert!(head.contains(part), "no `{part}` in {head}");
    }

    let nobody = shop.windage(&args).code(5);
    let nobody = nobody.says(&[&shop.run, "/v1/metrics did not accept", "listens there"]);
    assert_eq!(nobody.stdout, report, "the report is printed anyway");
    for (url, words) in [
        ("https://collector:4318", "Collector in between"),
        ("http://me:hush@collector", "OTEL_EXPORTER_OTLP_HEADERS"),
    ] {
        let refused = shop.windage(&["report", &shop.run, "--otlp", url]);
        refused.code(2).says(&["--otlp", words]);
    }
}

/// Answers one request with success, and returns its head.
fn receiver() -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        let head = loop {
            let got = stream.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..got]);
            let text = String::from_utf8_lossy(&request);
            if let Some((head, _)) = text.split_once("\r\n\r\n") {
                break head.to_owned();
            }
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.parse::<usize>().unwrap())
        });
        while request.len() < head.len() + 4 + length.unwrap() {
            let got = stream.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..got]);
        }
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    (address, thread)
}
