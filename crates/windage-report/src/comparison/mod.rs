//! Two runs of one plan, the later compared with the earlier. `answer`, `tables` and `differs`
//! decide what is shown; renderers only format it.

mod answer;
mod changes;
mod csv;
mod differs;
mod document;
mod figures;
mod markdown;
mod primary;
mod tables;
mod terminal;

use windage_analysis::{
    ChangeVerdict, Comparable, Compared, ComparedLoad, ComparedRun, ComparisonWarning,
};
use windage_model::{Soundness, Verdict};

use crate::fact::{Fact, one_line, shell_word};
use crate::rows::Tone;
use crate::sentences;

pub use self::csv::comparison_csv;
pub use document::{comparison_html, comparison_page_json};
pub use markdown::comparison_markdown;
pub use terminal::comparison_terminal;

/// The title: the plan, or both plans.
fn title(compared: &Compared) -> String {
    let of = &compared.comparison;
    if of.a.plan == of.b.plan {
        format!("{}, two runs compared", one_line(&of.a.plan))
    } else {
        format!(
            "{} and {} compared",
            one_line(&of.a.plan),
            one_line(&of.b.plan)
        )
    }
}

/// Whether the runs can be compared, in a few words.
fn heading(comparable: Comparable) -> &'static str {
    match comparable {
        Comparable::Yes => "can be compared: no warnings",
        Comparable::WithCare => "can be compared, with warnings:",
        Comparable::No => "can't be compared:",
    }
}

/// The two runs.
fn header(compared: &Compared) -> Vec<Fact> {
    let of = &compared.comparison;
    vec![Fact::new("A", which(&of.a)), Fact::new("B", which(&of.b))]
}

fn which(run: &ComparedRun) -> String {
    let validity = match run.validity {
        Soundness::Valid => String::new(),
        unsound => format!(", {}", unsound.as_str()),
    };
    let [name, started, windage] = [&run.run, &run.started, &run.windage].map(|t| one_line(t));
    format!("{name}, {started}, windage {windage}{validity}")
}

/// The command that repeats this comparison.
fn closing(compared: &Compared) -> Vec<Fact> {
    let of = &compared.comparison;
    let [a, b] = [&of.a.found_at, &of.b.found_at].map(|run| shell_word(&one_line(run)));
    vec![Fact::new("again", format!("windage compare {a} {b}"))]
}

/// A warning with its load, as one sentence.
fn told(warning: &ComparisonWarning) -> String {
    let text = one_line(&sentences::comparison_warning(warning));
    match &warning.regime {
        Some(regime) => format!("{}: {text}", one_line(regime)),
        None => text,
    }
}

/// The heading of a load if there are several.
fn of_load(load: &ComparedLoad) -> Option<String> {
    load.regime.as_deref().map(one_line)
}

/// Arms that only one run has.
fn lone_arms(load: &ComparedLoad) -> Vec<Fact> {
    let sides = [
        ("only in A", &load.only_in_a),
        ("only in B", &load.only_in_b),
    ];
    let told = sides.into_iter().filter(|(_, arms)| !arms.is_empty());
    told.map(|(label, arms)| {
        let names: Vec<String> = arms.iter().map(|arm| one_line(&arm.name)).collect();
        Fact::new(label, names.join("; "))
    })
    .collect()
}

/// A change has the tone of an overhead in the same direction.
fn tone(verdict: Option<ChangeVerdict>) -> Tone {
    verdict.map_or(Tone::Plain, |verdict| {
        Tone::Judged(match verdict {
            ChangeVerdict::Increased => Verdict::Costs,
            ChangeVerdict::Decreased => Verdict::Saves,
            ChangeVerdict::Unchanged => Verdict::Negligible,
            ChangeVerdict::Inconclusive => Verdict::Inconclusive,
        })
    })
}
