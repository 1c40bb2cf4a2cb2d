//! Disks without room for a run.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use nix::fcntl::{FallocateFlags, fallocate};

use crate::contract;
use crate::plans::Plan;
use crate::skip::skip;
use crate::workshop::Workshop;

/// A file system of its own.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(at: &Path, megabytes: u32) -> Option<SmallDisk<'_>> {
        fs::create_dir(at).unwrap();
        mount(at, &format!("size={megabytes}m")).then_some(SmallDisk(at))
    }

    fn resize(&self, megabytes: u32) {
        assert!(mount(self.0, &format!("remount,size={megabytes}m")));
    }

    /// Takes all that is free.
    fn fill(&self) {
        let file = File::create(self.0.join("full")).unwrap();
        let free_bytes = windage_files::free_bytes(self.0).unwrap();
        let length = i64::try_from(free_bytes).unwrap();
        // The run may have taken some of it by now.
        let step = 1 << 16;
        let mut at = 0;
        while at < length && fallocate(&file, FallocateFlags::empty(), at, step).is_ok() {
            at += step;
        }
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

fn mount(at: &Path, options: &str) -> bool {
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(at)
        .output();
    mount.is_ok_and(|output| output.status.success())
}

#[test]
fn a_disk_that_fills_up() {
    let shop = Workshop::new();
    let at = shop.dir().join("disk");
    let Some(disk) = SmallDisk::mount(&at, 260) else {
        return skip("a_disk_that_fills_up", "no leave to mount a file system");
    };
    let plan = Plan {
        rounds: 1,
        window: "1ms",
        length: "20s",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let mut going = shop.start(&["run", "plan.toml", "--out", "disk/run"], &[]);
    let log = at.join("run/response_time.hlog");
    going.until("some blocks are on disk", || {
        fs::read_to_string(&log).is_ok_and(|text| text.lines().count() > 100)
    });
    disk.fill();
    let ended = going.end().code(5);
    ended.says(&["disk/run", "No space left", "free some space"]);
    // Whole blocks were saved before it was full.
    let report = shop.windage(&["report", "disk/run", "--json"]);
    let report = report.code(0).json();
    contract::check(&report);
    assert!(report["design"]["blocks"].as_u64().unwrap() > 0);
    let reasons = contract::reasons(&report);
    assert!(reasons.contains(&"run_incomplete"), "{reasons:?}");
}

#[test]
fn a_run_without_room_for_a_round_ends_and_is_resumed_when_there_is_some() {
    let shop = Workshop::new();
    let at = shop.dir().join("disk");
    let Some(disk) = SmallDisk::mount(&at, 100) else {
        let test = "a_run_without_room_for_a_round_ends_and_is_resumed_when_there_is_some";
        return skip(test, "no leave to mount a file system");
    };
    shop.write("plan.toml", &Plan::default().text());
    let ended = shop.windage(&["run", "plan.toml", "--out", "disk/run"]);
    let words = [
        "no room",
        "are free in disk/run",
        "256 MB",
        "--resume disk/run",
    ];
    ended.code(5).says(&words);
    let report = shop.windage(&["report", "disk/run", "--json"]);
    let reasons = report.code(0).json()["validity"]["reasons"].to_string();
    assert!(reasons.contains("are free in disk/run"), "{reasons}");
    disk.resize(600);
    let resumed = shop.windage(&["run", "--resume", "disk/run", "--json"]);
    let analysis = resumed.code(0).json();
    contract::check(&analysis);
    let reasons = contract::reasons(&analysis);
    assert!(!reasons.contains(&"run_incomplete"), "{reasons:?}");
}
