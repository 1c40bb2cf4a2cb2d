//! Reads plans: their files and texts.

use std::path::Path;

use crate::{Depth, Plan, PlanError, Problems, resolve, wire};

impl Plan {
    /// Reads and checks a plan file.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or contains anything that `docs/FORMAT.md` doesn't allow.
    pub fn load(path: &Path, depth: Depth) -> Result<Plan, PlanError> {
        let unreadable = |source| PlanError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let text = std::fs::read_to_string(&absolute).map_err(unreadable)?;
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        Plan::parse_for(depth, &text, &path.display().to_string(), folder)
    }

    /// Checks a plan's text. Templates, bodies, CSV files and recordings that it names are read
    /// from `folder`.
    ///
    /// # Errors
    ///
    /// When the text contains anything that `docs/FORMAT.md` doesn't allow. Errors refer to it as
    /// `file_name`.
    pub fn parse(text: &str, file_name: &str, folder: &Path) -> Result<Plan, PlanError> {
        Plan::parse_for(Depth::Usual, text, file_name, folder)
    }

    /// The same for a run of the given depth.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Plan::parse).
    pub fn parse_for(
        depth: Depth,
        text: &str,
        file_name: &str,
        folder: &Path,
    ) -> Result<Plan, PlanError> {
        let folder = std::path::absolute(folder).map_err(|source| PlanError::Unreadable {
            path: folder.to_owned(),
            source,
        })?;
        wire::read(text)
            .map_err(|problem| vec![problem])
            .and_then(|file| resolve::resolve(&file, text, &folder, depth))
            .map_err(|list| PlanError::Invalid(Problems::new(file_name, text, list)))
    }
}
