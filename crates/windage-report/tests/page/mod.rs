//! The page: its document, and its frame.

mod words;

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::GzDecoder;
use serde_json::Value;
use sha2::{Digest, Sha256};
use windage_analysis::{Analysis, Detailed, RunState, wire};
use windage_report::{
    DASHBOARD_POLICY, PageSource, SCRIPT, STYLE, Sent, Words, dashboard_html, page_html, page_json,
};

use crate::fixtures::{self, Drawn, detailed};
use crate::{plain, tags};

fn source(detailed: &Detailed) -> PageSource<'_> {
    PageSource {
        detailed,
        directory: "20261001-demo",
    }
}

/// The page of a run.
pub(crate) fn page(analysis: &Analysis) -> String {
    page_html(source(&detailed(analysis.clone())))
}

/// The page document of a run.
pub(crate) fn document(analysis: &Analysis) -> Value {
    document_of(&detailed(analysis.clone()))
}

fn document_of(detailed: &Detailed) -> Value {
    serde_json::from_str(&page_json(source(detailed))).expect("a document")
}

/// The words of a run's page: its document without `analysis.json`.
pub(crate) fn words(analysis: &Analysis) -> String {
    let mut document = document(analysis);
    document["analysis"].take();
    let mut words = Vec::new();
    gather(&document, &mut words);
    words.join("\n")
}

fn gather<'a>(value: &'a Value, words: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => words.push(text),
        Value::Array(all) => all.iter().for_each(|value| gather(value, words)),
        Value::Object(all) => all.values().for_each(|value| gather(value, words)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// All tables of a document.
pub(crate) fn tables(document: &Value) -> Vec<&Value> {
    let loads = document["loads"].as_array().expect("loads");
    let all = loads.iter().filter_map(|load| load["tables"].as_array());
    let all = all.flatten();
    all.chain(Some(&document["by_rate"]).filter(|table| !table.is_null()))
        .collect()
}

/// The content of an element of a page.
fn inside<'a>(page: &'a str, opening: &str, closing: &str) -> &'a str {
    let (_, rest) = page.split_once(opening).expect(opening);
    rest.split_once(closing).expect(closing).0
}

/// The document in a page.
pub(crate) fn embedded(page: &str, kind: &str) -> String {
    let opening = format!(
        "<script type=\"application/octet-stream\" id=\"windage-document\" data-kind=\"{kind}\">"
    );
    let packed = BASE64
        .decode(inside(page, &opening, "</script>"))
        .expect("Base64");
    let mut json = String::new();
    GzDecoder::new(packed.as_slice())
        .read_to_string(&mut json)
        .expect("gzip");
    json
}

#[test]
fn the_page_carries_its_document() {
    for (name, analysis) in fixtures::every() {
        let detailed = detailed(analysis);
        let page = page_html(source(&detailed));
        assert_eq!(
            embedded(&page, "run"),
            page_json(source(&detailed)),
            "{name}"
        );
    }
}

#[test]
fn the_page_runs_one_script_and_loads_nothing() {
    let script = BASE64.encode(Sha256::digest(SCRIPT));
    for (name, analysis) in fixtures::every() {
        let page = page(&analysis);
        let policy = format!(
            "content=\"default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; \
             img-src data: blob:; base-uri 'none'; form-action 'none'\""
        );
        assert!(page.contains(&policy), "{name}");
        // The frame without assets and document: nothing in it is foreign.
        let frame = page.replacen(SCRIPT, "", 1).replacen(STYLE, "", 1);
        let opened: Vec<&str> = tags(&frame)
            .filter(|tag| !tag.starts_with('/'))
            .map(|tag| tag.split(' ').next().unwrap_or(tag))
            .collect();
        let expected = [
            "!DOCTYPE", "html", "head", "meta", "meta", "style", "meta", "meta", "title", "body",
            "div", "noscript", "pre", "script", "script",
        ];
        assert_eq!(opened, expected, "{name}");
        assert!(!tags(&frame).any(|tag| tag.contains("src=") || tag.contains("href=")));
        assert!(page.ends_with(&format!("<script>{SCRIPT}</script></body></html>")));
    }
}

#[test]
fn hostile_names_do_not_leave_their_place() {
    let mut analysis = fixtures::suspect();
    analysis.plan = "</title></script><script>alert(1)</script>".to_owned();
    analysis.arms[2].name = "</pre></noscript><script>alert(1)</script>".to_owned();
    let page = page(&analysis);
    let frame = page.replacen(SCRIPT, "", 1).replacen(STYLE, "", 1);
    assert!(!frame.contains("alert(1)</script>"), "as text alone");
    assert_eq!(
        frame.matches("<script").count(),
        2,
        "the document and the script"
    );
    assert_eq!(
        inside(&page, "<title>", "</title>"),
        "&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; · windage"
    );
    let document: Value = serde_json::from_str(&embedded(&page, "run")).unwrap();
    let name = &document["loads"][0]["tables"][0]["rows"][2]["arm"];
    assert_eq!(name, &analysis.arms[2].name, "names are unchanged in JSON");
}

#[test]
fn without_a_script_the_page_has_the_report_as_text() {
    for (name, analysis) in fixtures::every() {
        let page = page(&analysis);
        let text = inside(&page, "<noscript><pre>", "</pre></noscript>");
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        let text = text.replace("&quot;", "\"").replace("&amp;", "&");
        assert_eq!(text, plain(&analysis, 80), "{name}");
    }
}

#[test]
fn the_dashboard_has_its_first_document_and_loads_only_from_its_server() {
    let page = dashboard_html(Sent {
        kind: "runs",
        gzip: b"</script>",
    });
    let foreign = tags(&page).filter(|tag| tag.contains("src=") || tag.contains("href="));
    let expected = [
        "link rel=\"stylesheet\" href=\"/assets/windage.css\"",
        "script src=\"/assets/windage.js\"",
    ];
    assert_eq!(foreign.collect::<Vec<_>>(), expected);
    assert!(page.contains("<div id=\"windage\" data-served></div>"));
    let before = "id=\"windage-document\" data-kind=\"runs\">";
    assert_eq!(inside(&page, before, "</script>"), "PC9zY3JpcHQ+");
    for forbidding in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "script-src 'self';",
    ] {
        assert!(DASHBOARD_POLICY.contains(forbidding), "{forbidding}");
    }
}

#[test]
fn the_document_contains_the_analysis() {
    for (name, analysis) in fixtures::every() {
        let document = document(&analysis);
        assert_eq!(document["page"], 1, "{name}");
        assert_eq!(document["directory"], "20261001-demo", "{name}");
        assert_eq!(
            document["analysis"],
            wire::to_json(&analysis, &Words),
            "{name}"
        );
        let loads = document["loads"].as_array().expect("loads");
        assert_eq!(loads.len(), 1 + analysis.other_loads.len(), "{name}");
        let has_name = loads.iter().map(|load| load["name"].is_string());
        let several = !analysis.other_loads.is_empty();
        assert!(has_name.into_iter().all(|has| has == several), "{name}");
    }
}

#[test]
fn the_analysis_survives_a_round_trip_and_unknown_keys() {
    for (name, analysis) in fixtures::every() {
        let mut written = wire::to_json(&analysis, &Words);
        let read = wire::read(&written.to_string()).expect(name);
        assert_eq!(
            serde_json::to_value(&read[0]).expect(name),
            written,
            "{name}"
        );
        for unknown in [
            "/host",
            "/arms/0",
            "/arms/0/metrics/cpu_per_request",
            "/validity",
            "",
        ] {
            if let Some(Value::Object(object)) = written.pointer_mut(unknown) {
                object.insert("of_a_later_version".to_owned(), Value::Bool(true));
            }
        }
        let mut later = wire::read(&written.to_string()).expect(name);
        later[0].host.clone_from(&read[0].host);
        assert_eq!(later, read, "{name}");
    }
    let (_, first) = &fixtures::every()[0];
    let several = wire::several_to_json(&[first.clone(), first.clone()], &Words);
    assert_eq!(wire::read(&several.to_string()).expect("two").len(), 2);
    assert!(wire::read("{}").is_err());
}

#[test]
fn the_document_names_the_state_of_the_run() {
    let absent = "Not on this page because there is no or too little data: latency by percentile, \
                  the bill, the run over time.";
    for (state, word, says, lacks) in [
        (RunState::GoingOn, "going_on", true, Some(absent)),
        (RunState::Ended, "ended", false, None),
        (RunState::BrokenOff, "broken_off", true, Some(absent)),
    ] {
        let detailed = Detailed {
            state,
            ..detailed(fixtures::demo())
        };
        let document = document_of(&detailed);
        assert_eq!(document["state"], word);
        assert_eq!(document["state_text"].is_string(), says, "{word}");
        assert_eq!(document["loads"][0]["absent"].as_str(), lacks, "{word}");
    }
}

/// Every key with the type of its value, as in `web/src/document.ts`; the objects of a list are
/// merged.
fn shape(value: &Value, at: &str, told: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Null => told.insert(format!("{at}: null")),
        Value::Bool(_) => told.insert(format!("{at}: boolean")),
        Value::Number(_) => told.insert(format!("{at}: number")),
        Value::String(_) => told.insert(format!("{at}: string")),
        Value::Array(all) => {
            all.iter()
                .for_each(|value| shape(value, &format!("{at}[]"), told));
            false
        }
        Value::Object(all) => {
            for (key, value) in all {
                shape(value, &format!("{at}.{key}"), told);
            }
            false
        }
    };
}

#[test]
fn the_document_has_the_shape_that_the_front_end_reads() {
    const FEW: Drawn = Drawn {
        stretches: 120,
        windows: 60,
        steps: 20,
        points: 5,
    };
    let every = fixtures::every().into_iter().map(|(_, analysis)| analysis);
    let mut all: Vec<Detailed> = every
        .chain([crate::profiles::profiled()])
        .map(|analysis| fixtures::drawn(analysis, FEW))
        .collect();
    // A run without a time series, and a run whose windows are all drawn.
    all.push(detailed(fixtures::demo()));
    let mut each_window = fixtures::drawn(fixtures::demo(), FEW);
    let series = each_window.loads[0].series.as_mut();
    series.expect("a run over time").bin_s = None;
    all.push(each_window);
    let mut shapes = std::collections::BTreeSet::new();
    for detailed in &all {
        let mut document = document_of(detailed);
        // Other tests check its shape.
        document.as_object_mut().unwrap().remove("analysis");
        shape(&document, "", &mut shapes);
    }
    let shapes: Vec<String> = shapes.into_iter().collect();
    insta::assert_snapshot!("shape", shapes.join("\n"));
}

#[test]
fn drawn_data_is_complete_and_rounded() {
    const SOME: Drawn = Drawn {
        stretches: 3,
        windows: 2,
        steps: 2,
        points: 1,
    };
    let document = document_of(&fixtures::drawn(fixtures::sweep(), SOME));
    let load = &document["loads"][0];
    let series = &load["series"];
    assert_eq!(
        series["arms"][1]["at_s"],
        serde_json::json!([0.063, 0.188, 0.313])
    );
    assert_eq!(
        series["arms"][0]["arm"], document["analysis"]["arms"][0]["id"],
        "not the name, which two arms may share"
    );
    assert_eq!(
        series["windows"][1],
        serde_json::json!({
            "arm": 1, "from_s": 0.21, "to_s": 0.31, "verdict": "valid"
        })
    );
    let timings = [0, 1].map(|i| &load["latency"][i]["timing"]);
    assert_eq!(timings, ["response_time", "service_time"]);
    let arms = document["analysis"]["arms"].as_array().unwrap().len();
    let of = &load["latency"][0];
    assert_eq!(of["arms"].as_array().unwrap().len(), arms);
    assert_eq!(of["differences"].as_array().unwrap().len(), arms - 1);
    assert_eq!(
        of["arms"][0]["quantiles"]
            .as_array()
            .unwrap()
            .last()
            .unwrap(),
        1.0
    );
    assert!(of["differences"][0]["points"][0]["us"].is_null());
}

/// The demo with this many arms, each with all metrics.
fn of_many_arms(arms: usize) -> Analysis {
    let mut analysis = fixtures::demo();
    let treatment = analysis.arms[2].clone();
    for i in analysis.arms.len()..arms {
        let mut arm = treatment.clone();
        arm.name = format!("otel, sampling 0.{i:02}, exporter batch");
        for (seed, result) in (i..).zip(arm.metrics.values_mut()) {
            // Figures that differ in every digit, as measured ones do.
            let by = 1.0 + (seed as f64 * 0.618_033_988_749_895).fract() / 50.0;
            result.arm = result.arm.map(|figure| figure * by);
            if let Ok(difference) = &mut result.difference {
                difference.absolute.estimate *= by;
                difference.absolute.low *= by;
                difference.absolute.high *= by;
            }
        }
        analysis.arms.push(arm);
    }
    analysis
}

#[test]
fn a_page_of_36_arms_can_be_attached_to_a_ticket() {
    // The most data that is kept for pictures of a run with 36 arms, however long it is.
    const MOST: Drawn = Drawn {
        stretches: 240,
        windows: 400,
        steps: 250,
        points: 40,
    };
    let page = page_html(source(&fixtures::drawn(of_many_arms(36), MOST)));
    // The front end's build limits its own size.
    let bytes = page.len() - SCRIPT.len() - STYLE.len();
    assert!(bytes < 1_000_000, "{bytes} bytes without script and style");
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn cells_with_figures_have_sortable_values() {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut figures = 0;
    for (name, analysis) in fixtures::every() {
        for table in tables(&document(&analysis)) {
            for row in table["rows"].as_array().unwrap() {
                for cell in row["cells"].as_array().unwrap() {
                    let (text, value) = (cell["text"].as_str().unwrap(), cell["value"].as_f64());
                    let place = format!("{name}, {}, {}: {text}", table["title"], row["arm"]);
                    let Some(value) = value else {
                        let is_signed = text.starts_with(['+', '−']);
                        assert!(!is_signed || text.contains(" to "), "{place} has no value");
                        continue;
                    };
                    figures += 1;
                    assert!(text.contains(is_digit) || text.contains("n/a"), "{place}");
                    // After its marks, a figure begins with its sign.
                    let written = text.trim_start_matches(['=', '~', '!', '‡', ' ']);
                    let is_range = written
                        .split_once(" to ")
                        .is_some_and(|(low, _)| !low.contains('('));
                    if !is_range && written.starts_with('−') {
                        assert!(value < 0.0, "{place} is {value}");
                    }
                    if !is_range && written.starts_with('+') {
                        assert!(value >= 0.0, "{place} is {value}");
                    }
                }
            }
        }
    }
    assert!(figures > 1_000, "{figures} figures");
}

#[test]
fn figures_in_another_unit_are_not_sortable() {
    let mut analysis = fixtures::demo();
    let last = analysis.arms[4].fidelity.as_mut().unwrap();
    last.of = windage_analysis::FidelityUnit::Spans;
    let document = document(&analysis);
    let tables = tables(&document);
    let table = tables.iter().find(|table| table["title"] == "Traces");
    let values = |row: usize| {
        let cells = table.unwrap()["rows"][row]["cells"].as_array().unwrap();
        let first = cells.iter().take(3);
        first
            .map(|cell| cell["value"].is_number())
            .collect::<Vec<_>>()
    };
    assert_eq!(values(2), [true; 3]);
    assert_eq!(values(4), [false; 3], "spans among traces");
}

#[test]
fn intervals_sort_by_their_estimate_and_words_do_not_sort() {
    let document = document(&fixtures::demo());
    let table = tables(&document)[0];
    let values = |row: usize| {
        let cells = table["rows"][row]["cells"].as_array().unwrap().iter();
        cells.map(|cell| cell["value"].as_f64()).collect::<Vec<_>>()
    };
    let result = &fixtures::demo().arms[2].metrics[&windage_model::Metric::CpuPerRequest];
    let difference = result.difference.as_ref().unwrap();
    let relative = difference.relative.as_ref().unwrap().estimate;
    assert_eq!(
        values(2),
        [
            result.arm,
            Some(difference.absolute.estimate),
            Some(relative),
            Some(relative),
            None
        ]
    );
    assert_eq!(
        values(0),
        [Some(61.2), None, None, None, None],
        "the baseline"
    );
}
