//! Shares without chance.

/// Takes a share of things, evenly and deterministically. It counts in millionths, because a tenth
/// added up as a float never makes a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evenly {
    due_ppm: u32,
}

impl Evenly {
    /// Starts between two things taken: 0 is just after one, values towards 1 just before the next.
    pub(crate) fn from(phase: f64) -> Evenly {
        Evenly {
            due_ppm: (phase * 999_999.0) as u32,
        }
    }

    /// Whether the next one is taken.
    #[inline]
    pub(crate) fn takes(&mut self, share: f64) -> bool {
        const WHOLE_PPM: u32 = 1_000_000;
        self.due_ppm += (share * f64::from(WHOLE_PPM)).round() as u32;
        let takes = self.due_ppm >= WHOLE_PPM;
        if takes {
            self.due_ppm -= WHOLE_PPM;
        }
        takes
    }
}
