//! Collapsed stacks and the output of py-spy and perf read the same again; the parts that an arm
//! adds sum up; and no flame graph contains a script.
//!
//! The input's first byte says which program wrote the rest.

use windage_profile::{
    ArmProfile, Interaction, Limits, Stacks, added, collapsed_by_perf, collapsed_by_py_spy,
    differential_flame_graph,
};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let Some((writer, text)) = input.split_first() else {
        return Corpus::Reject;
    };
    let read = match writer {
        b'c' => Stacks::read(text, Limits::default()),
        b'y' => collapsed_by_py_spy(text),
        b'p' => collapsed_by_perf(text),
        _ => return Corpus::Reject,
    };
    let stacks = read.expect("a readable slice");
    let again = Stacks::of_text(&stacks.to_collapsed());
    assert_eq!(again.to_collapsed(), stacks.to_collapsed());
    assert_eq!(again.malformed_lines(), 0);
    let seen = stacks
        .iter()
        .fold(0, |sum: u64, (_, seen)| sum.saturating_add(seen));
    assert_eq!(seen.saturating_add(stacks.beyond_limit()), stacks.samples());
    let profile = |stacks: Stacks, cpu_us| ArmProfile {
        stacks,
        cpu_us,
        cpu_half_width_us: 1.0,
    };
    let (arm, baseline) = (
        profile(stacks, 100.0),
        profile(Stacks::of_text("main;work 3\n"), 50.0),
    );
    let costs = added(&arm, &baseline);
    let sum: f64 = costs.iter().map(|cost| cost.itself.us()).sum();
    let whole = if arm.stacks.samples() > 0 {
        50.0
    } else {
        -50.0
    };
    assert!((sum - whole).abs() < 1e-6, "{sum}");
    if let Some(svg) =
        differential_flame_graph(&arm, &baseline, "t", "a request", Interaction::None)
    {
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>") && !svg.contains("<script"));
    }
    Corpus::Keep
}
