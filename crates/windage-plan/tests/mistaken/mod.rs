//! Tests of errors: each case changes a good plan a little.

use std::path::Path;

use windage_plan::{Plan, PlanError};

/// Reads a plan in the folder of the files that test plans name.
pub(crate) fn read(text: &str) -> Result<Plan, PlanError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    Plan::parse(text, "plan.toml", &folder)
}

/// The rendered error of the good plan with each `from` replaced by its `to`.
pub(crate) fn rendered(good: &str, changes: &[(&str, &str)]) -> String {
    let mut text = good.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "`{from}` is not in the good plan");
        text = text.replacen(from, to, 1);
    }
    match read(&text) {
        Ok(_) => "no error".to_owned(),
        Err(error) => error.render(false),
    }
}

/// Defines a test for each case; the good plan is the `GOOD` of the test's file.
macro_rules! mistakes {
    ($($name:ident: $($from:literal => $to:literal),+;)+) => {$(
        #[test]
        fn $name() {
            let said = crate::mistaken::rendered(GOOD, &[$(($from, $to)),+]);
            insta::assert_snapshot!(stringify!($name), said);
        }
    )+};
}

pub(crate) use mistakes;
