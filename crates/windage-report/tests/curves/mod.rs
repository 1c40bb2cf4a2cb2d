//! Curves over swept factors, and runs under several loads, in every renderer.

use windage_analysis::Analysis;
use windage_model::Metric;
use windage_report::{PictureKind, PictureOptions, csv, curves_csv, markdown, svg};

use crate::fixtures::{self, sweep};
use crate::{page, plain, unwrapped};

#[test]
fn text_forms() {
    let fixtures = [
        ("sweep", fixtures::sweep()),
        ("regimes", fixtures::regimes()),
    ];
    for (name, analysis) in fixtures {
        insta::assert_snapshot!(format!("{name}_terminal"), plain(&analysis, 80));
    }
    let regimes = fixtures::regimes();
    insta::assert_snapshot!("regimes_markdown", markdown(&regimes));
    insta::assert_snapshot!("regimes_curves_csv", curves_csv(&[regimes]).unwrap());
}

/// The sweep with its first curve changed.
fn changed(change: impl Fn(&mut windage_analysis::Curve)) -> Analysis {
    let mut analysis = fixtures::sweep();
    change(&mut analysis.curves[0]);
    analysis
}

#[test]
fn fits_are_described_in_words() {
    let table = [
        (
            changed(|_| {}),
            "fits: no significant lack of fit (F = 0.82, p = 0.54)",
            "a line",
        ),
        (
            changed(|c| c.fits[0].lack_of_fit = Some(sweep::lack(0.003))),
            "does not fit: significant lack of fit (F = 6.40, p = 0.003)",
            "no line",
        ),
        (
            changed(|c| c.fits[0].lack_of_fit = None),
            "lack of fit can't be tested: there are no more points than terms",
            "nothing to test with",
        ),
        (
            changed(|c| sweep::bend(&mut c.fits[0], 0.3)),
            "+0.35 µs (+0.26 to +0.44) times the square root of rate",
            "a bend",
        ),
        (
            changed(|c| c.fits.clear()),
            "curve no curve was fitted: 5 points are too few",
            "no fit",
        ),
        (
            changed(|_| {}),
            "2 of 3 held-out points lie within their predictions, but not 25.0",
            "one is missed",
        ),
        (
            changed(|c| {
                for fit in &mut c.fits {
                    fit.held_out.retain(windage_analysis::HeldOut::is_inside);
                }
            }),
            "2 of 2 held-out points lie within their predictions drop limit",
            "none is missed",
        ),
        (
            changed(|_| {}),
            "telemetry is dropped above a rate of 50.0 to 75.0: at most 6,980 traces/s arrive",
            "a drop limit",
        ),
        (
            changed(|c| {
                c.drop_limit
                    .iter_mut()
                    .for_each(|drop_limit| drop_limit.delivered_per_s = None)
            }),
            "telemetry is dropped above a rate of 50.0 to 75.0 Throughput",
            "a drop limit of unknown height",
        ),
    ];
    for (analysis, expected, why) in table {
        let report = unwrapped(&plain(&analysis, 80));
        assert!(
            report.contains(expected),
            "{why}: {expected:?} not in {report}"
        );
    }
}

#[test]
fn curves_of_several_kinds_are_labelled() {
    let report = unwrapped(&plain(&fixtures::hostile_sweep(), 80));
    assert!(report.contains("of filter attempted fixed"), "{report}");
    assert!(
        report.contains(
            "of <b>live</b> | `switch` [31m curve no curve was fitted: 3 points are too few"
        ),
        "{report}"
    );
    let alone = unwrapped(&plain(&fixtures::sweep(), 80));
    assert!(!alone.contains("of filter attempted"), "{alone}");
}

#[test]
fn table_and_picture_name_a_curve_alike() {
    let mut analysis = fixtures::sweep();
    analysis.curves[0].metric = Metric::ResponseTimeP50;
    let title = "Median response time by rate";
    let options = PictureOptions {
        kind: PictureKind::Curve,
        metric: Some(Metric::ResponseTimeP50),
        ..PictureOptions::default()
    };
    let picture = svg(&analysis, &options).expect("a curve");
    for (form, text) in [
        ("terminal", plain(&analysis, 120)),
        ("markdown", markdown(&analysis)),
        ("picture", picture),
    ] {
        assert!(text.contains(title), "{form}: {text}");
    }
}

#[test]
fn each_load_has_a_part_and_the_machine_is_shown_once() {
    let analysis = fixtures::regimes();
    let forms = [
        ("terminal", plain(&analysis, 80)),
        ("markdown", markdown(&analysis)),
        ("page", page::words(&analysis)),
    ];
    let once = ["0.213 cores", "windage report 20261001"];
    let twice = ["o warnings", "mirrored order"];
    let headings = [
        "closed loop, 100 connections; the subject is saturated",
        "open loop, 12000/s, 100 connections; below saturation",
    ];
    for (form, text) in forms {
        let text = unwrapped(&text);
        for part in once {
            assert_eq!(text.matches(part).count(), 1, "{part:?} in {form}");
        }
        for part in twice {
            assert_eq!(text.matches(part).count(), 2, "{part:?} in {form}");
        }
        let places = headings.map(|heading| text.find(heading));
        assert!(
            places[0].is_some() && places[0] < places[1],
            "{form}: {text}"
        );
    }
}

#[test]
fn tables_name_the_load_of_each_row() {
    let (one, two) = (fixtures::sweep(), fixtures::regimes());
    let column = |table: &str, name: &str| {
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        let at = reader.headers().unwrap().iter().position(|h| h == name)?;
        let cells = reader.records().map(|r| r.unwrap()[at].to_owned());
        Some(cells.collect::<Vec<_>>())
    };
    assert_eq!(column(&csv(&[one]).unwrap(), "regime"), None);
    let metrics = |a: &Analysis| a.arms.iter().map(|arm| arm.metrics.len()).sum();
    let mut expected = vec!["saturation"; metrics(&two)];
    expected.extend(vec!["a third of it"; metrics(&two.other_loads[0])]);
    assert_eq!(
        column(&csv(std::slice::from_ref(&two)).unwrap(), "regime").unwrap(),
        expected
    );
    let points = column(&curves_csv(&[two]).unwrap(), "regime").unwrap();
    assert_eq!(points[..14], ["saturation"; 14]);
    assert_eq!(points[14..], ["a third of it"; 7]);
}
