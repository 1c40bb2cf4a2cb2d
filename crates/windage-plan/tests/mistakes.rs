//! What people see when a plan is wrong. Each case changes one thing in a good plan.

use std::path::Path;

use windage_plan::{Plan, PlanError};

const GOOD: &str = r#"name = "go-http"

[[service]]
name = "app"
command = ["bin/app", "-listen", "{listen}"]
ready = { http = "/", within = "10s" }

[load]
model = "open"
rate = "2000/s"
request = "GET http://{app}/"

[[arm]]
name = "off"
baseline = true

[[arm]]
name = "otel"
env = { TELEMETRY = "otel", SAMPLER_ARG = "{sampling}" }
sweep = { sampling = [1.0, 0.1] }
expect = { traces_per_request = "{sampling}" }

[design]
window = "100ms"
for = "60s"
"#;

fn parse(text: &str) -> Result<Plan, PlanError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    Plan::parse(text, "plan.toml", &folder)
}

/// The good plan with each `from` replaced by its `to`, and what is said to it.
fn rendered(changes: &[(&str, &str)]) -> String {
    let mut text = GOOD.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "`{from}` is not in the good plan");
        text = text.replacen(from, to, 1);
    }
    match parse(&text) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.render(false),
    }
}

macro_rules! mistakes {
    ($($name:ident: $($from:literal => $to:literal),+;)+) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(stringify!($name), rendered(&[$(($from, $to)),+]));
        }
    )+};
}

// Shape.
mistakes! {
    broken_toml: "name = \"go-http\"" => "name = \"go-http";
    unknown_key: "rate = \"2000/s\"" => "raet = \"2000/s\"";
    unknown_key_in_an_inline_table: "within = \"10s\"" => "wihtin = \"10s\"";
    wrong_type: "window = \"100ms\"" => "window = 100";
    missing_key: "model = \"open\"\n" => "";
    missing_table: "[load]\nmodel = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"\n" => "";
    key_twice: "baseline = true" => "baseline = true\nbaseline = false";
}

// Values.
mistakes! {
    bad_name: "\"go-http\"" => "\"../go http\"";
    unknown_word: "\"open\"" => "\"opne\"";
    bad_duration: "\"100ms\"" => "\"100 miles\"";
    empty_window: "\"100ms\"" => "\"0s\"";
    long_window: "\"100ms\"" => "\"2h\"";
    bad_rate: "2000/s" => "2000";
    rate_of_nothing: "2000/s" => "0/s";
    rate_for_a_closed_load: "\"open\"" => "\"closed\"";
    no_rate_for_an_open_load: "rate = \"2000/s\"\n" => "";
    no_request: "request = \"GET http://{app}/\"\n" => "";
    request_for_a_batch: "\"open\"\nrate = \"2000/s\"" => "\"batch\"";
    many_connections: "rate =" => "connections = 65536\nrate =";
    blocks_and_for: "for = \"60s\"" => "for = \"60s\"\nblocks = 10";
    interest_of_all: "for = \"60s\"" => "for = \"60s\"\ninterest = \"100%\"";
    bad_pattern: "http = \"/\"" => "log = \"ready (\"";
    ready_twice: "http = \"/\"" => "http = \"/\", tcp = true";
    secret_beside_text: "rate =" => "headers = { Authorization = \"Bearer $TOKEN\" }\nrate =";
}

// Where load may go.
mistakes! {
    remote_host: "http://{app}/" => "http://example.com/";
    remote_service: "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { url = \"http://10.1.2.3:80\" }";
    https: "http://{app}/" => "https://{app}/";
    second_port: "http://{app}/" => "http://{app}:80/";
    unknown_service_in_url: "http://{app}/" => "http://{ap}/";
}

// Services.
mistakes! {
    no_service: "[[service]]\nname = \"app\"\ncommand = [\"bin/app\", \"-listen\", \"{listen}\"]\nready = { http = \"/\", within = \"10s\" }\n" => "",
        "http://{app}/" => "http://127.0.0.1:8080/";
    no_command: "command = [\"bin/app\", \"-listen\", \"{listen}\"]\n" => "";
    reserved_service: "name = \"app\"" => "name = \"port\"";
    only_shared: "ready =" => "shared = true\nready =";
    never_told_its_address: "\"-listen\", \"{listen}\"" => "\"-v\"";
    fixed_address_for_many: "ready =" => "listen = \"127.0.0.1:8080\"\nready =";
    unreadable_template: "ready =" => "files = [{ template = \"missing.conf\", to = \"app.conf\" }]\nready =";
    unknown_placeholder_in_a_template: "ready =" => "files = [{ template = \"broken.conf\", to = \"app.conf\" }]\nready =";
    file_outside: "ready =" => "files = [{ template = \"nginx.conf\", to = \"../app.conf\" }]\nready =",
        "[load]" => "[[service]]\nname = \"origin\"\ncommand = [\"origin\", \"{port}\"]\n\n[load]";
    shared_uses_an_arm: "[load]" => "[[service]]\nname = \"db\"\nshared = true\ncommand = [\"db\", \"{arm}\"]\n\n[load]";
}

// Arms.
mistakes! {
    no_baseline: "baseline = true\n" => "";
    two_baselines: "env = {" => "baseline = true\nenv = {",
        "[1.0, 0.1]" => "[1.0]";
    no_arms: "[[arm]]\nname = \"off\"\nbaseline = true\n" => "",
        "[[arm]]\nname = \"otel\"\nenv = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }\nsweep = { sampling = [1.0, 0.1] }\nexpect = { traces_per_request = \"{sampling}\" }\n" => "";
    name_twice: "name = \"otel\"" => "name = \"OFF\"",
        "sweep = { sampling = [1.0, 0.1] }\n" => "",
        "SAMPLER_ARG = \"{sampling}\"" => "X = \"y\"",
        "expect = { traces_per_request = \"{sampling}\" }\n" => "";
    control_is_taken: "name = \"off\"" => "name = \"control\"";
    unknown_placeholder: "SAMPLER_ARG = \"{sampling}\"" => "SAMPLER_ARG = \"{samplign}\"";
    factor_that_the_baseline_lacks: "\"{listen}\"]" => "\"{listen}\", \"-sampling={sampling}\"]";
    factor_never_used: "SAMPLER_ARG = \"{sampling}\"" => "SAMPLER_ARG = \"1.0\"";
    no_levels: "[1.0, 0.1]" => "[]";
    unknown_service_in_args: "sweep =" => "args = { ap = [\"-v\"] }\nsweep =";
    bad_expectation: "traces_per_request = \"{sampling}\"" => "traces_per_request = \"{sampling} + 1\"";
    unknown_factor_in_expect: "traces_per_request = \"{sampling}\"" => "traces_per_request = \"{smapling}\"";
    shared_instance_without_switch: "sweep =" => "instance = \"off\"\nsweep =";
    own_placeholder_in_switch: "sweep =" => "switch = [\"curl {listen}/on\"]\nsweep =";
}

#[test]
fn all_problems_at_once() {
    let text = rendered(&[
        ("2000/s", "fast"),
        ("\"100ms\"", "\"soon\""),
        ("{sampling}", "{smapling}"),
        ("http = \"/\"", "http = \"health\""),
    ]);
    insta::assert_snapshot!("all_problems_at_once", text);
}

#[test]
fn a_missing_file_is_named() {
    let error = Plan::load(Path::new("no/such/plan.toml")).unwrap_err();
    insta::assert_snapshot!("a_missing_file_is_named", error.render(false));
}

#[test]
fn problems_point_at_the_word() {
    let text = GOOD.replace("{sampling}\" }\nsweep", "{samplign}\" }\nsweep");
    let Err(PlanError::Invalid(problems)) = parse(&text) else {
        panic!("must be refused")
    };
    let spans: Vec<&str> = problems.iter().map(|p| &text[p.span.clone()]).collect();
    assert_eq!(spans, ["{samplign}"]);
}

#[test]
fn colour_is_only_added() {
    let error = parse("nonsense").unwrap_err();
    let (plain, coloured) = (error.render(false), error.render(true));
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(coloured.contains('\u{1b}'), "{coloured}");
}

#[test]
fn the_good_plan_is_good() {
    assert_eq!(rendered(&[]), "no error");
}
