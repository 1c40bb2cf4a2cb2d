//! The result of one check, and the summary of all.

use std::collections::BTreeMap;

use serde_json::Value;

/// How far the machine meets the subject of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Ok,
    /// It works, but with less precision or more effort.
    Limited,
    Missing,
}

impl Standing {
    /// The word in lists and files.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Standing::Ok => "ok",
            Standing::Limited => "limited",
            Standing::Missing => "missing",
        }
    }
}

/// What is impossible when the subject of a check is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NeededFor {
    /// Measuring anything.
    Measuring,
    /// One ability, in words that complete "its kernel allows …".
    Ability(&'static str),
    /// Narrow and trustworthy intervals.
    Precision,
    /// Public experiments and tests that start this program.
    Experiments,
}

impl NeededFor {
    /// The word in files.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            NeededFor::Measuring => "measuring",
            NeededFor::Ability(_) => "ability",
            NeededFor::Precision => "precision",
            NeededFor::Experiments => "experiments",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// Identifies the check in files; its meaning never changes.
    pub(super) id: &'static str,
    pub(super) needed_for: NeededFor,
    pub(super) standing: Standing,
    /// What was seen, in words.
    pub(super) seen: String,
    /// The figures behind it, by name with unit.
    pub(super) evidence: BTreeMap<&'static str, Value>,
    /// What it means for measuring.
    pub(super) means: String,
    /// What to do; `None` if nothing needs to or can be done.
    pub(super) remedy: Option<String>,
}

impl Finding {
    /// A finding without evidence and remedy.
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

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Finding {
        self.evidence.insert(name, value.into());
        self
    }

    pub(super) fn remedy(mut self, remedy: impl Into<String>) -> Finding {
        self.remedy = Some(remedy.into());
        self
    }
}

/// All findings, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Diagnosis {
    pub(super) findings: Vec<Finding>,
    /// What can be measured, in words.
    pub(super) can: Vec<&'static str>,
    /// What can't be measured, in words.
    pub(super) can_not: Vec<&'static str>,
}

/// What every machine that measures at all can measure.
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
            // Several checks may concern one ability; it is lost if any of them is missing.
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

    /// The summary in one to three sentences.
    pub(super) fn summary(&self) -> String {
        if !self.can_measure() {
            let why: Vec<&str> = self.obstacles().map(|finding| finding.id).collect();
            return format!("This machine can't measure: see {}.", listed(&why));
        }
        let mut text = format!("This machine can measure {}.", listed(&ALWAYS));
        // Abilities that depend on the kernel get their own sentence.
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

/// Words joined into a list, as in a sentence.
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
    fn the_summary_follows_from_the_findings() {
        use NeededFor::{Ability, Experiments, Measuring, Precision};
        use Standing::{Limited, Missing, Ok};
        let always = "throughput and response time, CPU per request";
        let table = [
            (
                vec![],
                format!("This machine can measure {always} and memory."),
                "no finding is missing",
            ),
            (
                vec![
                    finding("a", Measuring, Limited),
                    finding("b", Precision, Missing),
                    finding("c", Experiments, Missing),
                ],
                format!("This machine can measure {always} and memory."),
                "none of these concerns an ability",
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
                "each ability counts separately",
            ),
            (
                vec![
                    finding("a", Ability("x"), Ok),
                    finding("b", Ability("x"), Missing),
                    finding("c", Ability("x"), Limited),
                ],
                format!("This machine can measure {always} and memory. It does not allow x."),
                "one missing part takes the ability away",
            ),
            (
                vec![
                    finding("a", Measuring, Missing),
                    finding("b", Ability("x"), Ok),
                    finding("c", Measuring, Missing),
                ],
                "This machine can't measure: see a and c.".to_owned(),
                "the summary names the obstacles",
            ),
        ];
        for (findings, summary, why) in table {
            assert_eq!(Diagnosis::of(findings).summary(), summary, "{why}");
        }
    }
}
