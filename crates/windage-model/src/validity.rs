//! How far a result can be trusted, and why.

use crate::{Evidence, EvidenceMap, Warning, WarningCode};

/// How far a result can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Soundness {
    /// No warning.
    Valid,
    /// Read it with the warnings in mind.
    Suspect,
    /// Must not be used.
    Void,
}

impl Soundness {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Soundness::Valid => "valid",
            Soundness::Suspect => "suspect",
            Soundness::Void => "void",
        }
    }
}

/// A reason to distrust a result: a warning about it, or about some of its windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// The warning; of several windows, that of the first.
    pub warning: Warning,
    /// For a warning about windows: which part of them has it.
    pub windows: Option<WindowShare>,
}

/// A part of some windows, or of some blocks of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowShare {
    /// Those concerned.
    pub affected: u64,
    /// All of them.
    pub of: u64,
    /// What is counted.
    pub unit: Stretches,
}

/// Stretches of load that have warnings of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretches {
    /// Windows with load on one arm.
    Windows,
    /// Blocks in which arms took turns.
    Blocks,
}

impl Stretches {
    /// The word used in files and sentences.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Stretches::Windows => "windows",
            Stretches::Blocks => "blocks",
        }
    }
}

impl Reason {
    /// The kind of the warning.
    #[must_use]
    pub fn code(&self) -> WarningCode {
        self.warning.code()
    }

    /// The evidence; for a warning about windows with their number, `windows`.
    #[must_use]
    pub fn evidence(&self) -> EvidenceMap {
        let mut evidence = self.warning.evidence();
        let counted = self
            .windows
            .map(|of| (of.unit.as_str(), of.affected as f64));
        evidence.extend(counted.map(|(unit, of)| (unit.to_owned(), Evidence::Number(of))));
        evidence
    }

    /// The effect on the result. Void windows are left out, so they do not void it.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        match self.windows {
            Some(_) => self.code().soundness().min(Soundness::Suspect),
            None => self.code().soundness(),
        }
    }
}

impl From<Warning> for Reason {
    fn from(warning: Warning) -> Reason {
        let windows = None;
        Reason { warning, windows }
    }
}

/// How far a result can be trusted, and the reasons.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Validity {
    /// The reasons; empty when there are none.
    pub reasons: Vec<Reason>,
}

impl Validity {
    /// The verdict of the gravest reason.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        let reasons = self.reasons.iter().map(Reason::soundness);
        reasons.max().unwrap_or(Soundness::Valid)
    }

    /// Whether a reason of that kind is among them.
    #[must_use]
    pub fn has(&self, code: WarningCode) -> bool {
        self.reasons.iter().any(|reason| reason.code() == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_reason_decides() {
        let mut validity = Validity::default();
        assert_eq!(validity.soundness(), Soundness::Valid);
        let none_left = Warning::NoWindows { windows: 7 };
        validity.reasons.push(Reason {
            warning: none_left.clone(),
            windows: Some(WindowShare {
                affected: 1,
                of: 7,
                unit: Stretches::Windows,
            }),
        });
        assert_eq!(validity.soundness(), Soundness::Suspect, "of windows");
        validity.reasons.push(none_left.into());
        assert_eq!(validity.soundness(), Soundness::Void);
    }
}
