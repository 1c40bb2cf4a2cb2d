//! The frame, tested with an invented study.

use clap::Parser;

use super::*;

const CPU: Quantity = Quantity::new("CPU per request", "µs", 2);
const SPEED: Quantity = Quantity::new("requests/s", "", 0);
const MEMORY: Quantity = Quantity::new("peak memory", "MB", 1);

const OWN: Run = ("first", "windage");

const GOALS: &[Goal] = &[
    Goal::of(OWN, CPU, Some(("first", "other")), Bound::AtMost(0.9)),
    Goal::of(OWN, SPEED, None, Bound::LowEndAtLeast(100.0)),
    Goal::of(("first", "nobody"), SPEED, None, Bound::AtLeast(100.0)),
    Goal::of(("first", Goal::WORST), MEMORY, None, Bound::AtMost(64.0)),
    Goal::of(OWN, SPEED, Some(OWN), Bound::Within(0.01)),
    Goal::of(OWN, SPEED, Some(("second", "other")), Bound::AtMost(1.0)),
];

fn trial(contender: &'static str, round: u32, values: &[(Quantity, f64)]) -> Trial {
    let reading = Reading::of(values.iter().copied());
    Trial {
        scenario: "first",
        contender,
        round,
        outcome: Ok(reading),
    }
}

/// Rounds in which the machine slows down all contenders alike.
fn drifting(rounds: u32) -> Vec<Trial> {
    let of_round = |round: u32| {
        let slow = 1.0 + f64::from(round);
        let own = [(CPU, 4.0 * slow), (SPEED, 100.0), (MEMORY, 40.0)];
        let other = [(CPU, 5.0 * slow), (SPEED, f64::INFINITY), (MEMORY, 70.0)];
        [trial("windage", round, &own), trial("other", round, &other)]
    };
    (1..=rounds).flat_map(of_round).collect()
}

fn plan() -> Plan {
    let scenario = |name, is_once| Scenario {
        name,
        meaning: format!("what is {name}"),
        contenders: vec!["windage", "other", "third"],
        is_once,
    };
    Plan {
        name: "study",
        title: "A study",
        method: "As it is done.",
        rounds: 7,
        lasts_s: 2,
        further_flags: String::new(),
        scenarios: vec![
            scenario("first", false),
            scenario("second", false),
            scenario("once", true),
        ],
        compared: &[CPU],
        goals: GOALS,
    }
}

fn rows(trials: &[Trial]) -> Vec<String> {
    GOALS.iter().map(|goal| goal.row(trials)).collect()
}

#[test]
fn goals_are_judged_by_medians_of_ratios_within_rounds() {
    assert_eq!(
        rows(&drifting(7)),
        [
            "| first: CPU per request, windage / other | ≤ 0.900 | 0.800 [0.800, 0.800] | reached |\n",
            "| first: requests/s, windage | interval's low end ≥ 100 | 100 [100, 100] | reached |\n",
            "| first: requests/s, nobody | ≥ 100 | – | not measured |\n",
            "| first: peak memory, the worst | ≤ 64.0 MB | 70.0 MB | **not reached** |\n",
            "| first: requests/s, windage / windage | 1 ± 0.010 | 1.000 [1.000, 1.000] | reached |\n",
            "| first: requests/s, windage / other in second | ≤ 1.000 | – | not measured |\n",
        ]
    );
    assert!(rows(&drifting(5))[0].ends_with("| 0.800 | too few rounds |\n"));
}

#[test]
fn a_failed_run_has_no_ratio_and_may_be_the_worst() {
    let mut trials = drifting(7);
    trials[1].outcome = Err("it died".into());
    let figure = figure(&trials, ("first", "windage"), CPU, Some(("first", "other")));
    assert_eq!(figure.unwrap().count, 6);
    assert!(rows(&trials)[3].contains("not measured"));
    // A run that missed the bound in a single round has missed it.
    trials.truncate(1);
    assert!(rows(&trials)[3].contains("40.0 MB | reached"));
}

#[test]
fn bounds_include_their_ends() {
    let table = [
        (Bound::AtMost(2.0), 2.0, 2.1),
        (Bound::AtLeast(2.0), 2.0, 1.9),
        (Bound::LowEndAtLeast(2.0), 2.0, 1.9),
        (Bound::Within(0.01), 0.995, 1.02),
        (Bound::Within(0.01), 1.005, 0.98),
    ];
    for (bound, good, bad) in table {
        for (value, verdict) in [(good, "| reached"), (bad, "| **not reached**")] {
            let trials: Vec<Trial> = (1..=6)
                .map(|round| trial("windage", round, &[(CPU, value)]))
                .collect();
            let row = Goal::of(OWN, CPU, None, bound).row(&trials);
            assert!(row.contains(verdict), "{bound:?}: {row}");
        }
    }
}

#[test]
fn the_page_shows_results_and_failures() {
    let mut trials = drifting(6);
    let Ok(reading) = &mut trials[0].outcome else {
        panic!("it went well")
    };
    reading.warn_if(true, "had errors");
    trials[3].outcome = Err("it died".into());
    let study = Study {
        facts: vec!["Machine: two cores".to_owned()],
        commands: vec!["windage load".to_owned()],
        plan: plan(),
        stolen_s: 4.5,
        trials,
    };
    let page = study.page();
    for part in [
        "# A study\n\n- Machine: two cores\n- Rounds: 6 of 7\n",
        ": 4.5 s, summed over all cores",
        "As it is done.\n\n## Figures to reach\n\n| figure |",
        "## first\n\nwhat is first.\n\n| contender | CPU per request, µs | requests/s | peak memory, MB |\n",
        "| windage | 18.00 [8.00, 28.00] | 100 [100, 100] | 40.0 [40.0, 40.0] |\n",
        "| third | – | – | – |\n\n| windage / | CPU per request |\n|---|---:|\n| other | 0.800 |\n",
        "- first, windage: 1 of 6 runs had errors\n",
        "- first, other: 1 of 6 runs failed: it died\n",
        "```console\n$ windage load\n```\n",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for trial in &study.trials {
        assert_eq!(page::progress(trial).lines().count(), 1);
    }
    assert!(page::progress(&study.trials[0]).contains("CPU per request 8.00 µs"));
}

#[test]
fn a_round_has_everything_once_in_random_order() {
    let scenarios = plan().scenarios;
    let names = |round| {
        let order = order(&scenarios, round).into_iter();
        order.map(|s| (s.name, s.contenders)).collect::<Vec<_>>()
    };
    assert_eq!(names(1), names(1), "drawn from a fixed seed");
    assert!((2..9).any(|round| names(round) != names(2)));
    assert_eq!(
        (names(1).len(), names(2).len()),
        (3, 2),
        "`once` is in the first round only"
    );
    for (name, mut contenders) in names(3) {
        contenders.sort_unstable();
        assert_eq!(contenders, ["other", "third", "windage"], "{name}");
    }
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    flags: Flags,
}

fn flags(line: &str) -> Result<Flags, clap::Error> {
    let words = std::iter::once("study").chain(line.split_whitespace());
    Line::try_parse_from(words).map(|line| line.flags)
}

#[test]
fn a_study_is_repeated_by_its_command() {
    let (mut plan, flags) = (plan(), flags("--rounds 3 --for 2 --only second").unwrap());
    flags.apply(&mut plan).unwrap();
    assert_eq!(
        (plan.rounds, plan.scenarios.len(), flags.lasts_s),
        (3, 1, Some(2))
    );
    let facts = facts(&plan, &flags, &["wrk 4".to_owned()])
        .unwrap()
        .join("\n");
    assert!(
        facts.contains("`cargo xtask bench study --rounds 3 --for 2s --only second`"),
        "{facts}"
    );
    assert!(facts.contains("; wrk 4"), "{facts}");
}

#[test]
fn errors_of_flags_list_valid_values() {
    let table = [
        ("--for 1.5s", "whole seconds"),
        ("--for 0s", "whole seconds"),
        ("--rounds 0", "0 is not in"),
    ];
    for (line, expected) in table {
        let error = flags(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = flags("--only nothing")
        .unwrap()
        .apply(&mut plan())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the scenarios are first, second, once")
    );
}

/// A runner whose contenders finish at once, one of them with an error.
struct MadeUp;

impl Runner for MadeUp {
    type Stage = f64;

    fn stage(&self, _scenario: &'static str) -> Result<f64> {
        Ok(3.0)
    }

    fn measure(
        &self,
        stage: &f64,
        _scenario: &'static str,
        contender: &'static str,
    ) -> Result<Reading> {
        anyhow::ensure!(contender != "third", "it died");
        Ok(Reading::of([(CPU, *stage)]))
    }

    fn end(&self, stage: f64, trials: &mut [Trial]) {
        for trial in trials {
            if let Ok(reading) = &mut trial.outcome {
                reading.shift(CPU, stage);
            }
        }
    }

    fn versions(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn commands(&self, _scenario: &Scenario) -> Vec<String> {
        vec!["the same".to_owned()]
    }
}

#[test]
fn a_study_runs_to_its_page() {
    let flags = flags("--rounds 1 --only first").unwrap();
    Study::run(plan(), &flags, &MadeUp).unwrap();
    let page = workspace::root().join("target/bench/study.md");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("| windage | 6.00 |"), "{page}");
    assert!(
        page.contains("first, third: 1 of 1 runs failed: it died"),
        "{page}"
    );
    assert_eq!(page.matches("$ the same").count(), 1);
}
