//! Services that die, or never become ready.

use crate::contract;
use crate::plans::{BRIEF, DOOMED, Plan};
use crate::workshop::Workshop;

/// One arm whose service dies, and one whose service does not.
fn arms(dies: &str) -> String {
    format!("[[arm]]\nname = 'doomed'\nenv = {{ DIES = '{dies}' }}\n\n[[arm]]\nname = 'fine'")
}

fn doomed(dies: &str, on_death: &str) -> String {
    // The service dies after using a fixed amount of CPU, which takes long on a busy machine. Only
    // the tests in which the run goes on need its full length.
    let length = if on_death == "end" { "60s" } else { "12s" };
    // In isolated windows, so that it has windows before its death whatever the machine's speed.
    let isolated = if on_death == "end" {
        ""
    } else {
        "isolated = '100%'"
    };
    Plan {
        service: DOOMED,
        arms: &arms(dies),
        window: "100ms",
        rounds: 1,
        length,
        design: &format!("{BRIEF}\non_death = '{on_death}'\n{isolated}"),
        ..Plan::default()
    }
    .text()
}

#[test]
fn a_death_ends_the_run_with_a_report() {
    // `busy`: dies in a window of its own. `idle`: dies while another arm has the load.
    for dies in ["busy", "idle"] {
        let shop = Workshop::new();
        let ended = shop.start_plan(&doomed(dies, "end")).end().code(5);
        let ended = ended.says(&["doomed", "killed by signal 9", "these are the last words"]);
        assert!(
            ended.stdout.contains("CPU per request"),
            "{dies}: {}",
            ended.stdout
        );
        let report = shop
            .windage(&["report", &shop.run, "--json"])
            .code(0)
            .json();
        contract::check(&report);
        assert!(
            contract::reasons(&report).contains(&"run_incomplete"),
            "{dies}"
        );
    }
}

#[test]
fn a_death_is_reported_without_progress() {
    let shop = Workshop::new();
    shop.write("plan.toml", &doomed("busy", "end"));
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--quiet"]);
    let ended = ended.code(5);
    ended.says(&[
        "error",
        "doomed",
        "killed by signal 9",
        "these are the last words",
    ]);
}

#[test]
fn the_other_arms_go_on_if_the_plan_asks_for_it() {
    for dies in ["busy", "idle"] {
        let shop = Workshop::new();
        shop.write("plan.toml", &doomed(dies, "continue"));
        let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
        let ended = ended.code(0).says(&["these are the last words"]);
        let analysis = contract::checked(&ended);
        let windows = |id| contract::arm(&analysis, id).metrics["cpu_per_request"].windows;
        assert_eq!(windows("fine"), windows("control"), "{dies}");
        assert!(windows("doomed") < windows("fine"), "{dies}");
        assert!(
            !contract::reasons(&ended.json()).contains(&"run_incomplete"),
            "{dies}"
        );
        let verdict = &analysis.under_first_load.validity.verdict;
        assert_eq!(verdict, "suspect", "{dies}: the death is a warning");
    }
}

#[test]
fn a_shared_service_that_dies_ends_the_run() {
    for on_death in ["end", "continue"] {
        let shop = Workshop::new();
        let service = format!(
            "name = 'origin'\nshared = true\n\
             command = ['/bin/sh', '-c', 'sleep 6; echo the well is dry; exit 3']\n\n\
             [[service]]\n{}",
            Plan::default().service
        );
        let plan = Plan {
            service: &service,
            window: "100ms",
            rounds: 1,
            length: "20s",
            design: &format!("{BRIEF}\non_death = '{on_death}'"),
            ..Plan::default()
        };
        let ended = shop.start_plan(&plan.text()).end().code(5);
        let words = "service `origin` that all arms share exited with code 3";
        let ended = ended.says(&[words, "the well is dry"]);
        let ended = ended.says(&["control is no longer measured either, for the same reason"]);
        assert!(ended.stdout.contains("CPU per request"), "{}", ended.stdout);
        let all = shop.windage(&["report", &shop.run, "--all"]).code(0).stdout;
        let times = all.matches("the well is dry").count();
        assert_eq!(times, 1, "last words are shown once: {all}");
        let report = shop
            .windage(&["report", &shop.run, "--json"])
            .code(0)
            .json();
        contract::check(&report);
        assert!(
            contract::reasons(&report).contains(&"run_incomplete"),
            "{on_death}"
        );
    }
}

#[test]
fn a_death_in_warm_up_ends_the_run() {
    let shop = Workshop::new();
    let plan = Plan {
        service: DOOMED,
        arms: &arms("busy"),
        design: "warmup = '10s'",
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(5);
    ended.says(&["`doomed`", "killed by signal 9", "these are the last words"]);
}

#[test]
fn the_other_arms_go_on_without_a_service_that_does_not_become_ready() {
    let shop = Workshop::new();
    // In the first launch it starts another process and exits before it is ready.
    let service = "name = 'before'\n\
         command = ['/bin/sh', '-c', 'exec sleep 600']\n\n\
         [[service]]\nname = 'app'\nenv = { LAUNCH = '{launch}', DIES = 'no' }\n\
         command = ['/bin/sh', '-c', 'if [ $DIES$LAUNCH = busy0 ]; then echo these are the last words; \
         exit 3; fi; exec {windage} __demo-service --listen {listen}']\n\
         ready = { http = '/healthz', within = '20s' }";
    let plan = Plan {
        service,
        arms: &arms("busy"),
        design: &format!("{BRIEF}\non_death = 'continue'"),
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let ended = ended.code(0).says(&[
        "doomed is no longer measured in this round: service `app` of arm `doomed` exited with code 3",
        "these are the last words",
    ]);
    let analysis = contract::checked(&ended);
    let windows = |id| contract::arm(&analysis, id).metrics["cpu_in_window"].windows;
    assert_eq!(windows("doomed") * 2, windows("fine"));
    assert!(contract::reasons(&ended.json()).contains(&"arm_died"));
}

/// A service that exits after this many seconds, and after it the built-in one.
fn beside(first: &str, seconds: &str, ready: &str) -> String {
    format!(
        "{first}\ncommand = ['/bin/sh', '-c', 'sleep {seconds}; echo the well is dry; exit 3']\n\n\
         [[service]]\nname = 'app'\n\
         command = ['{{windage}}', '__demo-service', '--listen', '{{listen}}']\n\
         ready = {{ {ready} }}"
    )
}

#[test]
fn the_death_of_a_shared_service_ends_the_warm_up() {
    let shop = Workshop::new();
    let service = beside("name = 'origin'\nshared = true", "1", "http = '/healthz'");
    let plan = Plan {
        service: &service,
        design: "warmup = '2s'",
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(5);
    let words = "service `origin` that all arms share exited with code 3";
    let ended = ended.says(&[words, "the well is dry"]);
    let is_void = ended.stderr.contains("is void");
    assert!(!is_void, "no window is measured: {}", ended.stderr);
}

#[test]
fn a_death_while_others_are_launched_ends_the_run() {
    // A set of processes takes four seconds to start, so half of that is far from both ends on any
    // machine.
    let table = [
        ("name = 'origin'\nshared = true", "2", "that all arms share"),
        ("name = 'origin'", "2", "of the same arm"),
        ("name = 'origin'", "6", "of an earlier arm"),
    ];
    for (first, seconds, whose) in table {
        let shop = Workshop::new();
        let service = beside(first, seconds, "delay = '4s'");
        let plan = Plan {
            service: &service,
            ..Plan::default()
        };
        let ended = shop.start_plan(&plan.text()).end().code(5);
        let ended = ended.says(&["service `origin` ", "the well is dry"]);
        let arm_after = |words: &str| {
            let (_, rest) = ended.stderr.split_once(words)?;
            rest.split('`').next()
        };
        let died = arm_after("`origin` of arm `");
        let launched = arm_after(" exited with code 3 while `app` of arm `");
        assert!(launched.is_some(), "{whose}: {}", ended.stderr);
        let found = match died {
            None => "that all arms share",
            Some(_) if died == launched => "of the same arm",
            Some(_) => "of an earlier arm",
        };
        assert_eq!(found, whose, "{}", ended.stderr);
    }
}

#[test]
fn services_that_do_not_become_ready() {
    let table: [(&str, &[&str]); 4] = [
        (
            "command = ['/bin/sh', '-c', 'echo the tank is empty; exit 7', '{listen}']",
            &[
                "exited with code 7",
                "the tank is empty",
                "before it was ready",
            ],
        ),
        (
            "command = ['/bin/sh', '-c', 'echo still thinking; exec sleep 60', '{listen}']\n\
             ready = { http = '/up', within = '300ms' }",
            &[
                "not ready within 300ms",
                "/up",
                "still thinking",
                "ready.within",
            ],
        ),
        (
            "command = ['no-such-program-anywhere', '{listen}']",
            &["no-such-program-anywhere", "not found"],
        ),
        (
            "command = ['./plan.toml', '{listen}']",
            &["plan.toml", "ermission denied"],
        ),
    ];
    for (service, words) in table {
        let shop = Workshop::new();
        let service = format!("name = 'app'\n{service}");
        let plan = Plan {
            service: &service,
            ..Plan::default()
        };
        let ended = shop.start_plan(&plan.text()).end().code(5);
        ended.says(&["error"]).says(words);
    }
}
