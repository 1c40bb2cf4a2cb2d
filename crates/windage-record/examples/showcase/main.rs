//! Run directories of every kind that a reader of runs has to show, all made up and always the same.
//!
//! ```console
//! $ cargo run -p windage-record --example showcase -- FOLDER
//! ```
//!
//! They are what the tests of the page look at: each run has a folder of its own below FOLDER, which
//! must not be there yet. Nothing in them was measured.

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
    // A folder that is no run, and one whose manifest is damaged.
    std::fs::create_dir(folder.join("no-run"))?;
    std::fs::create_dir(folder.join("damaged"))?;
    std::fs::write(folder.join("damaged/manifest.json"), "{ \"format\": 3, ")?;
    Ok(())
}
