//! `windage schema`.

use crate::exit::Exit;
use crate::verbs::report::print;

/// Prints the JSON Schema of plans.
pub(crate) fn schema() -> Exit {
    print(windage_plan::SCHEMA)
}
