//! What a plan's agents need of the kernel, looked at without a run.

use std::fs::{self, File};

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A plan whose arm `watched` has one agent, with more keys of it.
fn plan(agent: &str) -> String {
    let service = Plan::default().service;
    Plan {
        service: &format!(
            "{service}\n\n[[agent]]\nname = 'watcher'\ncommand = ['/bin/true']\n\
             ready = {{ log = 'watching' }}\n{agent}"
        ),
        arms: "[[arm]]\nname = 'watched'\nagents = ['watcher']",
        length: "60s",
        ..Plan::default()
    }
    .text()
}

#[test]
fn a_plan_is_told_what_is_missing_and_what_to_do() {
    let table = [
        ("btf", "/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"),
        (
            "kprobe",
            "/sys/bus/event_source/devices/kprobe/type",
            "CONFIG_KPROBE_EVENTS",
        ),
    ];
    for (facility, file, remedy) in table {
        let shop = Workshop::new();
        shop.write("plan.toml", &plan(&format!("needs = ['{facility}']")));
        let needs = format!("agent `watcher` needs {facility}");
        let ended = shop.windage(&["doctor", "plan.toml"]);
        // A kernel that has the file may still withhold the programs.
        if File::open(file).is_err() {
            let told = ended.code(5).stdout;
            for words in [&needs, &format!("missing: {facility}: "), file, remedy] {
                assert!(told.contains(words), "{told} has no {words}");
            }
        } else if facility == "btf" {
            let told = ended.code(0).stdout;
            assert!(told.contains(&format!("{needs}: all here")), "{told}");
        }
    }
}

#[test]
fn a_folder_of_plans_is_told_as_one_document() {
    let shop = Workshop::new();
    fs::create_dir(shop.dir().join("plans")).unwrap();
    shop.write("plans/a.toml", &plan(""));
    shop.write("plans/b.toml", &Plan::default().text());
    let document = shop.windage(&["doctor", "--json", "plans"]).code(0).json();
    let plans = document["plans"].as_array().unwrap();
    let paths: Vec<_> = plans.iter().map(|plan| plan["path"].as_str()).collect();
    assert_eq!(paths, [Some("plans/a.toml"), Some("plans/b.toml")]);
    assert_eq!(plans[0]["agents"][0]["name"], "watcher");
    assert_eq!(plans[1]["agents"].as_array().unwrap().len(), 0);
    assert!(plans.iter().all(|plan| plan["runs_here"] == true));
}

#[test]
fn a_plan_that_is_wrong_is_refused_as_a_run_would() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan("needs = ['magic']"));
    let refused = shop.windage(&["doctor", "plan.toml"]).code(2);
    assert!(refused.stderr.contains("magic"), "{}", refused.stderr);
    shop.windage(&["doctor", "absent.toml"]).code(2);
}
