//! Lines of `key=value`, in which a server reports its timing to a program.

/// A line lacks a fact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line:?} has no whole number for {key:?}; give a line that the server printed, unchanged")]
pub struct FactsError {
    pub(crate) line: String,
    pub(crate) key: &'static str,
}

/// The whole number that belongs to `key`.
pub(crate) fn fact(line: &str, key: &'static str) -> Result<u64, FactsError> {
    line.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| *name == key)
        .and_then(|(_, value)| value.parse().ok())
        .ok_or_else(|| FactsError {
            line: line.to_owned(),
            key,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_by_their_whole_name() {
        let line = "stalls first_ns=7 every_ns=20 wrong_ns=-1";
        assert_eq!(fact(line, "every_ns"), Ok(20));
        for missing in ["ns", "first", "stalls", "wrong_ns"] {
            let error = fact(line, missing).unwrap_err();
            assert_eq!((error.line.as_str(), error.key), (line, missing));
        }
    }
}
