//! `windage serve`: a page with all runs of a directory, for the browser.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windage_record::RUNS;
use windage_serve::{RunsError, RunsServer};

use super::publish::address;
use super::report::print;
use crate::exit::Exit;
use crate::message;
use crate::signals::Signals;

/// How often signals are checked.
const TICK: Duration = Duration::from_millis(100);

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage serve\n  windage serve results --listen 127.0.0.1:0 --json"
)]
pub(crate) struct ServeFlags {
    /// The directory that holds runs, or one run.
    #[arg(value_name = "DIR", default_value = RUNS)]
    pub(crate) directory: PathBuf,
    /// Address to listen on; a port alone means 127.0.0.1, port 0 means any free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9470", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Print one JSON document with the page's `url` once it can be reached.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing beside the JSON document: without its URL, the page can't be opened.
    #[arg(long, short, requires = "json")]
    pub(crate) quiet: bool,
}

/// Serves until a signal comes.
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
    let exit = announce(flags, &server);
    while exit == Exit::Success && !signals.came() {
        server.take_notes().iter().for_each(message::warning);
        std::thread::sleep(TICK);
    }
    exit
}

/// Prints the page's URL with its token, and warns if other machines can reach it.
fn announce(flags: &ServeFlags, server: &RunsServer) -> Exit {
    let address = server.address();
    let directory = flags.directory.display();
    if !address.ip().is_loopback() {
        message::warning(format_args!(
            "everyone who has the URL, or can listen to the network of {address}, can read the runs \
             in {directory}: HTTP is not encrypted"
        ));
    }
    let url = server.url();
    if !flags.quiet {
        anstream::eprintln!("runs in {directory}: {url} (press Ctrl-C to stop)");
    }
    if flags.json {
        return print(format!("{:#}\n", serde_json::json!({ "url": url })));
    }
    Exit::Success
}
