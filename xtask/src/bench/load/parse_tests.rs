//! What the tools really printed, captured on the way: wrk 4.1.0, h2load 1.52.0, oha 1.16.0.

use super::*;

fn printed(stdout: &str, log: &str) -> Printed {
    Printed {
        stdout: stdout.to_owned(),
        log: log.to_owned(),
    }
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-6 * expected)
}

#[test]
fn wrk_tells_requests_rate_and_some_percentiles() {
    let answer = wrk(&printed(include_str!("samples/wrk.txt"), "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (151_293, 0));
    assert_eq!(answer.throughput_per_s, 151_150.77);
    let Percentiles {
        p50,
        p99,
        p999,
        max,
    } = answer.latency_us;
    assert_eq!((p50, p99, p999, max), (Some(39.0), Some(164.0), None, None));
}

#[test]
fn wrk_tells_errors_only_when_there_are_any() {
    let answer = wrk(&printed(include_str!("samples/wrk-errors.txt"), "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (15_925, 2 * 15_925));
}

#[test]
fn h2load_tells_no_percentiles_without_its_log() {
    let answer = h2load(&printed(include_str!("samples/h2load.txt"), "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (112_442, 0));
    assert_eq!(answer.throughput_per_s, 112_442.0);
    let Percentiles { p50, p99, max, .. } = answer.latency_us;
    assert_eq!((p50, p99, max), (None, None, Some(4190.0)));
}

#[test]
fn h2loads_log_gives_percentiles_by_nearest_rank() {
    let log = include_str!("samples/h2load.log");
    let answer = h2load(&printed(include_str!("samples/h2load-open.txt"), log)).unwrap();
    assert_eq!((answer.requests, answer.throughput_per_s), (16, 16.0));
    // The 16 times sorted: the 8th is 211, the last 384.
    let Percentiles { p50, p99, max, .. } = answer.latency_us;
    assert_eq!((p50, p99, max), (Some(211.0), Some(384.0), Some(384.0)));
    // A request that failed is in the log and took no time.
    let failed = format!("{log}1795290517798839\t-1\t9999999\n");
    let answer = h2load(&printed(include_str!("samples/h2load-open.txt"), &failed)).unwrap();
    assert_eq!(answer.latency_us.max, Some(384.0));
}

#[test]
fn oha_tells_seconds() {
    let answer = oha(&printed(include_str!("samples/oha-open.json"), "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (1000, 0));
    assert!(close(Some(answer.throughput_per_s), 1000.0 / 1.000_736_249));
    assert!(close(answer.latency_us.p50, 53.229), "{answer:?}");
    assert!(close(answer.latency_us.p99, 500.003), "{answer:?}");
    assert!(close(answer.latency_us.max, 867.582), "{answer:?}");
}

#[test]
fn what_ohas_deadline_cut_off_is_neither_answer_nor_error() {
    let answer = oha(&printed(include_str!("samples/oha.json"), "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (66_049, 0));
    let refused = r#"{"summary":{"total":1.0,"slowest":null},"latencyPercentiles":{"p50":null},
        "statusCodeDistribution":{"200":2,"500":1},
        "errorDistribution":{"Connection refused":3,"aborted due to deadline":8}}"#;
    let answer = oha(&printed(refused, "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (3, 3));
    assert_eq!(answer.latency_us, Percentiles::default());
}

#[test]
fn windage_tells_response_times_and_its_own_lateness() {
    let text = r#"{"requests":50000,"errors":{"connect":1,"timeout":2},"seconds":5.0,
        "rate":{"intended":10000,"offered":10000,"achieved":9999.5},
        "response_time_us":{"p50":61.5,"p90":80,"p99":150,"p999":900,"max":1200},
        "service_time_us":{"p50":50,"p90":60,"p99":100,"p999":800,"max":1000},
        "send_lag_us":{"p50":5,"p90":9,"p99":40,"p999":300,"max":null},
        "generator":{"cpu_us_per_request":9.5,"rss_peak_bytes":4000000},"validity":"valid"}"#;
    let answer = windage(&printed(text, "")).unwrap();
    assert_eq!((answer.requests, answer.errors), (50_000, 3));
    assert_eq!(answer.throughput_per_s, 9999.5);
    assert_eq!(answer.latency_us.p99, Some(150.0));
    assert_eq!(answer.send_lag_us.p999, Some(300.0));
    assert_eq!(answer.send_lag_us.max, None);
    assert_eq!(answer.own_cpu_us_per_request, Some(9.5));
    assert_eq!(answer.validity.as_deref(), Some("valid"));
}

#[test]
fn a_verdict_may_have_reasons_beside_it() {
    let validity = serde_json::json!({ "verdict": "suspect", "reasons": [] });
    assert_eq!(judgement(&validity), "suspect");
    assert_eq!(judgement(&Value::Null), "null");
}

#[test]
fn the_floor_loop_tells_one_line() {
    let line = "{\"requests\":600000,\"seconds\":5.0,\"cpu_us_per_request\":5.2}\n";
    let answer = floor(&printed(line, "")).unwrap();
    assert_eq!(
        (answer.requests, answer.throughput_per_s),
        (600_000, 120_000.0)
    );
    assert_eq!(answer.own_cpu_us_per_request, Some(5.2));
}

#[test]
fn what_is_no_result_is_an_error() {
    type Parser = fn(&Printed) -> Result<Answer>;
    let parsers: [(&str, Parser); 5] = [
        ("wrk", wrk),
        ("h2load", h2load),
        ("oha", oha),
        ("windage", windage),
        ("floor", floor),
    ];
    for (name, parse) in parsers {
        for text in [
            "",
            "unable to connect to 127.0.0.1:1\n",
            "{}",
            "{\"requests\":",
        ] {
            assert!(parse(&printed(text, "")).is_err(), "{name} on {text:?}");
        }
    }
    assert!(h2load_log("1\t200\n").is_err());
    assert!(h2load_log("1\t200\tsoon\n").is_err());
}

#[test]
fn times_of_wrk_and_h2load() {
    let table = [
        ("47.00us", Some(47.0)),
        ("4.44ms", Some(4440.0)),
        ("1.11s", Some(1_110_000.0)),
        ("2.00m", Some(120_000_000.0)),
        ("8", None),
        ("8 parsecs", None),
    ];
    for (text, expected) in table {
        assert_eq!(microseconds(text), expected, "{text}");
    }
}
