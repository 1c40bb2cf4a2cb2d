//! A fake world in which everything is scripted, and time passes as planned.

use std::cell::Cell;

use windage_load::Recording;
use windage_model::{Order, fixtures};
use windage_plan::{Design, Interleaving, Length, Turn};

use super::*;

/// Arms that always exist in these tests: baseline, control and one treatment.
pub(super) const ARMS: u16 = 3;

/// The duration of a window, a round's start and its end.
const WINDOW: Duration = Duration::from_millis(110);
const WARM_UP: Duration = Duration::from_secs(1);
const DRAIN: Duration = Duration::from_millis(200);
/// The duration of a block of turns, and of the idle stretch before the first of a launch.
const TURNS: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_millis(100);

/// The fate of a window, by its number in the run.
pub(super) type Script = fn(window: usize, place: Place) -> Fate;
/// The fate of a block of turns.
pub(super) type TurnScript = fn(place: TurnPlace) -> Fate;

pub(super) enum Fate {
    Fine,
    /// The arm's service dies in the window. In a block of turns, that of the last arm.
    Dies,
    /// Another arm's service dies in the window.
    OtherDies(ArmIndex),
    /// A service that all arms share dies in the window.
    SharedDies,
    /// Every answer is an error.
    OnlyErrors,
    /// A signal comes in the window.
    Interrupt,
    /// The lab itself fails.
    Fails,
}

/// Launches, and an arm that dies in each of them during launch or warm-up.
pub(super) type NeverUp = &'static [(u32, ArmIndex)];

struct FakeRig<'a> {
    script: Script,
    turn_script: TurnScript,
    has_turns: bool,
    never_up: NeverUp,
    windows: usize,
    interrupted: &'a AtomicBool,
    interrupted_in_drain: bool,
    now: &'a Cell<Duration>,
    calls: &'a RefCell<Vec<String>>,
}

impl FakeRig<'_> {
    fn passes(&self, time: Duration) {
        self.now.set(self.now.get() + time);
    }

    fn note(&self, call: impl Into<String>) {
        self.calls.borrow_mut().push(call.into());
    }
}

impl<'a> Rig for FakeRig<'a> {
    type Launched<'r>
        = FakeLaunch<'r, 'a>
    where
        Self: 'r;

    fn findings(&mut self) -> Vec<Entry> {
        Vec::new()
    }

    fn launch(
        &mut self,
        launch: u32,
        round: u32,
    ) -> Result<(Launch, FakeLaunch<'_, 'a>), LabError> {
        self.note(format!("launch {launch} round {round}"));
        let never_up = self.never_up.iter().filter(|(of, _)| *of == launch);
        let dead = never_up.map(|(_, arm)| *arm).collect();
        self.passes(WARM_UP);
        let launched = FakeLaunch {
            rig: self,
            number: launch,
            dead,
            shared_is_dead: false,
            has_taken_turns: false,
        };
        let launch = Launch {
            launch,
            round,
            ..Launch::default()
        };
        Ok((launch, launched))
    }
}

struct FakeLaunch<'r, 'a> {
    rig: &'r mut FakeRig<'a>,
    number: u32,
    dead: BTreeSet<ArmIndex>,
    shared_is_dead: bool,
    has_taken_turns: bool,
}

impl FakeLaunch<'_, '_> {
    /// Lets it happen; `arm` is the one that dies. Returns the warning of its death.
    fn suffer(&mut self, fate: Fate, arm: ArmIndex) -> Result<Option<Warning>, LabError> {
        match fate {
            Fate::Fine | Fate::OnlyErrors => {}
            Fate::Dies => {
                self.dead.insert(arm);
                return Ok(Some(Warning::ServiceDied {
                    service: "app".to_owned(),
                    whose: "of arm 2".to_owned(),
                    how: "died".to_owned(),
                }));
            }
            Fate::OtherDies(other) => {
                self.dead.insert(other);
            }
            Fate::SharedDies => self.shared_is_dead = true,
            Fate::Interrupt => self.rig.interrupted.store(true, Ordering::Relaxed),
            Fate::Fails => return Err(LabError::Unsupported("the lab fails".into())),
        }
        Ok(None)
    }
}

impl Launched for FakeLaunch<'_, '_> {
    fn findings(&mut self) -> Vec<Entry> {
        Vec::new()
    }

    fn measure(&mut self, place: Place) -> Result<Measured, LabError> {
        self.rig.passes(WINDOW);
        let fate = (self.rig.script)(self.rig.windows, place);
        self.rig.windows += 1;
        let mut window = fixtures::window(place);
        if matches!(fate, Fate::OnlyErrors) {
            window.exchanges.status = StatusClasses([0, 0, 0, 0, window.exchanges.completed]);
        }
        window.warnings.extend(self.suffer(fate, place.arm)?);
        let Recording {
            response_time,
            service_time,
            ..
        } = Recording::new();
        Ok(Measured {
            window,
            response_time,
            service_time,
        })
    }

    fn take_turns(&mut self, place: TurnPlace, draw: TurnDraw) -> Result<TurnBlock, LabError> {
        // As in the real rig, the first ones wait for what the windows deferred.
        if !std::mem::replace(&mut self.has_taken_turns, true) {
            self.rig.passes(DRAIN + IDLE);
        }
        self.rig.passes(TURNS);
        let fate = (self.rig.turn_script)(place);
        let is_alive = |arm: &u16| !self.dead.contains(&ArmIndex(*arm));
        let alive: Vec<u16> = (0..ARMS).filter(is_alive).collect();
        self.rig
            .note(format!("turns of {alive:?} in block {}", place.block));
        let mut block = fixtures::turn_block(place.launch, place.block, &alive);
        block.round = place.round;
        block.order = draw.order;
        let died = self.suffer(fate, ArmIndex(ARMS - 1))?;
        block.warnings.extend(died);
        Ok(block)
    }

    fn death(&self, arm: ArmIndex) -> Option<Box<ServiceTrouble>> {
        let of_arm = || format!("of arm {}", arm.0);
        let whose = match self.shared_is_dead {
            true => Some("that all arms share".to_owned()),
            false => self.dead.contains(&arm).then(of_arm),
        }?;
        Some(Box::new(ServiceTrouble {
            service: "app".to_owned(),
            whose,
            trouble: "died".to_owned(),
            log: "app.log".into(),
            log_tail: "  farewell".to_owned(),
        }))
    }

    fn explain_errors(&mut self, arm: ArmIndex) -> Result<(Option<String>, String), LabError> {
        let how = format!("was answered 500 by arm {}", arm.0);
        Ok((Some(how), "  no database".to_owned()))
    }

    fn finish(&mut self) -> Result<LaunchEnd, LabError> {
        self.rig.note(format!("finish {}", self.number));
        // The idle stretch follows the windows.
        self.rig.passes(match self.rig.has_turns {
            true => DRAIN,
            false => DRAIN + IDLE,
        });
        if self.rig.interrupted_in_drain {
            self.rig.interrupted.store(true, Ordering::Relaxed);
        }
        Ok(LaunchEnd {
            launch: self.number,
            ..LaunchEnd::default()
        })
    }

    fn take_down(self) -> Result<Vec<Delivered>, LabError> {
        self.rig.note(format!("take down {}", self.number));
        Ok(Vec::new())
    }
}

/// Keeps what a journal would keep: windows and turns only with their block.
#[derive(Default)]
pub(super) struct FakeJournal {
    pub(super) waiting: Vec<Window>,
    pub(super) windows: Vec<Window>,
    pub(super) waiting_turns: Vec<TurnBlock>,
    pub(super) turns: Vec<TurnBlock>,
    pub(super) blocks: Vec<u32>,
    pub(super) warnings: Vec<Warning>,
    pub(super) ends: Vec<u32>,
    pub(super) ending: Option<Ending>,
    pub(super) full_after_blocks: Option<usize>,
    /// Belongs to the rig, not the journal; it is here because a test gets both together.
    pub(super) interrupted_in_drain: bool,
}

impl Journal for FakeJournal {
    fn window(&mut self, measured: &Measured) -> Result<(), RecordError> {
        self.waiting.push(measured.window.clone());
        Ok(())
    }

    fn push(&mut self, entry: Entry) -> Result<(), RecordError> {
        match entry {
            Entry::RunEnded(ending) => self.ending = Some(ending),
            Entry::Warning(warning) => self.warnings.push(warning),
            Entry::LaunchEnded(end) => self.ends.push(end.launch),
            Entry::Turns(turns) => self.waiting_turns.push(turns),
            _ => {}
        }
        Ok(())
    }

    fn commit_block(&mut self, block: u32) -> Result<(), RecordError> {
        if self
            .full_after_blocks
            .is_some_and(|full| self.blocks.len() >= full)
        {
            return Err(RecordError::BufferFull { limit_bytes: 0 });
        }
        self.windows.append(&mut self.waiting);
        self.turns.append(&mut self.waiting_turns);
        self.blocks.push(block);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), RecordError> {
        Ok(())
    }
}

pub(super) struct Outcome {
    pub(super) result: Result<Ending, LabError>,
    pub(super) journal: FakeJournal,
    pub(super) calls: Vec<String>,
    pub(super) events: Vec<Event>,
}

/// The settings in which tests differ.
pub(super) struct Given<'a> {
    pub(super) script: Script,
    /// Two blocks of turns follow the windows of each round, with these fates; `None` for windows
    /// alone.
    pub(super) turn_script: Option<TurnScript>,
    pub(super) never_up: NeverUp,
    pub(super) start: Start,
    pub(super) on_death: OnDeath,
    pub(super) rounds: u32,
    pub(super) journal: FakeJournal,
    /// What is free on the disk before each round; unknown after the last.
    pub(super) free_mb: &'static [u64],
    pub(super) stopping: Option<&'a mut dyn Stopping>,
}

impl Default for Given<'_> {
    fn default() -> Self {
        Given {
            script: |_, _| Fate::Fine,
            turn_script: None,
            never_up: &[],
            start: Start::default(),
            on_death: OnDeath::End,
            rounds: 2,
            journal: FakeJournal::default(),
            free_mb: &[],
            stopping: None,
        }
    }
}

/// A run of this many rounds with three blocks of windows each.
pub(super) fn conducted(mut given: Given<'_>) -> Outcome {
    let mut journal = std::mem::take(&mut given.journal);
    let interrupted_in_drain = journal.interrupted_in_drain;
    let (result, calls, events) = conducted_into(&mut journal, interrupted_in_drain, given);
    Outcome {
        result,
        journal,
        calls,
        events,
    }
}

/// The same into any journal; returns the result, the rig's calls, and the events.
pub(super) fn conducted_into(
    journal: &mut dyn Journal,
    interrupted_in_drain: bool,
    given: Given<'_>,
) -> (Result<Ending, LabError>, Vec<String>, Vec<Event>) {
    let Given {
        script,
        turn_script,
        never_up,
        start,
        on_death,
        rounds,
        free_mb,
        stopping,
        ..
    } = given;
    let free_mb = RefCell::new(free_mb.iter());
    let design = Design {
        // Three blocks of six windows last 2 s, so that half of the time has two blocks of turns.
        interleaving: turn_script.map(|_| Interleaving {
            turn: Turn::Time(Duration::from_millis(10)),
            block: TURNS,
            isolated: 0.5,
        }),
        window: Duration::from_millis(100),
        settle: Duration::from_millis(10),
        rounds,
        length: Length::Blocks(3),
        stop: None,
        warmup: Duration::ZERO,
        warmup_rate_per_s: None,
        drain: Duration::ZERO,
        idle: Duration::ZERO,
        order: Order::Mirrored,
        seed: 1,
        margin: 0.005,
        on_death,
        agent_stretch: Duration::ZERO,
        agent_warmup: Duration::ZERO,
        bpf_statistics: Duration::ZERO,
    };
    let order = RunOrder::new(&design, ARMS, 1);
    let interrupted = AtomicBool::new(false);
    let now = Cell::new(Duration::ZERO);
    let arms: Vec<ArmId> = ["off", "control", "otel"]
        .iter()
        .filter_map(|name| ArmId::from_text(name))
        .collect();
    let terms = Terms {
        order: &order,
        start,
        on_death,
        arms: &arms,
        interrupted: &interrupted,
        lengths: Lengths {
            attaching: Duration::ZERO,
            window_and_settle: WINDOW,
            warm_up: WARM_UP,
            drain: DRAIN,
            idle: IDLE,
            turn_block: TURNS,
        },
        clock: &|| now.get(),
        directory: Path::new("runs/r"),
        free_bytes: &|| Some(free_mb.borrow_mut().next()? * 1_000_000),
    };
    let calls = RefCell::new(Vec::new());
    let events = RefCell::new(Vec::new());
    let mut rig = FakeRig {
        script,
        turn_script: turn_script.unwrap_or(|_| Fate::Fine),
        has_turns: turn_script.is_some(),
        never_up,
        windows: 0,
        interrupted: &interrupted,
        interrupted_in_drain,
        now: &now,
        calls: &calls,
    };
    let result = conduct(&mut rig, journal, &terms, stopping, &|event| {
        events.borrow_mut().push(event)
    });
    (result, calls.take(), events.take())
}
