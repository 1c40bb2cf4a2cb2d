//! Agents beside the process: attached for their arm's windows, detached for all others. The agents
//! here are shell scripts; eBPF agents have tests of their own.

use std::cell::RefCell;
use std::fs;
use std::iter::successors;
use std::ops::Range;
use std::time::Duration;

use nix::sys::signal::Signal;
use windage_model::{AgentCycle, WarningCode, Window};
use windage_record::Entry;

use crate::batch_protocol::journal;
use crate::contract;
use crate::interruption::send;
use crate::plans::Plan;
use crate::scrape::{address, get, value};
use crate::skip::skip;
use crate::workshop::{Ended, Workshop};

/// A plan with one agent, which runs this script.
pub(crate) fn plan(script: &str, more: &str, design: &str) -> String {
    let service = "name = 'app'\n\
        command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
        ready = { http = '/healthz', within = '20s' }";
    let agent = format!(
        "\n\n[[agent]]\nname = 'watcher'\ncommand = ['/bin/sh', '-c', '''{script}''', 'watcher', '{{app.pid}}']\n\
         ready = {{ log = 'watching [0-9]+', within = '2s' }}\nstop = {{ signal = 'TERM', within = '2s' }}\n{more}"
    );
    Plan {
        service: &format!("{service}{agent}"),
        arms: "[[arm]]\nname = 'watched'\nagents = ['watcher']\n\n\
               [[arm]]\nname = 'unwatched'\nbystander_of = 'watched'",
        rounds: 2,
        length: "1s",
        design: &format!(
            "warmup = '50ms'\ndrain = '50ms'\nidle = '50ms'\nagent_stretch = '200ms'\nagent_warmup = '50ms'\n\
             bpf_statistics = '0s'\n{design}"
        ),
        ..Plan::default()
    }
    .text()
}

/// Busy until it is asked to end.
const BUSY: &str = "echo watching $1; trap 'exit 0' TERM; while :; do :; done";

/// The same, and notes its start and, once, its end: it may be asked to end more than once.
const NOTING: &str = "note() { read -r now rest < /proc/uptime; echo $1 $now >> lives; }
note up; trap 'trap \"\" TERM; note down; exit 0' TERM
echo watching $1; while :; do :; done";

/// A prefix for a service's command that notes its start.
const NOTES_ITS_START: &str = "'/bin/sh', '-c', '''
read -r now rest < /proc/uptime; echo $now >> starts; exec \"$@\"
''', 'app', ";

/// The resolution in seconds of the time that the programs note.
const TICK: f64 = 0.01;

pub(crate) fn run(plan: &str) -> (Workshop, Ended) {
    let shop = Workshop::new();
    shop.write("plan.toml", plan);
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    (shop, ended)
}

#[test]
fn an_agent_lives_only_in_its_arms_windows() {
    let noting =
        plan(NOTING, "", "").replace("['{windage}'", &format!("[{NOTES_ITS_START}'{{windage}}'"));
    let (shop, ended) = run(&noting);
    let analysis = contract::checked(&ended.code(0));
    let agent = |id: &str| contract::arm(&analysis, id).agent.as_ref();
    assert!(agent("off").is_none() && agent("control").is_none());
    assert_eq!(agent("watched").unwrap().cycles.len(), 2, "one per round");
    let cpu = &contract::arm(&analysis, "watched").metrics["agent_cpu"];
    // It spins all the time, on a core that it may have to share.
    let cores = cpu.difference.as_ref().unwrap().estimate.unwrap();
    assert!((0.1..=1.1).contains(&cores), "{cores}");
    assert_eq!(cpu.baseline, Some(0.0));
    let unwatched = contract::arm(&analysis, "unwatched");
    let bystander = unwatched.bystander.as_ref().unwrap();
    assert_eq!(bystander.bystander_of, "watched");
    compare_lives_with_windows(&shop);
    let memory = lines_of(
        "Memory bill",
        &shop.windage(&["report", &shop.run, "--all"]).code(0).stdout,
    );
    let items: Vec<&str> = memory.iter().map(|line| line[0].as_str()).collect();
    assert!(items.starts_with(&["service", "agent"]), "{memory:?}");
    let is_figure = |text: &String| text.starts_with(|c: char| c.is_ascii_digit());
    assert!(
        is_figure(&memory[0][1]),
        "the baseline's memory: {memory:?}"
    );
    assert!(
        memory[1][2].starts_with('+'),
        "added by the agent: {memory:?}"
    );
}

/// The rows of the table with this title, split into cells.
fn lines_of(title: &str, report: &str) -> Vec<Vec<String>> {
    let table = report.lines().skip_while(|line| !line.starts_with(title));
    let rows = table.take_while(|line| !line.is_empty());
    let cells = |line: &str| {
        let cells = line.split("  ").map(|cell| cell.trim().to_owned());
        cells.filter(|cell| !cell.is_empty()).collect()
    };
    let rows: Vec<Vec<String>> = rows.map(cells).collect();
    let is_row = |cells: &Vec<String>| !cells[0].starts_with(title);
    rows.into_iter().filter(is_row).collect()
}

/// Checks that the agent lived in all windows of its arm and of the bystander, and in no others.
fn compare_lives_with_windows(shop: &Workshop) {
    let entries = journal(shop);
    let launched = entries.iter().find_map(|entry| match entry {
        Entry::LaunchStarted(launch) => Some(seconds(launch.started_ns)),
        _ => None,
    });
    let first: f64 = noted(shop, "starts")[0].parse().unwrap();
    let lives = lives(shop);
    assert_eq!(lives.len(), 2, "{lives:?}");
    let windows = windows_of(&entries);
    let mut counts = [0; 4];
    for window in &windows {
        counts[window.place.arm.get()] += 1;
        let is_there = window.beside.agent_ns.is_some();
        assert_eq!(is_there, is_beside_agents(window), "{window:?}");
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    // The first program noted its start between the launch and the first window. How long after the
    // launch depends on the machine; for one such moment, all windows must agree with the agent's
    // lives.
    let (from, to) = (
        first - seconds(windows[0].started_ns),
        first + TICK - launched.unwrap(),
    );
    let moments = successors(Some(from), |at| Some(at + TICK / 10.0));
    let mut moments = moments.take_while(|at| *at <= to);
    let all_stand =
        |began: f64| (windows.iter()).all(|window| stands_as_it_should(window, began, &lives));
    assert!(moments.any(all_stand), "{from} to {to}: {lives:?}");
}

/// Whether it belongs to the watched arm or its bystander, not to the baseline or its control.
fn is_beside_agents(window: &Window) -> bool {
    window.place.arm.get() >= 2
}

/// Whether the agent lived throughout a window of an arm that it watches, or in no part of any
/// other, if the run's clock began at this time of the machine's clock.
fn stands_as_it_should(window: &Window, began: f64, lives: &[Range<f64>]) -> bool {
    let from = began + seconds(window.started_ns);
    let to = from + seconds(window.duration_ns);
    if is_beside_agents(window) {
        (lives.iter()).any(|life| life.start - TICK < from && to < life.end + TICK)
    } else {
        (lives.iter()).all(|life| to < life.start + TICK || life.end - TICK < from)
    }
}

fn seconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64()
}

/// The lines that programs have written to a file.
pub(crate) fn noted(shop: &Workshop, name: &str) -> Vec<String> {
    let text = fs::read_to_string(shop.dir().join(name)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The times between which the agent lived, as it noted them.
fn lives(shop: &Workshop) -> Vec<Range<f64>> {
    let at = |line: &str, word: &str| -> f64 { line.strip_prefix(word).unwrap().parse().unwrap() };
    noted(shop, "lives")
        .chunks(2)
        .map(|life| at(&life[0], "up ")..at(&life[1], "down "))
        .collect()
}

fn windows_of(entries: &[Entry]) -> Vec<&Window> {
    let windows = entries.iter().filter_map(|entry| match entry {
        Entry::Window(window) => Some(window),
        _ => None,
    });
    windows.collect()
}

pub(crate) fn cycles_of(entries: &[Entry]) -> Vec<&AgentCycle> {
    let cycles = entries.iter().filter_map(|entry| match entry {
        Entry::Agent(cycle) => Some(cycle),
        _ => None,
    });
    cycles.collect()
}

#[test]
fn an_agent_knows_the_process_that_it_watches() {
    let script =
        "test -d /proc/$1 || exit 7; readlink /proc/$1/exe; echo watching $1; exec sleep 60";
    let (shop, ended) = run(&plan(script, "", ""));
    ended.code(0);
    let texts = shop.logs_of("watcher");
    assert_eq!(texts.len(), 2, "one log per attachment");
    for text in texts {
        assert!(text.contains("/windage\nwatching"), "{text}");
    }
}

#[test]
fn the_placement_on_cores_is_reported() {
    let script = "echo watching $1; exec sleep 60";
    let pinned = plan(script, "cpus = [0]", "").replace("[load]", "[load]\ncpus = [0]");
    let (shop, ended) = run(&pinned);
    let expected = serde_json::json!([
        { "part": "service", "name": "app", "cpus": null },
        { "part": "agent", "name": "watcher", "cpus": [0] },
        { "part": "generator", "name": null, "cpus": [0] },
    ]);
    assert_eq!(ended.code(0).json()["design"]["placement"], expected);
    let report = shop.windage(&["report", &shop.run, "--all"]).code(0).stdout;
    let report: Vec<&str> = report.split_whitespace().collect();
    let expected = "0: agent `watcher`, generator; not pinned: service `app`; parts that share a \
                    core delay each other";
    assert!(report.join(" ").contains(expected), "{report:?}");
}

#[test]
fn an_agent_that_never_gets_ready_ends_the_run_or_its_arm() {
    let script = "echo not yet; exec sleep 60";
    let (_shop, ended) = run(&plan(script, "", ""));
    ended.code(5).says(&[
        "watcher",
        "was not ready within 2s",
        "watching [0-9]+",
        "not yet",
        "ready.within",
    ]);
    let more = "[[arm]]\nname = 'other'";
    let going_on = plan(script, "", "on_death = 'continue'")
        .replace("[design]", &format!("{more}\n\n[design]"));
    let (_shop, ended) = run(&going_on);
    let ended = ended.code(0);
    let analysis = contract::checked(&ended);
    assert!(contract::reasons(&ended.json()).contains(&"arm_died"));
    let other = contract::arm(&analysis, "other");
    assert!(other.metrics["cpu_per_request"].windows > 0);
}

#[test]
fn the_death_of_an_agent_is_reported_with_its_last_words() {
    // It dies when the watched process, which has no load before the agent is ready, has worked for
    // longer than the agent's warm-up.
    let script = "spent() { read -r used rest < /proc/$1/schedstat; }
        spent $1; first=$used; echo watching $1
        while spent $1; [ $((used - first)) -lt 100000000 ]; do sleep 0.01; done
        echo these are the last words; exit 3";
    let (shop, ended) =
        run(&plan(script, "", "").replace("agent_stretch = '200ms'", "agent_stretch = '2s'"));
    ended
        .code(5)
        .says(&["watcher", "exited with code 3", "these are the last words"]);
    let entries = journal(&shop);
    let [cycle] = cycles_of(&entries)[..] else {
        panic!("the agent was attached once");
    };
    assert!(cycle.attach_ns > 0 && cycle.failed.is_some(), "{cycle:?}");
    let windows = windows_of(&entries);
    let died = |window: &&Window| {
        let mut warnings = window.warnings.iter();
        warnings.any(|warning| warning.code() == WarningCode::AgentDied)
    };
    assert!(windows.last().is_some_and(died), "{:?}", windows.last());
    let report = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    contract::check(&report);
    let reasons = contract::reasons(&report);
    assert!(reasons.contains(&"run_incomplete"), "{reasons:?}");
    assert!(reasons.contains(&"arm_died"), "{reasons:?}");
}

#[test]
fn helpers_of_an_agent_end_with_it() {
    // It starts a helper without ending it, and refuses to start while an earlier helper is alive.
    // The helper's pid is the one that /proc shows.
    let script = "touch helpers
        while read -r pid; do
            grep -q sleep /proc/$pid/cmdline 2> /dev/null && { echo $pid is still there; exit 9; }
        done < helpers
        sh -c 'read -r pid rest < /proc/self/stat; echo $pid >> helpers; exec sleep 61' &
        echo watching $1; wait";
    let in_one_launch = plan(script, "", "")
        .replace("for = '1s'", "blocks = 3")
        .replace("rounds = 2", "rounds = 1");
    let (shop, ended) = run(&in_one_launch);
    // Every run is checked for leftover processes at its end.
    ended.code(0);
    assert_eq!(noted(&shop, "helpers").len(), 3, "one per attachment");
    assert_eq!(cycles_of(&journal(&shop)).len(), 3);
}

#[test]
fn a_run_that_is_killed_while_an_agent_is_attached_leaves_none() {
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let shop = Workshop::new();
        let long = plan(BUSY, "", "").replace("agent_stretch = '200ms'", "agent_stretch = '3s'");
        let mut going = shop.start_plan(&long);
        going.until("the agent is attached", || {
            let logs = shop.logs_of("watcher");
            logs.iter().any(|log| log.contains("watching"))
        });
        send(&going, signal);
        let ended = going.end();
        let code = (signal == Signal::SIGINT).then_some(130);
        assert_eq!(ended.status.code(), code);
    }
}

#[test]
fn missing_facilities_are_named_before_anything_is_launched() {
    // The test needs a machine without hardware counters, such as most virtual machines.
    let counters = shop_doctor("hardware_counters");
    if counters {
        return skip(
            "missing_facilities_are_named_before_anything_is_launched",
            "this machine has hardware counters",
        );
    }
    let (shop, ended) = run(&plan(BUSY, "needs = ['hardware_counters']", ""));
    ended.code(5).says(&["watcher", "hardware_counters"]);
    assert!(!shop.of_run("logs").exists(), "something was launched");
}

/// Whether the machine has a facility, according to `windage doctor`.
fn shop_doctor(facility: &str) -> bool {
    let shop = Workshop::new();
    shop.write(
        "plan.toml",
        &plan(BUSY, &format!("needs = ['{facility}']"), ""),
    );
    let ended = shop.windage(&["doctor", "plan.toml"]);
    ended.status.code() == Some(0)
}

#[test]
fn progress_shows_agents_attaching_and_detaching() {
    let shop = Workshop::new();
    shop.write(
        "plan.toml",
        &plan(BUSY, "", "")
            .replace("rounds = 2", "rounds = 200")
            .replace("for = '1s'", "for = '10m'"),
    );
    let args = ["run", "plan.toml", "--out", &shop.run, "--metrics", "0"];
    let mut going = shop.start(&args, &[]);
    let from = address(&mut going);
    let seen = RefCell::new(String::new());
    going.until("an attachment has ended", || {
        let text = get(from, "/metrics").map_or_else(String::new, |answer| answer.body);
        let ended = value(&text, r#"windage_agent_attachments_total{arm="watched"}"#);
        seen.replace(text);
        ended >= Some(1.0)
    });
    send(&going, Signal::SIGINT);
    going.end().code(130);
    let seen = seen.into_inner();
    let of = |series: &str| value(&seen, series);
    for (series, least) in [
        (
            r#"windage_agent_window_cpu_seconds_total{arm="watched"}"#,
            0.001,
        ),
        (
            r#"windage_agent_cpu_seconds_total{arm="watched",phase="up"}"#,
            0.01,
        ),
        (
            r#"windage_agent_resident_memory_peak_bytes{arm="watched"}"#,
            1e5,
        ),
    ] {
        assert!(of(series) > Some(least), "{series} in {seen}");
    }
    let failed = of(r#"windage_agent_attachments_failed_total{arm="watched"}"#);
    assert_eq!(failed, Some(0.0), "{seen}");
    let of_baseline = of(r#"windage_agent_attachments_total{arm="off"}"#);
    assert_eq!(of_baseline, None, "{seen}");
}
