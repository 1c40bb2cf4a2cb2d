//! Good plans: what each key becomes, and its default.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_model::{LevelValue, LoadModel, Metric, Order, Role, Until};
use windage_plan::{
    Arrivals, Attach, BatchKind, Depth, Interleaving, Length, OnDeath, Origin, Plan, Protocol,
    ReadyCheck, Stop, StopSignal, Template, Turn, Value,
};

const EVERYTHING: &str = include_str!("plans/everything.toml");
const MINIMAL: &str = include_str!("plans/minimal.toml");
const SWITCHED: &str = include_str!("plans/switched.toml");
const ATTACHED: &str = include_str!("plans/attached.toml");
const BATCH: &str = include_str!("plans/batch.toml");
const FLOWS: &str = include_str!("plans/flows.toml");
const SOCKET: &str = include_str!("plans/socket.toml");
const STOPPED: &str = include_str!("plans/stopped.toml");
const CLAIMS: &str = include_str!("plans/claims.toml");
const BUDGETS: &str = include_str!("plans/budgets.toml");
const RECEIVERS: &str = include_str!("plans/receivers.toml");
const PROXIED: &str = include_str!("plans/proxied.toml");
const REGIMES: &str = include_str!("plans/regimes.toml");
const AGENTS: &str = include_str!("plans/agents.toml");
const PODS: &str = include_str!("plans/pods.toml");
const ALL: [(&str, &str); 15] = [
    ("everything", EVERYTHING),
    ("minimal", MINIMAL),
    ("switched", SWITCHED),
    ("attached", ATTACHED),
    ("batch", BATCH),
    ("flows", FLOWS),
    ("socket", SOCKET),
    ("stopped", STOPPED),
    ("budgets", BUDGETS),
    ("claims", CLAIMS),
    ("receivers", RECEIVERS),
    ("proxied", PROXIED),
    ("regimes", REGIMES),
    ("agents", AGENTS),
    ("pods", PODS),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates")
}

fn parse(text: &str) -> Plan {
    Plan::parse(text, "plan.toml", &folder())
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn missing_keys_get_the_documented_defaults() {
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
    assert_eq!((design.rounds, design.seed), (14, 1));
    assert_eq!(
        design.interleaving,
        Some(Interleaving {
            turn: Turn::Time(Duration::from_millis(10)),
            block: Duration::from_secs(1),
            isolated: 1.0 / 3.0,
        })
    );
    assert_eq!(
        design.length,
        Length::MeasuringTime(Duration::from_secs(60))
    );
    assert_eq!(design.warmup, Duration::from_millis(500));
    assert_eq!(design.drain, Duration::from_secs(1));
    assert_eq!(design.idle, Duration::from_millis(500));
    assert_eq!(design.order, Order::Mirrored);
    assert_eq!(design.margin.to_bits(), 0.005_f64.to_bits());
    assert_eq!(design.on_death, OnDeath::End);
    assert_eq!(design.stop, None);
}

#[test]
fn the_control_has_its_own_processes() {
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
        "the baseline and its control come first, wherever the baseline is in the file"
    );
    let arm = &plan.arms[4];
    assert_eq!(arm.level("sampling"), Some(&LevelValue::Number(0.1)));
    assert_eq!(
        arm.level("batch"),
        Some(&LevelValue::Text("512".to_owned())),
        "no `512.0`"
    );
    let expect = arm.expect.expect("has `expect`");
    assert_eq!(
        (expect.traces_per_request, expect.spans_per_request),
        (Some(0.1), Some(3.0 * 0.1))
    );
    assert_eq!(plan.arms[0].expect, None);
}

/// The interval is that of the exporter, or else that of the scrapes.
#[test]
fn points_come_at_intervals() {
    let points = |arm: &str| {
        let text = format!(
            "name = 'points'\n[[service]]\nname = 'app'\ncommand = ['app', '{{listen}}']\nmetrics = '/metrics'\n\
             [load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n\
             [[arm]]\nname = 'off'\nbaseline = true\nscrape = {{ app = '1s' }}\n[[arm]]\nname = 'metrics'\n{arm}"
        );
        let plan = parse(&text);
        let points = plan.arms[2].expect.unwrap().points.unwrap();
        (points.points, points.interval)
    };
    let seconds = Duration::from_secs;
    let table = [
        (
            "expect = { points_per_interval = 12, interval = '5s' }",
            (12.0, seconds(5)),
        ),
        (
            "scrape = { app = '2s' }\nexpect = { points_per_interval = 36 }",
            (36.0, seconds(2)),
        ),
        (
            "scrape = { app = '2s' }\nexpect = { points_per_interval = 3, interval = '10s' }",
            (3.0, seconds(10)),
        ),
        (
            "sweep = { series = [2, 4] }\nexpect = { points_per_interval = '3 * {series}', interval = '1s' }\n\
             env = { SERIES = '{series}' }",
            (6.0, seconds(1)),
        ),
    ];
    for (arm, expected) in table {
        assert_eq!(points(arm), expected, "{arm}");
    }
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
    let literal = |text| Value::Literal(Template::parse(text));
    let variables = [
        (
            "DB_PASSWORD",
            Value::Environment {
                variable: "DB_SECRET".to_owned(),
            },
        ),
        ("PRICE", literal("$FIVE")),
        ("PATTERN", literal("a$b$")),
    ];
    for (key, value) in variables {
        assert_eq!(app.env[key], value, "{key}");
    }
    assert_eq!(
        (app.clean_env, app.user.as_deref()),
        (true, Some("www-data"))
    );
    assert_eq!((origin.clean_env, origin.user.as_deref()), (false, None));
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
        Value::Environment {
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
        (42, OnDeath::Continue)
    );
    assert_eq!(plan.design.margin.to_bits(), 0.01_f64.to_bits());
}

#[test]
fn rounds_of_a_run_with_a_stop() {
    let stopped = |design: &str| parse(&format!("{STOPPED}{design}")).design;
    let design = stopped("");
    let stop = design.stop.expect("has `stop`");
    let until = Until::Known {
        metric: Metric::Throughput,
        half_width: 0.01,
    };
    assert_eq!((stop.until, stop.within), (until, Duration::from_mins(5)));
    assert_eq!(design.length, Length::MeasuringTime(stop.within));
    let table = [
        ("", 30, "one per ten seconds"),
        ("rounds = 1\n", 1, "the interval holds for that launch"),
        ("rounds = 16\n", 16, "the fewest after which it may stop"),
    ];
    for (rounds, expected, why) in table {
        assert_eq!(stopped(rounds).rounds, expected, "{why}");
    }
    let within = |time: &str| parse(&STOPPED.replace("5m", time)).design.rounds;
    assert_eq!([within("10s"), within("2h")], [20, 64], "both ends");
}

#[test]
fn how_arms_take_turns() {
    let ms = Duration::from_millis;
    let with = |turn, block, isolated| {
        Some(Interleaving {
            turn,
            block,
            isolated,
        })
    };
    let usual = Turn::Time(ms(10));
    let (second, third) = (ms(1000), 1.0 / 3.0);
    let table = [
        ("", with(usual, second, third), "the defaults"),
        (
            "turn = 20",
            with(Turn::Requests(20), second, third),
            "requests",
        ),
        (
            "turn = '5ms'",
            with(Turn::Time(ms(5)), second, third),
            "time",
        ),
        (
            "block = '2s'",
            with(usual, ms(2000), third),
            "a longer block",
        ),
        (
            "isolated = '40%'",
            with(usual, second, 0.4),
            "a share in percent",
        ),
        ("isolated = 0.5", with(usual, second, 0.5), "a share"),
        ("isolated = 0.0", with(usual, second, 0.0), "turns alone"),
        ("isolated = '100%'", None, "windows alone"),
        ("isolated = 1.0", None, "the same as a number"),
        ("isolated = 1", None, "the same as an integer"),
        ("idle = '0s'", None, "idle CPU is unknown"),
        ("order = 'sequential'", None, "arms follow each other"),
        (
            "rounds = 1\nstop = { metric = 'throughput', half_width = '1%', within = '5m' }",
            None,
            "one launch that may stop early",
        ),
    ];
    for (keys, expected, why) in table {
        let plan = parse(&format!("{MINIMAL}\n[design]\n{keys}\n"));
        assert_eq!(plan.design.interleaving, expected, "{why}");
        let again = parse(&plan.to_resolved_toml());
        assert_eq!(again.design, plan.design, "{why}: resolved");
    }
}

#[test]
fn stop_uses_metrics_that_each_window_has() {
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
fn running_services_are_attached() {
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
        "nothing uses its address"
    );
}

#[test]
fn a_batch_has_no_request() {
    let plan = parse(BATCH);
    assert_eq!(
        (plan.load.model, plan.load.batch, plan.load.iterations),
        (
            LoadModel::Batch,
            BatchKind::Resident,
            windage_plan::Iterations::Fixed(50)
        )
    );
    assert_eq!(plan.load.request, None);
    assert_eq!(plan.services[0].ready.check, ReadyCheck::None);
    assert!(!plan.services[0].addressed);
}

#[test]
fn placeholders_are_found_everywhere() {
    let plan = parse(EVERYTHING);
    let table = [
        ("otlp_http", true, "an arm's environment"),
        ("origin", true, "a template file"),
        ("listen", true, "a template file"),
        ("app", true, "the request"),
        ("dir", true, "cwd"),
        ("windage", true, "switch"),
        ("q", false, "doubled braces are literal"),
        ("arm", false, "nowhere"),
    ];
    for (name, used, why) in table {
        assert_eq!(plan.uses_placeholder(name), used, "{name}: {why}");
    }
}

/// Name, model, rate and connections of each load.
fn loads(plan: &Plan) -> Vec<(Option<&str>, LoadModel, Option<f64>, u32)> {
    plan.loads()
        .map(|load| {
            let name = load.regime.as_deref();
            (name, load.model, load.rate_per_s, load.connections)
        })
        .collect()
}

#[test]
fn rounds_alternate_between_regimes() {
    let usual = parse(REGIMES);
    let saturation = (Some("saturation"), LoadModel::Closed, None, 16);
    let half = (Some("half"), LoadModel::Open, Some(2000.0), 16);
    assert_eq!(loads(&usual), [saturation, half]);
    assert_eq!(usual.other_loads[0].request, usual.load.request);
    let in_turn = |plan: &Plan, rounds| -> Vec<Option<String>> {
        let of_round = |round| plan.load_of_round(round).regime.clone();
        (0..rounds).map(of_round).collect()
    };
    let names = ["saturation", "half", "saturation"].map(|name| Some(name.to_owned()));
    assert_eq!(in_turn(&usual, 3), names);
    assert_eq!(in_turn(&parse(MINIMAL), 2), [None, None]);
}

#[test]
fn thorough_runs_have_their_own_design_and_loads() {
    let thorough = |text| Plan::parse_for(Depth::Thorough, text, "plan.toml", &folder()).unwrap();
    let plan = thorough(REGIMES);
    let crowd = (Some("crowd"), LoadModel::Closed, None, 200);
    assert_eq!(loads(&plan)[2], crowd);
    assert_eq!(plan.design.length, Length::Blocks(30), "instead of `for`");
    assert_eq!((plan.design.rounds, plan.design.margin), (10, 0.02));
    // The printed plan reads back without a flag.
    let resolved = plan.to_resolved_toml();
    let again = Plan {
        source: plan.source.clone(),
        ..parse(&resolved)
    };
    assert_eq!(again, plan, "{resolved}");

    let (usual, longer) = (parse(MINIMAL), thorough(MINIMAL));
    let minutes = |minutes| Length::MeasuringTime(Duration::from_mins(minutes));
    assert_eq!(
        (usual.design.length, longer.design.length),
        (minutes(1), minutes(4)),
        "a plan without `[design.thorough]`"
    );
}

#[test]
fn thorough_regimes_are_checked_with_the_thorough_design() {
    let plan = |regime: &str, design: &str| {
        format!(
            "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{{listen}}']\n\
             [load]\nmodel = 'open'\nrate = '10/s'\narrivals = 'poisson'\n\
             request = 'GET http://{{app}}/'\n\
             [[regime]]\nname = 'more'\nthorough = true\n{regime}\n\
             [[arm]]\nname = 'off'\nbaseline = true\n[design]\n{design}\n"
        )
    };
    let stop = "stop = { metric = 'cpu_per_request', half_width = '1%', within = '5m' }";
    // Keys of the regime and of the design, and why the plan is valid.
    let table = [
        (
            "replay = 'arrivals.csv'",
            "window = '10ms'".to_owned(),
            "a replay ignores `arrivals` of [load]",
        ),
        (
            "rate = '20/s'",
            format!("{stop}\nthorough = {{ for = '5m' }}"),
            "a usual run has one load, so it may have a stop",
        ),
        (
            "profile = [{ rate = '20/s', for = '1s' }]",
            "thorough = { window = '1s' }".to_owned(),
            "the profile fits the window of thorough runs",
        ),
    ];
    for (regime, design, why) in table {
        let text = plan(regime, &design);
        for depth in [Depth::Usual, Depth::Thorough] {
            let read = |depth, text: &str| {
                Plan::parse_for(depth, text, "plan.toml", &folder())
                    .unwrap_or_else(|error| panic!("{why}: {}", error.render(false)))
            };
            let plan = read(depth, &text);
            let again = read(Depth::Usual, &plan.to_resolved_toml());
            assert_eq!(again.other_loads, plan.other_loads, "{why}");
        }
    }
}

#[test]
fn the_default_thorough_run_stays_within_the_limits() {
    for given in ["for = '60h'", "blocks = 900000"] {
        let text = format!("{MINIMAL}\n[design]\n{given}\n");
        let plan = Plan::parse_for(Depth::Thorough, &text, "plan.toml", &folder()).unwrap();
        assert_eq!(
            parse(&plan.to_resolved_toml()).design,
            plan.design,
            "{given}"
        );
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
fn resolved_plans_spell_out_all_defaults() {
    insta::assert_snapshot!("resolved_everything", parse(EVERYTHING).to_resolved_toml());
    insta::assert_snapshot!("resolved_minimal", parse(MINIMAL).to_resolved_toml());
    insta::assert_snapshot!("resolved_flows", parse(FLOWS).to_resolved_toml());
    insta::assert_snapshot!("resolved_socket", parse(SOCKET).to_resolved_toml());
    insta::assert_snapshot!("resolved_stopped", parse(STOPPED).to_resolved_toml());
    insta::assert_snapshot!("resolved_budgets", parse(BUDGETS).to_resolved_toml());
    insta::assert_snapshot!("resolved_claims", parse(CLAIMS).to_resolved_toml());
    insta::assert_snapshot!("resolved_receivers", parse(RECEIVERS).to_resolved_toml());
}

#[test]
fn a_plan_is_read_from_its_folder() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans/minimal.toml");
    let plan = Plan::load(&path, Depth::Usual).unwrap();
    assert_eq!(Some(plan.folder.as_path()), path.parent());
    assert_eq!(plan.source, MINIMAL);
}
