//! Features for proxies: additional ports, switches without a process, and a check of the
//! configuration before launch.

use std::fs;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::contract;
use crate::files::names_in;
use crate::interruption::send;
use crate::plans::{BRIEF, Plan};
use crate::skip::skip;
use crate::workshop::Workshop;

/// A service that is switched by a line over TCP or a Unix socket, or by an HTTP request. It prints
/// what it was switched to, and refuses the third `rate 3`.
const PROXY: &str = include_str!("proxy.py");

const SERVICE: &str = "name = 'proxy'\n\
    command = ['python3', 'proxy.py', '{port}', '{port.admin}', '{port.stats}', '{dir}']\n\
    ports = ['admin', 'stats']\n\
    stop = { signal = 'KILL' }";

/// A workshop with the service, if Python is installed.
fn with_proxy(test: &str) -> Option<Workshop> {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        skip(test, "no python3");
        return None;
    }
    let shop = Workshop::new();
    shop.write("proxy.py", PROXY);
    Some(shop)
}

/// A plan whose arms share one proxy.
fn switched(baseline: &str, arms: &str) -> String {
    let plan = Plan {
        service: SERVICE,
        request: "GET http://{proxy}/",
        arms,
        rounds: 1,
        length: "1s",
        ..Plan::default()
    };
    let keys = format!("baseline = true\ninstance = 'one'\nswitch = [{baseline}]");
    plan.text().replacen("baseline = true", &keys, 1)
}

#[test]
fn arms_are_switched_by_lines_and_requests() {
    let Some(shop) = with_proxy("arms_are_switched_by_lines_and_requests") else {
        return;
    };
    let plan = switched(
        "{ to = '127.0.0.1:{proxy.port.admin}', send = 'rate 0', answer = 'is 0' }",
        "[[arm]]\nname = 'unix'\ninstance = 'one'\n\
         switch = [{ to = '{dir}/admin.sock', send = 'rate {rate}', answer = '^rate is [12]' }]\n\
         sweep = { rate = ['1', '2'] }\n\
         [[arm]]\nname = 'http'\ninstance = 'one'\n\
         switch = [{ http = 'POST http://127.0.0.1:{proxy.port.stats}/rate?is=4', answer = '4' }]\n",
    );
    shop.write("plan.toml", &plan);
    let run = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = shop.windage(&run).code(0).json();
    contract::check(&analysis);
    let reasons = contract::reasons(&analysis);
    assert!(!reasons.contains(&"switch_failed"), "{reasons:?}");
    let log = fs::read_to_string(shop.of_run("logs/0+off+proxy.log")).unwrap();
    for words in ["0 by tcp", "1 by unix", "2 by unix", "4 by http"] {
        let switched = log.matches(&format!("switched to {words}")).count();
        assert!(switched > 4, "{words}, also in windows:\n{log}");
    }
}

#[test]
fn a_switch_refused_at_warm_up_ends_the_run() {
    let Some(shop) = with_proxy("a_switch_refused_at_warm_up_ends_the_run") else {
        return;
    };
    let table: [(&str, &[&str]); 4] = [
        (
            "{ to = '127.0.0.1:{proxy.port.admin}', send = 'flt-ot rate 5', answer = 'rate is' }",
            &[
                "`flt-ot rate 5` to 127.0.0.1:",
                "does not match `rate is`",
                "  Unknown command. Please",
            ],
        ),
        (
            "{ to = '{dir}/gone.sock', send = 'rate 5' }",
            &[
                "`rate 5` to /",
                "/gone.sock could not connect",
                "No such file",
            ],
        ),
        (
            "{ http = 'POST http://127.0.0.1:{proxy.port.stats}/rate' }",
            &[
                "`POST http://127.0.0.1:",
                "/rate` was answered 400 Bad Request:",
                "  Unknown command",
            ],
        ),
        (
            "{ to = '{proxy}', send = 'rate 5', answer = 'rate is' }",
            &[
                "`rate 5` to 127.0.0.1:",
                "does not match `rate is`",
                "Error code: 400",
            ],
        ),
    ];
    for (number, (switch, words)) in table.into_iter().enumerate() {
        let arm = format!("[[arm]]\nname = 'on'\ninstance = 'one'\nswitch = [{switch}]\n");
        let fine = "{ to = '127.0.0.1:{proxy.port.admin}', send = 'rate 0' }";
        shop.write("plan.toml", &switched(fine, &arm));
        let out = format!("{}-{number}", shop.run);
        let ended = shop.windage(&["run", "plan.toml", "--out", &out]).code(5);
        ended.says(&["error: "]).says(words);
    }
}

#[test]
fn a_switch_refused_later_voids_a_window() {
    let Some(shop) = with_proxy("a_switch_refused_later_voids_a_window") else {
        return;
    };
    let admin = "to = '127.0.0.1:{proxy.port.admin}'";
    let arm = format!(
        "[[arm]]\nname = 'on'\ninstance = 'one'\n\
         switch = [{{ {admin}, send = 'rate 3', answer = 'is 3' }}]\n"
    );
    shop.write(
        "plan.toml",
        &switched(&format!("{{ {admin}, send = 'rate 0' }}"), &arm),
    );
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let ended = ended.code(0).says(&["`rate 3` to 127.0.0.1:", "not now"]);
    let analysis = ended.json();
    contract::check(&analysis);
    let reasons = analysis["validity"]["reasons"].as_array().unwrap();
    let void = reasons.iter().find(|r| r["code"] == "switch_failed");
    let void = void.unwrap_or_else(|| panic!("{reasons:?}"));
    assert_eq!(void["evidence"]["windows"], 1.0, "{void}");
    assert_eq!(
        void["verdict"], "suspect",
        "void windows are left out: {void}"
    );
}

#[test]
fn metrics_are_read_from_an_additional_port() {
    let Some(shop) = with_proxy("metrics_are_read_from_an_additional_port") else {
        return;
    };
    let service = format!(
        "{SERVICE}\nmetrics = 'http://127.0.0.1:{{port.stats}}/metrics'\n\
         drops = [{{ reason = 'queue full', metric = 'lost_total' }}]"
    );
    let plan = Plan {
        service: &service,
        request: "GET http://{proxy}/",
        arms: "[[arm]]\nname = 'on'\nenv = { OTLP = '{otlp_http}' }\n\
               expect = { spans_per_request = 1 }",
        rounds: 1,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let run = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = contract::checked(&shop.windage(&run).code(0));
    let fidelity = contract::arm(&analysis, "on").fidelity.as_ref().unwrap();
    let loss = &fidelity.by_reason[0];
    assert_eq!((loss.code.as_str(), loss.lost), ("reported", Some(5.0)));
}

#[test]
fn metrics_are_scraped_for_the_arms_that_say_so() {
    let Some(shop) = with_proxy("metrics_are_scraped_for_the_arms_that_say_so") else {
        return;
    };
    // The second service has no metrics.
    let service = format!(
        "{SERVICE}\nmetrics = 'http://127.0.0.1:{{port.stats}}/metrics'\n\n[[service]]\nname = 'other'\n\
         command = ['{{windage}}', '__demo-service', '--listen', '{{listen}}']\nmetrics = '/nothing'"
    );
    let plan = Plan {
        service: &service,
        request: "GET http://{proxy}/",
        arms: "[[arm]]\nname = 'scraped'\nscrape = { proxy = '100ms' }\nexpect = { points_per_interval = 1 }\n\n\
               [[arm]]\nname = 'in vain'\nscrape = { other = '100ms' }\nexpect = { points_per_interval = 1 }",
        rounds: 2,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let run = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = contract::checked(&shop.windage(&run).code(0));
    let fidelity = contract::arm(&analysis, "scraped")
        .fidelity
        .as_ref()
        .unwrap();
    let [of] = fidelity.by_protocol.as_slice() else {
        panic!("{:?}", fidelity.by_protocol)
    };
    assert_eq!(of.protocol, "prometheus");
    assert!(of.export_requests >= 10, "in both launches: {of:?}");
    assert_eq!(of.metric_points, of.export_requests, "a sample in each");
    let counts = ["export_requests", "wire_bytes"].map(|name| fidelity.counts[name].as_u64());
    assert_eq!(counts, [Some(0); 2], "these are what exporters sent");
    let expected = "# TYPE lost_total counter\nlost_total 5\n".len() as u64;
    assert!(of.body_bytes >= expected * of.export_requests, "{of:?}");
    assert!(contract::arm(&analysis, "off").fidelity.is_none());
    let points = |arm| {
        let fidelity = contract::arm(&analysis, arm).fidelity.as_ref().unwrap();
        let points = fidelity.points.as_ref().unwrap();
        (points.expected.unwrap(), points.lost.unwrap())
    };
    let (expected, lost) = points("scraped");
    assert!(expected >= 8.0 && lost <= 0.0, "{expected} {lost}");
    let (expected, lost) = points("in-vain");
    assert!(expected >= 8.0 && lost >= expected, "{expected} {lost}");
    let reasons = analysis.under_first_load.validity.reasons.iter();
    let failed: Vec<_> = reasons.filter(|of| of.code == "scrapes_failed").collect();
    let [failed] = failed.as_slice() else {
        panic!("once for both launches: {failed:?}")
    };
    for words in ["`other` of in-vain", "status 404"] {
        assert!(failed.text.contains(words), "{}", failed.text);
    }
    let report = shop.windage(&["report", &shop.run]).code(0).stdout;
    let has_table = |title: &str| report.lines().any(|line| line.starts_with(title));
    assert!(has_table("Metrics ") && !has_table("Spans "), "{report}");
}

#[test]
fn agents_are_scraped_while_they_are_attached() {
    let Some(shop) = with_proxy("agents_are_scraped_while_they_are_attached") else {
        return;
    };
    let agent = SERVICE.replace("'proxy'", "'watcher'");
    let service = format!(
        "name = 'app'\ncommand = ['{{windage}}', '__demo-service', '--listen', '{{listen}}']\n\n\
         [[agent]]\n{agent}\nmetrics = 'http://127.0.0.1:{{port.stats}}/metrics'\n\
         ready = {{ metric = 'lost_total', within = '20s' }}"
    );
    // The same agent on the same processes: they differ in what is scraped alone.
    let plan = Plan {
        service: &service,
        arms: "[[arm]]\nname = 'watched'\nagents = ['watcher']\n\n\
               [[arm]]\nname = 'scraped'\nagents = ['watcher']\nscrape = { watcher = '100ms' }",
        rounds: 2,
        length: "2s",
        design: &format!(
            "{BRIEF}\nagent_stretch = '400ms'\nagent_warmup = '200ms'\nbpf_statistics = '0s'"
        ),
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let run = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = contract::checked(&shop.windage(&run).code(0));
    let fidelity = |id: &str| contract::arm(&analysis, id).fidelity.as_ref();
    assert!(fidelity("watched").is_none() && fidelity("off").is_none());
    let [of] = fidelity("scraped").unwrap().by_protocol.as_slice() else {
        panic!("one for all attachments: {:?}", fidelity("scraped"))
    };
    assert_eq!(of.metric_points, of.export_requests);
    // Each attachment has a warm-up and two stretches at least, a second in all.
    let agent = contract::arm(&analysis, "scraped").agent.as_ref().unwrap();
    let least = 5 * agent.attachments as u64;
    assert!(of.export_requests >= least, "{least} or more: {of:?}");
    // A scraper that goes on after the agent is detached would fail.
    let mut reasons = analysis.under_first_load.validity.reasons.iter();
    let failed = reasons.find(|of| of.code == "scrapes_failed");
    assert!(failed.is_none(), "{failed:?}");
}

#[test]
fn a_refused_configuration_is_shown() {
    let table: [(&str, &[&str], usize); 3] = [
        (
            "command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
             check = ['/bin/sh', '-c', 'echo \"$WHERE: parsing [$1/app.conf:2]: unknown word\"; exit 3', 'x', '{dir}']\n\
             env = { WHERE = 'the parser' }",
            &[
                "the check of service `app` of arm `",
                "exited with code 3",
                "the parser: parsing [",
                "as rendered in ",
                "app.conf:2: rate 4 of {literal}",
            ],
            1,
        ),
        (
            "command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
             check = ['no-such-program-anywhere', '-c']",
            &[
                "the check of service `app`",
                "no-such-program-anywhere",
                "not found",
            ],
            0,
        ),
        (
            "command = ['/bin/sh', '-c', 'echo app.conf line 2: bad word; exit 9', '{listen}']\n\
             check = ['/bin/sh', '-c', 'test \"$1\" -gt 0 && grep -q rate app.conf', 'x', '{port}']\n\
             cwd = '{dir}'",
            &[
                "service `app` of arm `",
                "exited with code 9 before it was ready",
                "app.conf:2: rate 4 of {literal}",
            ],
            1,
        ),
    ];
    for (service, words, checks_run) in table {
        let shop = Workshop::new();
        shop.write("app.template", "# a comment\nrate 4 of {{literal}}\n");
        let files = "files = [{ template = 'app.template', to = 'app.conf' }]";
        let service = format!("name = 'app'\n{files}\n{service}");
        let plan = Plan {
            service: &service,
            ..Plan::default()
        };
        let ended = shop.start_plan(&plan.text()).end().code(5);
        ended.says(&["error: "]).says(words);
        let logs = names_in(shop.of_run("logs"));
        let is_of_check = |name: &&String| name.ends_with("+app.check.log");
        let is_of_app = |name: &&String| name.ends_with("+app.log");
        let was_launched = words[1].contains("before it was ready");
        assert_eq!(
            logs.iter().filter(is_of_app).count(),
            usize::from(was_launched),
            "{logs:?}"
        );
        let logs_of_checks = logs.iter().filter(is_of_check).count();
        assert_eq!(logs_of_checks, checks_run, "{logs:?}");
    }
}

/// The built-in service, checked by a script.
const CHECKED: &str = "name = 'app'\n\
    command = ['{windage}', '__demo-service', '--listen', '{listen}']\n\
    check = ['/bin/sh', '{plan}/check.sh', '{windage}', '{listen}']";

#[test]
fn leftovers_of_a_check_are_ended_or_reported() {
    let table: [(&str, i32, &[&str]); 2] = [
        ("", 0, &[]),
        (
            "setsid",
            5,
            &["service `app` of arm `", "(`{listen}`) was free", "in use"],
        ),
    ];
    for (leaves, code, words) in table {
        let shop = Workshop::new();
        let script = format!(
            "rm -f up\n{leaves} \"$1\" __demo-service --listen \"$2\" > up &\n\
             until grep -q listening up; do sleep 0.01; done\n"
        );
        shop.write("check.sh", &script);
        let plan = Plan {
            service: CHECKED,
            ..Plan::default()
        };
        shop.start_plan(&plan.text()).end().code(code).says(words);
    }
}

#[test]
fn a_check_can_be_interrupted() {
    let shop = Workshop::new();
    let script = "setsid sleep 61 &\nsleep 62 &\necho now > checking\nexec sleep 63\n";
    shop.write("check.sh", script);
    let plan = Plan {
        service: CHECKED,
        ..Plan::default()
    };
    let mut going = shop.start_plan(&plan.text());
    let checking = shop.dir().join("checking");
    going.until("checking", || checking.exists());
    send(&going, Signal::SIGINT);
    // `end` checks that no process is left.
    going.end().code(130).says(&["interrupted"]);
    let logs = names_in(shop.of_run("logs"));
    let is_of_app = |name: &String| name.ends_with("+app.log");
    assert!(!logs.iter().any(is_of_app), "{logs:?}");
}

#[test]
fn a_batch_program_is_checked_once_per_launch() {
    let plan = |check: &str| {
        format!(
            "name = 'b'\n[[service]]\nname = 'work'\ncommand = ['/bin/sh', '-c', 'exit 0']\n\
             check = ['/bin/sh', '-c', '{check}']\n\
             [load]\nmodel = 'batch'\n[[arm]]\nname = 'off'\nbaseline = true\n\
             [design]\nrounds = 2\nblocks = 2\n{BRIEF}\n"
        )
    };
    let shop = Workshop::new();
    shop.start_plan(&plan("echo sound >> checked"))
        .end()
        .code(0);
    let checked = fs::read_to_string(shop.dir().join("checked")).unwrap();
    assert_eq!(checked.lines().count(), 4, "two launches of two arms");
    let shop = Workshop::new();
    let ended = shop.start_plan(&plan("echo unsound; exit 1")).end().code(5);
    ended.says(&[
        "the check of service `work`",
        "exited with code 1",
        "unsound",
    ]);
}
