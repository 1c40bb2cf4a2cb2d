//! Symbol maps of just-in-time compilers, from which perf takes function names.

use std::fs;
use std::path::Path;

use windage_keeper::Keeper;
use windage_model::Event;

use super::processes::JavaMachine;
use super::{BESIDES, Profiling};
use crate::LabError;
use crate::command_line::see_through;

impl Profiling<'_> {
    /// Makes Java VMs write their maps where perf looks for them (`Compiler.perfmap`, since Java
    /// 17). The functions of a VM that can't have no names, and a note says so.
    ///
    /// # Errors
    /// When the keeper has ended.
    pub(super) fn write_maps(
        &self,
        keeper: &mut Keeper,
        machines: &[JavaMachine],
        log: &Path,
    ) -> Result<(), LabError> {
        for JavaMachine { number, jcmd } in machines {
            let args = vec![number.to_string().into(), "Compiler.perfmap".into()];
            let failed = match self.start(keeper, jcmd.clone(), args, log)? {
                Ok(child) => see_through(keeper, &child, BESIDES, &self.setting.interrupted)?,
                Err(why) => Some(why),
            };
            if let Some(how) = failed {
                let text = format!("Java's functions have no names in the profile: jcmd {how}");
                (self.setting.emit)(Event::Note { text });
            }
        }
        Ok(())
    }
}

/// A Java VM leaves its map behind when it ends.
pub(super) fn remove_maps(machines: &[JavaMachine]) {
    for JavaMachine { number, .. } in machines {
        // The map may never have been written.
        let _ = fs::remove_file(format!("/tmp/perf-{number}.map"));
    }
}
