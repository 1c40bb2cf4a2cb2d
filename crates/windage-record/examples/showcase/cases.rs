//! The invented runs.

use windage_model::LoadModel;

/// An invented run.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) plan: String,
    pub(crate) about: &'static str,
    /// Baseline and control come first.
    pub(crate) arms: Vec<ArmOf>,
    /// The names of its services, where their CPU is known.
    pub(crate) services: Vec<String>,
    /// Each load's model and rate; several loads are regimes.
    pub(crate) loads: Vec<(LoadModel, Option<f64>)>,
    /// Rounds under each load.
    pub(crate) rounds: u32,
    pub(crate) blocks_per_round: u32,
    /// CPU per request without telemetry.
    pub(crate) request_us: f64,
    pub(crate) kernel: &'static str,
    pub(crate) version: &'static str,
    pub(crate) started_unix_s: u64,
    pub(crate) end: End,
    pub(crate) has_profiles: bool,
    pub(crate) seed: u64,
}

/// One arm.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArmOf {
    pub(crate) id: String,
    pub(crate) name: String,
    /// What it adds per request, as a share.
    pub(crate) costs: f64,
    /// Its sampling rate, if it sends telemetry.
    pub(crate) sampling: Option<f64>,
    /// The share of its spans that is lost.
    pub(crate) loses: f64,
    /// Whether it has an agent attached.
    pub(crate) has_agent: bool,
    /// The index of the arm whose agent is attached while this arm gets load.
    pub(crate) bystander_of: Option<u16>,
    /// None of its counters can be read, and no time was recorded.
    pub(crate) is_unreadable: bool,
    /// All its answers are errors.
    pub(crate) fails: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Complete,
    /// By a signal, after half of its rounds.
    Interrupted,
    /// Windage was killed in its first block.
    Killed,
}

/// Every run, with the name of its directory.
pub(crate) fn all() -> Vec<(&'static str, Case)> {
    vec![
        ("20260105-090000-sweep", sweep()),
        ("20260112-090000-sweep", again()),
        ("20260113-090000-agents", agents()),
        ("20260114-090000-batch", batch()),
        ("20260115-090000-void", void()),
        ("20260116-090000-empty", empty()),
        ("20260117-090000-interrupted", interrupted()),
        ("20260118-090000-hostile", hostile()),
        ("20260119-090000-many", many()),
        ("20260120-090000-missing", missing()),
    ]
}

fn base(plan: &str, arms: Vec<ArmOf>) -> Case {
    let both = [arm("off", "off", 0.0), arm("control", "control", 0.0)];
    Case {
        plan: plan.to_owned(),
        about: "Invented, to show how a run looks",
        arms: both.into_iter().chain(arms).collect(),
        services: Vec::new(),
        loads: vec![(LoadModel::Open, Some(2000.0))],
        rounds: 14,
        blocks_per_round: 2,
        request_us: 120.0,
        kernel: "6.1.0",
        version: "sdk 1.30.0",
        started_unix_s: 1_767_603_600,
        end: End::Complete,
        has_profiles: false,
        seed: 1,
    }
}

fn arm(id: &str, name: &str, costs: f64) -> ArmOf {
    ArmOf {
        id: id.to_owned(),
        name: name.to_owned(),
        costs,
        ..ArmOf::default()
    }
}

fn sampled(sampling: f64, costs: f64) -> ArmOf {
    ArmOf {
        sampling: Some(sampling),
        ..arm(
            &format!("sdk-sampling-{sampling:?}"),
            &format!("sdk, sampling {sampling:?}"),
            costs,
        )
    }
}

fn sweep() -> Case {
    let mut lossy = sampled(1.0, 0.145);
    lossy.loses = 0.02;
    let levels = [(0.0, 0.03), (0.1, 0.045), (0.5, 0.09)];
    let mut arms: Vec<ArmOf> = levels
        .map(|(sampling, costs)| sampled(sampling, costs))
        .into();
    arms.push(lossy);
    Case {
        loads: vec![(LoadModel::Open, Some(2000.0)), (LoadModel::Closed, None)],
        has_profiles: true,
        ..base("sweep", arms)
    }
}

/// The same plan a week later, with higher cost, another version and another kernel.
fn again() -> Case {
    let mut case = sweep();
    case.kernel = "6.12.0";
    case.version = "sdk 1.31.0";
    case.started_unix_s += 7 * 86_400;
    case.request_us = 131.0;
    case.seed = 2;
    if let Some(last) = case.arms.last_mut() {
        last.costs = 0.23;
    }
    case
}

fn agents() -> Case {
    let agent = ArmOf {
        has_agent: true,
        sampling: Some(1.0),
        ..arm("agent", "agent", 0.5)
    };
    let bystander = ArmOf {
        bystander_of: Some(2),
        ..arm("bystander", "bystander", 0.004)
    };
    Case {
        started_unix_s: 1_768_294_800,
        ..base("agents", vec![agent, bystander])
    }
}

fn batch() -> Case {
    Case {
        loads: vec![(LoadModel::Batch, None)],
        started_unix_s: 1_768_381_200,
        ..base("batch", vec![sampled(1.0, 0.6)])
    }
}

fn void() -> Case {
    let mut broken = arm("broken", "broken", 0.0);
    broken.fails = true;
    Case {
        started_unix_s: 1_768_467_600,
        ..base("void", vec![broken])
    }
}

fn empty() -> Case {
    Case {
        end: End::Killed,
        started_unix_s: 1_768_554_000,
        ..base("empty", vec![sampled(1.0, 0.1)])
    }
}

fn interrupted() -> Case {
    Case {
        end: End::Interrupted,
        started_unix_s: 1_768_640_400,
        ..base("interrupted", vec![sampled(1.0, 0.1)])
    }
}

/// Names that harm or break the page if they are not escaped.
fn hostile() -> Case {
    let names = [
        "<script>document.title = 'harmed'</script>",
        "\"><img src=x onerror=\"document.title='harmed'\">",
        "</script><script>document.title='harmed'</script>",
        "\u{202e}turned\u{202c} \u{1b}[31mred\u{7}",
        "=HYPERLINK(\"http://example.invalid\")",
        "two arms with one name",
        "two arms with one name",
    ];
    let mut arms: Vec<ArmOf> = (1..)
        .zip(names)
        .map(|(i, name)| arm(&format!("h{i}"), name, 0.01 * f64::from(i)))
        .collect();
    arms.push(arm(
        "long",
        &"a very long name of an arm ".repeat(12),
        0.002,
    ));
    Case {
        plan: "</title></script><script>document.title='harmed'</script>".to_owned(),
        // More than there are colours.
        services: names
            .map(str::to_owned)
            .into_iter()
            .chain((1..=4).map(|i| format!("service {i}")))
            .collect(),
        started_unix_s: 1_768_726_800,
        ..base("", arms)
    }
}

fn many() -> Case {
    let arms = (0..198u32).map(|i| {
        let costs = f64::from(i % 40) * 0.005;
        arm(&format!("level-{i}"), &format!("level {i}"), costs)
    });
    Case {
        rounds: 3,
        blocks_per_round: 2,
        started_unix_s: 1_768_813_200,
        ..base("many", arms.collect())
    }
}

fn missing() -> Case {
    let mut unread = arm("unread", "unread", 0.1);
    unread.is_unreadable = true;
    Case {
        started_unix_s: 1_768_899_600,
        ..base("missing", vec![unread, sampled(0.5, 0.08)])
    }
}
