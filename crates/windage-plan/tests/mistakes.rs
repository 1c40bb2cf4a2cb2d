//! The errors for wrong plans. Each case changes one thing in a good plan.

mod mistaken;

use std::path::Path;

use mistaken::{mistakes, read, rendered};
use windage_plan::{Depth, Plan, PlanError};

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

// Shape.
mistakes! {
    broken_toml: "name = \"go-http\"" => "name = \"go-http";
    key_of_an_old_plan: "for = \"60s\"" => "interest = 0.01\nfor = \"60s\"";
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
    a_window_that_is_not_given: "\"100ms\"" => "\"auto\"";
    empty_window: "\"100ms\"" => "\"0s\"";
    long_window: "\"100ms\"" => "\"2h\"";
    bad_rate: "2000/s" => "2000";
    rate_of_nothing: "2000/s" => "0/s";
    bad_rate_of_the_warm_up: "[design]\n" => "[design]\nwarmup_rate = \"fast\"\n";
    rate_of_the_warm_up_for_a_closed_load: "model = \"open\"\nrate = \"2000/s\"" => "model = \"closed\"",
        "[design]\n" => "[design]\nwarmup_rate = \"3000/s\"\n";
    rate_for_a_closed_load: "\"open\"" => "\"closed\"";
    no_rate_for_an_open_load: "rate = \"2000/s\"\n" => "";
    no_request: "request = \"GET http://{app}/\"\n" => "";
    request_for_a_batch: "\"open\"\nrate = \"2000/s\"" => "\"batch\"";
    many_connections: "rate =" => "connections = 65536\nrate =";
    blocks_and_for: "for = \"60s\"" => "for = \"60s\"\nblocks = 10";
    interest_of_all: "for = \"60s\"" => "for = \"60s\"\nmargin = \"100%\"";
    bad_pattern: "http = \"/\"" => "log = \"ready (\"";
    ready_twice: "http = \"/\"" => "http = \"/\", tcp = true";
    a_user_of_no_name: "ready =" => "user = \"-u root\"\nready =";
    secret_beside_text: "rate =" => "headers = { Authorization = \"Bearer $TOKEN\" }\nrate =";
}

// Several loads, and thorough runs.
mistakes! {
    a_regime_that_changes_nothing: "[[arm]]" => "[[regime]]\nname = \"again\"\n\n[[arm]]";
    a_regime_of_the_same_words: "[[arm]]" => "[[regime]]\nname = \"again\"\nmodel = \"open\"\nconnections = 8\n\n[[arm]]";
    regimes_of_one_name: "[[arm]]" => "[[regime]]\nname = \"open loop\"\nrate = \"10/s\"\n\n[[arm]]";
    a_regime_without_a_rate: "model = \"open\"\nrate = \"2000/s\"" => "model = \"closed\"",
        "[[arm]]" => "[[regime]]\nname = \"half\"\nmodel = \"open\"\n\n[[arm]]";
    a_batch_regime: "[[arm]]" => "[[regime]]\nname = \"rows\"\nmodel = \"batch\"\n\n[[arm]]";
    a_name_for_the_only_load: "model = \"open\"" => "regime = \"half\"\nmodel = \"open\"";
    a_regime_beside_a_stop: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", half_width = \"1%\", within = \"5m\" }",
        "[[arm]]" => "[[regime]]\nname = \"half\"\nrate = \"1000/s\"\n\n[[arm]]";
    a_regime_beside_a_thorough_stop: "for = \"60s\"" => "for = \"60s\"\nthorough = { stop = { metric = \"cpu_per_request\", half_width = \"1%\", within = \"5m\" } }",
        "[[arm]]" => "[[regime]]\nname = \"half\"\nrate = \"1000/s\"\nthorough = true\n\n[[arm]]";
    a_wrong_key_of_a_thorough_run: "for = \"60s\"" => "for = \"60s\"\nthorough = { rounds = 0 }";
    thorough_within_thorough: "for = \"60s\"" => "for = \"60s\"\nthorough = { thorough = { rounds = 3 } }";
}

// Where load may go.
mistakes! {
    remote_host: "http://{app}/" => "http://example.com/";
    remote_service: "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { url = \"http://10.1.2.3:80\" }";
    tls_without_https: "rate =" => "tls = { insecure = true }\nrate =";
    another_scheme: "http://{app}/" => "ws://{app}/";
    ca_that_is_not_looked_at: "rate =" => "tls = { ca = \"ca.pem\", insecure = true }\nrate =",
        "http://{app}/" => "https://{app}/";
    server_name_with_a_port: "rate =" => "tls = { server_name = \"app:443\" }\nrate =",
        "http://{app}/" => "https://{app}/";
    unix_without_a_name: "rate =" => "unix = \"sockets/\"\nrate =";
    unix_for_all_arms: "rate =" => "unix = \"/tmp/app.sock\"\nrate =";
    unix_of_nobody_knows_whom: "rate =" => "unix = \"{dir}/app.sock\"\nrate =",
        "[load]" => "[[service]]\nname = \"origin\"\ncommand = [\"origin\", \"{port}\"]\n\n[load]";
    unix_of_what_is_running: "rate =" => "unix = \"{dir}/app.sock\"\nrate =",
        "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { pid = 4711 }\nlisten = \"127.0.0.1:80\"",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "switch = [\"echo {sampling}\"]",
        "baseline = true" => "baseline = true\nswitch = [\"echo\"]";
    unix_there_from_when_on: "rate =" => "unix = \"{dir}/app.sock\"\nrate =",
        "http://{app}/" => "http://localhost/",
        "\"-listen\", \"{listen}\"" => "\"{dir}/app.sock\"",
        "ready = { http = \"/\", within = \"10s\" }\n" => "";
    second_port: "http://{app}/" => "http://{app}:80/";
    unknown_service_in_url: "http://{app}/" => "http://{ap}/";
}

// Connections, streams and threads.
mistakes! {
    unknown_protocol: "rate =" => "protocol = \"http2\"\nrate =";
    streams_for_http1: "rate =" => "streams = 10\nrate =";
    no_streams: "rate =" => "protocol = \"h2\"\nstreams = 0\nrate =";
    more_threads_than_cores: "rate =" => "threads = 4\ncpus = [1, 2]\nrate =";
    more_threads_than_connections: "rate =" => "threads = 4\nconnections = 2\nrate =";
    fewer_connections_at_most: "rate =" => "connections_max = 4\nrate =";
    growth_of_a_closed_load: "model = \"open\"\nrate = \"2000/s\"" => "model = \"closed\"\nconnections_max = 16";
    protocol_of_a_batch: "model = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"" => "model = \"batch\"\nprotocol = \"h2\"\nthreads = 2";
    grpc_by_get: "rate =" => "protocol = \"grpc\"\nrate =";
    header_of_grpc: "rate =" => "protocol = \"grpc\"\nheaders = { content-type = \"application/json\" }\nrate =",
        "GET http://{app}/" => "POST http://{app}/echo.Echo/Say";
    upgrade_in_http2: "rate =" => "protocol = \"h2\"\nheaders = { Upgrade = \"websocket\" }\nrate =";
}

// When requests start.
mistakes! {
    rate_and_profile: "rate =" => "profile = [{ rate = \"1000/s\", for = \"100ms\" }]\nrate =";
    profile_shorter_than_a_window: "rate = \"2000/s\"" => "profile = [{ rate = \"1000/s\", for = \"50ms\" }, { rate = \"1000/s\", to = \"5000/s\", for = \"30ms\" }]";
    profile_of_nothing: "rate = \"2000/s\"" => "profile = [{ rate = \"0/s\", for = \"100ms\" }]";
    profile_without_pieces: "rate = \"2000/s\"" => "profile = []";
    profile_with_a_bad_rate: "rate = \"2000/s\"" => "profile = [{ rate = \"1000\", for = \"100ms\" }]";
    profile_without_a_length: "rate = \"2000/s\"" => "profile = [{ rate = \"1000/s\" }]";
    unknown_key_of_a_piece: "rate = \"2000/s\"" => "profile = [{ rate = \"1000/s\", until = \"2000/s\", for = \"100ms\" }]";
    profile_for_a_closed_load: "model = \"open\"\nrate = \"2000/s\"" => "model = \"closed\"\nprofile = [{ rate = \"1000/s\", for = \"100ms\" }]";
    replay_of_a_missing_file: "rate = \"2000/s\"" => "replay = \"missing.csv\"";
    replay_back_in_time: "rate = \"2000/s\"" => "replay = \"unsorted.csv\"";
    replay_of_no_times: "rate = \"2000/s\"" => "replay = \"users.csv\"";
    replay_after_the_window: "rate = \"2000/s\"" => "replay = \"unsorted.csv\"",
        "unsorted.csv" => "late.csv";
    arrivals_of_a_replay: "rate = \"2000/s\"" => "replay = \"arrivals.csv\"\narrivals = \"poisson\"";
}

// What is sent.
mistakes! {
    body_twice: "rate =" => "body = \"a\"\nbody_file = \"body.bin\"\nrate =";
    missing_body: "rate =" => "body_file = \"missing.bin\"\nrate =";
    flow_and_request: "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\" }]\n\n[[arm]]";
    flow_and_body: "request = \"GET http://{app}/\"" => "body = \"a\"",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\" }]\n\n[[arm]]";
    flow_without_steps: "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nsteps = []\n\n[[arm]]";
    flow_without_weight: "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nweight = 0\nsteps = [{ request = \"GET http://{app}/\" }]\n\n[[arm]]";
    flow_to_another_host: "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\" }, { request = \"GET http://127.0.0.1:9/\" }]\n\n[[arm]]";
    unknown_key_of_a_step: "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\", thinks = \"1s\" }]\n\n[[arm]]";
    secret_beside_text_in_a_step: "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\", headers = { a = \"Bearer $TOKEN\" } }]\n\n[[arm]]";
    think_of_days: "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\", think = \"2days\" }]\n\n[[arm]]";
    flow_for_a_batch: "model = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"" => "model = \"batch\"",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\" }]\n\n[[arm]]";
}

// Fields.
mistakes! {
    field_never_used: "rate =" => "fields = { id = { counter = 1 } }\nrate =";
    field_of_nothing: "rate =" => "fields = { id = {} }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    field_of_two_things: "rate =" => "fields = { id = { counter = 1, random = [1, 2] } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    field_like_a_service: "rate =" => "fields = { app = { counter = 1 } }\nrate =";
    field_like_a_factor: "rate =" => "fields = { sampling = { counter = 1 } }\nrate =",
        "http://{app}/" => "http://{app}/{sampling}";
    field_like_a_placeholder: "rate =" => "fields = { arm = { counter = 1 } }\nrate =",
        "http://{app}/" => "http://{app}/{arm}";
    field_with_a_bad_name: "rate =" => "fields = { Id = { counter = 1 } }\nrate =";
    field_outside_of_requests: "rate =" => "fields = { id = { counter = 1 } }\nrate =",
        "http://{app}/" => "http://{app}/{id}",
        "TELEMETRY = \"otel\"" => "TELEMETRY = \"{id}\"";
    field_as_host: "rate =" => "fields = { id = { counter = 1 } }\nrate =",
        "http://{app}/" => "http://{id}/";
    misspelt_field: "rate =" => "fields = { user = { counter = 1 } }\nrate =",
        "http://{app}/" => "http://{app}/{usr}";
    step_without_counter: "rate =" => "fields = { id = { random = [1, 2], step = 2 } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    range_upside_down: "rate =" => "fields = { id = { random = [9, 1] } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    column_not_named: "rate =" => "fields = { id = { csv = \"users.csv\" } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    column_not_there: "rate =" => "fields = { id = { csv = \"users.csv\", column = \"nmae\" } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    missing_csv: "rate =" => "fields = { id = { csv = \"missing.csv\", column = \"name\" } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    csv_without_rows: "rate =" => "fields = { id = { csv = \"norows.csv\", column = \"name\" } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
    csv_in_two_orders: "rate =" => "fields = { id = { csv = \"users.csv\", column = \"name\", order = \"random\" }, p = { csv = \"users.csv\", column = \"password\", order = \"in-order\" } }\nrate =",
        "http://{app}/" => "http://{app}/{id}/{p}";
    unknown_order_of_rows: "rate =" => "fields = { id = { csv = \"users.csv\", column = \"name\", order = \"shuffled\" } }\nrate =",
        "http://{app}/" => "http://{app}/{id}";
}

// When a run may end.
mistakes! {
    stop_on_no_metric: "for = \"60s\"" => "stop = { metric = \"latency\", half_width = \"0.5%\", within = \"5m\" }";
    stop_on_a_misspelt_metric: "for = \"60s\"" => "stop = { metric = \"cpu_per_reqest\", half_width = \"0.5%\", within = \"5m\" }";
    stop_on_another_loads_metric: "for = \"60s\"" => "stop = { metric = \"cpu_per_iteration\", half_width = \"0.5%\", within = \"5m\" }";
    stop_on_what_the_load_fixes: "for = \"60s\"" => "stop = { metric = \"throughput\", half_width = \"0.5%\", within = \"5m\" }";
    stop_on_cpu_out_of_reach: "for = \"60s\"" => "stop = { metric = \"cpu_in_window\", half_width = \"0.5%\", within = \"5m\" }",
        "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { url = \"http://127.0.0.1:80\" }",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "switch = [\"echo {sampling}\"]",
        "baseline = true" => "baseline = true\nswitch = [\"echo\"]";
    stop_at_zero: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", half_width = 0.0, within = \"5m\" }";
    stop_at_anything: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", half_width = \"100%\", within = \"5m\" }";
    stop_without_a_bound: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", half_width = \"0.5%\" }";
    stop_in_no_time: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", half_width = \"0.5%\", within = \"0s\" }";
    stop_and_for: "for = \"60s\"" => "for = \"60s\"\nstop = { metric = \"cpu_per_request\", half_width = \"0.5%\", within = \"5m\" }";
    stop_and_blocks: "for = \"60s\"" => "blocks = 10\nstop = { metric = \"cpu_per_request\", half_width = \"0.5%\", within = \"5m\" }";
    stop_over_few_rounds: "for = \"60s\"" => "rounds = 3\nstop = { metric = \"cpu_per_request\", half_width = \"0.5%\", within = \"5m\" }";
    stop_of_a_sequence: "for = \"60s\"" => "order = \"sequential\"\nstop = { metric = \"cpu_per_request\", half_width = \"0.5%\", within = \"5m\" }";
    stop_with_half_a_rule: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", within = \"5m\" }";
    stop_with_two_rules: "for = \"60s\"" => "stop = { budgets = true, half_width = \"1%\", within = \"5m\" }";
    stop_at_no_budgets: "for = \"60s\"" => "stop = { budgets = false, within = \"5m\" }";
    stop_without_budgets: "for = \"60s\"" => "stop = { budgets = true, within = \"5m\" }";
    unknown_key_of_a_stop: "for = \"60s\"" => "stop = { metric = \"cpu_per_request\", half_width = \"0.5%\", for = \"5m\" }";
}

// Turns.
mistakes! {
    turn_of_no_requests: "for = \"60s\"" => "for = \"60s\"\nturn = 0";
    turn_of_too_many_requests: "for = \"60s\"" => "for = \"60s\"\nturn = 1000001";
    turn_shorter_than_its_switch: "for = \"60s\"" => "for = \"60s\"\nturn = \"1ns\"";
    turn_longer_than_ten_seconds: "for = \"60s\"" => "for = \"60s\"\nturn = \"11s\"";
    turn_of_text: "for = \"60s\"" => "for = \"60s\"\nturn = \"short\"";
    turn_of_a_fraction: "for = \"60s\"" => "for = \"60s\"\nturn = 0.5";
    wrong_turn_without_turns: "for = \"60s\"" => "for = \"60s\"\nturn = 0\nisolated = \"100%\"";
    block_of_nothing: "for = \"60s\"" => "for = \"60s\"\nblock = \"0s\"";
    block_longer_than_ten_minutes: "for = \"60s\"" => "for = \"60s\"\nblock = \"1h\"";
    block_of_text: "for = \"60s\"" => "for = \"60s\"\nblock = \"long\"";
    isolated_above_all: "for = \"60s\"" => "for = \"60s\"\nisolated = \"110%\"";
    isolated_below_zero: "for = \"60s\"" => "for = \"60s\"\nisolated = -0.1";
    isolated_of_text: "for = \"60s\"" => "for = \"60s\"\nisolated = \"half\"";
    turns_of_shared_processes: "for = \"60s\"" => "for = \"60s\"\nturn = 20",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "instance = \"off\"\nswitch = [\"echo {sampling}\"]",
        "baseline = true" => "baseline = true\nswitch = [\"echo\"]";
    turns_of_a_running_service: "for = \"60s\"" => "for = \"60s\"\nturn = \"10ms\"",
        "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { pid = 4711 }\nlisten = \"127.0.0.1:80\"",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "switch = [\"echo {sampling}\"]",
        "baseline = true" => "baseline = true\nswitch = [\"echo\"]";
    turns_beside_an_agent: "for = \"60s\"" => "for = \"60s\"\nblock = \"2s\"",
        "[load]" => "[[agent]]\nname = \"tracer\"\ncommand = [\"tracer\"]\nready = { log = \"attached\" }\n\n[load]",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "agents = [\"tracer\"]\nargs = { tracer = [\"{sampling}\"] }";
    turns_of_whole_processes: "for = \"60s\"" => "for = \"60s\"\nisolated = \"50%\"",
        "model = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"" => "model = \"batch\"\nbatch = \"process\"",
        "\nready = { http = \"/\", within = \"10s\" }" => "",
        ", \"-listen\", \"{listen}\"" => "";
    turns_of_users_who_think: "for = \"60s\"" => "for = \"60s\"\nturn = 20",
        "request = \"GET http://{app}/\"" => "",
        "[[arm]]" => "[[load.flow]]\nsteps = [{ request = \"GET http://{app}/\", think = \"10ms\" }]\n\n[[arm]]";
    turns_of_a_sequence: "for = \"60s\"" => "for = \"60s\"\nturn = 20\norder = \"sequential\"";
    turns_of_one_launch_that_may_stop: "for = \"60s\"" => "turn = 20\nrounds = 1\nstop = { metric = \"cpu_per_request\", half_width = \"1%\", within = \"5m\" }";
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
    check_of_nothing: "ready =" => "check = []\nready =";
    user_of_what_is_running: "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { pid = 4711 }\nlisten = \"127.0.0.1:80\"\nuser = \"nobody\"\nclean_env = true";
    check_of_what_is_running: "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { url = \"http://127.0.0.1:80\" }\ncheck = [\"bin/app\", \"-t\"]\nports = [\"admin\"]";
    port_by_number: "ready =" => "ports = [\"9901\", \"admin\", \"admin\"]\nready =",
        "\"{listen}\"" => "\"{listen}\", \"{port.admin}\", \"{port.9901}\"";
    port_never_used: "ready =" => "ports = [\"admin\"]\nready =";
    port_never_told: "ready =" => "ports = [\"admin\"]\nready =",
        "sweep =" => "switch = [\"curl 127.0.0.1:{app.port.admin}\"]\nsweep =";
    port_misspelt: "ready =" => "ports = [\"admin\"]\nready =",
        "\"{listen}\"" => "\"{listen}\", \"{port.admn}\"";
    port_of_no_service: "\"{listen}\"" => "\"{listen}\", \"{ap.port.admin}\"";
    port_of_none: "sweep =" => "switch = [\"curl 127.0.0.1:{app.port.admin}\"]\nsweep =";
    port_in_an_arms_environment: "[load]" => "[[service]]\nname = \"proxy\"\ncommand = [\"proxy\", \"{port.admin}\"]\nports = [\"admin\"]\n\n[load]",
        "TELEMETRY = \"otel\"" => "TELEMETRY = \"{port.admin}\"";
    port_of_a_shared_service: "[load]" => "[[service]]\nname = \"db\"\nshared = true\ncommand = [\"db\", \"{app.port.admin}\"]\n\n[load]",
        "\"{listen}\"" => "\"{listen}\", \"{port.admin}\"",
        "ready =" => "ports = [\"admin\"]\nready =";
    port_of_a_batch: "ready = { http = \"/\", within = \"10s\" }" => "ports = [\"admin\"]",
        "\"{listen}\"" => "\"{port.admin}\"",
        "model = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"" => "model = \"batch\"";
    shared_uses_an_arm: "[load]" => "[[service]]\nname = \"db\"\nshared = true\ncommand = [\"db\", \"{arm}\"]\n\n[load]";
}

// Arms.
mistakes! {
    no_baseline: "baseline = true\n" => "";
    two_baselines: "env = {" => "baseline = true\nenv = {",
        "[1.0, 0.1]" => "[1.0]";
    no_arms: "[[arm]]\nname = \"off\"\nbaseline = true\n" => "",
        "[[arm]]\nname = \"otel\"\nenv = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }\nsweep = { sampling = [1.0, 0.1] }\nexpect = { traces_per_request = \"{sampling}\" }\n" => "";
    points_without_an_interval: "expect = { traces_per_request = \"{sampling}\" }" => "expect = { points_per_interval = 12 }";
    an_interval_of_nothing: "expect = { traces_per_request = \"{sampling}\" }" => "expect = { traces_per_request = 1, interval = \"1s\" }";
    an_interval_of_no_time: "expect = { traces_per_request = \"{sampling}\" }" => "expect = { points_per_interval = 12, interval = \"0s\" }";
    points_of_an_arm_that_may_be_dead: "expect = { traces_per_request = \"{sampling}\" }" => "expect = { points_per_interval = 12, interval = \"1s\" }",
        "[design]\n" => "[design]\non_death = \"continue\"\n";
    points_of_shared_processes: "expect = { traces_per_request = \"{sampling}\" }" => "expect = { points_per_interval = 12, interval = \"1s\" }\ninstance = \"own\"\nswitch = [\"echo {sampling}\"]",
        "SAMPLER_ARG = \"{sampling}\"" => "SAMPLER_ARG = \"1\"";
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
    own_port_in_switch: "ready =" => "ports = [\"admin\"]\nready =",
        "\"{listen}\"" => "\"{listen}\", \"{port.admin}\"",
        "sweep =" => "switch = [{ to = \"127.0.0.1:{port.admin}\", send = \"on\" }]\nsweep =";
    restore_of_what_ends: "baseline = true" => "baseline = true\nrestore = [\"echo\"]";
    restore_of_a_treatment: "sweep =" => "restore = [\"echo {sampling}\"]\nsweep =",
        "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { pid = 4711 }\nlisten = \"127.0.0.1:80\"",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "switch = [\"echo {sampling}\"]",
        "baseline = true" => "baseline = true\nswitch = [\"echo\"]";
    switch_by_nothing: "sweep =" => "switch = [{ to = \"{app}\" }, {}, { http = \"GET http://{app}/\", send = \"on\" }]\nsweep =";
    switch_by_a_number: "sweep =" => "switch = [9901]\nsweep =";
    switch_by_an_unknown_key: "sweep =" => "switch = [{ to = \"{app}\", sned = \"on\" }]\nsweep =";
    switch_to_nowhere: "sweep =" => "switch = [{ to = \"app\", send = \"on\" }, { to = \"{ap}\", send = \"on\" }, { to = \"/tmp/\", send = \"on\" }, { to = \"unix:///tmp/a\", send = \"on\" }]\nsweep =";
    switch_on_another_machine: "sweep =" => "switch = [{ to = \"10.1.2.3:9\", send = \"on\" }, { http = \"GET http://example.com/on\" }]\nsweep =";
    switch_to_what_is_no_port: "ready =" => "ports = [\"admin\"]\nready =",
        "\"{listen}\"" => "\"{listen}\", \"{port.admin}\"",
        "sweep =" => "switch = [{ to = \"127.0.0.1:{app}\", send = \"on\" }, { to = \"127.0.0.1:{plan}\", send = \"on\" }, { to = \"127.0.0.1:{sampling}\", send = \"on\" }, { to = \"127.0.0.1:{otlp_http.port}\", send = \"on\" }]\nsweep =";
    switch_at_a_port_that_is_misspelt: "ready =" => "ports = [\"admin\"]\nready =",
        "\"{listen}\"" => "\"{listen}\", \"{port.admin}\"",
        "sweep =" => "switch = [{ to = \"127.0.0.1:{app.port.admn}\", send = \"on\" }, { to = \"127.0.0.1:{ap.port}\", send = \"on\" }]\nsweep =";
    switch_of_a_service_elsewhere: "command = [\"bin/app\", \"-listen\", \"{listen}\"]" => "attach = { url = \"http://10.1.2.3:9\" }",
        "model = \"open\"" => "model = \"open\"\nallow = [\"10.1.2.3\"]",
        "env = { TELEMETRY = \"otel\", SAMPLER_ARG = \"{sampling}\" }" => "switch = [{ to = \"{app}\", send = \"rate {sampling}\" }, { http = \"POST http://{app}/{sampling}\" }]",
        "baseline = true" => "baseline = true\nswitch = [\"echo\"]";
    switch_of_a_service_at_another_address: "ready =" => "listen = \"10.1.2.3:9\"\nready =",
        "sweep =" => "switch = [{ to = \"{app}\", send = \"on\" }]\nsweep =";
    switch_of_several_lines: "sweep =" => "switch = [{ to = \"{app}\", send = \"on\\noff\" }, { to = \"{app}\", send = \"\" }]\nsweep =";
    switch_by_a_bad_request: "sweep =" => "switch = [{ http = \"http://{app}/on\" }, { http = \"GET https://{app}/on\" }, { http = \"GET http://{app}\" }, { http = \"GET http://{ap}/on\" }]\nsweep =";
    switch_for_a_bad_answer: "sweep =" => "switch = [{ to = \"{app}\", send = \"on\", answer = \"is {sampling}\" }]\nsweep =";
    switch_in_nobody_knows_whose_folder: "sweep =" => "switch = [{ to = \"{dir}/admin.sock\", send = \"on\" }]\nsweep =",
        "[load]" => "[[service]]\nname = \"origin\"\ncommand = [\"origin\", \"{port}\"]\n\n[load]";
    misspelt_factor_in_a_line: "sweep =" => "switch = [{ to = \"{app}\", send = \"rate {samplign}\" }]\nsweep =";
    own_placeholder_in_switch: "sweep =" => "switch = [\"curl {listen}/on\"]\nsweep =";
}

// Receivers, and lost telemetry.
mistakes! {
    backend_of_no_words: "sweep =" => "backend = \"slwo 200ms\"\nsweep =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    backend_of_no_words_in_a_list: "sweep =" => "backend = [\"ok\", \"slow 2h\"]\nsweep =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    backend_of_a_number: "sweep =" => "backend = 200\nsweep =";
    backend_without_levels: "sweep =" => "backend = []\nsweep =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    backend_of_no_receiver: "sweep =" => "backend = \"stall\"\nsweep =";
    backend_swept_twice: "sweep = { " => "backend = [\"ok\", \"stall\"]\nsweep = { backend = [\"ok\"], ",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    backend_by_what_is_no_factor: "sweep =" => "backend = \"slow {delay}\"\nsweep =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    backend_of_wrong_levels: "sweep = { " => "backend = \"slow {delay}\"\nsweep = { delay = [\"1s\", \"1h\", \"2h\"], ",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    backends_of_a_baseline: "baseline = true" => "baseline = true\nbackend = [\"ok\", \"stall\"]\nenv = { OTLP = \"{otlp_http}\" }";
    backends_beside_a_service_of_that_name: "sweep =" => "backend = [\"ok\", \"stall\"]\nsweep =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER",
        "[load]" => "[[service]]\nname = \"backend\"\nshared = true\ncommand = [\"origin\", \"{port}\"]\n\n[load]";
    misspelt_receiver: "TELEMETRY = \"otel\"" => "TELEMETRY = \"{otlp_htpp}\"";
    shared_uses_a_receiver: "[load]" => "[[service]]\nname = \"db\"\nshared = true\ncommand = [\"db\", \"{zipkin}\"]\n\n[load]";
    sink_of_nothing: "[design]" => "[sink]\nkeep = \"16MiB\"\n\n[design]";
    drops_that_nobody_asks_for: "ready =" => "drops = [{ reason = \"queue full\", log = \"Dropped\" }]\nready =";
    misspelt_receiver_beside_a_sink: "[design]" => "[sink]\nkeep = \"16MiB\"\n\n[design]",
        "TELEMETRY = \"otel\"" => "TELEMETRY = \"{otlp_htpp}\"";
    sink_that_keeps_all: "[design]" => "[sink]\nkeep = \"all\"\n\n[design]",
        "TELEMETRY = \"otel\"" => "TELEMETRY = \"{otlp_http}\"";
    sink_that_keeps_nothing: "[design]" => "[sink]\nkeep = \"1KiB\"\n\n[design]",
        "TELEMETRY = \"otel\"" => "TELEMETRY = \"{otlp_http}\"";
    sink_of_unknown_detail: "[design]" => "[sink]\ndetail = \"count\"\n\n[design]",
        "TELEMETRY = \"otel\"" => "TELEMETRY = \"{otlp_http}\"";
    drops_told_by_nothing: "ready =" => "drops = [{ reason = \"queue full\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    drops_by_a_bad_pattern: "ready =" => "drops = [{ reason = \"queue full\", log = \"Dropped (\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    drops_by_labels: "ready =" => "metrics = \"/metrics\"\ndrops = [{ reason = \"full\", metric = \"lost{queue=\\\"a\\\"}\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    drops_without_a_reason: "ready =" => "drops = [{ reason = \" \", log = \"Dropped\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    metric_read_nowhere: "ready =" => "drops = [{ reason = \"queue full\", metric = \"lost_total\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    metrics_that_nothing_reads: "ready =" => "metrics = \"/metrics\"\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    scrape_without_metrics: "sweep =" => "scrape = { app = \"1s\" }\nsweep =";
    scrape_of_nothing: "ready =" => "metrics = \"/metrics\"\nready =",
        "sweep =" => "scrape = { agent = \"1s\" }\nsweep =";
    scrape_all_the_time: "ready =" => "metrics = \"/metrics\"\nready =",
        "sweep =" => "scrape = { app = \"10ms\" }\nsweep =";
    metrics_at_a_fixed_address: "ready =" => "metrics = \"http://127.0.0.1:9464/metrics\"\ndrops = [{ reason = \"full\", metric = \"lost\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    metrics_at_a_port_that_is_not_there: "ready =" => "metrics = \"http://127.0.0.1:{port.admin}/metrics\"\ndrops = [{ reason = \"full\", metric = \"lost\" }]\nready =",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    metrics_of_a_batch: "ready = { http = \"/\", within = \"10s\" }" => "metrics = \"/metrics\"\ndrops = [{ reason = \"full\", metric = \"lost\" }]",
        "model = \"open\"\nrate = \"2000/s\"\nrequest = \"GET http://{app}/\"" => "model = \"batch\"",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
    drops_of_a_shared_service: "[load]" => "[[service]]\nname = \"db\"\nshared = true\ncommand = [\"db\", \"{port}\"]\ndrops = [{ reason = \"full\", log = \"lost\" }]\n\n[load]",
        "\"otel\", SAMPLER" => "\"{otlp_http}\", SAMPLER";
}

#[test]
fn all_problems_at_once() {
    let text = rendered(
        GOOD,
        &[
            ("2000/s", "fast"),
            ("\"100ms\"", "\"soon\""),
            ("{sampling}", "{smapling}"),
            ("http = \"/\"", "http = \"health\""),
        ],
    );
    insta::assert_snapshot!("all_problems_at_once", text);
}

#[test]
fn a_missing_file_is_named() {
    let error = Plan::load(Path::new("no/such/plan.toml"), Depth::Usual).unwrap_err();
    insta::assert_snapshot!("a_missing_file_is_named", error.render(false));
}

#[test]
fn problems_point_at_the_word() {
    let text = GOOD.replace("{sampling}\" }\nsweep", "{samplign}\" }\nsweep");
    let Err(PlanError::Invalid(problems)) = read(&text) else {
        panic!("must be refused")
    };
    let spans: Vec<&str> = problems.iter().map(|p| &text[p.span.clone()]).collect();
    assert_eq!(spans, ["{samplign}"]);
}

#[test]
fn colour_codes_only_when_asked() {
    let error = read("nonsense").unwrap_err();
    let (plain, coloured) = (error.render(false), error.render(true));
    assert!(!plain.contains('\u{1b}'), "{plain}");
    assert!(coloured.contains('\u{1b}'), "{coloured}");
}

#[test]
fn the_good_plan_is_valid() {
    assert_eq!(rendered(GOOD, &[]), "no error");
}

// Budgets.
mistakes! {
    override_without_a_reason: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\noverride = { at_most = \"8%\", reason = \" \", until = \"2027-01-31\" }\n[design]";
    override_until_no_day: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\noverride = { at_most = \"8%\", reason = \"new\", until = \"2027-02-31\" }\n[design]";
    override_on_another_scale: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\noverride = { at_most = \"8us\", reason = \"new\", until = \"2027-01-31\" }\n[design]";
    budget_of_no_metric: "[design]" => "[[budget]]\nmetric = \"cpu\"\nat_most = \"5%\"\n[design]";
    budget_of_what_the_load_fixes: "[design]" => "[[budget]]\nmetric = \"throughput\"\nat_most = \"5%\"\n[design]";
    budget_of_another_loads_metric: "[design]" => "[[budget]]\nmetric = \"flush_time\"\nat_most = \"5%\"\n[design]";
    budget_without_a_limit: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\n[design]";
    budget_in_another_unit: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"16MiB\"\n[design]";
    budget_without_a_unit: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = 5\n[design]";
    budget_below_zero: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"-5%\"\n[design]";
    budget_of_the_baseline: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\narms = [\"off\"]\n[design]";
    budget_of_no_arm: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\narms = []\n[design]";
    budget_of_telemetry_that_nothing_expects: "expect = { traces_per_request = \"{sampling}\" }\n" => "[[budget]]\nmetric = \"telemetry_lost\"\nat_most = \"0.1%\"\n";
    budget_of_an_own_share: "[design]" => "[[budget]]\nof = \"own\"\nmetric = \"rss_peak\"\nat_most = \"5%\"\n[design]";
    budget_that_never_warns: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\nwarn_above = \"5%\"\n[design]";
    budget_that_warns_on_another_scale: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\nwarn_above = \"5us\"\n[design]";
    budget_by_a_guess: "[design]" => "[[budget]]\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\nconfidence = \"50%\"\n[design]";
}

// Claims.
mistakes! {
    claim_without_a_source: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\n[design]";
    claim_of_no_words: "[design]" => "[[claim]]\ntext = \" \"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\n[design]";
    claim_of_nothing: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\n[design]";
    claim_of_two_things: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\nat_most = \"5%\"\nvalue = \"4%\"\n[design]";
    claim_of_an_exact_value: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\nvalue = \"4%\"\n[design]";
    claim_of_a_bound_give_or_take: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\nat_most = \"4%\"\ntolerance = \"1%\"\n[design]";
    claim_on_two_scales: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\nvalue = \"4%\"\ntolerance = \"1us\"\n[design]";
    claim_about_the_baseline: "[design]" => "[[claim]]\ntext = \"It is fast.\"\nsource = \"a talk\"\nmetric = \"cpu_per_request\"\nat_most = \"4%\"\narms = [\"off\"]\n[design]";
}
