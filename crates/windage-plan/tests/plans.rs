//! Good plans: what each key becomes, and what its absence means.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_model::{LevelValue, LoadModel, Metric, Order, Role};
use windage_plan::{
    Arrivals, Attach, BatchKind, HeaderValue, Length, OnDeath, Origin, PilotWish, Plan, Protocol,
    ReadyCheck, Stop, StopSignal, Template,
};

const EVERYTHING: &str = include_str!("plans/everything.toml");
const MINIMAL: &str = include_str!("plans/minimal.toml");
const SWITCHED: &str = include_str!("plans/switched.toml");
const ATTACHED: &str = include_str!("plans/attached.toml");
const BATCH: &str = include_str!("plans/batch.toml");
const FLOWS: &str = include_str!("plans/flows.toml");
const SOCKET: &str = include_str!("plans/socket.toml");
const STOPPED: &str = include_str!("plans/stopped.toml");
const ALL: [(&str, &str); 8] = [
    ("everything", EVERYTHING),
    ("minimal", MINIMAL),
    ("switched", SWITCHED),
    ("attached", ATTACHED),
    ("batch", BATCH),
    ("flows", FLOWS),
    ("socket", SOCKET),
    ("stopped", STOPPED),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates")
}

fn parse(text: &str) -> Plan {
    Plan::parse(text, "plan.toml", &folder())
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn silence_means_the_documented_defaults() {
    let plan = parse(MINIMAL);
    assert_eq!(plan.about, None);
    assert_eq!(
        (plan.build.commands.len(), plan.build.within),
        (0, Duration::from_secs(600))
    );
    let app = &plan.services[0];
    assert_eq!(
        (app.listen, &app.cwd, &app.cpus, app.shared),
        (None, &None, &None, false)
    );
    assert_eq!(
        app.ready.check,
        ReadyCheck::Tcp,
        "addressed by the request, so TCP"
    );
    assert_eq!(app.ready.within, Duration::from_secs(30));
    assert_eq!(
        (app.stop.signal, app.stop.within),
        (StopSignal::Term, Duration::from_secs(5))
    );
    let load = &plan.load;
    assert_eq!((load.model, load.rate_per_s), (LoadModel::Closed, None));
    assert_eq!(
        (load.connections, load.timeout),
        (8, Duration::from_secs(5))
    );
    assert_eq!(
        (load.protocol, load.streams, load.threads),
        (Protocol::Http1, 1, 1)
    );
    assert_eq!(
        (load.connections_max, &load.tls, &load.unix),
        (8, &None, &None)
    );
    let design = &plan.design;
    assert_eq!(design.window, Duration::from_millis(100));
    assert_eq!(design.settle, Duration::from_millis(10));
    assert_eq!((design.rounds, design.seed), (3, 1));
    assert_eq!(
        design.length,
        Length::MeasuringTime(Duration::from_secs(60))
    );
    assert_eq!(design.warmup, Duration::from_secs(1));
    assert_eq!(design.drain, Duration::from_secs(1));
    assert_eq!(design.idle, Duration::from_millis(500));
    assert_eq!(design.order, Order::Mirrored);
    assert_eq!(design.interest.to_bits(), 0.005_f64.to_bits());
    assert_eq!(design.on_death, OnDeath::End);
    assert_eq!(design.stop, None);
}

#[test]
fn the_control_is_the_baseline_on_processes_of_its_own() {
    let plan = parse(MINIMAL);
    let [baseline, control] = plan.arms.as_slice() else {
        panic!("two arms: {:?}", plan.arms)
    };
    assert_eq!(
        (baseline.role, baseline.instance.as_str()),
        (Role::Baseline, "off")
    );
    assert_eq!(
        (control.role, control.instance.as_str()),
        (Role::Control, "control")
    );
    assert_eq!(
        (control.id.as_str(), control.name.as_str()),
        ("control", "control")
    );
    assert_eq!(control.env, baseline.env);
}

#[test]
fn a_baseline_that_names_its_instance_shares_it_with_the_control() {
    let plan = parse(SWITCHED);
    let instances: Vec<&str> = plan.arms.iter().map(|arm| arm.instance.as_str()).collect();
    assert_eq!(instances, ["proxy", "proxy", "proxy", "proxy"]);
    assert_eq!(plan.arms[1].switch, plan.arms[0].switch);
    assert!(
        plan.services[0].listen.is_some(),
        "one set of processes may have a fixed address"
    );
}

#[test]
fn sweeps_become_arms_in_file_order() {
    let plan = parse(EVERYTHING);
    let arms: Vec<(&str, &str)> = plan
        .arms
        .iter()
        .map(|arm| (arm.id.as_str(), arm.name.as_str()))
        .collect();
    assert_eq!(
        arms,
        [
            ("off", "off"),
            ("control", "control"),
            (
                "otel-sampling-1.0-batch-512",
                "otel, sampling 1.0, batch 512"
            ),
            (
                "otel-sampling-1.0-batch-none",
                "otel, sampling 1.0, batch none"
            ),
            (
                "otel-sampling-0.1-batch-512",
                "otel, sampling 0.1, batch 512"
            ),
            (
                "otel-sampling-0.1-batch-none",
                "otel, sampling 0.1, batch none"
            ),
            ("agent", "agent"),
        ],
        "the baseline and its control come first, wherever the baseline stands"
    );
    let arm = &plan.arms[4];
    assert_eq!(arm.level("sampling"), Some(&LevelValue::Number(0.1)));
    assert_eq!(
        arm.level("batch"),
        Some(&LevelValue::Text("512".to_owned())),
        "no `512.0`"
    );
    let expect = arm.expect.expect("it expects");
    assert_eq!(
        (expect.traces_per_request, expect.spans_per_request),
        (Some(0.1), Some(3.0 * 0.1))
    );
    assert_eq!(plan.arms[0].expect, None);
}

#[test]
fn every_key_arrives() {
    let plan = parse(EVERYTHING);
    assert_eq!(plan.build.commands, ["make app"]);
    let [origin, app] = plan.services.as_slice() else {
        panic!("two services")
    };
    assert!(origin.shared && origin.addressed);
    assert_eq!(
        origin.ready.check,
        ReadyCheck::Log {
            pattern: "^ready".to_owned()
        }
    );
    assert_eq!(app.cwd, Some(Template::parse("{dir}")));
    assert_eq!(app.cpus, Some(vec![0, 2]));
    assert_eq!(
        (app.stop.signal, app.stop.within),
        (StopSignal::Quit, Duration::from_secs(2))
    );
    assert_eq!(
        app.ready.check,
        ReadyCheck::Http {
            path: Template::parse("/healthz")
        }
    );
    let file = &app.files[0];
    assert_eq!(
        (file.template.as_path(), file.to.as_path()),
        (Path::new("nginx.conf"), Path::new("etc/nginx.conf"))
    );
    assert_eq!(
        file.text.placeholders().collect::<Vec<_>>(),
        ["listen", "origin"]
    );
    let load = &plan.load;
    assert_eq!(
        (load.rate_per_s, load.arrivals),
        (Some(1500.5), Arrivals::Poisson)
    );
    assert_eq!(
        load.allow
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["10.0.0.7", "lab.example"]
    );
    let request = load.request.as_ref().expect("a request");
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "http://{app}/items?{{q}}")
    );
    assert_eq!(
        request.headers[0].0, "X-Zebra",
        "headers keep the file's order"
    );
    assert_eq!(
        request.headers[1].1,
        HeaderValue::Environment {
            variable: "API_TOKEN".to_owned()
        }
    );
    let agent = &plan.arms[6];
    assert_eq!(agent.args["app"], [Template::parse("--trace")]);
    assert_eq!(
        plan.arms[2].command["app"][0],
        Template::parse("bin/app-otel")
    );
    assert_eq!(plan.design.length, Length::Blocks(40));
    assert_eq!(plan.design.order, Order::Sequential);
    assert_eq!(
        (plan.design.seed, plan.design.on_death),
        (42, OnDeath::GoOn)
    );
    assert_eq!(plan.design.interest.to_bits(), 0.01_f64.to_bits());
}

#[test]
fn a_run_that_may_be_stopped_has_rounds_to_look_after() {
    let stopped = |design: &str| parse(&format!("{STOPPED}{design}")).design;
    let design = stopped("");
    let stop = design.stop.expect("it may be stopped");
    assert_eq!(
        (stop.metric, stop.half_width.to_bits(), stop.within),
        (
            Metric::Throughput,
            0.01_f64.to_bits(),
            Duration::from_secs(300)
        )
    );
    assert_eq!(design.length, Length::MeasuringTime(stop.within));
    let table = [
        ("", 30, "one for each ten seconds"),
        ("rounds = 1\n", 1, "its interval holds for that launch"),
        ("rounds = 6\n", 6, "the fewest whose intervals are finite"),
    ];
    for (rounds, expected, why) in table {
        assert_eq!(stopped(rounds).rounds, expected, "{why}");
    }
    let within = |time: &str| parse(&STOPPED.replace("5m", time)).design.rounds;
    assert_eq!([within("10s"), within("2h")], [8, 64], "both ends");
}

#[test]
fn a_run_waits_for_metrics_that_each_window_has() {
    for model in [LoadModel::Open, LoadModel::Closed, LoadModel::Batch] {
        let text = match model {
            LoadModel::Open => STOPPED.replace("\"closed\"", "\"open\"\nrate = \"100/s\""),
            LoadModel::Closed => STOPPED.to_owned(),
            LoadModel::Batch => {
                STOPPED.replace("\"closed\"\nrequest = \"GET http://{app}/\"", "\"batch\"")
            }
        };
        for &metric in Metric::ALL {
            let text = text.replace("throughput", metric.as_str());
            let allowed = Plan::parse(&text, "plan.toml", &folder()).is_ok();
            let listed = Stop::metrics(model).contains(&metric);
            assert_eq!(allowed, listed, "{} under {model:?}", metric.as_str());
        }
    }
}

#[test]
fn until_a_pilot_has_chosen_the_defaults_stand_in() {
    let wish = |window, settle| Some(PilotWish { window, settle });
    let table = [
        ("", None, (100, 10)),
        ("window = 'auto'", wish(true, false), (100, 10)),
        (
            "settle = 'auto'\nwindow = '30ms'",
            wish(false, true),
            (30, 10),
        ),
        (
            "window = 'auto'\nsettle = 'auto'",
            wish(true, true),
            (100, 10),
        ),
    ];
    for (keys, pilot, (window_ms, settle_ms)) in table {
        let plan = parse(&format!("{STOPPED}{keys}"));
        let design = &plan.design;
        assert_eq!(design.pilot, pilot, "{keys}");
        assert_eq!(design.window, Duration::from_millis(window_ms), "{keys}");
        assert_eq!(design.settle, Duration::from_millis(settle_ms), "{keys}");
        let again = parse(&plan.to_resolved_toml()).design;
        assert_eq!(&again, design, "{keys}");
    }
}

#[test]
fn what_is_running_is_attached() {
    let plan = parse(ATTACHED);
    let origins: Vec<&Origin> = plan.services.iter().map(|s| &s.origin).collect();
    let [
        Origin::Attach(Attach::Unit(unit)),
        Origin::Attach(Attach::Pid(4711)),
        Origin::Attach(Attach::Cgroup(_)),
        Origin::Attach(Attach::Url(url)),
    ] = origins.as_slice()
    else {
        panic!("{origins:?}")
    };
    assert_eq!(
        (unit.as_str(), url.to_string().as_str()),
        ("nginx.service", "127.0.0.1:8081")
    );
    assert_eq!(
        plan.services[0].listen,
        "127.0.0.1:8080".parse::<SocketAddr>().ok()
    );
    assert_eq!(
        plan.services[1].ready.check,
        ReadyCheck::None,
        "nothing addresses it"
    );
}

#[test]
fn a_batch_has_no_request() {
    let plan = parse(BATCH);
    assert_eq!(
        (plan.load.model, plan.load.batch, plan.load.iterations),
        (LoadModel::Batch, BatchKind::Resident, 50)
    );
    assert_eq!(plan.load.request, None);
    assert_eq!(plan.services[0].ready.check, ReadyCheck::None);
    assert!(!plan.services[0].addressed);
}

#[test]
fn placeholders_are_found_wherever_they_stand() {
    let plan = parse(EVERYTHING);
    let table = [
        ("otlp_http", true, "an arm's environment"),
        ("origin", true, "a template file"),
        ("listen", true, "a template file"),
        ("app", true, "the request"),
        ("dir", true, "cwd"),
        ("windage", true, "switch"),
        ("q", false, "doubled braces are no placeholder"),
        ("arm", false, "nowhere"),
    ];
    for (name, used, why) in table {
        assert_eq!(plan.uses_placeholder(name), used, "{name}: {why}");
    }
}

#[test]
fn resolved_plans_read_back_the_same() {
    for (name, text) in ALL {
        let plan = parse(text);
        let resolved = plan.to_resolved_toml();
        let again = Plan {
            source: plan.source.clone(),
            ..parse(&resolved)
        };
        assert_eq!(again, plan, "{name}");
        assert_eq!(again.to_resolved_toml(), resolved, "{name}");
    }
}

#[test]
fn the_resolved_plan_spells_everything_out() {
    insta::assert_snapshot!("resolved_everything", parse(EVERYTHING).to_resolved_toml());
    insta::assert_snapshot!("resolved_minimal", parse(MINIMAL).to_resolved_toml());
    insta::assert_snapshot!("resolved_flows", parse(FLOWS).to_resolved_toml());
    insta::assert_snapshot!("resolved_socket", parse(SOCKET).to_resolved_toml());
    insta::assert_snapshot!("resolved_stopped", parse(STOPPED).to_resolved_toml());
}

#[test]
fn a_plan_is_read_from_its_folder() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans/minimal.toml");
    let plan = Plan::load(&path).unwrap();
    assert_eq!(Some(plan.folder.as_path()), path.parent());
    assert_eq!(plan.source, MINIMAL);
}
