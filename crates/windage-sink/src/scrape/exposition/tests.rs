//! Expositions written by hand, and random ones compared with their source.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

use ExpositionFormat::{OpenMetrics, Text};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn read(text: &str, select: &[&str]) -> Result<Exposition, ExpositionError> {
    parse_exposition(Text, text.as_bytes(), &names(select))
}

const TEXT: &str = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# A comment, and a route with braces, an escape and a comma in it.
	msdos_file_access_time_seconds{path="C:\\DIR\\{a},\"b\".TXT",error="No\nroom",} 1.458255915e9
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} +Inf -3982045
job:rule:rate5m{} NaN
# TYPE rpc_duration_seconds histogram
rpc_duration_seconds_bucket{le="0.1"} 8
rpc_duration_seconds_bucket{le="+Inf"} 10
rpc_duration_seconds_sum 1.5
rpc_duration_seconds_count 10
"#;

const OPEN_METRICS: &str = r#"# TYPE acme_http_router_request_seconds summary
# UNIT acme_http_router_request_seconds seconds
# HELP acme_http_router_request_seconds Latency though all of ACME's HTTP request router.
acme_http_router_request_seconds_sum{path="/api/v1",method="GET"} 9036.32
acme_http_router_request_seconds_count{path="/api/v1",method="GET"} 807283.0
# TYPE foo counter
foo_total 17.0 1520879607.789 # {trace_id="KOO5S4vxi0o"} 0.67 1520879607.7
foo_created 1520430000.123
# TYPE "a.b" info
{"a.b_info", version="1 # {"} 1
# EOF
"#;

#[test]
fn samples_are_counted_and_summed() {
    let found = read(TEXT, &["http_requests_total", "rpc_duration_seconds_count"]).unwrap();
    let expected = Exposition {
        samples: 10,
        selected: vec![
            ("http_requests_total".into(), 1030.0),
            ("rpc_duration_seconds_count".into(), 10.0),
        ],
    };
    assert_eq!(found, expected);
    let select = names(&["foo_total", "absent", "a.b_info"]);
    let found = parse_exposition(OpenMetrics, OPEN_METRICS.as_bytes(), &select).unwrap();
    let expected = Exposition {
        samples: 5,
        selected: vec![("foo_total".into(), 17.0), ("a.b_info".into(), 1.0)],
    };
    assert_eq!(found, expected);
}

#[test]
fn a_line_is_a_sample_or_a_comment() {
    let table = [
        ("", Ok(0.0), "nothing"),
        ("   \t ", Ok(0.0), "blanks"),
        ("a 1", Ok(1.0), "no line feed at the end"),
        (" a\t1 \n", Ok(1.0), "blanks around"),
        ("a{}1\n", Ok(1.0), "no blank behind labels"),
        ("a { b = \"c\" , } 1\n", Ok(1.0), "blanks between labels"),
        ("a{b=\"}\"} 1\na{b=\"{\"} 2\n", Ok(3.0), "braces in labels"),
        ("a{b=\"\\\\\"} 1\n", Ok(1.0), "a backslash at the end"),
        ("{\"a\"} 1\n", Ok(1.0), "a name in quotes"),
        ("{\"a\",\"b.c\"=\"d\"} 1\n", Ok(1.0), "a label in quotes"),
        ("a 1e3\na -5\na .5\n", Ok(995.5), "numbers"),
        (
            "a 1\na NaN\na +Inf\na Inf\na -Inf\n",
            Ok(1.0),
            "values that cannot be summed",
        ),
        ("a 1 # {} 1\n", Ok(1.0), "an exemplar without labels"),
        (
            "#a 5\n# a 5\n#\n##\n# TYPE\n",
            Ok(0.0),
            "a type without a name",
        ),
        ("# HELP a\n# HELP a b \"\n", Ok(0.0), "help"),
        ("# helpful 1\n# UNIT 1\n", Ok(0.0), "other words"),
        ("a\n", Err("no value"), "a name alone"),
        ("a{b=\"c\"}\n", Err("no value"), "labels alone"),
        ("{b=\"c\"} 1\n", Err("no name"), "labels without a name"),
        ("{} 1\n", Err("no name"), "nothing in braces"),
        ("a{\"b\"} 1\n", Err("two names"), "two names"),
        (
            "{\"a\",\"b\"} 1\n",
            Err("a label has no value"),
            "the second is not a name",
        ),
        (
            "{b=\"c\",\"a\"} 1\n",
            Err("a label has no value"),
            "the name is not first",
        ),
        ("a{b=c} 1\n", Err("no quotes"), "a value without quotes"),
        (
            "a{b} 1\n",
            Err("a label has no value"),
            "a label without a value",
        ),
        ("a{,} 1\n", Err("a name begins with"), "a comma alone"),
        (
            "a{b=\"c\" d=\"e\"} 1\n",
            Err("separated by commas"),
            "no comma",
        ),
        ("a{b=\"c\" 1\n", Err("no closing brace"), "no brace"),
        ("a{b=\"c} 1\n", Err("in quotes has no end"), "no quote"),
        ("a{b=\"c\\", Err("in quotes has no end"), "cut in an escape"),
        ("a x\n", Err("is not a number"), "a word for a value"),
        ("a 1 x\n", Err("is not a number"), "a word for a time"),
        ("a 1 2 3\n", Err("text follows"), "a third number"),
        ("a 1\r\n", Err("is not a number"), "a carriage return"),
        (
            "a 1 # 5\n",
            Err("an exemplar has no labels"),
            "half an exemplar",
        ),
        (
            "a 1 # {b=\"c\"}\n",
            Err("an exemplar has no value"),
            "the other half",
        ),
        ("a # {} 1\n", Err("no value"), "an exemplar of nothing"),
        ("1a 1\n", Err("a name begins with"), "a digit"),
        (
            "ä 1\n",
            Err("a name begins with"),
            "a letter that needs quotes",
        ),
        (
            "<html>\n",
            Err("a name begins with"),
            "another kind of text",
        ),
    ];
    for (text, expected, why) in table {
        let found = read(text, &["a"]);
        match (found, expected) {
            (Ok(found), Ok(sum)) => {
                assert_eq!(
                    found.selected.first().map_or(0.0, |(_, sum)| *sum),
                    sum,
                    "{why}"
                );
            }
            (Err(error), Err(reason)) => {
                assert!(error.reason.contains(reason), "{why}: {error}");
            }
            (found, _) => panic!("{why}: {found:?}"),
        }
    }
}

#[test]
fn open_metrics_has_an_end() {
    let table = [
        (OpenMetrics, "a 1\n# EOF\n", None),
        (OpenMetrics, "a 1\n# EOF", None),
        (OpenMetrics, "a 1\n", Some((2, "it was cut"))),
        (OpenMetrics, "", Some((1, "it was cut"))),
        (OpenMetrics, "a 1\n# EOF\nb 2\n", Some((3, "goes on"))),
        (OpenMetrics, "# EOF\n\n", Some((2, "goes on"))),
        (Text, "a 1\n# EOF\nb 2\n", None),
    ];
    for (format, text, expected) in table {
        let found = parse_exposition(format, text.as_bytes(), &[]);
        match expected {
            None => assert!(found.is_ok(), "{text}"),
            Some((line, reason)) => {
                let error = found.unwrap_err();
                assert_eq!(error.line, line, "{text}");
                assert!(error.reason.contains(reason), "{error}");
            }
        }
    }
}

#[test]
fn errors_name_their_line() {
    let error = read("a 1\n\n# c\nb\n", &[]).unwrap_err();
    assert_eq!(error.to_string(), "line 4: a sample has no value");
    let error = parse_exposition(Text, b"a 1\nb{c=\"\xff\"} 2\n", &[]).unwrap_err();
    assert_eq!(error.to_string(), "line 2: not UTF-8");
}

/// A line of a sample, its name and its value.
fn sample() -> impl Strategy<Value = (String, String, f64)> {
    let name = prop_oneof!["[a-c]", "[a-z_:][a-z0-9_:]{0,5}"];
    let labels = vec(("[a-z_]{1,4}", "\\PC{0,8}"), 0..4);
    (name, labels, -1e6..1e6_f64, prop::option::of(any::<i64>())).prop_map(
        |(name, labels, value, timestamp)| {
            let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
            let labels: Vec<_> = labels
                .iter()
                .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
                .collect();
            let timestamp = timestamp.map_or(String::new(), |ms| format!(" {ms}"));
            let line = format!("{name}{{{}}} {value}{timestamp}\n", labels.join(","));
            (line, name, value)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(samples in vec(sample(), 0..30)) {
        let text: String = samples.iter().map(|(line, _, _)| line.as_str()).collect();
        let sum_of = |name: &str| {
            let of_name = samples.iter().filter(|(_, of, _)| of == name);
            of_name.map(|(_, _, value)| *value).reduce(|sum, value| sum + value)
        };
        let selected = |name: &str| Some((name.to_owned(), sum_of(name)?));
        let expected: Vec<_> = ["a", "b"].into_iter().filter_map(selected).collect();
        let found = read(&text, &["a", "b"]).unwrap();
        prop_assert_eq!(found.samples, samples.len() as u64);
        prop_assert_eq!(found.selected, expected);
    }

    #[test]
    fn noise_never_panics(text in vec(any::<u8>(), 0..200), line in "[a#{}\"\\\\=, 1\n]{0,40}") {
        for bytes in [text.as_slice(), line.as_bytes()] {
            for format in [Text, OpenMetrics] {
                let _ = parse_exposition(format, bytes, &names(&["a"]));
            }
        }
    }
}
