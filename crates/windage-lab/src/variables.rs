//! The values that a plan takes from Windage's environment.

use std::ffi::OsString;

use windage_plan::{Plan, Value};

use crate::LabError;

/// The variables that the plan names and that the environment lacks: where the plan names each, and
/// what to do.
pub(crate) fn lacking(plan: &Plan) -> impl Iterator<Item = LabError> {
    lacking_in(plan, |name| std::env::var_os(name))
}

fn lacking_in(
    plan: &Plan,
    get: impl Fn(&str) -> Option<OsString>,
) -> impl Iterator<Item = LabError> {
    plan.variables().filter_map(move |set| match set.value {
        Value::Environment { variable } if get(variable).is_none() => {
            Some(missing(set.to_string(), variable))
        }
        _ => None,
    })
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
            let texts: Vec<String> = lacking_in(&plan, get).map(|of| of.to_string()).collect();
            assert_eq!(texts.len(), usize::from(!parts.is_empty()), "{texts:?}");
            for (text, part) in texts
                .iter()
                .flat_map(|text| parts.iter().map(move |p| (text, p)))
            {
                assert!(text.contains(part), "{text} lacks {part}");
            }
        }
    }
}
