//! The values that a plan takes from Windage's environment.

use std::ffi::OsString;

use windage_plan::{Plan, Value};

use crate::LabError;

/// Checks that the environment has every variable that the plan names.
///
/// # Errors
/// One is missing: where the plan names it, and what to do.
pub(crate) fn look(plan: &Plan) -> Result<(), LabError> {
    look_in(plan, &|name| std::env::var_os(name))
}

fn look_in(plan: &Plan, get: &dyn Fn(&str) -> Option<OsString>) -> Result<(), LabError> {
    for set in plan.variables() {
        if let Value::Environment { variable } = set.value
            && get(variable).is_none()
        {
            return Err(missing(set.to_string(), variable));
        }
    }
    Ok(())
}

/// The error about a variable that is not set; `place` is where the plan names it.
pub(crate) fn missing(place: String, variable: &str) -> LabError {
    LabError::Variable {
        place,
        variable: variable.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_missing_variable_is_named_with_its_key_and_the_remedy() {
        let text = "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{listen}']\n\
             env = { A = '$FIRST', LITERAL = '$$THIRD' }\n[load]\nmodel = 'closed'\n\
             request = 'GET http://{app}/'\n[[arm]]\nname = 'off'\nbaseline = true\n\
             [[arm]]\nname = 'on'\nenv = { B = '$SECOND' }\n";
        let plan = Plan::parse(text, "plan.toml", Path::new("/")).unwrap();
        let table = [
            (&["FIRST", "SECOND"][..], &[][..]),
            (
                &["FIRST"],
                &["`env.B` of arm `on`", "$SECOND", "export SECOND"],
            ),
            (&["SECOND"], &["`env.A` of service `app`", "$FIRST", "sudo"]),
        ];
        for (given, parts) in table {
            let get = |name: &str| given.contains(&name).then(OsString::new);
            match look_in(&plan, &get) {
                Ok(()) => assert!(parts.is_empty(), "{given:?}"),
                Err(error) => {
                    let text = error.to_string();
                    for part in parts {
                        assert!(text.contains(part), "{text} lacks {part}");
                    }
                    assert!(!parts.is_empty(), "{text}");
                }
            }
        }
    }
}
