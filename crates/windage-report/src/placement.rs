//! The cores of a run's parts, and which parts share a core.

use std::collections::BTreeMap;

use windage_analysis::{Placed, RunPart};

use crate::fact::{Fact, one_line};

/// The parts on each core; `None` if the plan leaves all of them to the scheduler.
pub(crate) fn fact(placement: &[Placed]) -> Option<Fact> {
    let mut on: BTreeMap<u32, Vec<&RunPart>> = BTreeMap::new();
    let mut not_pinned = Vec::new();
    for Placed { part, cpus } in placement {
        match cpus {
            Some(cpus) => cpus
                .iter()
                .for_each(|&cpu| on.entry(cpu).or_default().push(part)),
            None => not_pinned.push(part),
        }
    }
    let mut alike: Vec<(Vec<u32>, Vec<&RunPart>)> = Vec::new();
    for (cpu, parts) in on {
        match alike.iter_mut().find(|(_, same)| *same == parts) {
            Some((cpus, _)) => cpus.push(cpu),
            None => alike.push((vec![cpu], parts)),
        }
    }
    let is_shared = alike.iter().any(|(_, parts)| parts.len() > 1);
    let mut places: Vec<String> = alike.iter().map(place).collect();
    if places.is_empty() {
        return None;
    }
    if !not_pinned.is_empty() {
        places.push(format!("not pinned: {}", names(&not_pinned)));
    }
    let remark = if is_shared || !not_pinned.is_empty() {
        "parts that share a core delay each other"
    } else {
        "no two share a core"
    };
    let text = format!("{}; {remark}", places.join("; "));
    Some(Fact::new("cores", text))
}

fn place((cpus, parts): &(Vec<u32>, Vec<&RunPart>)) -> String {
    format!("{}: {}", list(cpus), names(parts))
}

fn names(parts: &[&RunPart]) -> String {
    let names: Vec<String> = parts.iter().map(|part| spoken(part)).collect();
    names.join(", ")
}

fn spoken(part: &RunPart) -> String {
    let name = part.name().map(|name| format!(" `{}`", one_line(name)));
    format!("{}{}", part.kind(), name.unwrap_or_default())
}

/// Cores in rising order; three or more in a row as a range.
fn list(cpus: &[u32]) -> String {
    let rows = cpus.chunk_by(|a, b| a + 1 == *b);
    let row = |row: &[u32]| match row {
        [first, _, .., last] => format!("{first}–{last}"),
        few => {
            let numbers: Vec<String> = few.iter().map(u32::to_string).collect();
            numbers.join(", ")
        }
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
    fn parts_are_listed_by_core() {
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
                    "0: service `app`; 1: agent `otel`, generator; parts that share a core delay \
                     each other",
                ),
            ),
            (
                vec![app(&[0]), otel(&[2, 3]), generator(&[1])],
                Some(
                    "0: service `app`; 1: generator; 2, 3: agent `otel`; no two \
                     share a core",
                ),
            ),
            (
                vec![app(&[0]), redis(&[0]), otel(&[2]), generator(&[1])],
                Some(
                    "0: service `app`, service `redis`; 1: generator; 2: agent `otel`; parts that \
                     share a core delay each other",
                ),
            ),
            (
                vec![app(&[0, 1, 2, 4]), otel(&[1, 2]), generator(&[4])],
                Some(
                    "0: service `app`; 1, 2: service `app`, agent `otel`; 4: service `app`, \
                     generator; parts that share a core delay each other",
                ),
            ),
            (
                vec![app(&[0, 1, 2, 5]), otel(&[]), generator(&[])],
                Some(
                    "0–2, 5: service `app`; not pinned: agent `otel`, generator; parts that share \
                     a core delay each other",
                ),
            ),
        ];
        for (placement, expected) in table {
            let text = fact(&placement).map(|fact| fact.text);
            assert_eq!(text.as_deref(), expected);
        }
    }
}
