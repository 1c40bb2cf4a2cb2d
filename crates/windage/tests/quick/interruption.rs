//! Runs that are interrupted, and what can be done with them.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::contract;
use crate::leftovers;
use crate::plans::Plan;
use crate::workshop::{Going, Workshop};

fn two_rounds() -> String {
    let plan = Plan {
        length: "4s",
        ..Plan::default()
    };
    plan.text()
}

/// Begins to measure and waits until some blocks are on disk.
fn in_the_middle(shop: &Workshop, args: &[&str]) -> Going {
    shop.write("plan.toml", &two_rounds());
    let mut words = vec!["run", "plan.toml", "--out", &shop.run];
    words.extend(args);
    let mut going = shop.start(&words, &[]);
    let log = shop.of_run("response_time.hlog");
    going.until("some blocks are on disk", || {
        fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 20)
    });
    going
}

pub(crate) fn send(going: &Going, signal: Signal) {
    let pid = Pid::from_raw(going.pid().try_into().unwrap());
    kill(pid, signal).unwrap();
}

/// The number of blocks measured, of windows and of turns.
fn blocks(analysis: &Value) -> u64 {
    let design = &analysis["design"];
    // An interrupted run may have no turns yet.
    let of_turns = design["turns"]["blocks"].as_u64().unwrap_or(0);
    design["blocks"].as_u64().unwrap() + of_turns
}

/// The number of blocks that the manifest plans.
fn blocks_planned(shop: &Workshop) -> u64 {
    let manifest = fs::read_to_string(shop.of_run("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let design = &manifest["design"];
    design["rounds"].as_u64().unwrap() * design["blocks_per_round"].as_u64().unwrap()
}

/// Resumes the run and checks that it is then complete.
fn resume(shop: &Workshop) {
    let ended = shop.windage(&["run", "--resume", &shop.run, "--json"]);
    let analysis = ended.code(0).json();
    contract::check(&analysis);
    assert_eq!(blocks(&analysis), blocks_planned(shop));
    assert!(!contract::reasons(&analysis).contains(&"run_incomplete"));
    let report = shop.windage(&["report", &shop.run, "--json"]).code(0);
    assert_eq!(report.json(), analysis);
}

#[test]
fn an_interrupted_run_is_reported_and_finished_later() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let shop = Workshop::new();
        let going = in_the_middle(&shop, &["--json"]);
        let pid = going.pid();
        send(&going, signal);
        let analysis = going.end().code(130).json();
        contract::check(&analysis);
        assert!(contract::reasons(&analysis).contains(&"run_incomplete"));
        assert!(blocks(&analysis) < blocks_planned(&shop));
        let groups = leftovers::cgroups_of(pid);
        assert!(groups.is_empty(), "{groups:?}");
        resume(&shop);
    }
}

#[test]
fn an_interrupted_launch_leaves_nothing() {
    let shop = Workshop::new();
    let plan = Plan {
        service: "name = 'app'\ncommand = ['/bin/sh', '-c', 'setsid sleep 61 & exec sleep 62', '{listen}']\n\
            ready = { http = '/', within = '60s' }",
        ..Plan::default()
    };
    let mut going = shop.start_plan(&plan.text());
    let logs = shop.of_run("logs");
    going.until("launched", || {
        fs::read_dir(&logs).is_ok_and(|logs| {
            let names = logs.flatten().map(|entry| entry.file_name());
            names
                .into_iter()
                .any(|name| name.to_string_lossy().contains("app"))
        })
    });
    send(&going, Signal::SIGINT);
    going.end().code(130).says(&["interrupted"]);
}

#[test]
fn a_killed_run_leaves_no_process_and_is_finished_later() {
    let shop = Workshop::new();
    let going = in_the_middle(&shop, &[]);
    let pid = going.pid();
    send(&going, Signal::SIGKILL);
    // `end` checks that no process is left.
    let ended = going.end();
    assert_eq!(ended.status.code(), None);
    let report = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    contract::check(&report);
    assert!(contract::reasons(&report).contains(&"run_incomplete"));
    resume(&shop);
    let groups = leftovers::cgroups_of(pid);
    assert!(groups.is_empty(), "{groups:?}");
}

#[test]
fn a_run_in_progress_can_not_be_resumed() {
    let shop = Workshop::new();
    let going = in_the_middle(&shop, &[]);
    let run = shop.of_run("").display().to_string();
    let refused = Workshop::new().windage(&["run", "--resume", &run]);
    let holder = format!("being written by process {}", going.pid());
    refused.code(5).says(&[&holder]);
    send(&going, Signal::SIGINT);
    going.end().code(130);
}

#[test]
fn a_truncated_journal_is_read_as_far_as_it_goes() {
    let shop = Workshop::new();
    let plan = Plan {
        length: "2s",
        ..Plan::default()
    };
    shop.start_plan(&plan.text()).end().code(0);
    let journal = shop.of_run("journal.bin");
    let whole = fs::read(&journal).unwrap();
    let full = shop
        .windage(&["report", &shop.run, "--json"])
        .code(0)
        .json();
    // Irregular places, the same in every run of the test, including very few and nearly all bytes.
    let mut places = vec![0, 1, 15, 16, 17, whole.len() - 1];
    let mut random = 0x9e37_79b9_u64;
    while places.len() < 20 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        places.push(usize::try_from(random >> 33).unwrap() % whole.len());
    }
    for place in places {
        fs::write(&journal, &whole[..place]).unwrap();
        let ended = shop.windage(&["report", &shop.run, "--json"]).code(0);
        let report = ended.json();
        contract::check(&report);
        assert!(blocks(&report) <= blocks(&full), "at byte {place}");
        let reasons = contract::reasons(&report);
        assert!(
            reasons.contains(&"journal_cut") || reasons.contains(&"run_incomplete"),
            "at byte {place} of {}: {reasons:?}",
            whole.len()
        );
        shop.windage(&["report", &shop.run]).code(0);
    }
    // A run with a truncated journal can still be finished.
    fs::write(&journal, &whole[..whole.len() / 2]).unwrap();
    resume(&shop);
}

#[test]
fn damage_in_the_middle_is_reported_even_quietly_and_costs_no_other_block() {
    let shop = Workshop::new();
    let plan = Plan {
        length: "2s",
        ..Plan::default()
    };
    shop.start_plan(&plan.text()).end().code(0);
    let journal = shop.of_run("journal.bin");
    let mut bytes = fs::read(&journal).unwrap();
    // Half of the run is left to measure, and a quarter behind the damage.
    bytes.truncate(bytes.len() / 2);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, &bytes).unwrap();

    let resumed = shop.windage(&["run", "--resume", &shop.run, "-q"]);
    resumed
        .code(0)
        .says(&["The journal is damaged", "journal.damaged-1"]);
    assert_eq!(fs::read(shop.of_run("journal.damaged-1")).unwrap(), bytes);
    let report = shop.windage(&["report", &shop.run, "--json"]).code(0);
    let report = report.json();
    contract::check(&report);
    assert!(contract::reasons(&report).contains(&"journal_damaged"));
    assert!(blocks(&report) + 1 >= blocks_planned(&shop));
    let page = fs::read_to_string(shop.of_run("report.html")).unwrap();
    for shown in [shop.windage(&["report", &shop.run, "--all"]).stdout, page] {
        assert!(shown.contains("damaged"), "{shown}");
    }
}
