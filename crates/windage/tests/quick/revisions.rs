//! `windage check --base`: two revisions of a service in one run.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::budgets::{ended, shell_of};
use crate::plans::Plan;
use crate::workshop::Workshop;

/// A service that is built, and whose second arm does a fifth more work in each request.
fn plan() -> String {
    let plan = Plan {
        service: "name = 'app'\ncommand = ['./serve', '{windage}', '{listen}']\n\
                  ready = { http = '/healthz', within = '20s' }",
        request: "GET http://{app}/",
        arms: "[[arm]]\nname = 'on'\nenv = { MORE = '5000' }",
        design: "warmup = '20ms'\ndrain = '50ms'\nidle = '50ms'\nblock = '100ms'",
        ..Plan::default()
    };
    let build = "[build]\ncommands = ['cp serve.in serve && chmod +x serve']\n[build.versions]";
    let budget = "[[budget]]\nof = 'change'\nmetric = 'cpu_per_request'\nat_most = '50%'\n[design]";
    plan.text()
        .replace("[build.versions]", build)
        .replace("[design]", budget)
}

/// A revision of the service whose requests take so many more iterations.
fn serve(iterations: u32) -> String {
    format!(
        "#!/bin/sh\nexec \"$1\" __calibration-service --listen \"$2\" \
         --extra-iterations $(({iterations} + ${{MORE:-0}}))\n"
    )
}

/// A repository in the workshop with the plan, whose `main` has a service that takes twice the CPU
/// of that at the tag `v1`.
fn repository() -> Workshop {
    let shop = Workshop::new();
    git(&shop, &["init", "--quiet", "--initial-branch", "main"]);
    shop.write(
        ".gitignore",
        "/serve\n/run-*\n/std*\n/windage-runs\n/out*\n/summary\n",
    );
    shop.write("plan.toml", &plan());
    for (iterations, tag) in [(0, "v1"), (25_000, "v2")] {
        shop.write("serve.in", &serve(iterations));
        git(&shop, &["add", "."]);
        git(&shop, &["commit", "--quiet", "-m", tag]);
        git(&shop, &["tag", tag]);
    }
    shop
}

fn git(shop: &Workshop, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let mut git = Command::new("git");
    let output = git.args(identity).args(args).current_dir(shop.dir());
    let output = output.output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn worktrees(shop: &Workshop) -> usize {
    git(shop, &["worktree", "list"]).lines().count()
}

#[test]
fn a_service_that_became_slower_exceeds_twice() {
    let shop = repository();
    let args = ["check", "plan.toml", "--base", "v1", "--out", &shop.run];
    let checked = shop.windage(&[&args[..], &["--within", "12s", "--json"]].concat());
    let checked = checked.code(1).says(&["measuring again"]);
    let document = checked.json();
    let commit = git(&shop, &["rev-parse", "v1"]);
    assert_eq!(document["revisions"]["base"]["name"], "v1");
    assert_eq!(document["revisions"]["base"]["commit"], commit.trim());
    let found = document["budgets"].as_array().unwrap().iter().map(|of| {
        let text = |key: &str| of[key].as_str().unwrap().to_owned();
        (text("arm"), text("of"), text("verdict"))
    });
    let of = |arm: &str, verdict: &str| (arm.to_owned(), "change".to_owned(), verdict.to_owned());
    let expected = [of("off-head", "exceeded"), of("on-head", "within")];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    // The same work on top of twice as much: its share falls.
    let cost = &document["budgets"][1]["cost"]["estimate"];
    assert!(cost.as_f64().unwrap() < 0.0, "{cost}");
    let again = format!("{}-again", shop.run);
    for run in [&shop.run, &again] {
        let shown = shop.windage(&["report", run]).code(0).stdout;
        for words in ["base v1", "From base to head", "exceeded", "on@head"] {
            assert!(shown.contains(words), "{words}: {shown}");
        }
    }
    assert_eq!(worktrees(&shop), 1, "its own are gone");
}

#[test]
fn the_action_shows_both_runs() {
    let shop = repository();
    let action = shell_of("action.yml", "run: |");
    assert_eq!(ended(&shop, &action, ["12s", "v1"]), Some(1));
    let read = |file: &str| fs::read_to_string(shop.dir().join(file)).unwrap();
    let report = read("out.xml");
    let failed = report.matches("<failure").count();
    assert_eq!(failed, 2, "once in each run: {report}");
    assert!(read("summary").contains("base v1"));
}

#[test]
fn the_same_commit_is_within() {
    let shop = repository();
    let of_cost = "[[budget]]\nmetric = 'cpu_per_request'\nat_most = '1%'\n[design]";
    shop.write("plan.toml", &plan().replace("[design]", of_cost));
    git(
        &shop,
        &[
            "commit",
            "--quiet",
            "-am",
            "a budget that --base leaves open",
        ],
    );
    let args = ["check", "plan.toml", "--base", "main", "--head", "main"];
    let end = ["--within", "12s", "--out", &shop.run, "--json"];
    let checked = shop.windage(&[&args[..], &end[..]].concat());
    let checked = checked
        .code(0)
        .says(&["the same commit", "does not decide 1 budget"]);
    let document = checked.json();
    let budgets = document["budgets"].as_array().unwrap();
    assert_eq!(budgets.len(), 2, "{budgets:?}");
    for budget in budgets {
        assert_eq!(budget["verdict"], "within", "{budget}");
    }
}

#[test]
fn a_revision_that_does_not_build_is_named_with_its_log() {
    let shop = repository();
    shop.write(
        "plan.toml",
        &plan().replace("cp serve.in serve", "echo no luck >&2; exit 3"),
    );
    git(&shop, &["commit", "--quiet", "-am", "broken"]);
    let checked = shop.windage(&["check", "plan.toml", "--base", "v2", "--out", &shop.run]);
    checked
        .code(5)
        .says(&["base", "no luck", "the plan differs"]);
    assert_eq!(worktrees(&shop), 1);
}

#[test]
fn what_can_not_be_compared_is_refused() {
    let shop = repository();
    let refused = shop
        .windage(&["check", "plan.toml", "--base", "v3"])
        .code(2);
    refused.says(&["`v3` is no commit"]);
    let refused = shop.windage(&["check", "plan.toml"]).code(2);
    refused.says(&["--base REV"]);
    let no_change = plan().replace("of = 'change'\n", "");
    fs::write(shop.dir().join("plan.toml"), no_change).unwrap();
    let refused = shop
        .windage(&["check", "plan.toml", "--base", "v1"])
        .code(2);
    refused.says(&["uncommitted", "--head HEAD"]);
    git(&shop, &["commit", "--quiet", "-am", "no change"]);
    let refused = shop
        .windage(&["check", "plan.toml", "--base", "v1"])
        .code(2);
    refused.says(&["of = \"change\""]);
    assert!(
        !Path::new(&shop.of_run("")).exists(),
        "nothing was launched"
    );
}

#[test]
fn the_commit_that_made_the_service_slower_is_found() {
    let shop = repository();
    for (number, iterations) in [(3, 25_000), (4, 25_000)] {
        shop.write("serve.in", &format!("{}# {number}\n", serve(iterations)));
        git(&shop, &["commit", "--quiet", "-am", &format!("v{number}")]);
    }
    let args = ["bisect", "plan.toml", "--good", "v1", "--bad", "main"];
    let end = ["--within", "12s", "--out", &shop.run, "--json"];
    let found = shop.windage(&[&args[..], &end[..]].concat());
    let document = found.code(0).says(&["checking", "exceeds a budget"]).json();
    let commit = git(&shop, &["rev-parse", "v2"]);
    let expected = serde_json::json!([{ "commit": commit.trim(), "subject": "v2" }]);
    assert_eq!(document["suspects"], expected, "{document}");
    // The newest, the middle one, and the first.
    assert_eq!(document["steps"].as_array().unwrap().len(), 3, "{document}");
    assert_eq!(worktrees(&shop), 1, "its own are gone");

    let refused = ["bisect", "plan.toml", "--good", "main", "--bad", "v1"];
    shop.windage(&refused).code(2).says(&["no ancestor"]);
}
