//! Nothing outlives a run, whichever of its processes is killed, and whenever.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::keepers::keepers;
use crate::workshop::Workshop;
use crate::{alone, experiment, leftovers};

/// Kills per test; `WINDAGE_KILLS` sets another number.
const KILLS: u32 = 60;

/// Nginx, and processes that are hard to find: in another session, with a parent that has ended,
/// with an empty environment.
const PLAN: &str = r#"
name = 'hard-to-kill'

[[service]]
name = 'web'
command = ['/bin/sh', '-c', '''
setsid --fork setsid --fork sleep 301
env -i /bin/sh -c '(/bin/sleep 302 & /bin/sleep 303 &)'
exec nginx -c "$1/nginx.conf" -p "$1" -e stderr
''', 'web', '{dir}']
files = [{ template = 'nginx.conf', to = 'nginx.conf' }]
ready = { http = '/', within = '20s' }

[load]
model = 'closed'
connections = 4
request = 'GET http://{web}/'

[[arm]]
name = 'nginx'
baseline = true

[design]
window = '20ms'
rounds = 1
for = '20s'
warmup = '100ms'
"#;

/// The process to kill.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Windage,
    Keeper,
}

#[test]
fn kills_at_any_moment_leave_nothing() {
    let _alone = alone();
    let kills = std::env::var("WINDAGE_KILLS").map_or(KILLS, |count| count.parse().unwrap());
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos();
    let mut random = u64::try_from(seed & 0xffff_ffff).unwrap();
    let mut pids = Vec::new();
    for number in 0..kills {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis((random >> 33) % 1500);
        let victim = if number % 2 == 0 {
            Victim::Windage
        } else {
            Victim::Keeper
        };
        pids.push(killed(victim, moment));
    }
    // Killing Windage and its keeper may leave empty control groups; the next run removes them.
    let shop = workshop();
    shop.write("plan.toml", PLAN);
    let args = [
        "run",
        "plan.toml",
        "--for",
        "300ms",
        "--out",
        &shop.run,
        "--quiet",
    ];
    shop.windage(&args).code(0);
    let groups: Vec<_> = pids.into_iter().flat_map(leftovers::cgroups_of).collect();
    assert!(groups.is_empty(), "{groups:?}");
}

/// Kills a part of a run after some time and checks that nothing of it is left; returns Windage's
/// pid.
fn killed(victim: Victim, moment: Duration) -> u32 {
    let shop = workshop();
    let mut going = shop.start_plan(PLAN);
    let windage = going.pid();
    if matches!(victim, Victim::Keeper) {
        going.until("a keeper", || !keepers(windage).is_empty());
    }
    std::thread::sleep(moment);
    let victims = match victim {
        Victim::Windage => vec![windage],
        Victim::Keeper => keepers(windage),
    };
    for pid in victims {
        kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL).unwrap();
    }
    // `end` checks that nothing is left.
    let ended = going.end();
    match victim {
        Victim::Windage => assert_eq!(ended.status.code(), None, "{moment:?}"),
        Victim::Keeper => drop(ended.code(5).says(&["error", "keeper"])),
    }
    if shop.of_run("manifest.json").exists() {
        shop.windage(&["report", &shop.run]).code(0);
    }
    windage
}

fn workshop() -> Workshop {
    let shop = Workshop::new();
    let configuration = experiment("aa-nginx/nginx.conf");
    shop.write("nginx.conf", &fs::read_to_string(configuration).unwrap());
    shop
}
