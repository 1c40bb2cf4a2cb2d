//! The result of a published-style measurement on the same noise: one run of the baseline, then one
//! of the arm.

use windage_stats::{two_level, unpaired};

use crate::cells::{Cell, carry_out, cells, root_mean_square};
use crate::experiment::{Design, mirrored, sequential};
use crate::fixed_length::{Outcome, coverage, print_heading};
use crate::noise::Kind;

/// Two minutes: 268 windows of each arm.
const DESIGN: Design = Design::new(1, 268);

#[test]
fn one_arm_after_the_other_reads_drift_as_a_difference() {
    let results = carry_out(&cells(&[DESIGN]), |cell: Cell, truth, random| {
        let (arm, baseline) = sequential(cell.design, cell.kind, truth, random);
        let launches = mirrored(cell.design, cell.kind, truth, random);
        let sequential = Outcome::new(&unpaired(&arm, &baseline).unwrap(), truth);
        let mirrored = Outcome::new(&two_level(&launches).unwrap(), truth);
        (sequential, mirrored)
    });
    print_heading("one arm after the other, as many windows");
    for (cell, outcomes) in results {
        let (sequential, mirrored): (Vec<Outcome>, Vec<Outcome>) = outcomes.into_iter().unzip();
        let covered = coverage(&cell.name(), &sequential);
        let error = |outcomes: &[Outcome]| root_mean_square(outcomes, |o| o.error);
        let times_the_error = error(&sequential) / error(&mirrored);
        println!("    {times_the_error:.1} times the error of mirrored order");
        match cell.kind {
            Kind::Drift => assert!(times_the_error > 3.0, "{times_the_error}"),
            Kind::Regimes => assert!(times_the_error > 10.0 && covered < 0.75, "{covered}"),
            _ => {}
        }
    }
}
