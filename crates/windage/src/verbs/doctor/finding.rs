//! What a check found, and what all of them come to.

use std::collections::BTreeMap;

use windage_model::Evidence;

/// How far the machine meets what a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ok,
    /// It can be done, with less certainty or effort on top.
    Limited,
    Missing,
}

impl Standing {
    /// The word used in lists and files.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Standing::Ok => "ok",
            Standing::Limited => "limited",
            Standing::Missing => "missing",
        }
    }
}

/// What can't be had when a check's object is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeededFor {
    /// Any measuring at all.
    Measuring,
    /// One ability, in words that complete "this machine can measure …".
    Ability(&'static str),
    /// The width of intervals, and how far they may be believed.
    Precision,
    /// Public experiments and tests that start this program.
    Experiments,
}

impl NeededFor {
    /// The word used in files.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            NeededFor::Measuring => "measuring",
            NeededFor::Ability(_) => "ability",
            NeededFor::Precision => "precision",
            NeededFor::Experiments => "experiments",
        }
    }
}

/// One check's result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// Names the check in files; never changes its meaning.
    pub(super) id: &'static str,
    pub(super) needed_for: NeededFor,
    pub(super) standing: Standing,
    /// What was seen, in words.
    pub(super) seen: String,
    /// The figures behind it, each named with its unit.
    pub(super) evidence: BTreeMap<&'static str, Evidence>,
    /// What it means for measuring.
    pub(super) means: String,
    /// What to do; `None` where nothing need or can be done.
    pub(super) remedy: Option<String>,
}

impl Finding {
    /// A finding without evidence and remedy yet.
    pub(super) fn new(
        id: &'static str,
        needed_for: NeededFor,
        standing: Standing,
        seen: impl Into<String>,
        means: impl Into<String>,
    ) -> Finding {
        Finding {
            id,
            needed_for,
            standing,
            seen: seen.into(),
            evidence: BTreeMap::new(),
            means: means.into(),
            remedy: None,
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Evidence>) -> Finding {
        self.evidence.insert(name, value.into());
        self
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }
}

/// All findings, and the answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Diagnosis {
    pub(super) findings: Vec<Finding>,
    /// What can be measured, in words.
    pub(super) can: Vec<&'static str>,
    /// What can't, in words.
    pub(super) can_not: Vec<&'static str>,
}

/// What every machine can measure that can measure at all.
const ALWAYS: [&str; 3] = ["throughput and response time", "CPU per request", "memory"];

impl Diagnosis {
    pub(super) fn of(findings: Vec<Finding>) -> Diagnosis {
        let mut diagnosis = Diagnosis {
            findings,
            can: Vec::new(),
            can_not: Vec::new(),
        };
        let always = if diagnosis.can_measure() {
            &mut diagnosis.can
        } else {
            &mut diagnosis.can_not
        };
        always.extend(ALWAYS);
        let measures = diagnosis.can_measure();
        for finding in &diagnosis.findings {
            let NeededFor::Ability(words) = finding.needed_for else {
                continue;
            };
            // Several checks may stand for one ability; each that is missing takes it away.
            if measures && finding.standing != Standing::Missing {
                if !diagnosis.can.contains(&words) && !diagnosis.can_not.contains(&words) {
                    diagnosis.can.push(words);
                }
            } else if !diagnosis.can_not.contains(&words) {
                diagnosis.can.retain(|&can| can != words);
                diagnosis.can_not.push(words);
            }
        }
        diagnosis
    }

    /// What keeps this machine from measuring at all.
    pub(super) fn obstacles(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| {
            finding.needed_for == NeededFor::Measuring && finding.standing == Standing::Missing
        })
    }

    pub(super) fn can_measure(&self) -> bool {
        self.obstacles().next().is_none()
    }

    /// The answer in a sentence or two.
    pub(super) fn summary(&self) -> String {
        if !self.can_measure() {
            let why: Vec<&str> = self.obstacles().map(|finding| finding.id).collect();
            return format!("This machine can't measure: see {}.", listed(&why));
        }
        let mut text = format!("This machine can measure {}.", listed(&ALWAYS));
        // What depends on the kernel is told apart.
        let offers = self.can.iter().filter(|can| !ALWAYS.contains(can));
        let offers: Vec<&str> = offers.copied().collect();
        if !offers.is_empty() {
            text += &format!(" Its kernel allows {}.", listed(&offers));
        }
        if !self.can_not.is_empty() {
            text += &format!(" It does not allow {}.", listed(&self.can_not));
        }
        text
    }
}

/// Words as a sentence lists them.
pub(super) fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &'static str, needed_for: NeededFor, standing: Standing) -> Finding {
        Finding::new(id, needed_for, standing, "", "")
    }

    #[test]
    fn the_answer_follows_from_what_is_missing() {
        use NeededFor::{Ability, Experiments, Measuring, Precision};
        use Standing::{Limited, Missing, Ok};
        let always = "throughput and response time, CPU per request";
        let table = [
            (
                vec![],
                format!("This machine can measure {always} and memory."),
                "nothing speaks against it",
            ),
            (
                vec![
                    finding("a", Measuring, Limited),
                    finding("b", Precision, Missing),
                    finding("c", Experiments, Missing),
                ],
                format!("This machine can measure {always} and memory."),
                "none of these is an ability",
            ),
            (
                vec![
                    finding("a", Ability("x"), Ok),
                    finding("b", Ability("y"), Missing),
                ],
                format!(
                    "This machine can measure {always} and memory. Its kernel allows x. \
                     It does not allow y."
                ),
                "abilities are counted one by one",
            ),
            (
                vec![
                    finding("a", Ability("x"), Ok),
                    finding("b", Ability("x"), Missing),
                    finding("c", Ability("x"), Limited),
                ],
                format!("This machine can measure {always} and memory. It does not allow x."),
                "one missing part is enough",
            ),
            (
                vec![
                    finding("a", Measuring, Missing),
                    finding("b", Ability("x"), Ok),
                    finding("c", Measuring, Missing),
                ],
                "This machine can't measure: see a and c.".to_owned(),
                "obstacles are named",
            ),
        ];
        for (findings, summary, why) in table {
            assert_eq!(Diagnosis::of(findings).summary(), summary, "{why}");
        }
    }
}
