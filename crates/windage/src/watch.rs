//! Lets the lab ask the analysis whether enough was measured.

use windage_analysis::Monitor;
use windage_lab::Stopping;
use windage_record::{Entry, Launch, LaunchEnd, Manifest};

/// Watches a run that may be stopped.
pub(crate) struct Watch(Monitor);

impl Watch {
    /// A watch over the run of this manifest; `None` if the plan has no `stop`.
    pub(crate) fn over(manifest: Manifest) -> Option<Watch> {
        Monitor::new(manifest).map(Watch)
    }
}

impl Stopping for Watch {
    fn launched(&mut self, launch: &Launch) {
        self.0.launched(launch);
    }

    fn block_done(&mut self, measured: &[Entry]) {
        self.0.block_done(measured);
    }

    fn launch_ended(&mut self, end: &LaunchEnd) {
        self.0.launch_ended(end);
    }

    fn enough(&mut self) -> Option<String> {
        self.0.enough()
    }

    fn still_needed(&self) -> Option<u32> {
        self.0.still_needed()
    }
}
