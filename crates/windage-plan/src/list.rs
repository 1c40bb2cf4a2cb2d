//! Files that list plans instead of being one.

use std::path::{Path, PathBuf};

use crate::wire::Spanned;
use serde::Deserialize;

use crate::{PlanError, Problem, Problems};

/// `plans = ["../app/plan.toml"]`, and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    plans: Vec<Spanned<String>>,
}

/// The plans that a file lists, as paths from where the file is; `None` for a file that is no list.
///
/// # Errors
///
/// When it is a list with mistakes.
pub fn listed_plans(path: &Path) -> Result<Option<Vec<PathBuf>>, PlanError> {
    let Some(text) = text_of_list(path) else {
        return Ok(None);
    };
    let invalid = |problem| {
        let name = path.display().to_string();
        PlanError::Invalid(Problems::new(&name, &text, vec![problem]))
    };
    let list: List =
        toml::from_str(&text).map_err(|error| invalid(Problem::from_toml(&error, &text)))?;
    if list.plans.is_empty() {
        return Err(invalid(Problem::new(
            0..0,
            "the list names no plan",
            "empty",
        )));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut plans = Vec::new();
    for listed in &list.plans {
        let plan = folder.join(listed.get_ref());
        if !plan.is_file() {
            let message = format!("there is no plan `{}`", plan.display());
            let problem = Problem::new(listed.span(), message, "not a file");
            return Err(invalid(problem.help("name plans relative to this file")));
        }
        if text_of_list(&plan).is_some() {
            let message = format!("`{}` is a list itself", plan.display());
            let problem = Problem::new(listed.span(), message, "not a plan");
            return Err(invalid(problem.help("name its plans here")));
        }
        plans.push(plan);
    }
    Ok(Some(plans))
}

/// The text of a file that is a list. A pipe is none: it can be read only once, as a plan. Whatever
/// else is wrong is reported when the file is read as one.
fn text_of_list(path: &Path) -> Option<String> {
    let text = path
        .is_file()
        .then(|| std::fs::read_to_string(path).ok())??;
    let is_list = |table: toml::Table| table.contains_key("plans");
    text.parse().is_ok_and(is_list).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Result<Option<Vec<PathBuf>>, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.toml"), "name = 'a'").unwrap();
        std::fs::create_dir(folder.path().join("lists")).unwrap();
        let list = folder.path().join("lists/all.toml");
        std::fs::write(&list, text).unwrap();
        let found = listed_plans(&list).map_err(|error| error.render(false));
        let short = |path: PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
        found.map(|plans| plans.map(|plans| plans.into_iter().map(short).collect()))
    }

    #[test]
    fn plans_are_relative_to_the_list() {
        let found = listed("plans = ['../a.toml', '../lists/../a.toml']").unwrap();
        let expected = ["lists/../a.toml", "lists/../lists/../a.toml"];
        assert_eq!(found, Some(expected.map(PathBuf::from).to_vec()));
        assert_eq!(listed("name = 'a plan'").unwrap(), None);
        assert_eq!(
            listed("plans = [").unwrap(),
            None,
            "the plan's own error says more"
        );
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        for (text, message) in [
            ("plans = []", "names no plan"),
            ("plans = ['b.toml']", "there is no plan"),
            ("plans = ['..']", "there is no plan"),
            ("plans = ['all.toml']", "is a list itself"),
            ("plans = [1]", "expected a string"),
            ("plans = ['../a.toml']\nname = 'all'", "unknown key `name`"),
        ] {
            let said = listed(text).unwrap_err();
            assert!(
                said.contains(message) && said.contains("all.toml"),
                "{text}: {said}"
            );
        }
    }
}
