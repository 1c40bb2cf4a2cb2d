//! A short run before the run: which window and which settle suit this subject on this machine.
//!
//! It is a run of its own, in a directory within the run's. The lab makes it and knows nothing of
//! estimates: what its records say is asked of somebody else.

use std::fs;
use std::path::Path;
use std::time::Duration;

use windage_model::{Event, Order};
use windage_plan::{Design, Load, PilotWish, Plan};
use windage_record::{Ending, JournalWriter, PilotScope, RunDir};

use crate::clock::whole_ns;
use crate::conduct::Start;
use crate::order::RunOrder;
use crate::run::Site;
use crate::{LabError, RunOptions, manifest};

/// The pilot's directory within the run's.
const DIRECTORY: &str = "pilot";
/// Windows as short as counters allow, from which longer ones are put together.
const WINDOW: Duration = Duration::from_millis(20);
/// Measuring time: some hundreds of windows of each arm, and half a dozen of what happens every
/// two seconds.
const LASTS: Duration = Duration::from_secs(12);

/// What the records of a pilot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// How long one arm is best measured at a stretch; above nil.
    pub window: Duration,
    /// How long an arm needs load before it is like itself.
    pub settle: Duration,
    /// How often the subject flushes what it defers; `None` when nothing was seen.
    pub flush_period: Option<Duration>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// Reads a pilot's directory; `None` where its records allow no choice.
pub type Choose = fn(&RunDir) -> Option<Chosen>;

/// A plan with nothing left to choose.
pub(crate) struct Piloted {
    pub(crate) plan: Plan,
    pub(crate) scope: PilotScope,
}

/// Makes the pilot of a run and fills in what it was to choose.
///
/// # Errors
/// As for a run; a service that dies in the pilot is left to the run itself to tell.
pub(crate) fn pilot(
    plan: &Plan,
    wish: PilotWish,
    options: &RunOptions,
    emit: &dyn Fn(Event),
) -> Result<Piloted, LabError> {
    let choose = options.choose.ok_or_else(|| {
        LabError::Unsupported(
            "nothing is there that could choose; give `design.window` and `design.settle` as \
             durations instead of \"auto\""
                .into(),
        )
    })?;
    let (directory, ending) = measure(&short(plan), options, emit)?;
    let chosen = match ending {
        Ending::Interrupted => return Err(LabError::Interrupted),
        Ending::Died { .. } => None,
        Ending::Complete | Ending::StoppedEarly { .. } => choose(&directory),
    };
    let piloted = filled_in(plan, wish, chosen);
    emit(Event::Note {
        text: piloted.scope.text.clone(),
    });
    Ok(piloted)
}

fn measure(
    plan: &Plan,
    options: &RunOptions,
    emit: &dyn Fn(Event),
) -> Result<(RunDir, Ending), LabError> {
    let options = RunOptions {
        directory: options.directory.join(DIRECTORY),
        ..options.clone()
    };
    let arms = u16::try_from(plan.arms.len()).unwrap_or(u16::MAX);
    let order = RunOrder::of_pilot(&plan.design, arms, LASTS);
    let mut manifest = manifest::of(plan, &order, &options);
    // Of runs that are made at the same time, each has its own.
    let run = options.directory.parent().and_then(|run| run.file_name());
    if let Some(run) = run {
        manifest.run = format!("{}-{DIRECTORY}", run.to_string_lossy());
    }
    remove_former(&options.directory)?;
    let resolved = plan.to_resolved_toml();
    let (path, host) = (&options.directory, options.host());
    let directory = RunDir::create(path, &manifest, &plan.source, &resolved, &host)?;
    let journal = JournalWriter::create(&directory)?;
    let site = Site {
        plan,
        order: &order,
        options: &options,
        is_built: false,
        emit: &|event| tell(event, emit),
    };
    let finished = site.carry_out(&directory, journal, Start::default(), 0, None)?;
    Ok((directory, finished.ending))
}

/// Removes the pilot of a run that was broken off before its own beginning; beside it there is
/// nothing, and nobody else is at it.
fn remove_former(directory: &Path) -> Result<(), LabError> {
    if !directory.exists() {
        return Ok(());
    }
    let former = RunDir::open(directory)?;
    // Holding its lock shows that no other process measures there.
    drop(JournalWriter::append_to(&former)?);
    fs::remove_dir_all(directory).map_err(|cause| {
        LabError::Unsupported(format!(
            "the pilot of an earlier run, {}, can't be removed: {cause}; remove it or choose another \
             --out",
            directory.display()
        ))
    })
}

/// The same subject under the first load, measured in short windows and without waiting for what is deferred.
fn short(plan: &Plan) -> Plan {
    let design = Design {
        window: WINDOW,
        settle: Duration::ZERO,
        pilot: None,
        rounds: 1,
        stop: None,
        drain: Duration::ZERO,
        idle: Duration::ZERO,
        order: Order::Mirrored,
        ..plan.design.clone()
    };
    Plan {
        design,
        load: Load {
            regime: None,
            ..plan.load.clone()
        },
        further_loads: Vec::new(),
        profile: None,
        ..plan.clone()
    }
}

/// Of a pilot only that it is made, and what a person may have to wait for or to know.
fn tell(event: Event, emit: &dyn Fn(Event)) {
    match event {
        Event::Planned { lasts, .. } => emit(Event::Piloting { lasts }),
        Event::Building { .. }
        | Event::Launching { .. }
        | Event::ServiceReady { .. }
        | Event::Measuring
        | Event::Note { .. } => emit(event),
        Event::Piloting { .. }
        | Event::RoundStarted { .. }
        | Event::Attaching { .. }
        | Event::Attached { .. }
        | Event::Detached { .. }
        | Event::WarmingUp { .. }
        | Event::BlockDone { .. }
        | Event::Doubted { .. }
        | Event::PressureSpike { .. }
        | Event::Profiling { .. }
        | Event::Draining { .. }
        | Event::TakingDown => {}
    }
}

/// The plan with what was chosen, or with the defaults where nothing could be.
fn filled_in(plan: &Plan, wish: PilotWish, chosen: Option<Chosen>) -> Piloted {
    let mut plan = plan.clone();
    let design = &mut plan.design;
    design.pilot = None;
    if let Some(chosen) = &chosen {
        if wish.window {
            design.window = chosen.window;
        }
        if wish.settle {
            design.settle = chosen.settle;
        }
    }
    let text = match &chosen {
        Some(chosen) => chosen.reasons.join(" "),
        None => "The pilot allows no choice; the defaults stand.".to_owned(),
    };
    let what = format!(
        "Windows last {:?}, after {:?} of settling.",
        design.window, design.settle
    );
    let scope = PilotScope {
        window_ns: wish.window.then_some(whole_ns(design.window)),
        settle_ns: wish.settle.then_some(whole_ns(design.settle)),
        flush_period_ns: chosen.and_then(|c| c.flush_period).map(whole_ns),
        text: format!("{what} {text}").trim_end().to_owned(),
    };
    Piloted { plan, scope }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{listen}']\n\
        [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
        [[arm]]\nname = 'off'\nbaseline = true\n[design]\nwindow = 'auto'\n";

    fn plan(more: &str) -> Plan {
        Plan::parse(&format!("{PLAN}{more}\n"), "plan.toml", Path::new("/")).unwrap()
    }

    fn chosen() -> Chosen {
        Chosen {
            window: Duration::from_millis(60),
            settle: Duration::from_millis(5),
            flush_period: Some(Duration::from_secs(5)),
            reasons: vec!["Longer ones drift.".to_owned(), "It is quick.".to_owned()],
        }
    }

    #[test]
    fn only_what_is_asked_for_is_chosen() {
        let ms = |n: u64| Duration::from_millis(n);
        let table = [
            ("settle = '20ms'", Some(60_000_000), None, ms(60), ms(20)),
            (
                "settle = 'auto'",
                Some(60_000_000),
                Some(5_000_000),
                ms(60),
                ms(5),
            ),
        ];
        for (settle, window_ns, settle_ns, window, settled) in table {
            let plan = plan(settle);
            let wish = plan.design.pilot.unwrap();
            let Piloted { plan, scope } = filled_in(&plan, wish, Some(chosen()));
            assert_eq!((plan.design.window, plan.design.settle), (window, settled));
            assert_eq!((scope.window_ns, scope.settle_ns), (window_ns, settle_ns));
            assert_eq!(scope.flush_period_ns, Some(5_000_000_000));
            assert!(
                scope.text.ends_with("Longer ones drift. It is quick."),
                "{}",
                scope.text
            );
            // A resumed run reads what was chosen and has nothing left to choose.
            let resolved = plan.to_resolved_toml();
            let again = Plan::parse(&resolved, "resolved.toml", Path::new("/")).unwrap();
            assert_eq!(again.design, plan.design);
            assert_eq!(again.design.pilot, None);
        }
    }

    #[test]
    fn without_a_choice_the_defaults_stand() {
        let plan = plan("settle = 'auto'");
        let wish = plan.design.pilot.unwrap();
        let piloted = filled_in(&plan, wish, None);
        assert_eq!(piloted.plan.design.window, plan.design.window);
        assert_eq!(piloted.plan.design.settle, plan.design.settle);
        assert_eq!(
            piloted.scope,
            PilotScope {
                window_ns: Some(100_000_000),
                settle_ns: Some(10_000_000),
                flush_period_ns: None,
                text:
                    "Windows last 100ms, after 10ms of settling. The pilot allows no choice; the \
                       defaults stand."
                        .to_owned(),
            }
        );
    }

    #[test]
    fn a_pilot_is_short_and_stops_for_nothing() {
        let plan = plan("stop = { metric = 'throughput', half_width = '1%', within = '5m' }");
        let short = short(&plan);
        let design = &short.design;
        assert_eq!((design.window, design.settle), (WINDOW, Duration::ZERO));
        assert_eq!((design.rounds, design.stop, design.pilot), (1, None, None));
        assert_eq!(design.warmup, plan.design.warmup);
        assert_eq!((short.load, short.arms), (plan.load, plan.arms));
    }

    #[test]
    fn a_pilot_has_the_first_load_alone() {
        let mut plan = plan("");
        plan.load.regime = Some("first".to_owned());
        plan.further_loads = vec![plan.load.clone()];
        plan.profile = Some(windage_plan::Profile {
            with: windage_plan::Profiler::Perf,
            program: "perf".to_owned(),
            lasts: Duration::from_secs(1),
            rate_hz: 99,
        });
        let short = short(&plan);
        assert_eq!((short.load.regime, short.further_loads), (None, vec![]));
        assert_eq!(short.profile, None, "of the run itself, not of its pilot");
    }

    #[test]
    fn without_anybody_to_choose_there_is_no_run() {
        let options = RunOptions {
            executable: "windage".into(),
            directory: "/nowhere".into(),
            command: "windage run".to_owned(),
            interrupted: std::sync::Arc::default(),
            choose: None,
            calibration: serde_json::Value::Null,
        };
        let plan = plan("");
        let refused = pilot(&plan, plan.design.pilot.unwrap(), &options, &|_| {});
        let Err(LabError::Unsupported(why)) = refused else {
            panic!("it must be refused")
        };
        assert!(why.contains("design.window"), "{why}");
    }
}
