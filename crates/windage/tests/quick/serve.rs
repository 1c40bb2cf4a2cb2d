//! `windage serve`: the list, a run in progress, and its end.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::symlink;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::contract;
use crate::interruption::send;
use crate::plans::Plan;
use crate::scrape::{Answer, get};
use crate::workshop::{Going, Workshop};

/// A workshop with a directory for runs.
fn with_runs() -> Workshop {
    let shop = Workshop::new();
    std::fs::create_dir(shop.dir().join("windage-runs")).unwrap();
    shop
}

/// A server, and what admits requests.
struct Server {
    address: SocketAddr,
    query: String,
}

impl Server {
    /// That of a URL such as `http://127.0.0.1:9470/?token=…`.
    fn of(url: &str) -> Option<Server> {
        let (address, query) = url.strip_prefix("http://")?.split_once("/?")?;
        Some(Server {
            address: address.parse().ok()?,
            query: query.to_owned(),
        })
    }

    fn get(&self, path: &str) -> Option<Answer> {
        get(self.address, &format!("{path}?{}", self.query))
    }
}

/// Starts a server for the runs of a workshop, on a free port.
fn serving(shop: &Workshop) -> (Going, Server) {
    let mut going = shop.start(&["serve", "--listen", "127.0.0.1:0"], &[]);
    let server = going.until_said("says where it answers", |text| {
        let rest = text.strip_prefix("runs in windage-runs: ")?;
        Server::of(rest.split_once(' ')?.0)
    });
    (going, server)
}

fn asked(from: &Server, path: &str) -> Value {
    let answer = from.get(path);
    let answer = answer.unwrap_or_else(|| panic!("{path} is not answered"));
    serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{path}: {}", answer.body))
}

fn state(from: &Server) -> Value {
    asked(from, "/api/runs")["runs"][0]["state"].clone()
}

#[test]
fn a_run_is_shown_during_and_after_measuring() {
    let shop = with_runs();
    // A directory of its own, because `end` checks what is left in the run's directory.
    let serving_shop = Workshop::new();
    let runs = "windage-runs";
    symlink(shop.dir().join(runs), serving_shop.dir().join(runs)).unwrap();
    let plan = Plan {
        length: "10m",
        rounds: 200,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let (mut server, from) = serving(&serving_shop);
    let from = &from;
    assert_eq!(asked(from, "/api/runs")["runs"], Value::Array(Vec::new()));

    let out = format!("windage-runs/{}", shop.run);
    let mut run = shop.start(&["run", "plan.toml", "--out", &out, "--quiet"], &[]);
    server.until("lists the run", || state(from) == "going_on");
    run.until("measured", || {
        let page = asked(from, &format!("/api/runs/{}/page", shop.run));
        page["analysis"]["design"]["blocks"].as_u64() > Some(0)
    });
    send(&run, Signal::SIGINT);
    run.end().code(130);
    server.until("sees its end", || state(from) == "ended");
    let analysis = asked(from, &format!("/api/runs/{}/analysis.json", shop.run));
    contract::check(&analysis);
    let report = shop.windage(&["report", &out, "--json"]).code(0).json();
    assert_eq!(analysis, report, "the same as the report");
    let page = from.get("/").unwrap();
    assert!(
        page.head
            .to_ascii_lowercase()
            .contains("content-security-policy"),
        "{}",
        page.head
    );
    assert!(page.body.starts_with("<!DOCTYPE html>"), "{}", page.body);

    let refused = get(from.address, "/").unwrap();
    assert!(
        refused.head.starts_with("HTTP/1.0 401 "),
        "{}",
        refused.head
    );
    assert!(refused.body.contains("open the URL"), "{}", refused.body);

    send(&server, Signal::SIGINT);
    let ended = server.end().code(0);
    assert_eq!(ended.stdout, "");
    assert!(from.get("/").is_none(), "the server has ended");
    let kept = shop.dir().join("windage-runs/.windage-index.sqlite");
    assert!(kept.is_file());
}

#[test]
fn errors_name_the_remedy() {
    let shop = Workshop::new();
    shop.windage(&["serve"])
        .code(2)
        .says(&["windage-runs", "name the directory"]);
    let shop = with_runs();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = shop.windage(&["serve", "--listen", &address]);
    refused.code(5).says(&[&address, "in use", "--listen"]);
    shop.windage(&["serve", "--listen", "here"])
        .code(2)
        .says(&["--listen", "127.0.0.1:"]);
    // Nobody would know the URL with its token.
    shop.windage(&["serve", "--quiet"])
        .code(2)
        .says(&["--json"]);
}

#[test]
fn the_address_is_printed_as_json_with_a_warning_if_public() {
    let shop = with_runs();
    let index = "windage-runs/.windage-index.sqlite";
    shop.write(index, "garbage");
    let mut going = shop.start(
        &["serve", "--listen", "0.0.0.0:0", "--json", "--quiet"],
        &[],
    );
    going.until("says what it found", || {
        std::fs::read(shop.dir().join(index)).is_ok_and(|bytes| bytes.starts_with(b"SQLite"))
    });
    going.until_said("warns", |text| text.find("rebuilt"));
    send(&going, Signal::SIGTERM);
    let ended = going
        .end()
        .code(0)
        .says(&["network of 0.0.0.0:", "not encrypted"]);
    let url = ended.json()["url"].as_str().unwrap().to_owned();
    assert!(
        url.starts_with("http://0.0.0.0:") && url.contains("/?token="),
        "{url}"
    );
    assert_eq!(ended.stderr.lines().count(), 2, "{}", ended.stderr);
}
