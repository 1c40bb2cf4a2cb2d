use super::*;

fn arm(name: &str) -> ArmId {
    ArmId::from_text(name).unwrap()
}

fn void(how: &str) -> Event {
    let how = how.to_owned();
    Event::Warned {
        arm: Some(arm("sdk")),
        warning: Warning::SwitchFailed { how },
    }
}

fn steal() -> Event {
    Event::Warned {
        arm: None,
        warning: Warning::Steal {
            steal_ns: 180_000_000,
            window_ns: 100_000_000,
        },
    }
}

fn taken(course: &mut Course, events: Vec<Event>) -> Vec<Line> {
    let take = |event| course.take(event, Duration::ZERO);
    events.into_iter().flat_map(take).collect()
}

fn stays(text: &str) -> Line {
    Line::Stays(text.to_owned())
}

#[test]
fn damage_of_the_record_is_one_line_with_the_copies() {
    let warning = Warning::JournalDamaged {
        damaged_bytes: 223,
        blocks_lost: 1,
        blocks: vec!["5".to_owned()],
    };
    let event = Event::RecordDamaged {
        warnings: vec![warning],
        copies: vec!["run/journal.damaged-1".into()],
    };
    let lines = taken(&mut Course::default(), vec![event]);
    let expected = "The journal is damaged: block 5 is lost. Everything else was read. Restore the \
        file from a copy if you have one, and check the disk. The files were copied before anything \
        is written: run/journal.damaged-1";
    assert_eq!(lines, [stays(expected)]);
}

#[test]
fn events_become_phases_and_lines_that_stay() {
    let phase = |text: &str| vec![Line::Phase(text.to_owned())];
    let s = Duration::from_secs;
    let (app, sdk) = (|| "app".to_owned(), || arm("sdk"));
    let table: Vec<(Event, Vec<Line>, &str)> = vec![
        (
            Event::Building {
                command: "make\n\u{1b}[2J all".to_owned(),
            },
            phase("building: make [2J all"),
            "building: make [2J all",
        ),
        (
            Event::Planned {
                lasts: s(60),
                at_most: true,
            },
            vec![stays("this takes at most 60 s, launches not counted")],
            "building: make [2J all",
        ),
        (
            Event::RoundStarted {
                round: 1,
                rounds: 3,
            },
            phase("round 2 of 3: launching"),
            "round 2 of 3: launching",
        ),
        (
            Event::Launching {
                arm: sdk(),
                service: app(),
            },
            vec![],
            "round 2 of 3: launching app of sdk",
        ),
        (
            Event::ServiceReady {
                arm: sdk(),
                service: app(),
                after: s(2),
            },
            vec![],
            "round 2 of 3: app of sdk is up after 2s",
        ),
        (
            Event::WarmingUp { lasts: s(4) },
            phase("round 2 of 3: warming up for 4s"),
            "round 2 of 3: warming up for 4s",
        ),
        (Event::Measuring, vec![], "round 2 of 3: measuring"),
        (
            Event::Attached {
                arm: sdk(),
                after: s(1),
                programs: Some(12),
            },
            vec![stays(
                "the agents of sdk are attached after 1s, 12 BPF programs",
            )],
            "round 2 of 3: the agents of sdk are attached after 1s, 12 BPF programs",
        ),
        (
            Event::Attached {
                arm: sdk(),
                after: s(1),
                programs: None,
            },
            vec![],
            "round 2 of 3: the agents of sdk are attached after 1s",
        ),
        (
            Event::Detached {
                arm: sdk(),
                after: s(3),
            },
            vec![],
            "round 2 of 3: the agents of sdk are detached after 3s",
        ),
        (
            Event::Draining { lasts: s(2) },
            phase("round 2 of 3: waiting 2.0s for deferred work"),
            "round 2 of 3: waiting 2.0s for deferred work",
        ),
        (Event::TakingDown, vec![], "round 2 of 3: taking down"),
        (
            Event::Note {
                text: "sdk died (app.log):\n  fare\u{7}well".to_owned(),
            },
            vec![stays("sdk died (app.log):"), stays("  fare well")],
            "round 2 of 3: taking down",
        ),
        (
            Event::Profiling {
                arm: sdk(),
                with: "perf".to_owned(),
                lasts: s(10),
            },
            vec![],
            "profiling sdk: perf samples it for 10s",
        ),
    ];
    let mut course = Course::default();
    for (event, lines, heading) in table {
        let case = format!("{event:?}");
        assert_eq!(course.take(event, Duration::ZERO), lines, "{case}");
        assert_eq!(course.heading(), heading, "{case}");
    }
    course.analysing();
    assert_eq!(
        (course.heading().as_str(), course.left),
        ("analysing", None)
    );
}

#[test]
fn warnings_and_spikes_are_bounded_separately() {
    let mut course = Course::default();
    let lines = taken(&mut course, (0..20).map(|_| void("It\ndied.")).collect());
    let mut expected = vec![stays("a window of sdk is void: It died."); 5];
    expected.push(stays("more are void; the report counts them"));
    assert_eq!(lines, expected);

    let pressure = || Event::PressureSpike {
        share: 0.456,
        usual: 0.031,
    };
    let mut events = vec![steal(), steal()];
    events.extend((0..20).map(|_| pressure()));
    let lines = taken(&mut course, events);
    let steal = "the hypervisor took 180 ms from all cores together in 100 ms";
    let steal = stays(&format!("steal in a block of turns: {steal}"));
    let pressure = stays("pressure: tasks waited for a core 46 % of the time; 3 % is usual");
    let more = stays("more steal or pressure was recorded; it is not shown here");
    let expected = [
        steal.clone(),
        steal,
        pressure.clone(),
        pressure.clone(),
        pressure,
        more,
    ];
    assert_eq!(lines, expected);
}

#[test]
fn time_left_runs_down_between_blocks() {
    let mut course = Course::default();
    let s = Duration::from_secs;
    let mut left = |event: Option<Event>, now: u64| {
        event.map(|event| course.take(event, s(now)));
        course.left.map(|left| left.spoken(s(now))).unwrap()
    };
    let planned = Event::Planned {
        lasts: s(60),
        at_most: true,
    };
    assert_eq!(left(Some(planned), 0), "at most 60 s left");
    assert_eq!(left(None, 30), "at most 60 s left", "launches not counted");
    let block = Event::BlockDone {
        done: 1,
        blocks: 6,
        left: s(50),
        at_most: false,
    };
    assert_eq!(left(Some(block), 40), "about 50 s left");
    assert_eq!(left(None, 45), "about 45 s left");
    assert_eq!(left(None, 400), "about 1 s left", "it is not over yet");
}
