//! Services that already run: they are measured and left running.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::contract;
use crate::interruption::send;
use crate::plans::Plan;
use crate::skip::skip;
use crate::workshop::Workshop;

/// The built-in service, started by the test and not by Windage.
pub(crate) struct Stranger {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Stranger {
    pub(crate) fn start() -> Stranger {
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
pub(crate) struct Group(pub(crate) PathBuf);

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

    pub(crate) fn take_in(&self, pid: u32) {
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
pub(crate) const SWITCHED: &str = "switch = ['echo {arm} >> switched']\n\n\
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
        let ended = ended.code(0);
        let analysis = contract::checked(&ended);
        let metrics = &contract::arm(&analysis, "on").metrics;
        let is_starved = contract::reasons(&ended.json()).contains(&"generator_starved");
        let throughput = &metrics["throughput"].difference;
        assert!(throughput.is_some() || is_starved, "{attach}");
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

/// A program beside the service, which does something else.
struct Bystander(Child);

impl Bystander {
    fn start(program: &str, args: &[&str]) -> Bystander {
        Bystander(Command::new(program).args(args).spawn().unwrap())
    }

    /// One that has ended and is not reaped.
    fn zombie() -> Bystander {
        let ended = Bystander::start("true", &[]);
        let stat = format!("/proc/{}/stat", ended.0.id());
        while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::sleep(Duration::from_millis(5));
        }
        ended
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_does_not_get_the_load_is_refused() {
    let stranger = Stranger::start();
    let (sleep, zombie) = (Bystander::start("sleep", &["300"]), Bystander::zombie());
    let (pid, address) = (stranger.child.id(), stranger.address);
    let (sleeps, ended) = (sleep.0.id(), zombie.0.id());
    let other = "127.0.0.1:1".parse().unwrap();
    let instead = format!("process {pid} (windage) does");
    let table = [
        (
            sleeps,
            address,
            format!("process {sleeps} (sleep) does not listen on {address}"),
            &instead,
        ),
        (
            ended,
            address,
            format!("process {ended} (true)"),
            &"no process that runs".to_owned(),
        ),
        (
            pid,
            other,
            "windage) does not listen on 127.0.0.1:1".to_owned(),
            &"neither does another".to_owned(),
        ),
    ];
    for (pid, listen, who, why) in &table {
        let shop = Workshop::new();
        let plan = Plan {
            service: &format!("name = 'app'\nattach = {{ pid = {pid} }}\nlisten = '{listen}'"),
            arms: SWITCHED,
            ..Plan::default()
        };
        shop.write("plan.toml", &plan.text());
        let seen = shop.windage(&["doctor", "plan.toml"]).code(5).stdout;
        assert!(seen.contains(who) && seen.contains(*why), "{seen}");
        if *listen == other {
            // A run waits until the service is ready.
            continue;
        }
        let ended = shop.start_plan(&plan.text()).end().code(5);
        ended.says(&["can't attach to service `app`", who, why]);
        assert!(!shop.dir().join("switched").exists(), "it was switched");
    }
}

#[test]
fn a_process_behind_a_proxy_must_use_cpu_under_load() {
    let stranger = Stranger::start();
    let sleep = Bystander::start("sleep", &["300"]);
    let address = stranger.address;
    let table = [(stranger.child.id(), 0), (sleep.0.id(), 5)];
    for (pid, code) in table {
        let shop = Workshop::new();
        let plan = Plan {
            service: &format!(
                "name = 'front'\nshared = true\nattach = {{ url = 'http://{address}' }}\n\
                 [[service]]\nname = 'app'\nattach = {{ pid = {pid} }}"
            ),
            request: "GET http://{front}/orders/17?limit=10",
            arms: SWITCHED,
            ..Plan::default()
        };
        shop.write("plan.toml", &plan.text());
        shop.windage(&["doctor", "plan.toml"]).code(0);
        let ended = shop.start_plan(&plan.text()).end().code(code);
        if code != 0 {
            ended.says(&[
                "requests were answered while process",
                "(sleep) used 0 µs of CPU",
            ]);
        }
    }
}

/// A plan for the stranger, whose arms note their state; `more` is for the baseline, `on` is a command
/// that the treatment's switch runs first.
fn noting_state(stranger: &Stranger, more: &str, on: &str, length: &str) -> String {
    let (pid, address) = (stranger.child.id(), stranger.address);
    let plan = Plan {
        service: &format!("name = 'app'\nattach = {{ pid = {pid} }}\nlisten = '{address}'"),
        // A switch may signal the service.
        arms: &format!(
            "switch = ['kill -0 {{app.pid}} && echo {{arm}} > state']\n{more}\n\n\
             [[arm]]\nname = 'on'\nswitch = ['echo {{arm}} > state; {on}']"
        ),
        length,
        ..Plan::default()
    };
    plan.text()
}

/// Waits until the service is in that state, which the keeper may bring it into after Windage's end.
fn left_in(shop: &Workshop, state: &str) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let path = shop.dir().join("state");
    loop {
        let found = fs::read_to_string(&path).unwrap_or_default();
        if found.trim() == state {
            return;
        }
        assert!(Instant::now() < deadline, "left in {found}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const SWITCHED_BACK: &str = "service `app` was switched back to the baseline";

#[test]
fn a_service_is_switched_back_at_the_end_of_a_run() {
    let stranger = Stranger::start();
    // More keys of the baseline, what the treatment's switch does, exit code, the state at the end.
    let table = [
        ("", "true", 0, "off"),
        (
            "restore = ['echo as before > state']",
            "true",
            0,
            "as before",
        ),
        ("", "exit 9", 5, "off"),
    ];
    for (more, on, code, state) in table {
        let shop = Workshop::new();
        let plan = noting_state(&stranger, more, on, "600ms");
        let ended = shop.start_plan(&plan).end().code(code);
        assert!(ended.stderr.contains(SWITCHED_BACK), "{}", ended.stderr);
        left_in(&shop, state);
        if code == 0 {
            assert!(ended.stdout.contains(SWITCHED_BACK), "{}", ended.stdout);
            let report = shop
                .windage(&["report", &shop.run, "--json"])
                .code(0)
                .json();
            assert_eq!(report["restored"]["service"], "app");
            assert!(report["restored"]["failed"].is_null());
        }
    }
}

#[test]
fn a_service_that_can_not_be_switched_back_is_reported() {
    let stranger = Stranger::start();
    let shop = Workshop::new();
    let plan = noting_state(
        &stranger,
        "restore = ['echo no way back; exit 3']",
        "true",
        "600ms",
    );
    let ended = shop.start_plan(&plan).end().code(0);
    for text in [&ended.stdout, &ended.stderr] {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "back to the baseline and may still be",
            "exited with code 3",
            "no way back",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
    }
}

#[test]
fn a_service_is_switched_back_however_windage_ends() {
    let stranger = Stranger::start();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let shop = Workshop::new();
        let mut going = shop.start_plan(&noting_state(&stranger, "", "true", "20s"));
        let (log, state) = (shop.of_run("response_time.hlog"), shop.dir().join("state"));
        going.until("in the middle, and switched on", || {
            let has_blocks = fs::metadata(&log).is_ok_and(|found| found.len() > 2000);
            has_blocks && fs::read_to_string(&state).is_ok_and(|state| state == "on\n")
        });
        send(&going, signal);
        going.end();
        left_in(&shop, "off");
        let report = shop.windage(&["report", &shop.run]).code(0).stdout;
        let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(SWITCHED_BACK), "{signal}: {report}");
    }
}

#[test]
fn a_service_is_switched_back_even_without_the_keeper() {
    let stranger = Stranger::start();
    let shop = Workshop::new();
    let mut going = shop.start_plan(&noting_state(&stranger, "", "true", "20s"));
    let state = shop.dir().join("state");
    going.until("switched on", || {
        fs::read_to_string(&state).is_ok_and(|state| state == "on\n")
    });
    let keeper = keeper_of(going.pid());
    kill(Pid::from_raw(keeper.cast_signed()), Signal::SIGKILL).unwrap();
    going.end().code(5);
    left_in(&shop, "off");
}

/// The last of the keeper and its guardian.
fn keeper_of(windage: u32) -> u32 {
    let children = |of: u32| {
        let path = format!("/proc/{of}/task/{of}/children");
        let text = fs::read_to_string(path).unwrap();
        text.split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect::<Vec<u32>>()
    };
    let direct = children(windage)[0];
    let is_keeper = |id: &u32| {
        let words = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        words.contains("__keeper")
    };
    children(direct)
        .into_iter()
        .find(is_keeper)
        .unwrap_or(direct)
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
