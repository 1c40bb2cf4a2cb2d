//! Services that already run: they are measured and left running.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::contract;
use crate::plans::Plan;
use crate::skip::skip;
use crate::workshop::Workshop;

/// The built-in service, started by the test and not by Windage.
struct Stranger {
    child: Child,
    address: SocketAddr,
}

impl Stranger {
    fn start() -> Stranger {
        let mut child = Command::new(env!("CARGO_BIN_EXE_windage"))
            .args(["__demo-service", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        Stranger {
            child,
            address: address.parse().unwrap(),
        }
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A control group of the test, removed at its end.
struct Group(PathBuf);

impl Group {
    /// In the first hierarchy that accounts CPU and is writable.
    fn new() -> Option<Group> {
        let name = format!("windage-test-stranger-{}", std::process::id());
        [
            "/sys/fs/cgroup/cpuacct",
            "/sys/fs/cgroup",
            "/sys/fs/cgroup/unified",
        ]
        .map(|root| Path::new(root).join(&name))
        .into_iter()
        .find(|dir| fs::create_dir(dir).is_ok() && dir.join("cgroup.procs").exists())
        .map(Group)
    }

    fn take_in(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_service_is_attached_to_by_its_cgroup() {
    // Dropped after the stranger: a control group with a process in it can't be removed.
    let Some(group) = Group::new() else {
        return skip(
            "a_service_is_attached_to_by_its_cgroup",
            "may not create control groups",
        );
    };
    let stranger = Stranger::start();
    group.take_in(stranger.child.id());
    let shop = Workshop::new();
    let plan = Plan {
        service: &format!(
            "name = 'app'\nattach = {{ cgroup = '{}' }}\nlisten = '{}'",
            group.0.display(),
            stranger.address
        ),
        arms: SWITCHED,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let analysis = ended.code(0).analysis();
    let metrics = &contract::arm(&analysis, "on").metrics;
    assert!(metrics["cpu_per_request"].difference.is_some());
    // All arms share one set of processes, so there is no memory to compare.
    assert!(!metrics.contains_key("rss_steady"), "{metrics:?}");
}

/// Arms that note when they are switched to.
const SWITCHED: &str = "switch = ['echo {arm} >> switched']\n\n\
    [[arm]]\nname = 'on'\nswitch = ['echo {arm} >> switched']";

#[test]
fn an_attached_service_is_measured_and_outlives_the_run() {
    let mut stranger = Stranger::start();
    let (address, pid) = (stranger.address, stranger.child.id());
    let table = [
        (
            format!("attach = {{ pid = {pid} }}\nlisten = '{address}'"),
            true,
        ),
        (format!("attach = {{ url = 'http://{address}' }}"), false),
    ];
    for (attach, sees_cpu) in table {
        let shop = Workshop::new();
        let plan = Plan {
            service: &format!("name = 'app'\n{attach}"),
            arms: SWITCHED,
            ..Plan::default()
        };
        shop.write("plan.toml", &plan.text());
        let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
        let analysis = contract::checked(&ended.code(0));
        let metrics = &contract::arm(&analysis, "on").metrics;
        assert!(metrics["throughput"].difference.is_some(), "{attach}");
        let cpu = metrics.get("cpu_per_request");
        let seen = cpu.is_some_and(|metric| metric.difference.is_some());
        assert_eq!(seen, sees_cpu, "{attach}: {cpu:?}");
        let switched = fs::read_to_string(shop.dir().join("switched")).unwrap();
        let arms: BTreeSet<&str> = switched.lines().collect();
        assert_eq!(arms, BTreeSet::from(["off", "control", "on"]), "{attach}");
    }
    assert_eq!(
        stranger.child.try_wait().unwrap(),
        None,
        "the attached service was stopped"
    );
}

#[test]
fn a_failing_switch_is_reported() {
    let stranger = Stranger::start();
    let shop = Workshop::new();
    let plan = Plan {
        service: &format!(
            "name = 'app'\nattach = {{ url = 'http://{}' }}",
            stranger.address
        ),
        arms: "switch = ['true']\n\n\
            [[arm]]\nname = 'on'\nswitch = ['test ! -e broken || { echo valve stuck; exit 9; }']",
        rounds: 1,
        length: "6s",
        ..Plan::default()
    };
    let mut going = shop.start_plan(&plan.text());
    let log = shop.of_run("response_time.hlog");
    going.until("measured", || {
        fs::metadata(&log).is_ok_and(|m| m.len() > 3000)
    });
    shop.write("broken", "");
    let ended = going.end();
    ended.code(0).says(&["exited with code 9", "valve stuck"]);
}

#[test]
fn a_switch_that_always_fails_ends_the_run() {
    let stranger = Stranger::start();
    let shop = Workshop::new();
    let plan = Plan {
        service: &format!(
            "name = 'app'\nattach = {{ url = 'http://{}' }}",
            stranger.address
        ),
        arms: "switch = ['true']\n\n\
            [[arm]]\nname = 'on'\nswitch = ['echo no such valve; exit 9']",
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(5);
    ended.says(&["exited with code 9", "no such valve"]);
}

#[test]
fn a_missing_process_can_not_be_attached_to() {
    let shop = Workshop::new();
    // Above the kernel's limit for pids.
    let plan = Plan {
        service: "name = 'app'\nattach = { pid = 4194999 }\nlisten = '127.0.0.1:1'",
        arms: SWITCHED,
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(5);
    ended.says(&["service `app`"]);
}
