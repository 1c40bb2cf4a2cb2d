//! The load to run: flags, checked against each other and against the system.

use std::time::Duration;

use windage_load::{Endpoint, Protocol};

use super::error::LoadError;
use super::flags::LoadFlags;
use super::starts::{Arrivals, Starts};
use super::url::{Scheme, Url};

/// Default length of the measurement.
const LASTS: Duration = Duration::from_secs(10);
/// The most exchanges at a time; each takes memory in advance.
const MAX_LANES: u64 = 1_000_000;
/// `sun_path` has 108 bytes, the last of which is zero (unix(7)).
const MAX_UNIX_PATH_BYTES: usize = 107;

/// How requests are paced.
#[derive(Clone, Debug)]
pub(super) enum Model {
    Closed,
    Open {
        starts: Starts,
        arrivals: Arrivals,
        seed: u64,
    },
}

/// A load, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Design {
    pub(super) url: Url,
    pub(super) method: String,
    pub(super) endpoint: Endpoint,
    pub(super) protocol: Protocol,
    pub(super) model: Model,
    pub(super) lasts: Duration,
    pub(super) warmup: Duration,
    pub(super) timeout: Duration,
    pub(super) connections: usize,
    /// The most connections that may be opened.
    pub(super) max_connections: usize,
    pub(super) streams: usize,
    pub(super) threads: usize,
    pub(super) cpus: Vec<u32>,
}

impl Design {
    /// Checks flags that depend on each other, and resolves the address.
    pub(super) fn of(flags: &LoadFlags) -> Result<Design, LoadError> {
        let url = Url::parse(&flags.url).map_err(|message| LoadError::Flag {
            flag: "URL",
            message,
        })?;
        check(flags, &url)?;
        let (model, lasts) = model(flags)?;
        let endpoint = match &flags.unix {
            Some(path) => Endpoint::Unix(path.clone()),
            None => Endpoint::Tcp(url.address(&flags.allow)?),
        };
        Ok(Design {
            url,
            method: method(flags).to_owned(),
            endpoint,
            protocol: match (flags.grpc, flags.http2) {
                (true, _) => Protocol::Grpc,
                (false, true) => Protocol::Http2,
                (false, false) => Protocol::Http1,
            },
            model,
            lasts,
            warmup: flags.warmup,
            timeout: flags.timeout,
            connections: flags.connections as usize,
            max_connections: flags.max_connections.unwrap_or(flags.connections) as usize,
            streams: flags.streams.unwrap_or(1) as usize,
            threads: flags.threads as usize,
            cpus: flags.cpus.clone(),
        })
    }

    /// Whether starts follow a schedule.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.model, Model::Open { .. })
    }

    /// The protocol's name.
    pub(super) fn protocol_name(&self) -> &'static str {
        match self.protocol {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::Http2 => "HTTP/2",
            Protocol::Grpc => "gRPC",
        }
    }

    /// Whether connections are encrypted.
    pub(super) fn is_tls(&self) -> bool {
        self.url.scheme == Scheme::Https
    }
}

fn check(flags: &LoadFlags, url: &Url) -> Result<(), LoadError> {
    let is_open = flags.rate.is_some() || flags.profile.is_some() || flags.replay.is_some();
    let is_h2 = flags.http2 || flags.grpc;
    let is_tls = url.scheme == Scheme::Https;
    let (connections, threads) = (flags.connections, flags.threads);
    let open_only = "needs an open loop; add --rate";
    let tls_only = "needs an https:// URL";
    // A flag, whether it is given without effect, and why.
    let in_vain = [
        (
            "--arrivals",
            flags.arrivals.is_some() && !is_open,
            open_only,
        ),
        (
            "--max-connections",
            flags.max_connections.is_some() && !is_open,
            open_only,
        ),
        (
            "--streams",
            flags.streams.is_some() && !is_h2,
            "HTTP/1.1 has one exchange at a time per connection; add --http2 or raise \
             --connections",
        ),
        ("--ca", flags.ca.is_some() && !is_tls, tls_only),
        ("--insecure", flags.insecure && !is_tls, tls_only),
    ];
    let wrong = |flag, message: &str| {
        Err(LoadError::Flag {
            flag,
            message: message.to_owned(),
        })
    };
    if let Some((flag, _, why)) = in_vain.into_iter().find(|&(_, in_vain, _)| in_vain) {
        return wrong(flag, why);
    }
    if flags.max_connections.is_some_and(|most| most < connections) {
        return wrong(
            "--max-connections",
            "it is less than --connections; raise it, or lower --connections",
        );
    }
    let lanes = u64::from(flags.max_connections.unwrap_or(connections))
        * u64::from(flags.streams.unwrap_or(1));
    if lanes > MAX_LANES {
        let why = format!(
            "{lanes} exchanges at once (connections times streams) are more than {MAX_LANES}; lower \
             --streams or --connections"
        );
        return wrong("--streams", &why);
    }
    if let Some(path) = &flags.unix
        && path.as_os_str().len() > MAX_UNIX_PATH_BYTES
    {
        let why = format!(
            "the path of a Unix socket may have at most {MAX_UNIX_PATH_BYTES} bytes; use a shorter one"
        );
        return wrong("--unix", &why);
    }
    if threads > connections {
        let why = format!(
            "{threads} threads need a connection each, and there are {connections}; lower --threads or \
             raise --connections"
        );
        return wrong("--threads", &why);
    }
    Ok(())
}

/// The model, and the length of the measurement.
fn model(flags: &LoadFlags) -> Result<(Model, Duration), LoadError> {
    let lasts = flags.length.unwrap_or(LASTS);
    let (starts, lasts) = if let Some(rate_per_s) = flags.rate {
        (Starts::Rate(rate_per_s), lasts)
    } else if let Some(profile) = &flags.profile {
        (Starts::Profile(profile.clone()), profile.lasts())
    } else if let Some(path) = &flags.replay {
        let (starts, length) = Starts::replay(path)?;
        (starts, flags.length.unwrap_or(length))
    } else {
        return Ok((Model::Closed, lasts));
    };
    let model = Model::Open {
        starts,
        arrivals: flags.arrivals.unwrap_or(Arrivals::Constant),
        seed: flags.seed,
    };
    Ok((model, lasts))
}

/// The method of the request: the one that was named, or the default, which depends on data.
fn method(flags: &LoadFlags) -> &str {
    let has_data = flags.data.is_some() || flags.data_file.is_some();
    match &flags.method {
        Some(method) => method,
        None if flags.grpc || has_data => "POST",
        None => "GET",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;

    fn flags(args: &str) -> LoadFlags {
        let cli = Cli::parse_from(["windage", "load"].into_iter().chain(args.split(' ')));
        match cli.verb {
            Verb::Load(flags) => *flags,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_without_effect_are_refused() {
        let table = [
            ("http://localhost/ --arrivals poisson", "--arrivals"),
            ("http://localhost/ --max-connections 9", "--max-connections"),
            (
                "http://localhost/ --rate 1/s --max-connections 7",
                "--max-connections",
            ),
            ("http://localhost/ --streams 5", "--streams"),
            ("http://localhost/ --ca x.pem", "--ca"),
            ("http://localhost/ --insecure", "--insecure"),
            ("http://localhost/ --threads 9", "--threads"),
        ];
        for (args, flag) in table {
            let error = Design::of(&flags(args)).unwrap_err();
            assert!(error.to_string().starts_with(flag), "{args}: {error}");
            assert_eq!(error.exit(), crate::exit::Exit::Usage);
        }
    }

    #[test]
    fn the_default_method_depends_on_data() {
        let table = [
            ("http://localhost/", "GET"),
            ("http://localhost/ -d x", "POST"),
            ("http://localhost/ -d x -X PUT", "PUT"),
            ("http://localhost/ --grpc", "POST"),
        ];
        for (args, expected) in table {
            assert_eq!(method(&flags(args)), expected, "{args}");
        }
    }

    #[test]
    fn a_profile_lasts_as_long_as_its_pieces() {
        let args = [
            "windage",
            "load",
            "http://localhost/",
            "--profile",
            "0..9/s for 3s",
        ];
        let Verb::Load(flags) = Cli::parse_from(args).verb else {
            panic!("another verb");
        };
        assert_eq!(Design::of(&flags).unwrap().lasts, Duration::from_secs(3));
    }
}
