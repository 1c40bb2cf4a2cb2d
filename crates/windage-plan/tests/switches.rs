//! Proxies: further ports, checks before a launch, and switches by socket or HTTP.

use std::path::Path;

use windage_plan::{Plan, PlanError, Switch, Template};

const PROXIED: &str = include_str!("plans/proxied.toml");

fn read(text: &str) -> Result<Plan, PlanError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    Plan::parse(text, "plan.toml", &folder)
}

fn parse(text: &str) -> Plan {
    read(text).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn ports_and_checks_are_resolved() {
    let plan = parse(PROXIED);
    let [origin, proxy] = plan.services.as_slice() else {
        panic!("two services")
    };
    assert_eq!(origin.ports, ["stats"]);
    assert_eq!(proxy.ports, ["admin", "peers_2"]);
    assert!(origin.check.is_empty());
    let check: Vec<&str> = proxy.check.iter().map(Template::as_str).collect();
    assert_eq!(check, ["proxy", "-c", "{dir}/proxy.conf", "{arm}"]);
    assert_eq!(
        proxy.metrics,
        Some(Template::parse(
            "http://127.0.0.1:{proxy.port.admin}/metrics"
        )),
        "rendered outside the service, so its own port goes by its name"
    );
    assert!(plan.uses_placeholder("origin.port.stats"));
}

#[test]
fn a_further_port_is_not_an_address() {
    let with_port = PROXIED.replace(
        "http://{proxy}/\"",
        "http://127.0.0.1:{proxy.port.admin}/\"",
    );
    let without = with_port
        .replace("to = \"{proxy}\"", "to = \"127.0.0.1:{proxy.port.admin}\"")
        .replace(
            "http://{proxy}/off",
            "http://127.0.0.1:{proxy.port.admin}/off",
        )
        .replace("\"--listen\", \"{listen}\", \"--admin\"", "\"--admin\"")
        .replace(
            "files = ",
            "ready = { delay = \"1s\" }\n# the template names {listen} as well\n# files = ",
        );
    assert!(!parse(&without).services[1].addressed);
    assert!(
        parse(&with_port).services[1].addressed,
        "`{{listen}}` is used"
    );
}

#[test]
fn a_further_port_may_be_named_port() {
    let metrics = "metrics = \"http://127.0.0.1:{port.admin}/metrics\"";
    let text = PROXIED
        .replace(
            metrics,
            "metrics = \"http://127.0.0.1:{proxy.port.port}/metrics\"",
        )
        .replace("{port.admin}", "{port.port}")
        .replace("{proxy.port.admin}", "{proxy.port.port}")
        .replace("\"admin\"", "\"port\"");
    let plan = parse(&text);
    assert_eq!(plan.services[1].ports, ["port", "peers_2"]);
    assert!(plan.uses_placeholder("proxy.port.port"));
}

#[test]
fn each_kind_of_switch_is_resolved() {
    let plan = parse(PROXIED);
    let answer = |text: &str| Some(text.to_owned());
    let line = |to, send, answer| Switch::Line {
        to: Template::parse(to),
        send: Template::parse(send),
        answer,
    };
    let http = |method: &str, url, answer| Switch::Http {
        method: method.to_owned(),
        url: Template::parse(url),
        answer,
    };
    assert_eq!(
        plan.arms[0].switch,
        [
            line(
                "{proxy}",
                "off {{now}}",
                answer(r#"^(off|done) in \d+ "ms"$"#)
            ),
            line("127.0.0.1:{proxy.port.admin}", "status", None),
            http(
                "POST",
                "http://127.0.0.1:{origin.port.stats}/reset",
                answer("OK")
            ),
            http("GET", "http://{proxy}/off", None),
        ]
    );
    assert_eq!(plan.arms[1].switch, plan.arms[0].switch, "the control");
    assert_eq!(
        plan.arms[3].switch,
        [
            Switch::Command(Template::parse("echo {rate}")),
            line("{dir}/admin.sock", "rate {rate}", None),
            line("127.0.0.1:9", "rate {rate}", None),
        ]
    );
}

#[test]
fn arms_that_share_processes_need_a_switch() {
    let table = [
        (
            "switch = [{ to = \"{proxy}\", send = \"rate {rate}\" }]",
            true,
            "a line",
        ),
        (
            "switch = [{ http = \"GET http://{proxy}/{rate}\" }]",
            true,
            "a request",
        ),
        ("switch = [\"echo {rate}\"]", true, "a command"),
        ("env = { RATE = \"{rate}\" }", false, "no switch"),
    ];
    let start = PROXIED.find("switch = [\n    \"echo").unwrap();
    for (switch, is_good, why) in table {
        let text = format!("{}{switch}\n", &PROXIED[..start]);
        assert_eq!(read(&text).is_ok(), is_good, "{why}");
    }
}

#[test]
fn resolved_plans_read_back_the_same() {
    insta::assert_snapshot!("resolved_proxied", parse(PROXIED).to_resolved_toml());
}
