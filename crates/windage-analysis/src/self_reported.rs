//! What programs report about themselves, by arm.

use std::collections::BTreeMap;

use windage_model::ArmIndex;

use crate::Records;

/// At most so many different texts are listed.
const TEXTS: usize = 5;
const DIFFERS: &str = "differs";

/// What an arm's program reports under each name, over all its launches: different texts are listed
/// one after another.
pub(crate) fn of_arm(records: &Records, arm: ArmIndex) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for said in records.self_reported.iter().filter(|said| said.arm == arm) {
        let of_name = texts.entry(&said.name).or_default();
        // One more than is listed is enough to detect that there are too many.
        if of_name.len() <= TEXTS && !of_name.contains(&said.text.as_str()) {
            of_name.push(&said.text);
        }
    }
    let reported = |(name, texts): (&str, Vec<&str>)| (name.to_owned(), joined(&texts));
    texts.into_iter().map(reported).collect()
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
    fn texts_of_several_launches_are_listed_once_each() {
        let table: [(&[&str], &str, &str); 5] = [
            (&["700"], "700", "reported once"),
            (&["700", "700", "700"], "700", "the same in each launch"),
            (&["b", "a", "b"], "b, a", "in order of appearance"),
            (
                &["1", "2", "3", "4", "5"],
                "1, 2, 3, 4, 5",
                "exactly the limit",
            ),
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
            run.reported = texts.iter().map(|text| said(text, 2)).collect();
            run.reported.push(said(&"another arm's", 0));
            let records = run.gathered();
            let found = of_arm(&records, ArmIndex(2));
            assert_eq!(found["gc"], expected, "{why}");
            assert_eq!(of_arm(&records, ArmIndex(0))["gc"], "another arm's");
            assert!(of_arm(&records, ArmIndex(1)).is_empty());
        }
    }
}
