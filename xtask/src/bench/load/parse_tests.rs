//! Real output of the tools: wrk 4.1.0, h2load 1.52.0, oha 1.16.0.

use super::*;

/// The value of a quantity in an answer.
fn value_of(answer: &Answer, quantity: Quantity) -> Option<f64> {
    let mut values = answer.values.iter();
    let found = values.find(|(of, value)| *of == quantity && !value.is_nan());
    found.map(|(_, value)| *value)
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() < 1e-6 * expected)
}

#[test]
fn wrk_prints_requests_rate_and_some_percentiles() {
    let answer = wrk(include_str!("samples/wrk.txt"), "").unwrap();
    assert_eq!((answer.requests, answer.errors), (151_293, 0));
    assert_eq!(answer.throughput_per_s, 151_150.77);
    let times = [P50, P99, P999, LONGEST].map(|quantity| value_of(&answer, quantity));
    assert_eq!(times, [Some(39.0), Some(164.0), None, None]);
}

#[test]
fn wrk_prints_errors_only_if_there_are_any() {
    let answer = wrk(include_str!("samples/wrk-errors.txt"), "").unwrap();
    assert_eq!((answer.requests, answer.errors), (15_925, 2 * 15_925));
}

#[test]
fn h2load_has_no_percentiles_without_its_log() {
    let answer = h2load(include_str!("samples/h2load.txt"), "").unwrap();
    assert_eq!((answer.requests, answer.errors), (112_442, 0));
    assert_eq!(answer.throughput_per_s, 112_442.0);
    let times = [P50, P99, LONGEST].map(|quantity| value_of(&answer, quantity));
    assert_eq!(times, [None, None, Some(4190.0)]);
}

#[test]
fn h2loads_log_gives_percentiles_by_nearest_rank() {
    let log = include_str!("samples/h2load.log");
    let answer = h2load(include_str!("samples/h2load-open.txt"), log).unwrap();
    assert_eq!((answer.requests, answer.throughput_per_s), (16, 16.0));
    // The 16 times in order: the 8th is 211, the last 384.
    let times = [P50, P99, LONGEST].map(|quantity| value_of(&answer, quantity));
    assert_eq!(times, [Some(211.0), Some(384.0), Some(384.0)]);
    // A failed request is in the log without a time.
    let failed = format!("{log}1795290517798839\t-1\t9999999\n");
    let answer = h2load(include_str!("samples/h2load-open.txt"), &failed).unwrap();
    assert_eq!(value_of(&answer, LONGEST), Some(384.0));
}

#[test]
fn oha_prints_seconds() {
    let answer = oha(include_str!("samples/oha-open.json"), "").unwrap();
    assert_eq!((answer.requests, answer.errors), (1000, 0));
    assert!(close(Some(answer.throughput_per_s), 1000.0 / 1.000_736_249));
    assert!(close(value_of(&answer, P50), 53.229), "{answer:?}");
    assert!(close(value_of(&answer, P99), 500.003), "{answer:?}");
    assert!(close(value_of(&answer, LONGEST), 867.582), "{answer:?}");
}

#[test]
fn requests_cut_off_by_ohas_deadline_do_not_count() {
    let answer = oha(include_str!("samples/oha.json"), "").unwrap();
    assert_eq!((answer.requests, answer.errors), (66_049, 0));
    let refused = r#"{"summary":{"total":1.0,"slowest":null},"latencyPercentiles":{"p50":null},
        "statusCodeDistribution":{"200":2,"500":1},
        "errorDistribution":{"Connection refused":3,"aborted due to deadline":8}}"#;
    let answer = oha(refused, "").unwrap();
    assert_eq!((answer.requests, answer.errors), (3, 3));
    let times = [P50, P99, P999, LONGEST].map(|quantity| value_of(&answer, quantity));
    assert_eq!(times, [None; 4]);
}

#[test]
fn windage_prints_response_times_and_its_send_lag() {
    let text = r#"{"requests":50000,"errors":{"connect":1,"timeout":2},"seconds":5.0,
        "rate":{"intended":10000,"offered":10000,"achieved":9999.5},
        "response_time_us":{"p50":61.5,"p90":80,"p99":150,"p999":900,"max":1200},
        "service_time_us":{"p50":50,"p90":60,"p99":100,"p999":800,"max":1000},
        "send_lag_us":{"p50":5,"p90":9,"p99":40,"p999":300,"max":null},
        "generator":{"cpu_us_per_request":9.5,"rss_peak_bytes":4000000},
        "validity":{"verdict":"valid","reasons":[]}}"#;
    let answer = windage(text, "").unwrap();
    assert_eq!((answer.requests, answer.errors), (50_000, 3));
    assert_eq!(answer.throughput_per_s, 9999.5);
    let figures = [P99, LAG_P999, OWN_CPU].map(|quantity| value_of(&answer, quantity));
    assert_eq!(figures, [Some(150.0), Some(300.0), Some(9.5)]);
    assert!(!answer.is_warned);
    let void = text.replace("\"valid\"", "\"void\"");
    assert!(windage(&void, "").unwrap().is_warned);
}

#[test]
fn the_floor_loop_prints_one_line() {
    let line = "{\"requests\":600000,\"seconds\":5.0,\"cpu_us_per_request\":5.2}\n";
    let answer = floor(line, "").unwrap();
    assert_eq!(
        (answer.requests, answer.throughput_per_s),
        (600_000, 120_000.0)
    );
    assert_eq!(value_of(&answer, OWN_CPU), Some(5.2));
}

#[test]
fn other_output_is_an_error() {
    type Parser = fn(&str, &str) -> Result<Answer>;
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
            assert!(parse(text, "").is_err(), "{name} on {text:?}");
        }
    }
    assert!(h2load_log("1\t200\n").is_err());
    assert!(h2load_log("1\t200\tsoon\n").is_err());
}

#[test]
fn times_of_wrk_and_h2load() {
    let table = [
        ("47.00us", 47.0),
        ("4.44ms", 4440.0),
        ("1.11s", 1_110_000.0),
        ("2.00m", 120_000_000.0),
    ];
    for (text, expected) in table {
        assert!((microseconds(text) - expected).abs() < 1e-6, "{text}");
    }
    for text in ["8", "8 parsecs", "", "us"] {
        assert!(microseconds(text).is_nan(), "{text}");
    }
}
