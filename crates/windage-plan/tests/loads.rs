//! Good loads: schedules, flows, fields, protocols, sockets.

use std::path::Path;
use std::time::Duration;

use windage_plan::{
    Arrivals, Body, Field, Host, Piece, Plan, Protocol, RowOrder, Starts, Template, Tls, Value,
};

const MINIMAL: &str = include_str!("plans/minimal.toml");
const BATCH: &str = include_str!("plans/batch.toml");
const FLOWS: &str = include_str!("plans/flows.toml");
const SOCKET: &str = include_str!("plans/socket.toml");

fn parse(text: &str) -> Plan {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    Plan::parse(text, "plan.toml", &folder)
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn a_profile_has_a_mean_rate() {
    let load = parse(FLOWS).load;
    let Starts::Profile(pieces) = &load.starts else {
        panic!("{:?}", load.starts)
    };
    let piece = |from_per_s, to_per_s, ms| Piece {
        from_per_s,
        to_per_s,
        lasts: Duration::from_millis(ms),
    };
    let expected = [
        piece(1000.0, 1000.0, 50),
        piece(1000.0, 5000.0, 30),
        piece(0.0, 0.0, 20),
    ];
    assert_eq!(pieces, &expected);
    // 50 + 90 starts in 100 ms.
    assert!((load.rate_per_s.unwrap() - 1400.0).abs() < 1e-9);
    assert_eq!(load.arrivals, Arrivals::Poisson);
}

#[test]
fn a_warm_up_can_have_a_constant_rate_of_its_own() {
    let plan = parse(FLOWS);
    assert_eq!(plan.design.warmup_rate_per_s, Some(9000.0));
    let load = plan.load.at_rate(9000.0);
    assert_eq!(
        (load.rate_per_s, &load.starts),
        (Some(9000.0), &Starts::Steady)
    );
    assert_eq!(load.flows, plan.load.flows);
    assert_eq!(parse(MINIMAL).design.warmup_rate_per_s, None);
}

#[test]
fn flows_share_headers_and_override_them() {
    let load = parse(FLOWS).load;
    assert_eq!((load.protocol, load.streams), (Protocol::Http2, 10));
    assert_eq!(
        (load.connections, load.connections_max, load.threads),
        (4, 16, 2)
    );
    assert_eq!(
        load.tls,
        Some(Tls {
            ca: Some("ca.pem".into()),
            server_name: Host::parse("shop.example"),
            insecure: false,
        })
    );
    assert_eq!(load.request, None);
    let [buys, lists] = load.flows.as_slice() else {
        panic!("two flows")
    };
    assert_eq!((buys.name.as_deref(), buys.weight), (Some("buys"), 3));
    assert_eq!((lists.name.as_deref(), lists.weight), (None, 1));
    let [login, basket] = buys.steps.as_slice() else {
        panic!("two steps")
    };
    assert_eq!(login.think, Duration::from_millis(50));
    assert_eq!(basket.think, Duration::ZERO);
    let names = |request: &windage_plan::Request| -> Vec<String> {
        request
            .headers
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    };
    assert_eq!(
        names(&login.request),
        ["Accept", "Authorization", "x-arm", "x-request"],
        "a step's header overrides the shared one"
    );
    assert_eq!(
        names(&lists.steps[0].request),
        ["accept", "Authorization", "x-arm"]
    );
    assert_eq!(
        login.request.headers[1].1,
        Value::Environment {
            variable: "SHOP_TOKEN".to_owned()
        },
        "secrets stay in the environment"
    );
    assert!(login.request.is_https());
    assert_eq!(login.request.authority().as_str(), "{shop}");
    assert_eq!(lists.steps[0].request.path().as_str(), "/list?page={page}");
    let Some(Body::File { file, bytes }) = &basket.request.body else {
        panic!("{:?}", basket.request.body)
    };
    assert_eq!(
        (file.as_path(), &bytes[..]),
        (Path::new("body.bin"), &b"\n\x05{arm}"[..])
    );
}

#[test]
fn fields_of_one_file_are_one_table() {
    let load = parse(FLOWS).load;
    let column = |column: &str| Field::Column {
        table: 0,
        column: column.to_owned(),
    };
    let expected = [
        (
            "id",
            Field::Counter {
                from: 1000,
                step: 1,
            },
        ),
        ("page", Field::Random { low: 1, high: 50 }),
        ("user", column("name")),
        ("password", column("password")),
    ]
    .map(|(name, field)| (name.to_owned(), field));
    assert_eq!(load.fields, expected);
    let [table] = load.tables.as_slice() else {
        panic!("one table: {:?}", load.tables)
    };
    assert_eq!(
        (table.file.as_path(), table.order),
        (Path::new("users.csv"), RowOrder::Random)
    );
    assert!(table.bytes.starts_with(b"name,password,note\n"));
}

#[test]
fn replay_files_are_read_with_the_plan() {
    let plan = parse(SOCKET);
    let load = &plan.load;
    let Starts::Replay(replay) = &load.starts else {
        panic!("{:?}", load.starts)
    };
    // The fifth start is after the end of the window of 10 ms.
    assert_eq!(&replay.offsets_ns[..], [0, 1_000_000, 2_500_000, 2_500_000]);
    assert_eq!(replay.repeats_after, Duration::from_millis(10));
    assert!((load.rate_per_s.unwrap() - 400.0).abs() < 1e-9);
    assert_eq!(load.unix, Some(Template::parse("{dir}/app.sock")));
    assert!(plan.uses_placeholder("dir"));
    assert!(!plan.services[0].addressed, "the URL's host is a label");
}

#[test]
fn loads_have_a_one_line_summary() {
    let table = [
        (MINIMAL, Some("GET http://{app}/")),
        (
            FLOWS,
            Some("POST https://{shop}/login and 2 more in 2 flows, h2"),
        ),
        (SOCKET, Some("POST http://app.example/echo.Echo/Say, grpc")),
        (BATCH, None),
    ];
    for (text, expected) in table {
        assert_eq!(parse(text).load.summary().as_deref(), expected);
    }
}
