//! Agents: what each key becomes, and which arms share processes.

mod mistaken;

use std::time::Duration;

use mistaken::{mistakes, read, rendered};
use windage_model::{ArmId, Facility, Role};
use windage_plan::{Arm, Plan, ReadyCheck, ServiceName};

const GOOD: &str = include_str!("plans/agents.toml");

fn parse(text: &str) -> Plan {
    read(text).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn arms_get_their_agents_and_processes() {
    let plan = parse(GOOD);
    let table = [
        ("off", "", "", "off", "the baseline"),
        ("control", "", "", "control", "processes of its own"),
        (
            "agent-sampling-0.1",
            "otel",
            "",
            "off",
            "differs by agents only",
        ),
        (
            "agent-sampling-1.0",
            "otel",
            "",
            "off",
            "differs by a factor of its agents",
        ),
        (
            "both-sampling-1.0",
            "otel probe",
            "",
            "off",
            "agents in file order",
        ),
        ("sdk", "", "", "sdk", "no agents"),
        (
            "sdk-and-agent",
            "probe",
            "",
            "sdk-and-agent",
            "its services have another environment",
        ),
        (
            "bystander",
            "",
            "agent-sampling-1.0",
            "control",
            "unwatched processes",
        ),
    ];
    assert_eq!(plan.arms.len(), table.len());
    for (arm, (id, agents, stands_by, instance, why)) in plan.arms.iter().zip(table) {
        let named: Vec<&str> = arm.agents.iter().map(ServiceName::as_str).collect();
        let by = arm.bystander_of.as_ref().map_or("", ArmId::as_str);
        assert_eq!(
            (
                arm.id.as_str(),
                named.join(" ").as_str(),
                by,
                arm.instance.as_str()
            ),
            (id, agents, stands_by, instance),
            "{why}"
        );
    }
}

#[test]
fn every_key_arrives() {
    let plan = parse(GOOD);
    let [otel, probe] = plan.agents.as_slice() else {
        panic!("two agents")
    };
    assert_eq!(otel.needs, [Facility::Bpf, Facility::Uprobe]);
    assert_eq!(probe.needs, [Facility::Bpf, Facility::RawTracepoint]);
    assert_eq!(otel.service.ports, ["metrics"]);
    assert_eq!(otel.service.drops.len(), 1);
    assert!(!otel.service.addressed, "a further port is not an address");
    assert!(plan.uses_placeholder("app.pid") && plan.uses_placeholder("sampling"));
    assert_eq!(plan.receivers().collect::<Vec<_>>(), ["otlp_http"]);
    let design = &plan.design;
    assert_eq!((design.rounds, design.bpf_statistics), (14, Duration::ZERO));
    assert_eq!(
        (design.agent_stretch, design.agent_warmup),
        (Duration::from_secs(2), Duration::from_millis(500))
    );
}

#[test]
fn a_bystander_equals_the_control() {
    let sent = "sweep = { mode = [\"none\"] }\nenv = { TELEMETRY = \"{mode}\", OTLP = \"{otlp_http}\" }\n\
                backend = \"slow 1s\"\nexpect = { spans_per_request = 0 }";
    let text = GOOD.replacen("baseline = true", &format!("baseline = true\n{sent}"), 1);
    let plan = parse(&text);
    let (control, bystander) = (&plan.arms[1], plan.arms.last().unwrap());
    let expected = Arm {
        id: bystander.id.clone(),
        name: "bystander".to_owned(),
        role: Role::Treatment,
        adds_to: Some(control.id.clone()),
        bystander_of: ArmId::from_text("agent-sampling-1.0"),
        ..control.clone()
    };
    assert_eq!(*bystander, expected);
    assert_eq!(control.env.len(), 2);
    assert_eq!(parse(&plan.to_resolved_toml()).arms, plan.arms);
}

#[test]
fn a_resolved_plan_prints_agents() {
    insta::assert_snapshot!("resolved_agents", parse(GOOD).to_resolved_toml());
}

#[test]
fn a_metric_can_show_that_services_and_agents_are_up() {
    let table = [
        (
            "ready = { log = \"instrumentation loaded successfully\", within = \"60s\" }",
            "an agent",
        ),
        ("{listen}\"]", "a service"),
    ];
    for (line, of) in table {
        let to = match of {
            "a service" => {
                "{listen}\"]\nmetrics = \"/metrics\"\nready = { metric = \"probes_attached\" }"
            }
            _ => "ready = { metric = \"probes_attached\" }",
        };
        let plan = parse(&GOOD.replacen(line, to, 1));
        let agents = plan.agents.iter().map(|agent| &agent.service);
        let waits = |service: &&windage_plan::Service| {
            service.ready.check
                == ReadyCheck::Metric {
                    name: "probes_attached".to_owned(),
                }
        };
        let waiting = plan.services.iter().chain(agents).find(waits);
        assert!(waiting.is_some_and(|s| s.metrics.is_some()), "{of}");
        let again = parse(&plan.to_resolved_toml());
        assert_eq!(
            (again.services, again.agents),
            (plan.services, plan.agents),
            "{of}"
        );
    }
}

#[test]
fn defaults_with_agents() {
    let silent = &GOOD[..GOOD.find("[design]").unwrap()];
    let design = parse(silent).design;
    assert_eq!(
        (
            design.agent_stretch,
            design.agent_warmup,
            design.bpf_statistics
        ),
        (
            Duration::from_secs(4),
            Duration::from_secs(1),
            Duration::from_secs(1)
        )
    );
    let rounds = |keys: &str| parse(&format!("{silent}[design]\n{keys}")).design.rounds;
    let table = [
        ("", 14, "the default with agents"),
        ("rounds = 2\n", 2, "as in the plan"),
        (
            "stop = { metric = 'cpu_per_request', half_width = '1%', within = '5m' }\n",
            30,
            "the default with a stop",
        ),
    ];
    for (keys, expected, why) in table {
        assert_eq!(rounds(keys), expected, "{why}");
    }
    let thorough = "[design.thorough]\nagent_stretch = '9s'\nbpf_statistics = '0s'\n";
    let folder = std::path::Path::new("/");
    let design = Plan::parse_for(
        windage_plan::Depth::Thorough,
        &format!("{silent}{thorough}"),
        "plan.toml",
        folder,
    )
    .unwrap()
    .design;
    assert_eq!(
        (design.agent_stretch, design.bpf_statistics),
        (Duration::from_secs(9), Duration::ZERO)
    );
}

#[test]
fn arms_with_agents_share_processes_by_default() {
    let plan = |service: &str, baseline: &str, arm: &str| {
        format!(
            "name = 'a'\n[[service]]\nname = 'app'\ncommand = ['app', '{{listen}}'{service}]\n\
             [[agent]]\nname = 'otel'\ncommand = ['otel', '{{level}}']\n\
             [load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n\
             [[arm]]\nname = 'off'\nbaseline = true\n{baseline}\n\
             [[arm]]\nname = 'on'\nagents = ['otel']\nsweep = {{ level = [1] }}\n{arm}\n"
        )
    };
    let own = "on-level-1";
    let table = [
        (("", "", ""), "off", "differs by agents only"),
        (
            ("", "", "args = { otel = ['-v'] }"),
            "off",
            "arguments for agents",
        ),
        (
            ("", "", "args = { app = ['-v'] }"),
            own,
            "arguments for services",
        ),
        (
            ("", "", "command = { app = ['b', '{port}'] }"),
            own,
            "another program",
        ),
        (("", "", "env = { A = 'b' }"), own, "another environment"),
        (
            ("", "env = { A = 'b' }", "env = { A = 'b' }"),
            "off",
            "the same environment",
        ),
        (("", "", "instance = 'mine'"), "mine", "as in the plan"),
        (
            ("", "instance = 'proxy'", ""),
            "proxy",
            "the baseline's instance",
        ),
        (
            (", '{level}'", "sweep = { level = [1] }", ""),
            "off-level-1",
            "the same level",
        ),
        (
            (", '{level}'", "sweep = { level = [2] }", ""),
            own,
            "another level",
        ),
    ];
    for ((service, baseline, arm), instance, why) in table {
        let plan = parse(&plan(service, baseline, arm));
        assert_eq!(plan.arms[2].instance, instance, "{why}");
    }
}

// `[[agent]]`.
mistakes! {
    an_agent_that_is_shared: "needs = [\"bpf\", \"uprobe\"]" => "shared = true";
    an_agent_of_a_user: "needs = [\"bpf\", \"uprobe\"]" => "user = \"nobody\"";
    an_agent_that_is_attached_to: "command = [\"bpftrace\", \"probe.bt\"]" => "attach = { pid = 4711 }";
    an_agent_without_a_command: "command = [\"bpftrace\", \"probe.bt\"]\n" => "";
    a_need_that_nobody_knows: "\"uprobe\"]" => "\"uprobes\"]";
    a_need_twice: "\"uprobe\"]" => "\"bpf\"]";
    needs_of_a_service: "\"{listen}\"]" => "\"{listen}\"]\nneeds = [\"bpf\"]";
    an_agent_named_as_a_service: "name = \"probe\"" => "name = \"app\"", "[\"probe\", \"otel\"]" => "[\"otel\"]", "agents = [\"probe\"]\n" => "";
    two_agents_of_one_name: "name = \"probe\"" => "name = \"otel\"", "[\"probe\", \"otel\"]" => "[\"otel\"]", "agents = [\"probe\"]\n" => "";
    an_agent_with_a_bad_name: "name = \"probe\"" => "name = \"Probe\"", "[\"probe\", \"otel\"]" => "[\"Probe\", \"otel\"]", "[\"probe\"]" => "[\"Probe\"]";
    an_agent_that_is_never_attached: "agents = [\"probe\", \"otel\"]" => "agents = [\"otel\"]", "agents = [\"probe\"]\n" => "";
    an_agent_that_is_never_told_its_address: "command = [\"bpftrace\", \"probe.bt\"]" => "command = [\"bpftrace\", \"probe.bt\"]\nready = { tcp = true }";
    an_agent_beside_short_lived_processes: "model = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"" => "model = \"batch\"", "\"-listen\", \"{listen}\"" => "\"-x\"";
    a_factor_of_an_agent_that_its_arm_lacks: "agents = [\"probe\", \"otel\"]\nsweep = { sampling = [1.0] }" => "agents = [\"probe\", \"otel\"]";
}

// `agents` and `bystander_of`.
mistakes! {
    an_unknown_agent: "agents = [\"otel\"]" => "agents = [\"otle\"]";
    an_agent_twice: "agents = [\"probe\", \"otel\"]" => "agents = [\"otel\", \"probe\", \"otel\"]";
    a_service_for_an_agent: "agents = [\"otel\"]" => "agents = [\"otel\", \"app\"]";
    agents_of_the_baseline: "baseline = true" => "baseline = true\nagents = [\"probe\"]";
    words_for_an_agent_that_is_not_attached: "agents = [\"otel\"]\nargs = { otel = [\"-log-level\", \"debug\"] }" => "agents = [\"otel\"]\nargs = { probe = [\"-v\"] }";
    the_same_agents_in_two_arms: "name = \"both\"\nagents = [\"probe\", \"otel\"]" => "name = \"again\"\nargs = { otel = [\"-log-level\", \"debug\"] }\nagents = [\"otel\"]";
    agents_beside_an_arm_that_switches: "name = \"both\"\n" => "name = \"both\"\nswitch = [\"echo\"]\n";
    a_bystander_of_nobody: "bystander_of = \"agent, sampling 1.0\"" => "bystander_of = \"agent\"";
    a_bystander_of_an_arm_without_agents: "bystander_of = \"agent, sampling 1.0\"" => "bystander_of = \"sdk\"";
    a_bystander_with_keys_of_its_own: "bystander_of = \"agent, sampling 1.0\"" => "bystander_of = \"agent, sampling 1.0\"\nagents = [\"probe\"]\nsweep = { level = [1] }\nenv = { A = \"b\" }\ninstance = \"own\"\nswitch = [\"echo\"]\nexpect = { spans_per_request = 1 }";
    a_bystander_of_itself: "baseline = true" => "baseline = true\ninstance = \"proxy\"";
    two_bystanders_of_one_arm: "[design]" => "[[arm]]\nname = \"another\"\nbystander_of = \"agent-sampling-1.0\"\n\n[design]";
    a_baseline_that_stands_by: "baseline = true" => "baseline = true\nbystander_of = \"agent, sampling 1.0\"";
}

// Placeholders.
mistakes! {
    the_pid_of_nobody: "{app.pid}" => "{ap.pid}";
    the_pid_of_an_agent: "\"probe.bt\"]" => "\"probe.bt\", \"{otel.pid}\"]";
    a_pid_before_it_is_known: "\"{listen}\"]" => "\"{listen}\", \"{app.pid}\"]";
    a_pid_in_a_request: "http://{app}/\"" => "http://{app}/{app.pid}\"";
    a_pid_in_an_environment: "env = { TELEMETRY = \"otel\" }" => "env = { TELEMETRY = \"{app.pid}\" }";
    a_service_that_speaks_to_an_agent: "\"{listen}\"]" => "\"{listen}\", \"{otel.port.metrics}\"]";
    a_request_to_an_agent: "http://{app}/\"" => "http://{probe}/\"";
    an_agent_that_speaks_to_one_that_is_gone: "\"{app.pid}\"]" => "\"{app.pid}\", \"{probe}\"]", "\"probe.bt\"]" => "\"probe.bt\", \"{listen}\"]";
}

// Readiness by a metric, and the design.
mistakes! {
    a_metric_that_is_awaited_nowhere: "log = \"instrumentation loaded successfully\"" => "metric = \"probes_attached\"", "metrics = \"http://127.0.0.1:{port.metrics}/metrics\"\ndrops = [{ reason = \"ring buffer full\", metric = \"lost_total\" }]\n" => "";
    a_metric_by_labels: "log = \"instrumentation loaded successfully\"" => "metric = \"up{a=\\\"b\\\"}\"";
    a_sequence_of_agents: "[design]" => "[design]\norder = \"sequential\"";
    a_turn_of_no_time: "agent_stretch = \"2s\"" => "agent_stretch = \"0s\"";
}

/// An agent that watches a service that is already running.
const BESIDE_WHAT_RUNS: &str = r#"name = "beside"

[[service]]
name = "app"
attach = { pid = 4711 }
listen = "127.0.0.1:8080"

[[agent]]
name = "otel"
command = ["otel", "-target-pid", "{app.pid}", "{level}"]

[load]
model = "closed"
request = "GET http://{app}/"

[[arm]]
name = "off"
baseline = true

[[arm]]
name = "agent"
agents = ["otel"]
sweep = { level = [1, 2] }
"#;

#[test]
fn agents_can_watch_running_services() {
    let plan = parse(BESIDE_WHAT_RUNS);
    let instances: Vec<&str> = plan.arms.iter().map(|arm| arm.instance.as_str()).collect();
    assert_eq!(instances, ["off", "control", "off", "off"]);
}

#[test]
fn limits_for_running_services() {
    let table: [(&str, &[(&str, &str)]); 4] = [
        (
            "the_pid_of_a_control_group",
            &[("pid = 4711", "cgroup = \"/sys/fs/cgroup/app\"")],
        ),
        (
            "a_metric_of_what_is_running",
            &[("pid = 4711 }", "pid = 4711 }\nready = { metric = \"up\" }")],
        ),
        (
            "a_bystander_of_what_is_running",
            &[(
                "level = [1, 2] }",
                "level = [1, 2] }\n[[arm]]\nname = \"by\"\nbystander_of = \"agent-level-1\"",
            )],
        ),
        (
            "the_same_agents_beside_what_is_running",
            &[(
                "level = [1, 2] }",
                "level = [1, 2] }\n[[arm]]\nname = \"again\"\nagents = [\"otel\"]\nsweep = { level = [2] }",
            )],
        ),
    ];
    for (name, changes) in table {
        insta::assert_snapshot!(name, rendered(BESIDE_WHAT_RUNS, changes));
    }
}

const WITHOUT_AGENTS: &str = include_str!("plans/minimal.toml");

#[test]
fn agent_keys_need_agents() {
    let text =
        format!("{WITHOUT_AGENTS}\n[design]\nagent_stretch = \"2s\"\nbpf_statistics = \"0s\"\n");
    let error = read(&text).unwrap_err();
    insta::assert_snapshot!("turns_are_of_agents", error.render(false));
}
