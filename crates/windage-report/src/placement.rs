//! Where the plan puts the parts of a run, and which of them share a core.

use std::collections::BTreeMap;

use windage_analysis::{Placed, RunPart};

use crate::facts::{Fact, one_line};

/// The cores of each part; `None` where the plan leaves all of them to the scheduler.
pub(crate) fn fact(placement: &[Placed]) -> Option<Fact> {
    placement.iter().find(|placed| placed.cpus.is_some())?;
    let each = placement.iter().map(|placed| {
        let cpus = placed.cpus.as_deref().map_or("any".to_owned(), list);
        format!("{} {cpus}", spoken(&placed.part))
    });
    let text = each.collect::<Vec<_>>().join(", ");
    Some(Fact::new("cores", format!("{text}; {}", shared(placement))))
}

/// Which parts meet on which core. Services do not count among each other: whatever they do is the
/// subject's.
fn shared(placement: &[Placed]) -> String {
    let mut on: BTreeMap<u32, Vec<&RunPart>> = BTreeMap::new();
    for Placed { part, cpus } in placement {
        for &cpu in cpus.iter().flatten() {
            on.entry(cpu).or_default().push(part);
        }
    }
    on.retain(|_, parts| parts.iter().any(|part| part.kind() != parts[0].kind()));
    let mut met: Vec<(Vec<&RunPart>, Vec<u32>)> = Vec::new();
    for (cpu, parts) in on {
        match met.iter_mut().find(|(same, _)| *same == parts) {
            Some((_, cpus)) => cpus.push(cpu),
            None => met.push((parts, vec![cpu])),
        }
    }
    let sentence = |(parts, cpus): &(Vec<&RunPart>, Vec<u32>)| {
        let parts: Vec<String> = parts.iter().map(|part| spoken(part)).collect();
        let s = if cpus.len() == 1 { "" } else { "s" };
        format!(
            "{} share core{s} {} and can delay each other",
            parts.join(" and "),
            list(cpus)
        )
    };
    match met.is_empty() {
        true if placement.iter().any(|placed| placed.cpus.is_none()) => {
            "`any` may be one of these".to_owned()
        }
        true => "apart from each other".to_owned(),
        false => met.iter().map(sentence).collect::<Vec<_>>().join("; "),
    }
}

fn spoken(part: &RunPart) -> String {
    let name = part.name().map(|name| format!(" `{}`", one_line(name)));
    format!("{}{}", part.kind(), name.unwrap_or_default())
}

/// Cores by number, a row of three and more by its ends.
fn list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let rows = sorted.chunk_by(|a, b| a + 1 == *b);
    let row = |row: &[u32]| match row {
        [first, _, .., last] => format!("{first}–{last}"),
        few => few
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    rows.map(row).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(part: RunPart, cpus: &[u32]) -> Placed {
        Placed {
            part,
            cpus: (!cpus.is_empty()).then(|| cpus.to_vec()),
        }
    }

    #[test]
    fn who_shares_a_core_is_said() {
        let app = |cpus: &[u32]| placed(RunPart::Service("app".to_owned()), cpus);
        let redis = |cpus: &[u32]| placed(RunPart::Service("redis".to_owned()), cpus);
        let otel = |cpus: &[u32]| placed(RunPart::Agent("otel".to_owned()), cpus);
        let generator = |cpus: &[u32]| placed(RunPart::Generator, cpus);
        let table = [
            (vec![], None),
            (vec![app(&[]), otel(&[]), generator(&[])], None),
            (
                vec![app(&[0]), otel(&[1]), generator(&[1])],
                Some(
                    "service `app` 0, agent `otel` 1, generator 1; agent `otel` and generator share \
                     core 1 and can delay each other",
                ),
            ),
            (
                vec![app(&[0]), redis(&[0]), otel(&[2, 3]), generator(&[1])],
                Some(
                    "service `app` 0, service `redis` 0, agent `otel` 2, 3, generator 1; apart from \
                     each other",
                ),
            ),
            (
                vec![app(&[0, 1, 2, 4]), otel(&[1, 2]), generator(&[4])],
                Some(
                    "service `app` 0–2, 4, agent `otel` 1, 2, generator 4; service `app` and agent \
                     `otel` share cores 1, 2 and can delay each other; service `app` and generator \
                     share core 4 and can delay each other",
                ),
            ),
            (
                vec![app(&[0]), generator(&[])],
                Some("service `app` 0, generator any; `any` may be one of these"),
            ),
        ];
        for (placement, expected) in table {
            let text = fact(&placement).map(|fact| fact.text);
            assert_eq!(text.as_deref(), expected);
        }
    }
}
