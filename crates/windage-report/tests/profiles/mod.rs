//! Profiles: where the time goes.

use windage_analysis::{Analysis, ArmProfile, ProfileFailure, Profiled, RecordedProfile, Sampled};
use windage_profile::{ArmProfile as Weighed, Stacks, added};
use windage_report::{TerminalOptions, flame_graphs, markdown, terminal};

use crate::{fixtures, page};

const BASELINE: &str = "main;serve;query 700\nmain;serve;render 290\nmain 10\n";

/// The demo with profiles: the control like the baseline, and a treatment.
fn demo(of_treatment: Result<&str, ProfileFailure>) -> Analysis {
    let mut analysis = fixtures::demo();
    let control = BASELINE.replace("700", "690").replace("290", "300");
    let outcomes = [Ok(BASELINE), Ok(&control), of_treatment];
    let baseline = weighed(BASELINE, 61.2, 0.0);
    analysis.profiles = analysis
        .arms
        .iter()
        .zip(outcomes)
        .zip([(61.2, 0.0), (61.24, 0.19), (75.1, 0.31)])
        .map(|((arm, outcome), (us, half_width_us))| {
            let weighed = outcome.map(|text| weighed(text, us, half_width_us));
            ArmProfile {
                taken: taken(arm.id.clone()),
                outcome: weighed.map(|profile| sampled(profile, &baseline)),
            }
        })
        .collect();
    let of_baseline = analysis.profiles[0].outcome.as_mut().expect("a profile");
    of_baseline.functions.clear();
    of_baseline.functions_compared = 0;
    analysis
}

fn weighed(text: &str, cpu_us: f64, cpu_half_width_us: f64) -> Weighed {
    Weighed {
        stacks: Stacks::of_text(text),
        cpu_us,
        cpu_half_width_us,
    }
}

fn taken(arm: windage_model::ArmId) -> RecordedProfile {
    RecordedProfile {
        regime: None,
        arm,
        profiler: "perf".to_owned(),
        version: Some("perf version 6.1.187".to_owned()),
        rate_hz: 250,
        outcome: Ok(Profiled::default()),
    }
}

fn sampled(profile: Weighed, baseline: &Weighed) -> Sampled {
    let mut functions = added(&profile, baseline);
    let functions_added = functions.iter().filter(|cost| cost.is_added()).count();
    let functions_compared = functions.len();
    functions.truncate(25);
    Sampled {
        profiled_cpu_us: profile.cpu_us + 2.0,
        profile,
        is_scale_measured: true,
        lasts_s: 5.04,
        iterations: 10_000,
        functions,
        functions_added,
        functions_compared,
    }
}

/// The demo with a profile of each of its first arms.
pub(crate) fn profiled() -> Analysis {
    demo(Ok(&of_treatment()))
}

/// Twelve functions of the SDK, of which a terminal shows ten, and the arm's other work.
fn of_treatment() -> String {
    let parts: String = (1..=11)
        .map(|n| format!("main;serve;span;part{n:02} {}\n", n * 4))
        .collect();
    parts
        + "main;serve;query 560\nmain;serve;<render>&co 20\nmain;serve;render 200\nmain;serve;span 20\n"
}

fn on_terminal(analysis: &Analysis) -> String {
    let options = TerminalOptions {
        width: 80,
        color: false,
        all: true,
    };
    terminal(analysis, options)
}

/// From the line with this beginning to the next empty line.
fn part<'a>(text: &'a str, begins: &str) -> &'a str {
    let from = text.find(&format!("\n{begins}")).expect("the table") + 1;
    let length = text[from..].find("\n\n").expect("its end");
    &text[from..from + length]
}

#[test]
fn added_cpu_is_a_table() {
    let analysis = profiled();
    let text = on_terminal(&analysis);
    let name = &analysis.arms[2].name;
    insta::assert_snapshot!("added", part(&text, &format!("What {name} added")));
    assert!(!text.contains("What control added"), "it is no treatment");
    let text = markdown(&analysis);
    insta::assert_snapshot!("other_loads", part(&text, "| Further functions"));
    insta::assert_snapshot!("overview", part(&text, "| Profiles"));
}

#[test]
fn a_missing_profile_says_why() {
    let analysis = demo(Err(ProfileFailure {
        text: "perf may not attach".to_owned(),
        remedy: "run windage as root".to_owned(),
    }));
    insta::assert_snapshot!("missing", part(&on_terminal(&analysis), "Profiles"));
    assert_eq!(flame_graphs(&analysis).len(), 1, "the control's alone");
    let document = page::document(&analysis);
    assert_eq!(document["loads"][0]["flame_graphs"], serde_json::json!([]));
}

#[test]
fn pictures_are_on_the_page_without_a_script_and_beside_it_with_one() {
    let analysis = profiled();
    let document = page::document(&analysis);
    let pictures = document["loads"][0]["flame_graphs"].as_array().unwrap();
    let [picture] = pictures.as_slice() else {
        panic!("{} pictures", pictures.len())
    };
    assert_eq!(picture["arm"], analysis.arms[2].id.as_str());
    let svg = picture["svg"].as_str().unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("&lt;render&gt;&amp;co"),
        "names are escaped"
    );
    for forbidden in ["<script", "onload", "onclick", "href", "<image"] {
        assert!(!svg.contains(forbidden), "{forbidden}");
    }
    let (all, own) = ("url(", "url(#");
    assert_eq!(svg.matches(all).count(), svg.matches(own).count());
    let note = picture["note"].as_str().unwrap();
    assert!(note.contains("profiles/") && note.contains(".svg in the run directory"));
    let graphs = flame_graphs(&analysis);
    let arms: Vec<_> = graphs.iter().map(|graph| &graph.profile.arm).collect();
    assert_eq!(arms, [&analysis.arms[1].id, &analysis.arms[2].id]);
    assert!(graphs.iter().all(|graph| graph.svg.contains("<script")));
}

#[test]
fn without_profiles_none_are_mentioned() {
    let analysis = fixtures::demo();
    let words = page::words(&analysis);
    for text in [on_terminal(&analysis), markdown(&analysis), words] {
        assert!(!text.contains("Profiles") && !text.contains("Width: CPU"));
    }
    assert!(flame_graphs(&analysis).is_empty());
}
