//! Invented, reproducible run directories of every kind that a reader of runs must show.
//!
//! ```console
//! $ cargo run --locked -p windage-record --example showcase -- FOLDER
//! ```
//!
//! The tests of the page use them: each run has its own folder below FOLDER, which must not exist
//! yet. Nothing in them was measured.

mod cases;
mod facts;
mod invented;
mod random;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os();
    let _program = arguments.next();
    let (Some(folder), None) = (arguments.next(), arguments.next()) else {
        return Err("usage: showcase FOLDER".into());
    };
    let folder = Path::new(&folder);
    std::fs::create_dir(folder)?;
    for (name, case) in cases::all() {
        invented::write(&folder.join(name), name, &case)?;
    }
    // A folder that is not a run, and one with a damaged manifest.
    std::fs::create_dir(folder.join("no-run"))?;
    std::fs::create_dir(folder.join("damaged"))?;
    std::fs::write(folder.join("damaged/manifest.json"), "{ \"format\": 3, ")?;
    Ok(())
}
