//! Any file gives a plan or problems that can be rendered, and a printed plan reads back as the
//! same plan.

use std::path::Path;

use proptest::prelude::*;
use windage_plan::{Plan, PlanError};

const EVERYTHING: &str = include_str!("plans/everything.toml");
const SWITCHED: &str = include_str!("plans/switched.toml");
const ATTACHED: &str = include_str!("plans/attached.toml");
const FLOWS: &str = include_str!("plans/flows.toml");
const SOCKET: &str = include_str!("plans/socket.toml");
const REGIMES: &str = include_str!("plans/regimes.toml");
const STOPPED: &str = include_str!("plans/stopped.toml");
const CLAIMS: &str = include_str!("plans/claims.toml");
const BUDGETS: &str = include_str!("plans/budgets.toml");

const RECEIVERS: &str = include_str!("plans/receivers.toml");
const AGENTS: &str = include_str!("plans/agents.toml");
const PROXIED: &str = include_str!("plans/proxied.toml");

fn parse(text: &str) -> Result<Plan, PlanError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    Plan::parse(text, "plan.toml", &folder)
}

/// Reads the text and uses the result as a caller would.
fn judge(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(plan) => {
            let resolved = plan.to_resolved_toml();
            let again = parse(&resolved)
                .map_err(|e| TestCaseError::fail(format!("{resolved}\n{}", e.render(false))))?;
            prop_assert_eq!(
                Plan {
                    source: plan.source.clone(),
                    ..again
                },
                plan,
                "{}",
                resolved
            );
        }
        Err(error) => {
            prop_assert!(!error.render(false).is_empty());
            prop_assert!(!error.render(true).is_empty());
            prop_assert!(!error.to_string().is_empty());
            if let PlanError::Invalid(problems) = &error {
                prop_assert!(problems.iter().count() > 0);
                prop_assert!(
                    problems
                        .iter()
                        .all(|p| !p.message.is_empty() && p.span.end <= text.len())
                );
            }
        }
    }
    Ok(())
}

/// A plan with a range replaced by other text, often a piece of TOML.
fn damaged() -> impl Strategy<Value = String> {
    let base = prop::sample::select(vec![
        EVERYTHING, SWITCHED, ATTACHED, FLOWS, SOCKET, STOPPED, BUDGETS, CLAIMS, RECEIVERS,
        PROXIED, REGIMES, AGENTS,
    ]);
    let piece = prop_oneof![
        Just(String::new()),
        "[\\[\\]{}\"'=,.#\n0-9a-zé-]{0,8}",
        prop::sample::select(vec![
            "{arm}",
            "{listen}",
            "{sampling}",
            "$HOME",
            "true",
            "[]",
            "{}",
            "-1",
            "nan",
            "inf",
            "9223372036854775807",
            "\"\"",
            "\\u0000",
            "[[arm]]\n",
            "[design]\n",
            "0s",
            "0/s",
            "1e400",
            "{user}",
            "https://",
            "body.bin",
            "users.csv",
            "arrivals.csv",
            "[[load.flow]]\n",
            "[load.fields]\n",
            "cpu_per_request",
            "auto",
            "rounds = 2\n",
            "{otlp_grpc}",
            "{backend}",
            "stall",
            "[sink]\n",
            "{port.admin}",
            "{proxy.port.admin}",
            "ports = ['admin']\n",
            "check = ['a']\n",
            "switch = [{ to = '{app}', send = 'a' }]\n",
            "http = 'GET http://{app}/'",
            "127.0.0.1:1",
            "16MiB",
            "[[agent]]\n",
            "agents = ['otel']\n",
            "bystander_of = 'agent'\n",
            "{app.pid}",
            "{otel}",
            "metric = 'up'",
            "needs = ['bpf']\n",
        ])
        .prop_map(str::to_owned),
    ];
    (base, any::<prop::sample::Index>(), 0_usize..12, piece).prop_map(|(base, at, cut, piece)| {
        let start = base.floor_char_boundary(at.index(base.len()));
        let end = base.ceil_char_boundary((start + cut).min(base.len()));
        format!("{}{piece}{}", &base[..start], &base[end..])
    })
}

/// Valid plans with random values.
fn allowed() -> impl Strategy<Value = String> {
    let levels = prop::collection::btree_set(0_u32..1000, 1..4);
    let texts = prop::collection::btree_set("[ -z]{0,8}", 1..3);
    // `None`, or a stop by its half-width and its time limit in nanoseconds.
    let stop = prop::option::of((1e-9..1.0, 1_000_u64..600_000_000_000_000));
    (levels, texts, 1_u64..3_600_000_000, 1e-3..1e6, any::<i64>(), "\\PC{0,20}", stop).prop_map(
        |(levels, texts, window_us, rate_per_s, seed, about, stop)| {
            let stop = stop.map(|(half_width, within_ns)| format!(
                "stop = {{ metric = 'cpu_in_window', half_width = {half_width:?}, within = '{within_ns}ns' }}"
            )).unwrap_or_default();
            let levels: Vec<String> = levels.iter().map(|l| format!("{:?}", f64::from(*l) / 8.0)).collect();
            // A leading digit keeps the ids of the arms distinct.
            let literal = |(i, t): (usize, &String)| format!("'{i}{}'", t.replace(['\'', '{'], "_"));
            let texts: Vec<String> = texts.iter().enumerate().map(literal).collect();
            let (levels, texts) = (levels.join(", "), texts.join(", "));
            let about = about.replace(['\'', '{'], "_");
            format!(
                "name = 'p'\nabout = '{about}'\n[[service]]\nname = 'app'\n\
                 command = ['x', '{{listen}}']\nenv = {{ 'A' = '{about} {{{{a}}}}' }}\n\
                 [load]\nmodel = 'open'\nrate = '{rate_per_s}/s'\nrequest = 'GET http://{{app}}/'\n\
                 [[arm]]\nname = 'off'\nbaseline = true\n\
                 [[arm]]\nname = 'on'\nsweep = {{ n = [{levels}], mode = [{texts}] }}\n\
                 env = {{ N = '{{n}}', MODE = '{{mode}}' }}\nexpect = {{ spans_per_request = '{{n}} * 0.5', points_per_interval = 3, interval = '2s' }}\n\
                 [design]\nwindow = '{window_us}us'\nseed = {}\n{stop}\n",
                seed.unsigned_abs() / 2
            )
        },
    )
}

/// Valid loads with random values.
fn allowed_loads() -> impl Strategy<Value = String> {
    let piece = (0.0..1e6, prop::option::of(0.0..1e6), 1_u64..1_000_000_000).prop_map(
        |(rate, to, ns): (f64, Option<f64>, u64)| {
            let to = to.map(|to| format!("to = '{to}/s', ")).unwrap_or_default();
            (format!("{{ rate = '{rate}/s', {to}for = '{ns}ns' }}"), ns)
        },
    );
    let pieces = prop::collection::vec(piece, 1..5);
    let word = "[ -&(-z]{0,12}";
    let step = (word, 0_u64..3_600_000, prop::bool::ANY, 0_usize..4).prop_map(
        |(body, think_ms, is_file, field)| {
            let body = if is_file {
                "body_file = 'body.bin'".to_owned()
            } else {
                format!("body = '{body}'")
            };
            let field = ["n", "r", "u", "p"][field];
            format!(
                "{{ request = 'POST https://{{app}}/{{{field}}}', {body}, \
                 headers = {{ X-B = '{{{field}}}' }}, think = '{think_ms}ms' }}"
            )
        },
    );
    let flow = (1_u32..1_000_000, prop::collection::vec(step, 1..4)).prop_map(|(weight, steps)| {
        let steps = steps.join(", ");
        format!("[[load.flow]]\nweight = {weight}\nsteps = [{steps}]\n")
    });
    let flows = prop::collection::vec(flow, 1..4);
    let order = prop::sample::select(vec!["in-order", "random"]);
    let fields =
        (0..=i64::MAX, 1..=i64::MAX, 0..i64::MAX, order).prop_map(|(from, step, low, order)| {
            format!(
                "[load.fields]\nn = {{ counter = {from}, step = {step} }}\n\
                 r = {{ random = [{low}, {}] }}\n\
                 u = {{ csv = 'users.csv', column = 'name', order = '{order}' }}\n\
                 p = {{ csv = 'users.csv', column = ' password ' }}\n",
                low + 1
            )
        });
    (pieces, flows, fields, 1_u32..=1000, 1_u32..=32_000)
        .prop_filter(
            "a profile needs a rate above zero, and a window lasts an hour at most",
            |(pieces, ..)| pieces.iter().map(|(_, ns)| ns).sum::<u64>() >= 1000,
        )
        .prop_map(|(pieces, flows, fields, streams, connections)| {
            let window_ns: u64 = pieces.iter().map(|(_, ns)| ns).sum();
            let pieces: Vec<String> = pieces.into_iter().map(|(piece, _)| piece).collect();
            let (pieces, flows) = (pieces.join(", "), flows.concat());
            format!(
                "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{{listen}}']\n\
             [load]\nmodel = 'open'\nprofile = [{pieces}]\nprotocol = 'h2'\n\
             streams = {streams}\nconnections = {connections}\n\
             connections_max = {}\ntls = {{ insecure = true }}\n\
             headers = {{ x-all = '{{n}}{{r}}{{u}}{{p}}', x-b = 'shared' }}\n{fields}{flows}\
             [[arm]]\nname = 'off'\nbaseline = true\n[design]\nwindow = '{window_ns}ns'\n",
                connections * 2
            )
        })
}

/// Valid switches with random values.
fn allowed_switches() -> impl Strategy<Value = String> {
    let word = "[ -&(-z]{1,12}";
    let port = prop::sample::select(vec![
        "{proxy}",
        "127.0.0.1:{proxy.port.a}",
        "[::1]:9",
        "/tmp/{n}.sock",
    ]);
    let answer = prop::option::of("[a-z0-9 .+^$]{0,8}").prop_filter("a pattern", |answer| {
        answer
            .as_ref()
            .is_none_or(|a| regex_lite::Regex::new(a).is_ok())
    });
    let answer = answer.prop_map(|answer| {
        answer
            .map(|answer| format!(", answer = '{answer}'"))
            .unwrap_or_default()
    });
    let step = (word, port, answer, 0..3).prop_map(|(word, to, answer, kind)| match kind {
        0 => format!("'{word}'"),
        1 => format!("{{ to = '{to}', send = '{word}'{answer} }}"),
        _ => format!("{{ http = 'PUT http://127.0.0.1:{{proxy.port.a}}/{{n}}'{answer} }}"),
    });
    let check = prop::collection::vec(word, 0..3);
    (prop::collection::vec(step, 1..4), check).prop_map(|(steps, check)| {
        let words: Vec<String> = check.iter().map(|word| format!("'{word}'")).collect();
        let check = match words.is_empty() {
            true => String::new(),
            false => format!("check = [{}]\n", words.join(", ")),
        };
        format!(
            "name = 'p'\n[[service]]\nname = 'proxy'\ncommand = ['x', '{{listen}}', '{{port.a}}']\n\
             ports = ['a']\n{check}[load]\nmodel = 'closed'\nrequest = 'GET http://{{proxy}}/'\n\
             [[arm]]\nname = 'off'\nbaseline = true\n\
             [[arm]]\nname = 'on'\nsweep = {{ n = [1.5, 2.5] }}\n\
             switch = ['{{n}}', {}]\n",
            steps.join(", ")
        )
    })
}

proptest! {
    #[test]
    fn any_text_is_judged(text in any::<String>()) {
        judge(&text)?;
    }

    #[test]
    fn damaged_plans_are_judged(text in damaged()) {
        judge(&text)?;
    }

    #[test]
    fn twice_damaged_plans_are_judged(text in damaged(), at in any::<prop::sample::Index>()) {
        let cut = text.floor_char_boundary(at.index(text.len()));
        judge(&text[..cut])?;
        judge(&text[cut..])?;
    }

    #[test]
    fn allowed_plans_lead_back(text in allowed()) {
        let parsed = parse(&text).map(|_| ()).map_err(|e| e.render(false));
        prop_assert_eq!(parsed, Ok(()));
        judge(&text)?;
    }

    #[test]
    fn allowed_switches_lead_back(text in allowed_switches()) {
        let parsed = parse(&text).map(|_| ()).map_err(|e| e.render(false));
        prop_assert_eq!(parsed, Ok(()));
        judge(&text)?;
    }

    #[test]
    fn allowed_loads_lead_back(text in allowed_loads()) {
        let parsed = parse(&text).map(|_| ()).map_err(|e| e.render(false));
        prop_assert_eq!(parsed, Ok(()));
        judge(&text)?;
    }
}
