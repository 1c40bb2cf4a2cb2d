//! Arms: ids, roles and levels.

use std::fmt;

/// An arm's place in the resolved plan; the baseline is always 0 and its control 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArmIndex(pub u16);

impl ArmIndex {
    /// The arm without telemetry.
    pub const BASELINE: ArmIndex = ArmIndex(0);
    /// The second, identical baseline, whose difference must be zero.
    pub const CONTROL: ArmIndex = ArmIndex(1);

    /// As an index into arrays by arm.
    #[must_use]
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

/// An arm's name in files, of `[a-z0-9._-]`, unique within a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArmId(String);

impl ArmId {
    /// Makes an id from any text: letters become lower case, every run of other characters becomes
    /// one `-`. Returns `None` when nothing is left.
    #[must_use]
    pub fn from_text(text: &str) -> Option<ArmId> {
        let mut id = String::with_capacity(text.len());
        for c in text.chars() {
            let c = c.to_ascii_lowercase();
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
                id.push(c);
            } else if !id.is_empty() && !id.ends_with('-') {
                id.push('-');
            }
        }
        let id = id.trim_matches('-').to_owned();
        (!id.is_empty()).then_some(ArmId(id))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An arm's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The arm without telemetry, with which all others are compared.
    Baseline,
    /// A second, identical baseline (A/A control).
    Control,
    /// An arm with telemetry.
    Treatment,
}

impl Role {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Baseline => "baseline",
            Role::Control => "control",
            Role::Treatment => "treatment",
        }
    }
}

/// One setting of a factor.
#[derive(Clone, Debug, PartialEq)]
pub enum LevelValue {
    /// A number, as written in the plan.
    Number(f64),
    /// Any other setting.
    Text(String),
}

impl fmt::Display for LevelValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // `{:?}` keeps the `.0` of whole numbers: the level `1.0` of a rate is not the count 1.
            LevelValue::Number(n) => write!(f, "{n:?}"),
            LevelValue::Text(t) => f.write_str(t),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_only_have_allowed_characters() {
        let table = [
            ("otel, sampling 1.0", Some("otel-sampling-1.0")),
            ("OFF", Some("off")),
            ("<script>", Some("script")),
            ("a  --  b", Some("a-b")),
            ("été", Some("t")),
            ("///", None),
            ("", None),
        ];
        for (text, id) in table {
            assert_eq!(
                ArmId::from_text(text).as_ref().map(ArmId::as_str),
                id,
                "{text}"
            );
        }
    }

    #[test]
    fn levels_read_as_in_the_plan() {
        assert_eq!(LevelValue::Number(1.0).to_string(), "1.0");
        assert_eq!(LevelValue::Number(0.05).to_string(), "0.05");
        assert_eq!(
            LevelValue::Text("slow 200ms".into()).to_string(),
            "slow 200ms"
        );
    }
}
