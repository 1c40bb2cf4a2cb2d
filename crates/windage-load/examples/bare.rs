//! What the generator itself costs: a closed loop against an address, and the CPU it took.
//!
//! `cargo run --release -p windage-load --example bare -- 127.0.0.1:8080 [SECONDS] [CONNECTIONS] [CPU] [RATE]`
//!
//! With a rate (per second) the loop is open.

use std::error::Error;
use std::fmt::Display;
use std::io::Write;
use std::str::FromStr;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use windage_load::{Engine, EngineConfig, Pace, Recording, Schedule, Target, serialise_request};

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: bare ADDRESS [SECONDS] [CONNECTIONS] [CPU] [RATE]")?;
    let (seconds, connections) = (argument(2, 5.0)?, argument(3, 8usize)?);
    let (cpu, rate_per_s) = (argument(4, 1usize)?, argument(5, 0.0f64)?);
    let mut cpus = CpuSet::new();
    cpus.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &cpus)?;

    let request = serialise_request("GET", &address, "/", &[], b"")?;
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(5),
    })?;
    let target = engine.add_target(
        Target {
            address: address.parse()?,
            request,
            is_head: false,
        },
        connections,
    );
    let opened = engine.connect(target)?;
    if opened.failed > 0 {
        return Err(format!("{} connections to {address} failed", opened.failed).into());
    }
    let mut recording = Recording::new();
    let lasts = Duration::from_secs_f64(seconds);
    let mut schedule = Schedule::constant(rate_per_s);
    let pace = if rate_per_s > 0.0 {
        Pace::Open {
            schedule: &mut schedule,
            lasts,
        }
    } else {
        Pace::Closed { lasts }
    };
    let before_us = cpu_us()?;
    let report = engine.run(target, pace, &mut recording)?;
    let used_us = cpu_us()? - before_us;

    let exchanges = report.exchanges;
    let us = |ns: u64| ns as f64 / 1e3;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:.0} req/s, {:.3} us CPU/request (rusage {:.3}), response p50 {:.1} p99 {:.1} us, errors {}, \
         dropped {}, send lag p50 {:.1} p99 {:.1} max {:.1} us",
        exchanges.completed as f64 * 1e9 / report.duration_ns as f64,
        us(report.generator_cpu_ns) / exchanges.completed as f64,
        used_us as f64 / exchanges.completed as f64,
        us(recording.response_time.value_at_quantile(0.5)),
        us(recording.response_time.value_at_quantile(0.99)),
        exchanges.errors.total(),
        exchanges.dropped,
        us(exchanges.send_lag_ns_p50),
        us(exchanges.send_lag_ns_p99),
        us(exchanges.send_lag_ns_max),
    )?;
    Ok(())
}

fn argument<T: FromStr>(place: usize, default: T) -> Result<T, String>
where
    T::Err: Display,
{
    match std::env::args().nth(place) {
        Some(text) => text
            .parse()
            .map_err(|error| format!("argument {place}, {text:?}: {error}")),
        None => Ok(default),
    }
}

/// User and system time of this process.
fn cpu_us() -> Result<i64, nix::Error> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds())
}
