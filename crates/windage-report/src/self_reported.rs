//! What programs reported about themselves: one line per entry, and the differences from the
//! baseline.

use windage_analysis::Analysis;
use windage_model::Role;

use crate::fact::{Fact, one_line};

/// How many arms are named with a text; the rest are counted.
const NAMES: usize = 4;

/// A line per entry, with the arms if they differ, and a line with the entries in which arms differ
/// from the baseline; none if nothing was reported.
pub(crate) fn facts(analysis: &Analysis) -> Vec<Fact> {
    let entries = entries(analysis);
    let lines = entries
        .iter()
        .map(|entry| Fact::new("self-reported", entry.line()));
    let differences: Vec<String> = entries.iter().filter_map(Entry::difference).collect();
    let note = (!differences.is_empty())
        .then(|| Fact::new("differs", from_baseline(&differences.join("; "))));
    lines.chain(note).collect()
}

fn from_baseline(differences: &str) -> String {
    format!("from the baseline: {differences}")
}

/// All texts of one entry.
struct Entry<'a> {
    name: &'a str,
    /// Each text with the arms that report it, in plan order.
    texts: Vec<(&'a str, Vec<Speaker<'a>>)>,
    /// How many arms the run has.
    arms: usize,
}

#[derive(Clone, Copy, PartialEq)]
struct Speaker<'a> {
    arm: &'a str,
    role: Role,
}

/// Entries over all loads of a run, by name: a program reports nearly the same under each.
fn entries(analysis: &Analysis) -> Vec<Entry<'_>> {
    let arms = || analysis.regimes().flat_map(|regime| &regime.arms);
    let mut names: Vec<&str> = arms()
        .flat_map(|arm| arm.self_reported.keys().map(String::as_str))
        .collect();
    names.sort_unstable();
    names.dedup();
    let entry = |name| {
        let mut entry = Entry {
            name,
            texts: Vec::new(),
            arms: analysis.arms.len(),
        };
        for arm in arms() {
            let speaker = Speaker {
                arm: &arm.name,
                role: arm.role,
            };
            if let Some(text) = arm.self_reported.get(name) {
                entry.add(text, speaker);
            }
        }
        entry
    };
    names.into_iter().map(entry).collect()
}

impl<'a> Entry<'a> {
    fn add(&mut self, text: &'a str, speaker: Speaker<'a>) {
        match self.texts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, speakers)) if speakers.contains(&speaker) => {}
            Some((_, speakers)) => speakers.push(speaker),
            None => self.texts.push((text, vec![speaker])),
        }
    }

    fn line(&self) -> String {
        let texts: Vec<String> = match self.texts.as_slice() {
            [(text, speakers)] if speakers.len() == self.arms => vec![one_line(text)],
            several => several
                .iter()
                .map(|(text, speakers)| format!("{} ({})", one_line(text), names(speakers)))
                .collect(),
        };
        format!("{}: {}", one_line(self.name), texts.join("; "))
    }

    /// The arms that differ from the baseline; `None` if the baseline reports nothing.
    fn difference(&self) -> Option<String> {
        let is_baselines =
            |speakers: &[Speaker]| speakers.iter().any(|of| of.role == Role::Baseline);
        let mut texts = self.texts.iter();
        texts.find(|(_, speakers)| is_baselines(speakers))?;
        let others = self.texts.iter().filter(|(_, of)| !is_baselines(of));
        let others: Vec<Speaker> = others.flat_map(|(_, of)| of.iter().copied()).collect();
        (!others.is_empty()).then(|| format!("{} ({})", one_line(self.name), names(&others)))
    }
}

fn names(speakers: &[Speaker]) -> String {
    let more = speakers.len().saturating_sub(NAMES);
    let named = speakers.iter().take(NAMES);
    let named = named.map(|of| format!("`{}`", one_line(of.arm)));
    let mut names: Vec<String> = named.collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
