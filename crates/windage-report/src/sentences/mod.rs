//! The sentences of warnings and of missing figures: what was seen, and what to do about it.

mod comparison;
mod missing;
mod warning;

use windage_analysis::wire::Sentences;
use windage_analysis::{ComparisonWarning, Missing};
use windage_model::Reason;

pub(crate) use self::comparison::comparison_warning;
pub(crate) use self::missing::missing;
pub(crate) use self::warning::reason;
pub use self::warning::warning;

/// The report's sentences, for `analysis.json`.
#[derive(Clone, Copy, Debug)]
pub struct Words;

impl Sentences for Words {
    fn reason(&self, of: &Reason) -> String {
        reason(of)
    }

    fn missing(&self, why: &Missing) -> String {
        missing(why)
    }

    fn comparison(&self, of: &ComparisonWarning) -> String {
        comparison_warning(of)
    }
}

/// Names for a sentence; of many, the first ones.
fn listed(names: &[String]) -> String {
    const LISTED: usize = 5;
    let (shown, left) = names.split_at(names.len().min(LISTED));
    let mut text = shown.join(", ");
    if !left.is_empty() {
        text.push_str(&format!(" and {} more", left.len()));
    }
    text
}
