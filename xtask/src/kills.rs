//! `cargo xtask kills`: kills runs at random moments with SIGKILL, and looks for what they leave
//! running or attached, and for what they lose of what was committed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use rand::seq::SliceRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::{machine, workspace};

#[path = "../../crates/windage/tests/real/in_kernel/attached.rs"]
mod attached;
mod check;
#[path = "../../crates/windage/tests/real/keepers.rs"]
mod keepers;
mod page;
mod plan;
mod record;
mod site;
use page::page;
use plan::{PLANS, Plan};
use record::Kept;
use site::{Going, Site, kill_all};

/// How often a moment is drawn anew because the run had ended by then, or had no keeper.
const ATTEMPTS: u32 = 30;
/// Moments are drawn from somewhat more than the usual length of a run, so that slow runs are killed
/// at their ends as well.
const DRAWN_FROM: f64 = 1.15;
/// The share of kills that hit a resumed run.
const OF_RESUMED: f64 = 0.15;
/// The share of kills of Windage that wait until its run is over, and hit it while it reports: that
/// is short, and the keeper has ended by then.
const OF_REPORTING: f64 = 0.2;
/// About as long as a report takes.
const REPORTING: Duration = Duration::from_millis(400);
/// The share of killed runs that are resumed to their end, unless all are.
const RESUMED: f64 = 0.2;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many runs are killed
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// Plans, victims and moments are drawn from it [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// Only the kill with this number
    #[arg(long, value_name = "NUMBER")]
    only: Option<u32>,
    /// Runs at the same time; nothing is timed
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    jobs: u32,
    /// Resume every killed run to its end, instead of one in five
    #[arg(long)]
    resume_all: bool,
    /// Where to write the page [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Windage,
    /// The keeper, or its guardian where it has one.
    Keeper,
    /// Both, in random order.
    Both,
}

impl Victim {
    const ALL: [Victim; 3] = [Victim::Windage, Victim::Keeper, Victim::Both];

    fn name(self) -> &'static str {
        match self {
            Victim::Windage => "windage",
            Victim::Keeper => "keeper",
            Victim::Both => "both",
        }
    }
}

/// From what a moment is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// A whole run.
    Any,
    /// The time after its last entry.
    OfReport,
    /// A run that was killed and is resumed.
    OfResumed,
}

impl Moment {
    fn draw(victim: Victim, random: &mut ChaCha8Rng) -> Moment {
        let (is_resumed, is_report) = (
            random.random_bool(OF_RESUMED),
            random.random_bool(OF_REPORTING),
        );
        match victim {
            _ if is_resumed => Moment::OfResumed,
            Victim::Windage if is_report => Moment::OfReport,
            _ => Moment::Any,
        }
    }
}

/// What a run was doing when it was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// Nothing is launched yet.
    Start,
    Launch,
    /// Until the first block of the round is committed.
    WarmUp,
    /// Windows and turns, and drains between them.
    Blocks,
    /// All blocks of the round are committed.
    TakeDown,
    /// The run is over; its report is computed and written.
    Report,
    /// Any of these in a resumed run.
    Resumed,
}

impl Phase {
    const ALL: [Phase; 7] = [
        Phase::Start,
        Phase::Launch,
        Phase::WarmUp,
        Phase::Blocks,
        Phase::TakeDown,
        Phase::Report,
        Phase::Resumed,
    ];

    fn name(self) -> &'static str {
        match self {
            Phase::Start => "start",
            Phase::Launch => "launch",
            Phase::WarmUp => "warm-up",
            Phase::Blocks => "blocks",
            Phase::TakeDown => "last drain, end",
            Phase::Report => "report",
            Phase::Resumed => "resumed run",
        }
    }
}

/// One kill, and what was found after it.
struct Killed {
    plan: &'static str,
    victim: Victim,
    phase: Phase,
    after: Duration,
    /// Blocks that were committed by then; `None` when the run had no manifest yet.
    blocks: Option<u32>,
    /// Whether it was resumed to its end.
    was_resumed: bool,
    /// Files of the run that were being written.
    parts: usize,
    /// A process whose empty control groups only the next run removes.
    left_groups: Option<u32>,
    /// What is wrong; empty if nothing is.
    faults: Vec<String>,
}

struct Study<'a> {
    args: &'a Args,
    seed: u64,
    windage: PathBuf,
    /// As it began: the checkout may change while it lasts.
    versions: String,
    plans: Vec<&'static Plan>,
    /// The usual length of a run of each plan.
    lengths: Vec<Mutex<Duration>>,
    killed: Mutex<BTreeMap<u32, Killed>>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let windage = workspace::build_for_tests("crates/windage", "windage")?;
    let (page, is_fine) = Study::new(args, windage)?.carry_out()?;
    if let Some(path) = &args.out {
        fs::write(path, &page).with_context(|| format!("write {}", path.display()))?;
    }
    anstream::println!("{page}");
    Ok(match is_fine {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

impl Study<'_> {
    fn new(args: &Args, windage: PathBuf) -> Result<Study<'_>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let seed = args.seed.unwrap_or(now.as_secs());
        anstream::eprintln!("==> seed {seed}");
        let can_attach = attached::attached("").is_ok();
        let plans = PLANS.iter().filter(|plan| can_attach || !plan.needs_bpf);
        let plans: Vec<&Plan> = plans.collect();
        Ok(Study {
            args,
            seed,
            windage,
            versions: machine::versions()?,
            lengths: plans.iter().map(|_| Mutex::default()).collect(),
            plans,
            killed: Mutex::default(),
        })
    }

    /// Kills all runs; returns the page, and whether nothing is wrong.
    fn carry_out(&self) -> Result<(String, bool)> {
        self.in_jobs(self.plans.len(), |place| self.measure(place))?;
        let numbers: Vec<u32> = match self.args.only {
            Some(number) => vec![number],
            None => (1..=self.args.count).collect(),
        };
        let ended = self.in_jobs(numbers.len(), |place| self.kill(numbers[place]));
        let swept = self.sweep()?;
        let killed = lock(&self.killed);
        let mut page = page(self, &killed, &swept)?;
        if let Err(error) = &ended {
            page += &format!("- Kills are missing: {error:#}\n");
        }
        let faults = killed.values().flat_map(|killed| &killed.faults);
        let is_fine = ended.is_ok() && swept.is_empty() && faults.count() == 0;
        Ok((page, is_fine))
    }

    /// Does something for each place from 0 on, as many at a time as asked for.
    fn in_jobs(&self, places: usize, each: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let next = AtomicU32::new(0);
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed) as usize;
                if place >= places {
                    return Ok(());
                }
                each(place)?;
            }
        };
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.args.jobs).map(|_| scope.spawn(work)).collect();
            let mut ended = jobs.into_iter().map(|job| {
                job.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            ended.try_for_each(|ended| ended)
        })
    }

    /// Carries out a whole run, to learn how long it takes.
    fn measure(&self, place: usize) -> Result<()> {
        let plan = self.plans[place];
        let site = Site::new(&self.windage, plan)?;
        let mut going = site.start(&site.run_args())?;
        let is_within_a_round = || record::holds(&site.directory(), Kept::is_within_a_round);
        let commits_blocks = going.until(is_within_a_round)?;
        let ended = going.end()?;
        let mut faults = check::complete(&site, &ended)?;
        if !commits_blocks {
            faults.push("no block was committed before the end of its round".to_owned());
        }
        if !faults.is_empty() {
            let (faults, folder) = (faults.join("; "), site.keep());
            bail!(
                "a run of {} fails unkilled: {faults}; see {folder}",
                plan.name
            );
        }
        *lock(&self.lengths[place]) = ended.after;
        anstream::eprintln!("==> a run of {} takes {:.1?}", plan.name, ended.after);
        Ok(())
    }

    /// Carries out one kill, and says what came of it.
    fn kill(&self, number: u32) -> Result<()> {
        let place = (number - 1) as usize % self.plans.len();
        let cycle = (number - 1) as usize / self.plans.len();
        // All pairs come in turn.
        let victim = Victim::ALL[(place + cycle) % Victim::ALL.len()];
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(number.into());
        let moment = Moment::draw(victim, &mut random);
        for _ in 0..ATTEMPTS {
            let site = Site::new(&self.windage, self.plans[place])?;
            let Some(killed) = self.attempt(&site, place, victim, moment, &mut random)? else {
                continue;
            };
            let folder = (!killed.faults.is_empty()).then(|| site.keep());
            self.tell(number, &killed, folder.as_deref());
            lock(&self.killed).insert(number, killed);
            return Ok(());
        }
        bail!("kill {number} of seed {}: no moment found", self.seed);
    }

    /// Kills a run at a moment; `None` if there was nothing to kill.
    fn attempt(
        &self,
        site: &Site,
        place: usize,
        victim: Victim,
        moment: Moment,
        random: &mut ChaCha8Rng,
    ) -> Result<Option<Killed>> {
        let share = random.random_range(0.0..DRAWN_FROM);
        let resumes = random.random_bool(RESUMED) || self.args.resume_all;
        let mut random = ChaCha8Rng::seed_from_u64(random.next_u64());
        let usual = *lock(&self.lengths[place]);
        let before = attached::attached(&site.run).unwrap_or_default();

        let mut going = site.start(&site.run_args())?;
        let await_run = |going: &mut Going, is_so: fn(&Kept) -> bool| {
            going.until(|| record::holds(&site.directory(), is_so))
        };
        let length = match moment {
            Moment::Any => usual,
            Moment::OfReport if await_run(&mut going, Kept::has_ended)? => REPORTING,
            Moment::OfResumed if await_run(&mut going, |kept| kept.blocks() > 0)? => {
                kill_all(&[going.pid()]);
                going.end()?;
                going = site.start(&site.resume_args())?;
                // At least a block is not measured again.
                usual.mul_f64(0.9)
            }
            Moment::OfReport | Moment::OfResumed => return Ok(None),
        };
        std::thread::sleep(length.mul_f64(share));
        let last = going.stderr();
        let kept = record::read(&site.directory())?;
        let victims = victims(victim, going.pid(), &mut random);
        if going.has_ended()? || victims.is_empty() {
            kill_all(&[going.pid()]);
            let ended = going.end()?;
            if moment == Moment::Any && share > 1.0 {
                *lock(&self.lengths[place]) = (usual + ended.after) / 2;
            }
            return Ok(None);
        }
        kill_all(&victims);
        if moment == Moment::Any && share > 1.0 {
            // Runs have become slower.
            *lock(&self.lengths[place]) = usual.mul_f64(1.1);
        }
        let (pid, after) = (going.pid(), going.after());
        let ended = going.end()?;
        if victims.contains(&pid) && ended.status.signal().is_none() {
            // It had just ended by itself.
            return Ok(None);
        }
        let phase = match moment {
            Moment::OfResumed => Phase::Resumed,
            Moment::Any | Moment::OfReport => record::phase(&last, kept.as_ref()),
        };
        check::killed(site, &ended, victim, &before, kept, resumes).map(|found| {
            Some(Killed {
                plan: self.plans[place].name,
                victim,
                phase,
                after,
                blocks: found.blocks,
                was_resumed: found.was_resumed,
                parts: found.parts,
                left_groups: found.has_groups.then_some(pid),
                faults: found.faults,
            })
        })
    }

    fn tell(&self, number: u32, killed: &Killed, folder: Option<&str>) {
        let Killed {
            plan,
            after,
            blocks,
            ..
        } = killed;
        let (victim, phase) = (killed.victim.name(), killed.phase.name());
        let blocks = blocks.map_or("no manifest".to_owned(), |n| format!("{n} blocks"));
        let line = format!("kill {number}: {plan}, {victim} after {after:.2?}, {phase}, {blocks}");
        match folder {
            None => anstream::eprintln!("{line}"),
            Some(folder) => anstream::eprintln!(
                "failed: {line}: {}; files: {folder}; again: cargo xtask kills --seed {} --only {number}",
                killed.faults.join("; "),
                self.seed,
            ),
        }
    }

    /// Starts one more run, which removes the empty control groups that killed runs have left;
    /// returns those that it has not removed.
    fn sweep(&self) -> Result<Vec<String>> {
        let site = Site::new(&self.windage, self.plans[0])?;
        site.start(&site.run_args())?.end()?;
        let killed = lock(&self.killed);
        let pids = killed.values().filter_map(|killed| killed.left_groups);
        Ok(pids.flat_map(check::groups_of).collect())
    }
}

/// The processes to kill, in this order; none if the run has no keeper at the moment.
fn victims(victim: Victim, windage: u32, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut keepers = keepers::keepers(windage);
    if let [first] = keepers[..]
        && !is_in_namespace(first)
    {
        // It is the guardian; its child is the keeper.
        keepers.extend(keepers::keepers(first));
    }
    keepers.shuffle(random);
    let mut victims: Vec<u32> = match victim {
        Victim::Windage => return vec![windage],
        Victim::Keeper | Victim::Both => keepers.into_iter().take(1).collect(),
    };
    if victim == Victim::Both && !victims.is_empty() {
        victims.push(windage);
        victims.shuffle(random);
    }
    victims
}

/// Whether a process has a pid of its own in a namespace, as a keeper without a guardian has.
fn is_in_namespace(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let pids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    pids.is_some_and(|pids| pids.split_whitespace().count() > 1)
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, feature = "real-parts"))]
mod tests {
    use super::*;

    #[test]
    fn ten_kills_leave_and_lose_nothing() {
        let args = Args {
            count: 10,
            seed: None,
            only: None,
            jobs: 2,
            resume_all: true,
            out: None,
        };
        let study = Study::new(&args, workspace::built_with_tests().unwrap()).unwrap();
        if study.plans.len() < PLANS.len() {
            crate::skip::skip(
                "kills of runs with BPF agents",
                "this user may not use bpf()",
            );
        }
        let (page, is_fine) = study.carry_out().unwrap();
        assert!(is_fine, "{page}");
    }
}
