//! What a plan needs, checked without a run.

use std::fs::{self, File};

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A plan whose arm `watched` has one agent, with more keys for the agent.
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
fn missing_facilities_are_reported_with_a_remedy() {
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
        // A kernel that has the file may still refuse the programs.
        if File::open(file).is_err() {
            let text = ended.code(5).stdout;
            for words in [&needs, &format!("missing: {facility}: "), file, remedy] {
                assert!(text.contains(words), "{text} has no {words}");
            }
        } else if facility == "btf" {
            let text = ended.code(0).stdout;
            assert!(text.contains(&format!("{needs}: all available")), "{text}");
        }
    }
}

#[test]
fn a_folder_of_plans_gives_one_document() {
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
fn an_invalid_plan_is_refused_as_by_a_run() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan("needs = ['magic']"));
    let refused = shop.windage(&["doctor", "plan.toml"]).code(2);
    assert!(refused.stderr.contains("magic"), "{}", refused.stderr);
    shop.windage(&["doctor", "absent.toml"]).code(2);
}

#[test]
fn missing_programs_users_and_variables_are_all_reported() {
    let found = "name = 'app'\ncommand = ['/bin/sh', '{listen}']";
    let table: [(&str, &str, &[&str]); 5] = [
        (found, "", &[]),
        (
            "name = 'app'\ncommand = ['bin/absent', '{listen}']",
            "",
            &["service `app`", "bin/absent", "install it"],
        ),
        (
            found,
            "user = 'no.such.user'",
            &["`no.such.user`", "getent passwd"],
        ),
        (
            found,
            "env = { KEY = '$WINDAGE_TEST_ABSENT' }",
            &["$WINDAGE_TEST_ABSENT", "export"],
        ),
        (
            "name = 'app'\ncommand = ['no-such-program', '{listen}']",
            "env = { KEY = '$WINDAGE_TEST_ABSENT' }",
            &["no-such-program", "not found in PATH", "export"],
        ),
    ];
    for (service, more, parts) in table {
        let shop = Workshop::new();
        let plan = Plan {
            service: &format!("{service}\n{more}"),
            ..Plan::default()
        };
        shop.write("plan.toml", &plan.text());
        let code = if parts.is_empty() { 0 } else { 5 };
        let ended = shop.windage(&["doctor", "plan.toml"]).code(code);
        for part in parts {
            assert!(ended.stdout.contains(part), "{} lacks {part}", ended.stdout);
        }
        let document = shop.windage(&["doctor", "--json", "plan.toml"]).code(code);
        let missing = document.json()["plans"][0]["missing"].clone();
        assert_eq!(missing.as_array().unwrap().is_empty(), parts.is_empty());
    }
}
