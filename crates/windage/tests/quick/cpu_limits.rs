//! A service that reaches the CPU limit of its control group.

use std::fs;
use std::path::Path;

use crate::attached::{Group, SWITCHED, Stranger};
use crate::contract;
use crate::plans::{BRIEF, Plan};
use crate::skip::skip;
use crate::workshop::Workshop;

/// A control group that may use a twentieth of a core.
fn limited() -> Option<Group> {
    let name = format!("windage-test-{}", std::process::id());
    let v1 = ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "5000");
    let v2 = ("/sys/fs/cgroup", "cpu.max", "5000 100000");
    [v1, v2].into_iter().find_map(|(root, file, limit)| {
        let group = Group(Path::new(root).join(&name));
        fs::create_dir(&group.0).ok()?;
        let limit_file = group.0.join(file);
        (limit_file.exists() && fs::write(limit_file, limit).is_ok()).then_some(group)
    })
}

#[test]
fn a_service_held_back_by_its_limit_is_reported() {
    let Some(group) = limited() else {
        return skip(
            "a_service_held_back_by_its_limit_is_reported",
            "no control group with a CPU limit can be made: needs root and the controller `cpu`",
        );
    };
    let stranger = Stranger::start();
    let pid = stranger.child.id();
    group.take_in(pid);
    let shop = Workshop::new();
    let plan = Plan {
        window: "100ms",
        length: "2s",
        rounds: 1,
        service: &format!(
            "name = 'app'\nattach = {{ pid = {pid} }}\nlisten = '{}'",
            stranger.address
        ),
        arms: SWITCHED,
        design: BRIEF,
        ..Plan::default()
    };
    shop.start_plan(&plan.text()).end().code(0);
    let report = shop.windage(&["report", &shop.run, "--json"]);
    let json = report.code(0).json();
    assert!(contract::reasons(&json).contains(&"throttled"), "{json}");
    let reasons = json["validity"]["reasons"].as_array().unwrap();
    let reason = reasons.iter().find(|reason| reason["code"] == "throttled");
    let evidence = &reason.unwrap()["evidence"];
    let throttled_us = evidence["throttled_us"].as_f64();
    assert!(throttled_us > Some(10_000.0), "{evidence}");
}
