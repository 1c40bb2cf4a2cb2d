//! The report as one page that loads nothing: it can be mailed, archived and opened in years.

mod axis;
mod curve;
mod forest;
mod profile;
mod style;

pub use profile::{FlameGraph, flame_graphs};

use forest::{Forest, ForestRow, Mark};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use windage_analysis::{Analysis, ArmAnalysis, Curve};
use windage_model::{Direction, LoadModel, Metric, Role, Soundness, Verdict};

use crate::doubts::{self, DoubtRow};
use crate::facts::{self, Fact, one_line};
use crate::rows::{self, Align, Cell, Table, Tone};
use crate::summary::{self, Piece};

/// The report as a self-contained HTML page.
///
/// No script, no font, no picture from elsewhere; its own policy (CSP) forbids them. It follows
/// the reader's light or dark setting, fits 360 pixels and prints on A4.
#[must_use]
pub fn html(analysis: &Analysis) -> String {
    let several = !analysis.further.is_empty();
    page(
        analysis,
        html! {
            (head(analysis))
            @if several {
                @for (i, regime) in analysis.regimes().enumerate() {
                    section.regime {
                        h2 { (facts::regime(regime)) }
                        (answer(regime))
                        (fact_list(&facts::of_regime(regime)))
                        (findings(regime, &format!("load{i}-"), Level::Regime))
                    }
                }
            } @else {
                (findings(analysis, "", Level::Page))
            }
            section {
                h2 { "What windage itself used" }
                (fact_list(&[facts::own_cost(analysis)]))
            }
            section {
                h2 { "Provenance" }
                (fact_list(&facts::provenance(analysis)))
            }
        },
    )
    .into_string()
}

/// How deep headings stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Below the page's own.
    Page,
    /// Below that of one of several loads.
    Regime,
}

fn heading(level: Level, text: &str) -> Markup {
    html! {
        @match level {
            Level::Page => h2 { (text) },
            Level::Regime => h3 { (text) },
        }
    }
}

/// What was found under one load: pictures, tables and doubts. Ids on the page begin with
/// `prefix`.
fn findings(analysis: &Analysis, prefix: &str, level: Level) -> Markup {
    let tables = rows::tables(analysis);
    let (details, main): (Vec<_>, Vec<_>) = tables.iter().partition(|table| table.detail);
    html! {
        @for metric in plotted(analysis) { (figure(analysis, metric, prefix)) }
        @for (i, of) in analysis.curves.iter().enumerate() {
            (curve_figure(analysis, of, format!("{prefix}curve{i}")))
        }
        (profile::figures(analysis))
        section {
            (heading(level, "Figures"))
            @for table in &main { (table_markup(table)) }
            @if tables.is_empty() { p { "Nothing was measured." } }
            @if let Some(legend) = rows::legend(analysis, &tables.iter().collect::<Vec<_>>()) { p.note { (legend) } }
            @if !details.is_empty() {
                details {
                    summary { "More figures" }
                    @for table in &details { (table_markup(table)) }
                }
            }
        }
        section { (validity(analysis, level)) }
    }
}

fn page(analysis: &Analysis, body: Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; img-src data:";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (one_line(&analysis.plan)) " · windage" }
                style {
                    (PreEscaped(style::CSS))
                    @if analysis.regimes().any(|regime| !regime.curves.is_empty()) {
                        (PreEscaped(style::CURVES))
                    }
                    @if analysis.regimes().any(|regime| !regime.profiles.is_empty()) {
                        (PreEscaped(style::FLAMES))
                    }
                    @if !analysis.further.is_empty() { (PreEscaped(style::REGIMES)) }
                }
            }
            body { main { (body) } }
        }
    }
}

fn head(analysis: &Analysis) -> Markup {
    html! {
        header {
            h1 { (one_line(&analysis.plan)) }
            @if let Some(about) = &analysis.about { p.about { (one_line(about)) } }
            @if analysis.further.is_empty() { (answer(analysis)) }
            (fact_list(&facts::header(analysis)))
        }
    }
}

fn answer(analysis: &Analysis) -> Markup {
    let soundness = analysis.validity.soundness().as_str();
    html! {
        div class=(format!("answer {soundness}")) {
            @for sentence in summary::sentences(analysis) { p { (pieces(&sentence)) } }
        }
    }
}

fn pieces(sentence: &[Piece]) -> Markup {
    html! {
        @for piece in sentence {
            @match piece {
                Piece::Text(text) => (text),
                Piece::Arm(name) => code { (name) },
            }
        }
    }
}

fn fact_list(facts: &[Fact]) -> Markup {
    html! {
        dl { @for fact in facts { dt { (fact.label) } dd { (fact.text) } } }
    }
}

fn table_markup(table: &Table) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { (table.title) }
                        @for column in &table.columns {
                            th.right[column.align == Align::Right] scope="col"
                                title=[(!column.about.is_empty()).then_some(column.about)] {
                                (column.heading)
                            }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            th scope="row" { (row.arm) }
                            @for (cell, column) in row.cells.iter().zip(&table.columns) {
                                (cell_markup(cell, column.align))
                            }
                        }
                    }
                }
            }
        }
        @for note in &table.notes { p.note { (note.mark) " " (note.text) } }
        @if !table.facts.is_empty() { (fact_list(&table.facts)) }
    }
}

fn cell_markup(cell: &Cell, align: Align) -> Markup {
    let class = match cell.tone {
        Tone::Plain => String::new(),
        Tone::Faint => "faint".to_owned(),
        Tone::Alarm => "verdict alarm".to_owned(),
        Tone::Judged(verdict) => format!("verdict {}", verdict.as_str()),
    };
    let tooltip = match (cell.tone, &cell.basis) {
        (Tone::Judged(verdict), Some(basis)) => Some(format!("{}: {basis}", verdict.as_str())),
        (_, basis) => basis.clone(),
    };
    html! {
        td.right[align == Align::Right] title=[tooltip] {
            @if class.is_empty() { (cell.text) } @else { span class=(class) { (cell.text) } }
        }
    }
}

fn validity(analysis: &Analysis, level: Level) -> Markup {
    let soundness = analysis.validity.soundness();
    let rows = doubts::doubts(analysis);
    let verdict = match (soundness, rows.is_empty()) {
        (Soundness::Valid, false) => "valid as a whole, but of single figures:",
        _ => doubts::heading(soundness),
    };
    html! {
        (heading(level, "Validity"))
        p { (verdict) }
        @for row in &rows { (doubt(row)) }
    }
}

fn doubt(row: &DoubtRow) -> Markup {
    html! {
        div class=(format!("doubt {}", row.soundness().as_str())) {
            p { code { (row.code.as_str()) } " (" (row.soundness().as_str()) ")" }
            p { (row.text) }
            @let evidence = row.evidence_text();
            @if !evidence.is_empty() { p.note { "evidence: " (evidence) } }
            @if let Some(about) = &row.about { p.note { "about: " (about) } }
        }
    }
}

/// The answer's own metric, and the one that users of the service would feel.
fn plotted(analysis: &Analysis) -> Vec<Metric> {
    use Metric::{
        ResponseTimeP50, ResponseTimeP99, ServiceTimeP50, ServiceTimeP99, Throughput,
        WallPerIteration,
    };
    let felt: &[Metric] = match analysis.design.load {
        LoadModel::Batch => &[WallPerIteration],
        LoadModel::Closed => &[Throughput, ResponseTimeP99, ServiceTimeP99],
        LoadModel::Open => &[
            ResponseTimeP99,
            ServiceTimeP99,
            ResponseTimeP50,
            ServiceTimeP50,
        ],
    };
    let primary = analysis.primary;
    let second = felt
        .iter()
        .copied()
        .find(|metric| *metric != primary && !forest_rows(analysis, *metric).is_empty());
    std::iter::once(primary).chain(second).collect()
}

fn figure(analysis: &Analysis, metric: Metric, prefix: &str) -> Markup {
    let title = format!("{}: difference from the baseline", plot_title(metric));
    let forest = Forest {
        id: format!("{prefix}{}", metric.as_str()),
        title: title.clone(),
        sides: match metric.direction() {
            Direction::Lower => ("saves", "costs"),
            Direction::Higher => ("costs", "saves"),
        },
        interest: analysis.design.interest,
        rows: forest_rows(analysis, metric),
    };
    html! {
        @if let Some(plot) = forest::svg(&forest) {
            figure { figcaption title=(metric.about()) { (title) } (plot) }
        }
    }
}

fn curve_figure(analysis: &Analysis, of: &Curve, id: String) -> Markup {
    let which = rows::curve::of_which(analysis, of).map(|of| format!(", {of}"));
    let title = rows::curve::title(of) + &which.unwrap_or_default();
    let plot = curve::Plot {
        id,
        title: title.clone(),
        curve: of,
        unit: rows::curve::counted_in(analysis, of),
    };
    html! {
        @if let Some(drawn) = curve::svg(&plot) {
            figure {
                figcaption title=(of.metric.about()) { (title) }
                (drawn)
                p.note { (curve::caption(of)) }
            }
        }
    }
}

fn plot_title(metric: Metric) -> String {
    let name = rows::name(metric);
    match metric {
        Metric::ResponseTimeP50 | Metric::ResponseTimeP99 => format!("Response time, {name}"),
        Metric::ServiceTimeP50 | Metric::ServiceTimeP99 => format!("Service time, {name}"),
        Metric::Throughput => "Throughput".to_owned(),
        Metric::WallPerIteration => "Time an iteration".to_owned(),
        _ => name.to_owned(),
    }
}

/// The control first: it shows how far nil is from nil on this machine.
fn forest_rows(analysis: &Analysis, metric: Metric) -> Vec<ForestRow> {
    let treatments = analysis
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Treatment);
    analysis
        .control()
        .into_iter()
        .chain(treatments)
        .filter_map(|arm| row(arm, metric))
        .collect()
}

fn row(arm: &ArmAnalysis, metric: Metric) -> Option<ForestRow> {
    let result = arm.metrics.get(&metric)?;
    let relative = result.difference.as_ref().ok()?.relative.clone()?;
    let verdict: Option<Verdict> = result.verdict;
    Some(ForestRow {
        label: one_line(&arm.name),
        relative,
        mark: match arm.role {
            Role::Control => Mark::Control,
            Role::Baseline | Role::Treatment => Mark::Treatment(verdict),
        },
    })
}
