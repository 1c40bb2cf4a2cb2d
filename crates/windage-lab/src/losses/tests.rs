use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use windage_probe::ArmProbe;

use super::*;
use crate::names::Names;
use crate::{RunOptions, manifest_of, run_order};

const PLAN: &str = r#"
name = "losses"
[[service]]
name = "app"
command = ["app", "{listen}", "{otlp_http}"]
metrics = "/metrics"
drops = [
    { reason = "queue full", metric = "dropped_total" },
    { reason = "queue full", log = 'dropped (\d+)' },
    { reason = "too late", log = "given up" },
    { reason = "never heard of", metric = "no_such_total" },
]
[load]
model = "closed"
request = "GET http://{app}/"
[[arm]]
name = "off"
baseline = true
[[arm]]
name = "on"
"#;

/// Answers each of these bodies once.
fn metrics_server(bodies: &'static [&'static str]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for body in bodies {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap();
            assert!(request[..read].starts_with(b"GET /metrics "));
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            )
            .unwrap();
        }
    });
    address
}

struct Site {
    plan: Plan,
    run: RunDir,
    _dir: tempfile::TempDir,
}

fn site() -> Site {
    site_of(PLAN)
}

fn site_of(text: &str) -> Site {
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan::parse(text, "plan.toml", dir.path()).unwrap();
    let options = RunOptions {
        executable: "windage".into(),
        directory: dir.path().join("run"),
        is_shared: false,
        command: "windage run plan.toml".to_owned(),
        node: None,
        interrupted: Arc::new(AtomicBool::new(false)),
        calibration: serde_json::Value::Null,
    };
    let manifest = manifest_of(&plan, &run_order(&plan), &options);
    let host = serde_json::Value::Null;
    let run = RunDir::create(&options.directory, &manifest, text, text, &host).unwrap();
    Site {
        plan,
        run,
        _dir: dir,
    }
}

fn instance(name: &str, arms: &[u16], address: SocketAddr) -> Instance {
    let mut names = Names::default();
    names.add_service("app", address);
    Instance {
        arms: arms.iter().map(|arm| ArmIndex(*arm)).collect(),
        ..Instance::unlaunched(name.to_owned(), names, ArmProbe::none())
    }
}

fn of_arm(losses: &Losses<'_>, arm: u16) -> (Vec<(String, u64)>, Vec<String>) {
    let notes = RefCell::new(Vec::new());
    let lost = losses.lost(ArmIndex(arm), &|| false, &|event| {
        if let Event::Note { text } = event {
            notes.borrow_mut().push(text);
        }
    });
    let drops = lost.known();
    let drops = drops.into_iter().map(|d| (d.reason, d.lost)).collect();
    (drops, notes.take())
}

#[test]
fn counters_and_lines_of_one_reason_add_up() {
    let site = site();
    let address = metrics_server(&[
        "dropped_total{queue=\"a\"} 5\n",
        "dropped_total{queue=\"a\"} 7\ndropped_total{queue=\"b\"} 40\n",
    ]);
    let instances = [instance("on", &[2], address)];
    let losses = Losses::of(&site.plan, &site.run, 3, &instances).unwrap();
    losses.scrape().unwrap();
    let log = site.run.log_path(3, "on", "app");
    std::fs::write(log, "dropped 100\ngiven up\ngiven up\n").unwrap();
    losses.scrape().unwrap();
    let (drops, notes) = of_arm(&losses, 2);
    let expected = [("queue full".to_owned(), 142), ("too late".to_owned(), 2)];
    assert_eq!(drops, expected, "losses before the launch do not count");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("`no_such_total`"), "{notes:?}");
    assert_eq!(of_arm(&losses, 0), (vec![], vec![]), "another arm's");
}

#[test]
fn a_missing_counter_is_zero_where_nothing_is_sent() {
    let expecting = format!("{PLAN}expect = {{ traces_per_request = 1 }}\n");
    let table = [
        (
            &*expecting,
            0,
            true,
            "the baseline, where `on` expects traces",
        ),
        (&*expecting, 2, false, "an arm that expects traces"),
        (PLAN, 0, false, "no arm says whether it sends any"),
    ];
    for (text, arm, is_zero, why) in table {
        let site = site_of(text);
        let address = metrics_server(&["other_total 1\n", "other_total 2\n"]);
        let instances = [instance("it", &[arm], address)];
        let losses = Losses::of(&site.plan, &site.run, 0, &instances).unwrap();
        losses.scrape().unwrap();
        losses.scrape().unwrap();
        std::fs::write(site.run.log_path(0, "it", "app"), "dropped 3\n").unwrap();
        let (drops, notes) = of_arm(&losses, arm);
        let zero = [
            ("queue full".to_owned(), 3),
            ("never heard of".to_owned(), 0),
            ("too late".to_owned(), 0),
        ];
        let expected = if is_zero { &zero[..] } else { &zero[2..] };
        assert_eq!(
            (drops.as_slice(), notes.is_empty()),
            (expected, is_zero),
            "{why}"
        );
    }
}

#[test]
fn unreadable_sources_are_left_out_and_reported() {
    let site = site();
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let instances = [instance("on", &[2], gone)];
    let losses = Losses::of(&site.plan, &site.run, 0, &instances).unwrap();
    losses.scrape().unwrap();
    losses.scrape().unwrap();
    std::fs::write(site.run.log_path(0, "on", "app"), "dropped 100\n").unwrap();
    let (drops, notes) = of_arm(&losses, 2);
    assert_eq!(
        drops,
        [("too late".to_owned(), 0)],
        "a partial sum is left out"
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains("`app` of on") && notes[0].contains("queue full"),
        "{notes:?}"
    );
    let without_log = Losses::of(&site.plan, &site.run, 1, &instances).unwrap();
    let (drops, notes) = of_arm(&without_log, 2);
    assert!(drops.is_empty() && notes.len() == 4, "{drops:?} {notes:?}");
}

#[test]
fn arms_that_share_processes_are_left_out() {
    let site = site();
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let instances = [instance("one", &[0, 1, 2], address)];
    let losses = Losses::of(&site.plan, &site.run, 0, &instances).unwrap();
    losses.scrape().unwrap();
    assert_eq!(of_arm(&losses, 2), (vec![], vec![]));
}
