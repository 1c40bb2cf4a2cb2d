//! Everything Windage refuses or can't do: each with its exit code and a message that helps.

use std::fs;
use std::net::TcpListener;

use crate::contract;
use crate::files::names_in;
use crate::plans::Plan;
use crate::workshop::Workshop;

#[test]
fn invalid_plans_are_refused() {
    let sound = Plan::default().text();
    let table: [(&str, &str, &[&str]); 5] = [
        (
            "connections = 2",
            "conections = 2",
            &[
                "plan.toml:",
                "conections = 2",
                "did you mean `connections`?",
            ],
        ),
        ("rounds = 2", "rounds = 'two'", &["rounds = 'two'"]),
        ("{app}", "{ap}", &["{ap}"]),
        (
            "http://{app}/",
            "http://10.1.2.3/",
            &["10.1.2.3", "loopback", "allow"],
        ),
        ("[[arm]]", "[[arm", &["plan.toml:"]),
    ];
    for (from, to, words) in table {
        let shop = Workshop::new();
        let plan = sound.replacen(from, to, 1);
        assert_ne!(plan, sound, "{from}");
        let ended = shop
            .start_plan(&plan)
            .end()
            .code(2)
            .says(&["error"])
            .says(words);
        assert_eq!(ended.stdout, "");
        assert!(!shop.of_run("").exists(), "a run was started: {to}");
    }
}

#[test]
fn invalid_command_lines_are_refused() {
    let shop = Workshop::new();
    fs::create_dir(shop.dir().join("empty")).unwrap();
    let table: [(&[&str], &[&str]); 9] = [
        (&[], &["Usage"]),
        (&["mesure"], &["mesure"]),
        (&["run"], &["PLAN"]),
        (
            &["run", "nowhere.toml"],
            &["nowhere.toml", "check the path"],
        ),
        (&["run", "empty"], &["empty", "*.toml"]),
        (&["run", "empty", "--for", "soon"], &["soon", "30s"]),
        (
            &["run", "empty", "--for", "-3s"],
            &["'-3s'", "--for", "longer than zero", "30s"],
        ),
        (
            &["run", "empty", "--for", "--rounds", "3"],
            &["--for", "missing", "30s"],
        ),
        (&["report", "empty"], &["empty", "no run"]),
    ];
    for (args, words) in table {
        let ended = shop.windage(args).code(2).says(words);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}

#[test]
fn a_later_plan_with_a_typo_costs_no_time() {
    let shop = Workshop::new();
    shop.write("a.toml", &Plan::default().text());
    shop.write("b.toml", "nmae = 'b'\n");
    let ended = shop.windage(&["run", "a.toml", "b.toml"]).code(2);
    ended.says(&["b.toml", "nmae"]);
    assert!(!shop.dir().join("windage-runs").exists());
}

#[test]
fn a_fixed_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let shop = Workshop::new();
    let service = format!(
        "name = 'store'\nshared = true\nlisten = '{address}'\n\
         command = ['{{windage}}', '__demo-service', '--listen', '{{listen}}']\n\n[[service]]\n{}",
        Plan::default().service
    );
    let plan = Plan {
        service: &service,
        ..Plan::default()
    };
    let ended = shop.start_plan(&plan.text()).end().code(5);
    ended.says(&["store", &address, "in use", "free port"]);
}

#[test]
fn only_errors_are_void() {
    let shop = Workshop::new();
    let plan = Plan {
        request: "GET http://{app}/no/such/page",
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let args = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = shop.windage(&args).code(4).says(&["400 or above"]).json();
    contract::check(&analysis);
    assert_eq!(analysis["validity"]["verdict"], "void");
}

#[test]
fn unsuitable_run_directories_are_refused() {
    let shop = Workshop::new();
    shop.write("plan.toml", &Plan::default().text());
    shop.write("a-file", "");
    fs::create_dir(shop.dir().join("full")).unwrap();
    shop.write("full/precious", "do not touch");
    // Root may write everywhere, but not below a file.
    let table: [(&str, &[&str]); 4] = [
        ("a-file/run", &["a-file/run", "another directory"]),
        ("a-file", &["a-file", "another directory"]),
        ("/proc/run", &["/proc/run"]),
        ("full", &["not empty", "--resume"]),
    ];
    for (out, words) in table {
        let ended = shop.windage(&["run", "plan.toml", "--out", out]).code(5);
        ended.says(&["error: "]).says(words);
    }
    assert_eq!(names_in(shop.dir().join("full")), ["precious"]);
}

#[test]
fn a_failing_build_is_shown() {
    let shop = Workshop::new();
    let plan = format!(
        "{}\n[build]\ncommands = ['echo fine', 'echo the linker is on strike >&2; exit 3']\n",
        Plan::default().text()
    );
    let ended = shop.start_plan(&plan).end().code(5);
    ended.says(&["build", "exited with code 3", "the linker is on strike"]);
}

#[test]
fn a_run_of_another_format_is_refused() {
    let shop = Workshop::new();
    let plan = Plan {
        rounds: 1,
        length: "100ms",
        ..Plan::default()
    };
    shop.start_plan(&plan.text()).end().code(0);
    let manifest = shop.of_run("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let newer = text.replace("\"format\": 7", "\"format\": 99");
    assert_ne!(newer, text);
    fs::write(&manifest, newer).unwrap();
    let table: [&[&str]; 2] = [&["report", &shop.run], &["run", "--resume", &shop.run]];
    for args in table {
        let ended = shop
            .windage(args)
            .code(2)
            .says(&["format 99", "measure again"]);
        assert_eq!(ended.stdout, "");
    }
}
