//! A plan is read, or refused with an error that can be shown; a valid one is printed as a plan
//! with the same meaning.

use std::sync::OnceLock;

use tempfile::TempDir;
use windage_plan::{Plan, PlanError};

use crate::Corpus;

/// The plan's folder, which is empty: templates that a plan names do not exist.
static FOLDER: OnceLock<TempDir> = OnceLock::new();

/// Checks what the module says of an input.
pub fn check(bytes: &[u8]) -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Corpus::Reject;
    };
    let folder = FOLDER
        .get_or_init(|| tempfile::tempdir().expect("a temporary folder"))
        .path();
    let read = |text: &str| Plan::parse(text, "plan.toml", folder);
    match read(text) {
        Ok(plan) => {
            let printed = plan.to_resolved_toml();
            match read(&printed) {
                Ok(again) => {
                    let source = plan.source.clone();
                    assert_eq!(Plan { source, ..again }, plan, "printed as\n{printed}");
                }
                Err(error) => panic!("printed as an invalid plan: {error}\n{printed}"),
            }
        }
        Err(error) => {
            for shown in [error.to_string(), error.render(false), error.render(true)] {
                assert!(!shown.is_empty());
            }
            let PlanError::Invalid(problems) = error else {
                panic!("only the text should have been read: {error}");
            };
            assert!(problems.iter().len() > 0, "refused without a reason");
        }
    }
    Corpus::Keep
}
