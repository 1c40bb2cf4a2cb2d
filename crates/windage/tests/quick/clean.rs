//! The size of run directories, and what becomes of services' own files.

use std::fs;
use std::os::unix::fs::symlink;

use nix::sys::signal::Signal;

use crate::files::{files_below, names_in};
use crate::interruption::send;
use crate::plans::Plan;
use crate::workshop::{Ended, Workshop};

/// A service with an access log in its own directory.
const LOGGING: &str = "name = 'app'\n\
    command = ['/bin/sh', '-c', 'head -c 100000 /dev/zero > {dir}/access.log; exec \"$@\"', 'app', \
    '{windage}', '__demo-service', '--listen', '{listen}']\n\
    ready = { http = '/healthz', within = '20s' }";

fn plan(arms: &str, length: &str) -> String {
    Plan {
        service: LOGGING,
        arms,
        length,
        ..Plan::default()
    }
    .text()
}

fn measured(shop: &Workshop, more: &[&str]) -> Ended {
    shop.write("plan.toml", &plan(Plan::default().arms, "600ms"));
    let mut args = vec!["run", "plan.toml", "--out", &shop.run];
    args.extend(more);
    shop.windage(&args).code(0)
}

/// The number of access logs that are left.
fn logs_left(shop: &Workshop) -> usize {
    files_below(&shop.of_run("work")).len()
}

#[test]
fn a_run_says_its_size_and_drops_the_files_of_services() {
    let shop = Workshop::new();
    let ended = measured(&shop, &[]);
    ended.says(&[
        "size: ",
        "without 600 kB of services' files in work/ (--keep-work keeps them)",
    ]);
    assert_eq!(logs_left(&shop), 0);
    shop.windage(&["report", &shop.run]).code(0);

    let shop = Workshop::new();
    let ended = measured(&shop, &["--keep-work"]);
    ended.says(&["with 600 kB of services' files in work/ (`windage clean` removes them)"]);
    assert_eq!(logs_left(&shop), 6, "of three arms in two rounds");
    let would = shop
        .windage(&["clean", &shop.run, "--dry-run"])
        .code(0)
        .stdout;
    assert!(
        would.contains("600 kB would be removed (its work/)"),
        "{would}"
    );
    assert_eq!(logs_left(&shop), 6);
    let removed = shop.windage(&["clean", &shop.run, "--json"]).code(0).json();
    assert_eq!(removed["runs"][0]["bytes"], 600_000);
    assert_eq!(logs_left(&shop), 0);
    shop.windage(&["report", &shop.run]).code(0);
}

#[test]
fn a_run_that_fails_or_is_interrupted_keeps_the_files_of_services() {
    let shop = Workshop::new();
    let fails = "[[arm]]\nname = 'on'\nargs = { app = ['--no-such-flag'] }";
    shop.start_plan(&plan(fails, "600ms")).end().code(5);
    assert!(logs_left(&shop) > 0);

    let shop = Workshop::new();
    let mut going = shop.start_plan(&plan(Plan::default().arms, "8s"));
    let log = shop.of_run("response_time.hlog");
    going.until("some blocks are on disk", || {
        fs::metadata(&log).is_ok_and(|found| found.len() > 500)
    });
    let run = shop.of_run("").display().to_string();
    let refused = Workshop::new().windage(&["clean", &run]);
    refused.code(5).says(&["being written by process"]);
    send(&going, Signal::SIGINT);
    going.end().code(130);
    assert!(logs_left(&shop) > 0);
    // It can be resumed in any case.
    shop.windage(&["clean", &shop.run]).code(0);
    assert_eq!(logs_left(&shop), 0);
    shop.windage(&["run", "--resume", &shop.run]).code(0);
    assert_eq!(logs_left(&shop), 0);
}

#[test]
fn whole_runs_are_removed_by_age_and_nothing_else_is() {
    let shop = Workshop::new();
    fs::create_dir(shop.dir().join("windage-runs")).unwrap();
    measured(&shop, &[]);
    let below = shop.dir().join("windage-runs");
    fs::rename(shop.of_run(""), below.join("old")).unwrap();
    fs::create_dir(below.join("mine")).unwrap();
    fs::write(below.join("mine/notes"), "mine").unwrap();
    symlink(below.join("old"), below.join("link")).unwrap();

    shop.windage(&["clean", "windage-runs/mine"])
        .code(2)
        .says(&["holds no run"]);
    shop.windage(&["clean", "--older-than", "1s", "windage-runs/link"])
        .code(2);
    shop.windage(&["clean", "--older-than", "1day"]).code(0);
    assert_eq!(names_in(&below), ["link", "mine", "old"]);
    let removed = shop
        .windage(&["clean", "--older-than", "1ms"])
        .code(0)
        .stdout;
    assert!(removed.contains("windage-runs/old: "), "{removed}");
    assert_eq!(names_in(&below), ["link", "mine"]);
    assert_eq!(names_in(below.join("mine")), ["notes"]);
}
