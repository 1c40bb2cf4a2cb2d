use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use windage_model::Place;
use windage_plan::Template;

use super::*;
use crate::{RunOptions, manifest_of, run_order};

const PLAN: &str = r#"
name = "receiving"
[[service]]
name = "app"
command = ["app", "{listen}", "{zipkin}"]
[load]
model = "closed"
request = "GET http://{app}/"
[sink]
keep = "1MiB"
[[arm]]
name = "off"
baseline = true
[[arm]]
name = "well"
instance = "both"
[[arm]]
name = "ill"
instance = "both"
backend = "reject 503"
[[arm]]
name = "down"
backend = "down 5s"
"#;

const OFF: ArmIndex = ArmIndex(0);
const WELL: ArmIndex = ArmIndex(2);
const ILL: ArmIndex = ArmIndex(3);
const DOWN: ArmIndex = ArmIndex(4);

/// The plan's sets of processes and their numbers.
const SETS: [&[ArmIndex]; 4] = [&[OFF], &[ArmIndex(1)], &[WELL, ILL], &[DOWN]];
const OWN: usize = 0;
const BOTH: usize = 2;
const OF_DOWN: usize = 3;

struct Site {
    plan: Plan,
    receiving: Receiving,
    _dir: tempfile::TempDir,
}

impl Site {
    /// Receivers are open, and a launch has begun.
    fn new() -> Site {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::parse(PLAN, "plan.toml", dir.path()).unwrap();
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
        let run = RunDir::create(&options.directory, &manifest, PLAN, PLAN, &host).unwrap();
        let sets = SETS.map(<[ArmIndex]>::to_vec);
        let mut receiving = Receiving::start(&plan, &run, &sets, None).unwrap().unwrap();
        receiving.launch(&plan);
        Site {
            plan,
            receiving,
            _dir: dir,
        }
    }

    fn switch(&self, set: usize, arm: ArmIndex) {
        self.receiving.switch(set, &self.plan.arms[arm.get()]);
    }

    fn finish(&mut self) -> Vec<Delivered> {
        self.receiving.finish(7, &[OFF, ArmIndex(1), ILL, DOWN])
    }

    /// Where a set sends its spans, read from the names that its services get.
    fn address(&self, set: usize) -> SocketAddr {
        let mut names = Names::default();
        self.receiving.name(set, &mut names);
        let port = names.fill(&Template::parse("{zipkin.port}"), "app", "off");
        format!("127.0.0.1:{}", port.unwrap()).parse().unwrap()
    }

    /// Sends spans that ended at `ended_us`; returns the status of the answer.
    fn send(&self, set: usize, spans: u64, ended_us: u64) -> String {
        let span = |id: u64| {
            format!(
                r#"{{"traceId":"{:032x}","id":"{id:016x}","timestamp":{},"duration":10,"localEndpoint":{{"serviceName":"shop"}}}}"#,
                ended_us * 1000 + id,
                ended_us - 10,
            )
        };
        let spans: Vec<String> = (1..=spans).map(span).collect();
        let body = format!("[{}]", spans.join(","));
        let mut stream = TcpStream::connect(self.address(set)).unwrap();
        write!(
            stream,
            "POST /api/v2/spans HTTP/1.1\r\nhost: sink\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// The wall clock in whole microseconds, as Zipkin has it, at a time when the stretch entered last
/// has begun and the next has not.
fn now_us() -> u64 {
    std::thread::sleep(Duration::from_millis(2));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    std::thread::sleep(Duration::from_millis(2));
    u64::try_from(now.as_micros()).unwrap()
}

fn window(arm: ArmIndex, block: u32, position: u32) -> Stretch {
    Stretch::measured(Place {
        launch: 7,
        round: 0,
        block,
        position,
        arm,
    })
}

#[test]
fn spans_count_for_the_arm_under_which_they_ended() {
    let mut site = Site::new();
    site.receiving.enter(BOTH, window(WELL, 5, 1));
    let in_window = now_us();
    assert_eq!(site.send(BOTH, 3, in_window), "202");
    site.receiving.enter(BOTH, Stretch::unmeasured(WELL));
    site.receiving.credit(BOTH, WELL);
    site.switch(BOTH, ILL);
    site.receiving.enter(BOTH, window(ILL, 5, 2));
    assert_eq!(
        site.send(BOTH, 2, now_us()),
        "503",
        "switched to the arm with the faulty backend"
    );
    site.receiving.credit(BOTH, ILL);
    site.switch(BOTH, WELL);
    // Late, after the window in which they ended.
    assert_eq!(site.send(BOTH, 4, in_window + 1), "202");
    let delivered = site.finish();
    let arms: Vec<u16> = delivered.iter().map(|d| d.arm.0).collect();
    assert_eq!(arms, [0, 1, 2, 3, 4]);
    assert!(delivered.iter().all(|d| d.launch == 7));
    let (well, ill) = (&delivered[WELL.get()], &delivered[ILL.get()]);
    assert_eq!((well.spans, well.root_spans), (7, 7));
    let windows: Vec<_> = well
        .in_windows
        .iter()
        .map(|w| (w.block, w.position, w.spans))
        .collect();
    assert_eq!(windows, [(5, 1, 7)]);
    assert_eq!((ill.spans, ill.refused, ill.refused_spans), (0, 1, 2));
    assert_eq!(
        (well.export_requests, ill.export_requests),
        (1, 2),
        "by arrival"
    );
    assert!(well.by_protocol.is_empty() && well.sources.is_empty());
    assert_eq!(
        delivered[OFF.get()].export_requests,
        0,
        "other sets get nothing of it"
    );
}

#[test]
fn every_launch_counts_from_zero() {
    let mut site = Site::new();
    assert_eq!(site.send(OWN, 5, now_us()), "202");
    let first = site.finish();
    assert_eq!(first[0].spans, 5);
    assert_eq!(first[0].by_protocol[0].protocol, "zipkin");
    assert_eq!(first[0].sources[0].service, "shop");
    assert!(first[0].delay.is_some());
    assert_eq!(
        first[0].traces.map(|t| (t.traces, t.complete)),
        Some((5, 5))
    );
    assert!(first[0].in_windows.is_empty(), "no window was measured");
    // What arrives between two launches counts for neither.
    assert_eq!(site.send(OWN, 9, now_us()), "202");
    site.receiving.launch(&site.plan);
    assert_eq!(site.send(OWN, 2, now_us()), "202");
    let second = site.finish();
    assert_eq!((second[0].spans, second[0].export_requests), (2, 1));
}

#[test]
fn temporary_faults_begin_with_the_load() {
    let table = [
        ("down 5s", "ok", "all of the fault is under load"),
        ("stall 10s", "ok", "all of the fault is under load"),
        ("down", "down", "down from launch on"),
        ("stall", "stall", "stalled from launch on"),
        ("slow 200ms", "slow 200ms", "permanent"),
        ("reject 429 10%", "reject 429 10%", "permanent"),
    ];
    for (planned, at_launch, why) in table {
        let backend: Backend = planned.parse().unwrap();
        assert_eq!(before_load(backend).to_string(), at_launch, "{why}");
    }
    let site = Site::new();
    let address = site.address(OF_DOWN);
    assert!(
        TcpStream::connect(address).is_ok(),
        "launched with a healthy backend"
    );
    site.switch(OF_DOWN, DOWN);
    let deadline = Instant::now() + Duration::from_secs(2);
    while TcpStream::connect(address).is_ok() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        TcpStream::connect(address).is_err(),
        "down from the switch on"
    );
}

#[test]
fn payloads_are_kept_in_the_run_directory() {
    let mut site = Site::new();
    assert_eq!(site.send(OWN, 1, now_us()), "202");
    let _ = site.finish();
    let payloads = site._dir.path().join("run").join(PAYLOADS);
    let kept = std::fs::read_dir(payloads).unwrap().count();
    assert!(kept > 0, "a directory for each set and protocol");
}
