//! `windage serve`: a page over all runs of a directory, for the browser.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windage_serve::{RunsError, RunsServer};

use super::publish::address;
use super::report::print;
use crate::exit::Exit;
use crate::message;
use crate::run_name::RUNS;
use crate::signals::Signals;

/// How often signals are looked at.
const TICK: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
pub(crate) struct ServeFlags {
    /// The directory that holds runs, or one run.
    #[arg(value_name = "DIR", default_value = RUNS)]
    pub(crate) directory: PathBuf,
    /// Where to answer; a port alone is on 127.0.0.1, and port 0 is any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9470", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Print one JSON document with the page's `url`, once it is there.
    #[arg(long)]
    pub(crate) json: bool,
    /// Don't say where the page is.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Answers until told to stop.
pub(crate) fn serve(flags: &ServeFlags) -> Exit {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let server = match RunsServer::start(&flags.directory, flags.listen) {
        Ok(server) => server,
        Err(error) => {
            message::error(&error);
            return match error {
                RunsError::Directory { .. } => Exit::Usage,
                _ => Exit::CouldNotMeasure,
            };
        }
    };
    let told = tell(flags, &server);
    while told == Exit::Success && !signals.came() {
        server.take_notes().iter().for_each(message::warning);
        std::thread::sleep(TICK);
    }
    told
}

/// Says where the page is, and who can see it.
fn tell(flags: &ServeFlags, server: &RunsServer) -> Exit {
    let address = server.address();
    let directory = flags.directory.display();
    if !address.ip().is_loopback() {
        message::warning(format_args!(
            "whoever reaches {address} can read the runs in {directory}: there is no password"
        ));
    }
    let url = format!("http://{address}/");
    if !flags.quiet {
        anstream::eprintln!("runs in {directory}: {url} (Ctrl-C ends it)");
    }
    if flags.json {
        return print(format!("{:#}\n", serde_json::json!({ "url": url })));
    }
    Exit::Success
}
