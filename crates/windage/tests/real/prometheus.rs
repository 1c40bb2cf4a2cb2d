//! Prometheus scrapes a run, and the dashboard's queries have answers.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use windage_serve::DASHBOARD;

use crate::alone;
use crate::plans::Plan;
use crate::scrape::{address, get};
use crate::skip::skip;
use crate::workshop::Workshop;

const PATIENCE: Duration = Duration::from_secs(120);

/// A Prometheus server of the test, which ends with it.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Prometheus {
    /// Scrapes this address every three seconds, because an answer may take two. `None` if
    /// Prometheus is not installed.
    fn scraping(target: SocketAddr, dir: &Path) -> Option<Prometheus> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let config = format!(
            "global: {{ scrape_interval: 3s }}\nscrape_configs:\n- job_name: windage\n  \
             static_configs: [{{ targets: ['{target}'] }}]\n"
        );
        fs::write(dir.join("prometheus.yml"), config).unwrap();
        let log = File::create(dir.join("prometheus.log")).unwrap();
        let child = Command::new(program())
            .arg(format!("--web.listen-address={address}"))
            .args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let child = child.ok()?;
        Some(Prometheus { child, address })
    }

    /// An answer of its API; `None` while it is not ready.
    fn get_json(&self, path: &str) -> Option<Value> {
        let answer = get(self.address, path)?;
        serde_json::from_str(&answer.body).ok()
    }

    /// The series that a query finds.
    fn found(&self, query: &str) -> Option<Vec<Value>> {
        let answer = self.get_json(&format!("/api/v1/query?query={}", escaped(query)))?;
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().cloned()
    }

    /// Waits until a query finds something.
    fn finds(&self, query: &str) -> Vec<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.found(query) {
                Some(found) if !found.is_empty() => return found,
                _ => assert!(Instant::now() < deadline, "nothing for {query}"),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It has no data to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    let named = std::env::var_os("WINDAGE_TEST_PROMETHEUS");
    named.map_or_else(|| "prometheus".into(), PathBuf::from)
}

/// A query, encoded for a URL.
fn escaped(query: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    query.bytes().map(byte).collect()
}

#[test]
fn prometheus_scrapes_a_run() {
    let _alone = alone();
    let [shop, storing] = [Workshop::new(), Workshop::new()];
    let plan = Plan {
        arms: "[[arm]]\nname = 'Same \"again\"'",
        length: "10m",
        rounds: 200,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let args = ["run", "plan.toml", "--out", &shop.run, "--metrics", "0"];
    let mut going = shop.start(&args, &[]);
    let target = address(&mut going);
    let Some(prometheus) = Prometheus::scraping(target, storing.dir()) else {
        skip("prometheus_scrapes_a_run", "prometheus is not installed");
        return;
    };
    let names = prometheus.finds("windage_arm_info{role=\"treatment\"}");
    assert_eq!(names[0]["metric"]["name"], "Same \"again\"");
    assert_eq!(names[0]["metric"]["arm"], "same-again");
    for query in [
        "windage_overhead_ratio{arm=\"same-again\",metric=\"cpu_per_request\"}",
        "windage_overhead_low_ratio{metric=\"cpu_per_request\"} <= on (arm) windage_overhead_high_ratio{metric=\"cpu_per_request\"}",
        "rate(windage_requests_total{arm=\"off\"}[15s]) > 0",
        "windage_validity == 1",
    ] {
        prometheus.finds(query);
    }
    each_query_of_the_dashboard_is_valid(&prometheus, target);
    let targets = prometheus.get_json("/api/v1/targets").unwrap();
    let scraped = &targets["data"]["activeTargets"][0];
    assert_eq!(scraped["lastError"], "", "{targets}");
    assert_eq!(scraped["health"], "up", "{targets}");
    // The rest of the run adds nothing to the test.
    kill(
        Pid::from_raw(going.pid().try_into().unwrap()),
        Signal::SIGINT,
    )
    .unwrap();
    going.end().code(130);
}

/// Prometheus refuses queries that it can't parse, or that match several series on both sides.
fn each_query_of_the_dashboard_is_valid(prometheus: &Prometheus, target: SocketAddr) {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let mut answered = 0;
    for target_of_panel in panels.flat_map(|p| p["targets"].as_array().into_iter().flatten()) {
        let query = target_of_panel["expr"].as_str().unwrap();
        let query = query
            .replace("$instance", &target.to_string())
            .replace("$arm", ".*")
            .replace("$metric", "cpu_per_request")
            .replace("$__rate_interval", "15s");
        assert!(!query.contains('$'), "{query}");
        answered += usize::from(!prometheus.found(&query).unwrap().is_empty());
    }
    assert!(answered > 20, "only {answered} panels have data");
}

/// Answers and failures per minute of an arm, and the shares that the dashboard shows.
type Failing = (&'static str, u64, [(&'static str, u64); 3], Shares);
type Shares = &'static [(&'static str, f64)];

const FAILING: &[Failing] = &[
    ("sound", 120, failing(0, 0, 0), &[]),
    ("idle", 0, failing(0, 0, 0), &[]),
    ("status", 100, failing(25, 0, 0), &[("status", 0.25)]),
    ("half", 500, failing(0, 500, 0), &[("timeout", 0.5)]),
    ("none", 0, failing(0, 60, 0), &[("timeout", 1.0)]),
    (
        "mixed",
        64,
        failing(32, 32, 32),
        &[("closed", 0.25), ("status", 0.25), ("timeout", 0.25)],
    ),
];

const fn failing(status: u64, timeout: u64, closed: u64) -> [(&'static str, u64); 3] {
    [("status", status), ("timeout", timeout), ("closed", closed)]
}

#[test]
fn failures_are_a_share_of_all_requests() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut panels = dashboard["panels"].as_array().unwrap().iter();
    let panel = panels.find(|panel| panel["title"] == "Failed requests");
    let query = panel.unwrap()["targets"][0]["expr"].as_str().unwrap();
    let query = query
        .replace("$instance", "here")
        .replace("$arm", ".*")
        .replace("$__rate_interval", "2m");
    let (mut series, mut shares) = (Vec::new(), Vec::new());
    let mut counts = |series_name: String, a_minute: u64| {
        series.push(json!({ "series": series_name, "values": format!("0+{a_minute}x10") }));
    };
    for (arm, answers, failures, expected) in FAILING {
        let of_arm = format!("instance=\"here\",arm=\"{arm}\"");
        counts(format!("windage_requests_total{{{of_arm}}}"), *answers);
        for (cause, failed) in failures {
            let labels = format!("{of_arm},cause=\"{cause}\"");
            counts(
                format!("windage_requests_failed_total{{{labels}}}"),
                *failed,
            );
        }
        for (cause, share) in *expected {
            let labels = format!("{{{of_arm},cause=\"{cause}\"}}");
            shares.push(json!({ "labels": labels, "value": share }));
        }
    }
    let expected = json!({ "expr": query, "eval_time": "5m", "exp_samples": shares });
    let test = json!({ "interval": "1m", "input_series": series, "promql_expr_test": [expected] });
    let shop = Workshop::new();
    shop.write("tests.yml", &json!({ "tests": [test] }).to_string());
    let tool = program().with_file_name("promtool");
    let evaluated = Command::new(tool)
        .args(["test", "rules", "tests.yml"])
        .current_dir(shop.dir())
        .output();
    let Ok(evaluated) = evaluated else {
        skip(
            "failures_are_a_share_of_all_requests",
            "promtool is not installed",
        );
        return;
    };
    let output = [evaluated.stdout, evaluated.stderr].concat();
    let output = String::from_utf8_lossy(&output);
    assert!(evaluated.status.success(), "{output}");
}
