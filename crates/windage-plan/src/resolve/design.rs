//! `[design]`.

use toml::Spanned;
use windage_model::Order;

use super::{Checker, DAY, HOUR, INSTANT, PAUSE};
use crate::plan::{Design, Length, OnDeath};
use crate::wire::{self, Scalar};
use crate::{Problem, defaults, units};

const ORDERS: &[(&str, Order)] = &[
    ("mirrored", Order::Mirrored),
    ("sequential", Order::Sequential),
];
const MAX_ROUNDS: i64 = 1000;
const MAX_BLOCKS: i64 = 1_000_000;

pub(super) fn resolve(checker: &mut Checker<'_>, design: &wire::Design) -> Design {
    Design {
        window: checker.duration(
            "window",
            design.window.as_ref(),
            defaults::WINDOW,
            INSTANT..=HOUR,
        ),
        settle: checker.duration("settle", design.settle.as_ref(), defaults::SETTLE, PAUSE),
        rounds: checker.integer(
            "rounds",
            design.rounds.as_ref(),
            defaults::ROUNDS,
            1..=MAX_ROUNDS,
        ),
        length: length(checker, design),
        warmup: checker.duration("warmup", design.warmup.as_ref(), defaults::WARMUP, PAUSE),
        drain: checker.duration("drain", design.drain.as_ref(), defaults::DRAIN, PAUSE),
        idle: checker.duration("idle", design.idle.as_ref(), defaults::IDLE, PAUSE),
        order: checker.word("order", design.order.as_ref(), Order::Mirrored, ORDERS),
        seed: checker.integer("seed", design.seed.as_ref(), defaults::SEED, 0..=i64::MAX),
        interest: interest(checker, design.interest.as_ref()),
        on_death: checker.word(
            "on_death",
            design.on_death.as_ref(),
            OnDeath::End,
            OnDeath::WORDS,
        ),
    }
}

fn length(checker: &mut Checker<'_>, design: &wire::Design) -> Length {
    let time = checker.duration(
        "for",
        design.measuring_time.as_ref(),
        defaults::MEASURING_TIME,
        INSTANT..=7 * DAY,
    );
    let Some(blocks) = &design.blocks else {
        return Length::MeasuringTime(time);
    };
    if design.measuring_time.is_some() {
        checker.report(
            Problem::new(
                blocks.span(),
                "`blocks` and `for` both say how much is measured",
                "beside `for`",
            )
            .help("keep one of them: `for` is time in all, `blocks` a count in each round"),
        );
    }
    Length::Blocks(checker.integer("blocks", Some(blocks), 1, 1..=MAX_BLOCKS))
}

fn interest(checker: &mut Checker<'_>, given: Option<&Spanned<Scalar>>) -> f64 {
    let Some(value) = given else {
        return defaults::INTEREST;
    };
    let share = match value.get_ref() {
        Scalar::Text(text) => units::parse_share(text),
        Scalar::Float(share) => Ok(*share),
        // 0 and 1 are the only whole numbers near the bounds; every other one is out of them.
        Scalar::Integer(0) => Ok(0.0),
        Scalar::Integer(_) => Ok(f64::INFINITY),
        Scalar::Bool(b) => Err(format!("`{b}` is not a share such as \"0.5%\" or 0.005")),
    };
    match share {
        Ok(share) if (0.0..1.0).contains(&share) => return share,
        Ok(_) => checker.report(
            Problem::new(
                value.span(),
                "`interest` must lie between 0 and 1 (100%)",
                "out of bounds",
            )
            .help("it is a share: half a percent is \"0.5%\" or 0.005"),
        ),
        Err(message) => checker.report(Problem::new(value.span(), message, "not a share")),
    }
    defaults::INTEREST
}
