//! Which arms form a curve.

use windage_model::{LevelValue, Role};

use crate::ArmAnalysis;

/// The fewest levels for a curve.
pub(super) const FEWEST_LEVELS: usize = 3;

/// Arms that differ only in the level of one factor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group<'a> {
    pub(super) factor: &'a str,
    /// The arms' name without that level.
    pub(super) of: String,
    /// The other factors' levels, which are the same for all.
    others: Vec<&'a (String, LevelValue)>,
    /// Indices of the arms in the run with their levels, ascending by level.
    pub(super) arms: Vec<(usize, f64)>,
}

/// All groups of treatments over a factor with at least three levels, all numeric, in the order of
/// their first arms.
pub(super) fn groups(arms: &[ArmAnalysis]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let treatments = arms.iter().enumerate();
    for (index, arm) in treatments.filter(|(_, arm)| arm.role == Role::Treatment) {
        for (factor, level) in &arm.levels {
            let Some(number) = number(level) else {
                continue;
            };
            let of = without_level(&arm.name, factor, level);
            let others = arm.levels.iter().filter(|(other, _)| other != factor);
            let others: Vec<_> = others.collect();
            let known = groups
                .iter_mut()
                .find(|g| g.factor == factor && g.of == of && g.others == others);
            match known {
                Some(group) => group.arms.push((index, number)),
                None => groups.push(Group {
                    factor,
                    of,
                    others,
                    arms: vec![(index, number)],
                }),
            }
        }
    }
    for group in &mut groups {
        group.arms.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    }
    groups.retain(|group| distinct(&group.arms) >= FEWEST_LEVELS);
    groups
}

fn distinct(arms: &[(usize, f64)]) -> usize {
    arms.chunk_by(|(_, a), (_, b)| a == b).count()
}

/// A level as a number. Integers are stored as text in a plan, so that `1024` reaches a command
/// line unchanged.
fn number(level: &LevelValue) -> Option<f64> {
    match level {
        LevelValue::Number(number) => Some(*number),
        LevelValue::Text(text) => text.parse::<i32>().ok().map(f64::from),
    }
}

/// Names of swept arms end in `, factor level` for each factor.
fn without_level(name: &str, factor: &str, level: &LevelValue) -> String {
    let level = format!(", {factor} {level}");
    let found = name.match_indices(&level).find(|(at, _)| {
        let rest = &name[at + level.len()..];
        rest.is_empty() || rest.starts_with(',')
    });
    match found {
        Some((at, _)) => format!("{}{}", &name[..at], &name[at + level.len()..]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use windage_model::ArmId;

    fn arm(name: &str, role: Role, levels: &[(&str, &str)]) -> ArmAnalysis {
        let level = |text: &str| match text.parse::<f64>() {
            Ok(number) if text.contains('.') => LevelValue::Number(number),
            _ => LevelValue::Text(text.to_owned()),
        };
        let suffix = levels.iter().map(|(f, l)| format!(", {f} {l}"));
        let name = format!("{name}{}", suffix.collect::<String>());
        ArmAnalysis {
            id: ArmId::from_text(&name).unwrap(),
            name,
            role,
            levels: levels
                .iter()
                .map(|(factor, text)| ((*factor).to_owned(), level(text)))
                .collect(),
            metrics: BTreeMap::new(),
            fidelity: None,
            load: None,
            planning: None,
            script: None,
            agent: None,
            isolated_less_interleaved: None,
            carry_over: None,
            bill: None,
            bystander_of: None,
            at_base: None,
            bystander: None,
            budgets: Vec::new(),
            claims: Vec::new(),
            services: Vec::new(),
            self_reported: BTreeMap::new(),
        }
    }

    fn found(arms: &[ArmAnalysis]) -> Vec<(String, String, Vec<f64>)> {
        let reported = |group: Group<'_>| {
            let levels = group.arms.iter().map(|(_, level)| *level).collect();
            (group.factor.to_owned(), group.of, levels)
        };
        groups(arms).into_iter().map(reported).collect()
    }

    #[test]
    fn one_factor_gives_one_curve_by_rising_level() {
        let levels = ["100.0", "10.0", "2.5", "0.0"];
        let mut arms = vec![arm("off", Role::Baseline, &[("rate", "50.0")])];
        arms.extend(levels.map(|level| arm("otel", Role::Treatment, &[("rate", level)])));
        arms.push(arm("disabled", Role::Treatment, &[]));
        let expected = ("rate".into(), "otel".into(), vec![0.0, 2.5, 10.0, 100.0]);
        assert_eq!(found(&arms), [expected]);
    }

    #[test]
    fn two_factors_give_a_curve_for_each_level_of_the_other() {
        let mut arms = Vec::new();
        for rate in ["1.0", "10.0", "10.5"] {
            for batch in ["64", "512", "4096"] {
                let levels = [("rate", rate), ("batch", batch)];
                arms.push(arm("otel", Role::Treatment, &levels));
            }
        }
        let found = found(&arms);
        assert_eq!(found.len(), 6);
        let over_rate = (
            "rate".into(),
            "otel, batch 64".into(),
            vec![1.0, 10.0, 10.5],
        );
        let over_batch = (
            "batch".into(),
            "otel, rate 1.0".into(),
            vec![64.0, 512.0, 4096.0],
        );
        assert_eq!(found[..2], [over_rate, over_batch]);
    }

    #[test]
    fn non_numeric_or_few_levels_make_no_curve() {
        // levels, why
        let table: [(&[&str], &str); 4] = [
            (&["ok", "slow", "down"], "words"),
            (&["1.0", "2.0"], "two levels"),
            (&["1.0", "2.0", "high"], "one level is not a number"),
            (&["1.2.3", "1.2.4", "1.3.0"], "versions"),
        ];
        for (levels, why) in table {
            let levels = levels.iter();
            let arms = levels.map(|level| arm("otel", Role::Treatment, &[("f", level)]));
            assert_eq!(found(&arms.collect::<Vec<_>>()), [], "{why}");
        }
    }

    #[test]
    fn arms_with_different_names_are_on_different_curves() {
        let levels = ["0.0", "1.0", "2.0"];
        let of = |name| levels.map(|level| arm(name, Role::Treatment, &[("rate", level)]));
        let arms = [of("sa"), of("cmp")].concat();
        let names: Vec<String> = found(&arms).into_iter().map(|(_, of, _)| of).collect();
        assert_eq!(names, ["sa", "cmp"]);
    }
}
