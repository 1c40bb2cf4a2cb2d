//! What programs said about themselves, by arm.

use std::collections::BTreeMap;

use windage_model::ArmIndex;

use crate::Records;

/// What is said in more ways than these is not told in full.
const TEXTS: usize = 5;
const DIFFERS: &str = "differs";

/// Of each name what an arm's program said, over all its launches: texts that differ stand one
/// after the other.
pub(crate) fn of_arm(records: &Records, arm: ArmIndex) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for said in records.self_reported.iter().filter(|said| said.arm == arm) {
        let of_name = texts.entry(&said.name).or_default();
        // One more than are told is enough to know that they are too many.
        if of_name.len() <= TEXTS && !of_name.contains(&said.text.as_str()) {
            of_name.push(&said.text);
        }
    }
    let told = |(name, texts): (&str, Vec<&str>)| (name.to_owned(), joined(&texts));
    texts.into_iter().map(told).collect()
}

fn joined(texts: &[&str]) -> String {
    if texts.len() > TEXTS {
        DIFFERS.to_owned()
    } else {
        texts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use windage_record::{Entry, SelfReport};

    #[test]
    fn texts_of_several_launches_are_told_once_each() {
        let table: [(&[&str], &str, &str); 5] = [
            (&["700"], "700", "said once"),
            (&["700", "700", "700"], "700", "the same in each launch"),
            (&["b", "a", "b"], "b, a", "as they came"),
            (&["1", "2", "3", "4", "5"], "1, 2, 3, 4, 5", "just so many"),
            (&["1", "2", "3", "4", "5", "6", "7"], DIFFERS, "too many"),
        ];
        for (texts, expected, why) in table {
            let mut run = fixture::records(1);
            let said = |text: &&str, arm| {
                Entry::SelfReport(SelfReport {
                    launch: 0,
                    arm: ArmIndex(arm),
                    name: "gc".to_owned(),
                    text: (*text).to_owned(),
                })
            };
            run.told = texts.iter().map(|text| said(text, 2)).collect();
            run.told.push(said(&"another arm's", 0));
            let records = run.gathered();
            let found = of_arm(&records, ArmIndex(2));
            assert_eq!(found["gc"], expected, "{why}");
            assert_eq!(of_arm(&records, ArmIndex(0))["gc"], "another arm's");
            assert!(of_arm(&records, ArmIndex(1)).is_empty());
        }
    }
}
