//! Budgets of plans, and `windage check`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A service whose second arm exports spans, which takes megabytes of memory. A budget is decided
/// after sixteen launches, so that each is short.
fn plan(budgets: &str) -> String {
    let plan = Plan {
        arms: "[[arm]]\nname = 'exporting'\n\
               args = { app = ['--telemetry', 'otlp', '--endpoint', '{otlp_http}'] }",
        design: "warmup = '20ms'\ndrain = '50ms'\nidle = '50ms'\nblock = '100ms'",
        ..Plan::default()
    };
    plan.text()
        .replace("[design]", &format!("{budgets}\n[design]"))
}

fn budget(metric: &str, at_most: &str) -> String {
    format!("[[budget]]\nmetric = '{metric}'\nat_most = '{at_most}'\n")
}

#[test]
fn the_exit_code_says_whether_budgets_hold() {
    let within = budget("rss_peak", "1GiB");
    let exceeded = budget("rss_peak", "0B");
    let never_measured = budget("bpf_ns_per_request", "1s");
    let both = format!("{within}{exceeded}");
    let open = format!("{within}{never_measured}");
    // Budgets, the exit code, whether the run ended early, verdicts.
    let table = [
        (within, 0, true, vec!["within"]),
        (both, 1, true, vec!["within", "exceeded"]),
        (open, 3, false, vec!["within", "undecided"]),
    ];
    for (budgets, code, ends_early, verdicts) in table {
        let shop = Workshop::new();
        shop.write("plan.toml", &plan(&budgets));
        let args = ["check", "plan.toml", "--within", "2s", "--out", &shop.run];
        let checked = shop.windage(&[&args[..], &["--json"]].concat());
        let document = checked.code(code).json();
        let is_reached = &document["design"]["stop"]["is_reached"];
        assert_eq!(is_reached, ends_early, "{budgets}");
        let found = document["budgets"].as_array().unwrap();
        let found: Vec<&str> = found
            .iter()
            .map(|of| of["verdict"].as_str().unwrap())
            .collect();
        assert_eq!(found, verdicts, "{budgets}");
        let shown = shop.windage(&["report", &shop.run]).code(0);
        for words in ["Budget: at most", verdicts[0], "exporting"] {
            assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
        }
        let xml = shop.windage(&["report", &shop.run, "--format", "junit"]);
        let lines = shop.windage(&["report", &shop.run, "--format", "annotations"]);
        let (xml, lines) = (xml.code(0).stdout, lines.code(0).stdout);
        for verdict in &verdicts {
            let case = match *verdict {
                "within" => "RSS, peak at most 1.07 GB\" classname=\"small\"/>".to_owned(),
                verdict => format!("message=\"{verdict}: "),
            };
            assert!(xml.contains(&case), "{case}: {xml}");
            assert!(lines.contains(&format!("::{verdict}")), "{lines}");
        }
    }
}

#[test]
fn a_plan_without_budgets_is_refused() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan(""));
    let refused = shop.windage(&["check", "plan.toml"]).code(2);
    refused.says(&["plan.toml", "[[budget]]"]);
    assert!(
        !shop.dir().join("windage-runs").exists(),
        "nothing was launched"
    );
}

#[test]
fn a_run_shows_budgets_and_is_no_gate() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan(&budget("rss_peak", "0B")));
    let document = shop
        .windage(&["run", "plan.toml", "--out", &shop.run, "--json"])
        .code(0)
        .json();
    let budgets = document["budgets"].as_array().unwrap();
    assert_eq!(budgets.len(), 1);
    assert_eq!(
        budgets[0]["verdict"], "undecided",
        "two launches decide nothing"
    );
    assert_eq!(budgets[0]["launches_needed"], 13);
}

#[test]
fn an_override_that_has_ended_fails_a_check() {
    let shop = Workshop::new();
    let ended = "override = { at_most = '2GiB', reason = 'new', until = '2020-01-31' }";
    shop.write(
        "plan.toml",
        &plan(&format!("{}{ended}\n", budget("rss_peak", "1GiB"))),
    );
    let refused = shop.windage(&["check", "plan.toml"]).code(2);
    refused.says(&["error: plan.toml", "rss_peak", "2020-01-31", "new"]);
    let run = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let run = run.code(0).says(&["warning: plan.toml", "2020-01-31"]);
    let budget = &run.json()["budgets"][0];
    assert_eq!(budget["at_most"], 1024.0 * 1024.0 * 1024.0, "as before");
    assert!(budget["override"].is_null());
}

/// The shell commands of a file for CI, as it has them behind `start`: a block, or a list.
pub(crate) fn shell_of(file: &str, start: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let text = fs::read_to_string(&file).unwrap();
    let (_, after) = text.split_once(start).unwrap();
    let (_, block) = after.split_once('\n').unwrap();
    let indent = &block[..block.len() - block.trim_start().len()];
    let of_block = block.lines().take_while(|line| line.starts_with(indent));
    let commands = of_block.map(|line| line.trim_start_matches("    - "));
    commands.collect::<Vec<_>>().join("\n")
}

/// Runs such commands in a folder with a plan, as CI does.
pub(crate) fn ended(shop: &Workshop, shell: &str, [within, base]: [&str; 2]) -> Option<i32> {
    let windage = Path::new(env!("CARGO_BIN_EXE_windage")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", shell]);
    bash.current_dir(shop.dir())
        .env("PATH", format!(".:{}:{path}", windage.display()));
    bash.envs([("PLAN", "plan.toml"), ("WITHIN", within), ("OUT", "out")]);
    bash.envs([
        ("UNDECIDED", "report"),
        ("BASE", base),
        ("GITHUB_STEP_SUMMARY", "summary"),
        ("PLACE", "ci, budgets 0, out"),
        ("REPOSITORY", "we/shop"),
        ("NUMBER", "12"),
    ]);
    bash.output().unwrap().status.code()
}

#[test]
fn files_for_ci_end_as_the_check_does() {
    let action = shell_of("action.yml", "run: |");
    let job = shell_of("docs/guide/gitlab.yml", "script:");
    for shell in [&action, &job] {
        let shop = Workshop::new();
        shop.write("plan.toml", &plan(""));
        assert_eq!(
            ended(&shop, shell, ["2s", ""]),
            Some(2),
            "no budget: {shell}"
        );
    }
    for (shell, reports) in [
        (&action, &["out.xml", "summary", "out.md"][..]),
        (&job, &["windage-check.xml"]),
    ] {
        let shop = Workshop::new();
        shop.write("plan.toml", &plan(&budget("rss_peak", "0B")));
        assert_eq!(
            ended(&shop, shell, ["2s", ""]),
            Some(1),
            "exceeded: {shell}"
        );
        for report in reports {
            let text = fs::read_to_string(shop.dir().join(report)).unwrap();
            assert!(text.contains("exceeded"), "{report}: {text}");
        }
    }
}

#[test]
fn the_action_says_when_there_is_no_verdict() {
    let action = shell_of("action.yml", "run: |");
    let shop = Workshop::new();
    let comment = || fs::read_to_string(shop.dir().join("out.md")).unwrap();
    shop.write("plan.toml", "name = 'app'");
    assert_eq!(ended(&shop, &action, ["2s", ""]), Some(2));
    let mark = "<!-- windage: ci, budgets 0, out -->\n";
    assert!(comment().starts_with(mark), "{}", comment());
    assert!(comment().contains("no verdict") && comment().contains("exit code 2"));

    fs::create_dir(shop.dir().join("out")).unwrap();
    shop.write("plan.toml", &plan(&budget("rss_peak", "1GiB")));
    assert_eq!(
        ended(&shop, &action, ["2s", ""]),
        Some(2),
        "of an earlier step"
    );
    assert!(comment().contains("no verdict"), "{}", comment());
}

#[test]
fn the_action_reports_all_plans_of_a_list() {
    let shop = Workshop::new();
    for name in ["a", "b"] {
        let plan = plan(&budget("rss_peak", "1GiB"));
        let named = plan.replacen("name = 'small'", &format!("name = '{name}'"), 1);
        shop.write(&format!("{name}.toml"), &named);
    }
    shop.write("plan.toml", "plans = ['a.toml', 'b.toml', './a.toml']");
    let action = shell_of("action.yml", "run: |");
    assert_eq!(ended(&shop, &action, ["2s", ""]), Some(0));
    let read = |file: &str| fs::read_to_string(shop.dir().join(file)).unwrap();
    assert_eq!(
        read("out.xml").matches("<testsuite ").count(),
        2,
        "each once"
    );
    for heading in ["### a: within its budgets", "### b: within its budgets"] {
        assert!(read("out.md").contains(heading), "{}", read("out.md"));
    }
}

/// GitHub's command-line tool, which tells what it was asked, and knows these comments.
fn gh(shop: &Workshop, comments: &str) {
    shop.write("comments", comments);
    let script = "#!/bin/sh\necho \"$@\" >> asked\ncase $* in *--paginate*) cat comments;; esac\n";
    shop.write("gh", script);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(shop.dir().join("gh"), executable).unwrap();
}

#[test]
fn the_action_replaces_its_own_comment() {
    let comment = shell_of("action.yml", "Comment on the pull request");
    let (_, comment) = comment.split_once("run: |\n").unwrap();
    let shop = Workshop::new();
    gh(&shop, "");
    assert_eq!(ended(&shop, comment, ["", ""]), Some(0));
    assert!(!shop.dir().join("asked").exists(), "nothing was measured");

    let asked_last = |comments: &str| {
        gh(&shop, comments);
        assert_eq!(ended(&shop, comment, ["", ""]), Some(0), "{comments}");
        let asked = fs::read_to_string(shop.dir().join("asked")).unwrap();
        asked.lines().last().unwrap().to_owned()
    };
    shop.write(
        "out.md",
        "<!-- windage check: small -->\n### small: exceeded\n",
    );
    let others = "7 Looks good.\n8 <!-- windage check: small_2 -->\n";
    let new = "api repos/we/shop/issues/12/comments --field body=@out.md --silent";
    assert_eq!(asked_last(""), new);
    assert_eq!(asked_last(others), new);
    let known = format!("{others}9 <!-- windage check: small -->\r\n");
    let replaced =
        "api --method PATCH repos/we/shop/issues/comments/9 --field body=@out.md --silent";
    assert_eq!(asked_last(&known), replaced);
}
