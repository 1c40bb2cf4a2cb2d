//! Values by launch: the input of a comparison.

use crate::location::{Location, location};

/// Block values of each launch, in the order in which they were measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    launches: Vec<Launch>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Launch {
    pub(crate) blocks: Vec<f64>,
    pub(crate) offset: f64,
}

impl Launches {
    /// Adds a launch. `offset` is added to its location: what is known of the launch as a whole and
    /// not of its blocks, such as deferred cost. A launch without a finite block value is omitted.
    pub fn push(&mut self, blocks: Vec<f64>, offset: f64) {
        if blocks.iter().any(|b| b.is_finite()) && offset.is_finite() {
            self.launches.push(Launch { blocks, offset });
        }
    }

    /// The number of launches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.launches.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// The number of blocks in all launches.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.launches.iter().map(|l| l.blocks.len()).sum()
    }

    /// The launch, if it is the only one.
    pub(crate) fn only(&self) -> Option<&Launch> {
        match self.launches.as_slice() {
            [alone] => Some(alone),
            _ => None,
        }
    }

    /// Each launch's location, with its offset.
    pub(crate) fn locations(&self) -> Vec<(Location, f64)> {
        let located = |launch: &Launch| Some((location(&launch.blocks)?, launch.offset));
        self.launches.iter().filter_map(located).collect()
    }
}
