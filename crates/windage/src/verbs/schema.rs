//! `windage schema`.

use crate::exit::Exit;
use crate::flags::{SchemaFlags, SchemaOf};
use crate::verbs::report::print;

/// Prints a JSON Schema.
pub(crate) fn schema(flags: &SchemaFlags) -> Exit {
    print(match flags.of {
        SchemaOf::Plan => windage_plan::SCHEMA,
        SchemaOf::Analysis => windage_analysis::wire::JSON_SCHEMA,
    })
}
