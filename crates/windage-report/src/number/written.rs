//! Figures and how they are written: one table for the terminal and for the page, whose own test
//! (`web/src/figure/format.test.ts`) reads it too.

use serde::Deserialize;
use windage_model::{Interval, Unit};

use super::*;

/// Of each way to write, what goes in (nothing where it is not finite), what comes out, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    short: Vec<WithUnit>,
    percent: Vec<Ends>,
    difference_beside_61_us: Vec<Ends>,
    percent_short: Vec<Plain>,
    percent_two: Vec<Plain>,
    hundredths: Vec<Plain>,
    count: Vec<Plain>,
    plain: Vec<Plain>,
    signed_point: Vec<WithUnit>,
}

type Figure = Option<f64>;
type Write = fn(f64) -> String;
type Plain = (Figure, String, String);
type WithUnit = (String, Figure, String, String);
type Ends = (Figure, Figure, Figure, String, String);

fn written() -> Written {
    serde_json::from_str(include_str!("written.json")).unwrap()
}

fn number(figure: Figure) -> f64 {
    figure.unwrap_or(f64::NAN)
}

fn unit(called: &str) -> Unit {
    let all = [
        Unit::Microseconds,
        Unit::PerSecond,
        Unit::Cores,
        Unit::Bytes,
        Unit::One,
        Unit::Seconds,
        Unit::Nanoseconds,
    ];
    all.into_iter()
        .find(|unit| unit.as_str() == called)
        .expect(called)
}

#[test]
fn figures_are_written_as_on_the_page() {
    let of = written();
    let columns: [(&[Plain], Write); 5] = [
        (&of.percent_short, percent_short),
        (&of.percent_two, percent_two),
        (&of.hundredths, hundredths),
        (&of.count, count_f64),
        (&of.plain, plain),
    ];
    for (rows, write) in columns {
        assert!(!rows.is_empty());
        for (figure, expected, why) in rows {
            assert_eq!(write(number(*figure)), *expected, "{why}");
        }
    }
}

#[test]
fn units_are_written_as_on_the_page() {
    let of = written();
    for (called, figure, expected, why) in of.short {
        let figure = number(figure);
        let scale = Scale::fitting(unit(&called), [figure]);
        assert_eq!(scale.with_unit(figure), expected, "{why}");
    }
    for (called, figure, expected, why) in of.signed_point {
        let figure = number(figure);
        let scale = Scale::fitting(unit(&called), [figure]);
        let text = match scale.signed_point(figure) {
            text if text == NOT_AVAILABLE => text,
            text => scale.attach(&text),
        };
        assert_eq!(text, expected, "{why}");
    }
}

#[test]
fn intervals_are_written_as_on_the_page() {
    let of = written();
    let us = Scale::fitting(Unit::Microseconds, [61.2]);
    let of_percent = |share: &Interval| (percent(share), Scale::PERCENT);
    let of_difference = |difference: &Interval| (us.signed(difference), us);
    check(&of.percent, of_percent);
    check(&of.difference_beside_61_us, of_difference);
}

fn check(rows: &[Ends], write: impl Fn(&Interval) -> (Option<Shown>, Scale)) {
    for (estimate, low, high, expected, why) in rows {
        let (shown, scale) = write(&Interval {
            estimate: number(*estimate),
            low: number(*low),
            high: number(*high),
            confidence: 0.95,
            method: windage_model::Method::MeanByLaunch,
        });
        let text = shown.map_or(NOT_AVAILABLE.to_owned(), |shown| {
            format!("{} ({})", scale.attach(&shown.estimate), shown.range())
        });
        assert_eq!(text, *expected, "{why}");
    }
}
