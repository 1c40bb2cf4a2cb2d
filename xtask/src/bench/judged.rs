//! What became of a figure that a study has to reach.

use super::median::Median;

/// A figure held against its bound.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) figure: Option<Median>,
    /// Whether the bound holds; `None` where too little was measured to say.
    pub(super) is_reached: Option<bool>,
    /// Reasons to doubt the figure.
    pub(super) doubts: Vec<String>,
}

impl Judged {
    /// What stands beside the figure.
    pub(super) fn word(&self) -> &'static str {
        match (self.is_reached, self.figure) {
            (None, Some(_)) => "too few rounds",
            (is_reached, _) => verdict(is_reached),
        }
    }
}

/// What stands beside what was measured once; `None` where it was not.
pub(super) fn verdict(is_reached: Option<bool>) -> &'static str {
    match is_reached {
        Some(true) => "reached",
        Some(false) => "**not reached**",
        None => "not measured",
    }
}

#[cfg(test)]
mod tests {
    use super::super::median::median;
    use super::*;

    #[test]
    fn what_is_not_known_is_not_reached() {
        let table = [
            (Some(true), true, "reached"),
            (Some(false), true, "**not reached**"),
            (None, true, "too few rounds"),
            (None, false, "not measured"),
        ];
        for (is_reached, is_measured, expected) in table {
            let judged = Judged {
                figure: median(is_measured.then_some(1.0)),
                is_reached,
                doubts: Vec::new(),
            };
            assert_eq!(judged.word(), expected);
        }
    }
}
