use super::*;
use crate::Schedule;
use proptest::prelude::*;

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

fn piece(from_per_s: f64, to_per_s: f64, lasts_s: f64) -> Piece {
    Piece {
        from_per_s,
        to_per_s,
        lasts: seconds(lasts_s),
    }
}

fn starts_of(pieces: &[Piece]) -> Vec<u64> {
    Schedule::profile(&Profile::new(pieces).unwrap()).collect()
}

/// The integral of the rate up to a time, summed over pieces; `at_ns` inverts it.
fn asked_by(pieces: &[Piece], at_s: f64) -> f64 {
    let (mut begins_s, mut asked) = (0.0, 0.0);
    for piece in pieces {
        let lasts_s = piece.lasts.as_secs_f64();
        let t = (at_s - begins_s).clamp(0.0, lasts_s);
        let slope = (piece.to_per_s - piece.from_per_s) / lasts_s;
        asked += piece.from_per_s * t + slope * t * t / 2.0;
        begins_s += lasts_s;
    }
    asked
}

#[test]
fn starts_are_where_the_integral_reaches_their_ordinal() {
    type Row<'a> = (&'a [Piece], &'a [u64], &'a str);
    let ms = 1_000_000;
    let table: &[Row] = &[
        (
            &[piece(4.0, 4.0, 1.0)],
            &[0, 250 * ms, 500 * ms, 750 * ms],
            "a constant rate equals `Schedule::constant`",
        ),
        (
            &[piece(0.0, 8.0, 1.0)],
            &[0, 500 * ms, 707_106_781, 866_025_404],
            "up from zero: √(n/4)",
        ),
        (
            &[piece(8.0, 0.0, 1.0)],
            &[0, 133_974_596, 292_893_219, 500 * ms],
            "down to zero: the same reversed, 1 − √((4−n)/4)",
        ),
        (
            &[
                piece(2.0, 2.0, 1.0),
                piece(0.0, 0.0, 5.0),
                piece(1.0, 1.0, 2.0),
            ],
            &[0, 500 * ms, 6_000 * ms, 7_000 * ms],
            "a pause delays the start that is due when it begins",
        ),
        (
            &[piece(0.0, 0.0, 3.0), piece(2.0, 2.0, 1.0)],
            &[3_000 * ms, 3_500 * ms],
            "no start while the rate is zero",
        ),
        (
            &[piece(1.0, 1.0, 1.5), piece(3.0, 3.0, 0.5)],
            &[0, 1_000 * ms, 1_666_666_667],
            "half a start is carried over into the next piece",
        ),
        (
            &[piece(0.25, 0.25, 2.0)],
            &[0],
            "an integral below one still has the first start",
        ),
    ];
    for (pieces, expected, why) in table {
        assert_eq!(starts_of(pieces), *expected, "{why}");
    }
}

#[test]
fn a_profile_has_its_length_and_every_start_within() {
    let steps = [piece(100.0, 100.0, 1.0), piece(300.0, 300.0, 3.0)];
    assert_eq!(Profile::new(&steps).unwrap().lasts(), seconds(4.0));
    assert_eq!(starts_of(&steps).len(), 1_000);
    // 0.1 · 30 is slightly more than 3 in binary, but a fourth start does not fit.
    assert_eq!(starts_of(&[piece(0.1, 0.1, 30.0)]).len(), 3);
}

#[test]
fn a_long_profile_does_not_drift() {
    // A thousand hours at a third of a start per second.
    let pieces = vec![piece(1.0 / 3.0, 1.0 / 3.0, 3_600.0); 1_000];
    let starts = starts_of(&pieces);
    assert_eq!(starts.len(), 1_200_000);
    let last_s = starts[1_199_999] as f64 / 1e9;
    assert!((last_s - 3_599_997.0).abs() < 1e-5, "{last_s}");
}

#[test]
fn errors_name_the_piece_and_the_remedy() {
    let whole = piece(1.0, 1.0, 1.0);
    let table: &[(&[Piece], &str)] = &[
        (
            &[whole, piece(-1.0, 1.0, 1.0)],
            "piece 2: -1 is not a rate; give starts per second, from 0 to 1e9",
        ),
        (
            &[piece(1.0, f64::NAN, 1.0)],
            "piece 1: NaN is not a rate; give starts per second, from 0 to 1e9",
        ),
        (
            &[piece(1.0, 2e9, 1.0)],
            "piece 1: 2000000000 is not a rate; give starts per second, from 0 to 1e9",
        ),
        (
            &[whole, whole, piece(1.0, 1.0, 0.0)],
            "piece 3 has no length; give it one, or remove the piece",
        ),
        (
            &[],
            "the profile has no starts; give one of its pieces a rate above 0",
        ),
        (
            &[piece(0.0, 0.0, 1.0)],
            "the profile has no starts; give one of its pieces a rate above 0",
        ),
        (
            &[piece(1.0, 1.0, 1e10), piece(1.0, 1.0, 1e10)],
            "the profile lasts longer than 584 years; shorten its pieces",
        ),
    ];
    for (pieces, message) in table {
        assert_eq!(Profile::new(pieces).unwrap_err().to_string(), *message);
    }
}

#[test]
fn random_starts_follow_the_rate() {
    // Kolmogorov–Smirnov: given their number, starts are independent draws with the integral of
    // the rate as their distribution. 1.63 / √n is the 1 % critical value.
    let pieces = [
        piece(100.0, 4_000.0, 5.0),
        piece(500.0, 500.0, 3.0),
        piece(3_000.0, 0.0, 4.0),
    ];
    let profile = Profile::new(&pieces).unwrap();
    let starts: Vec<u64> = Schedule::poisson_profile(&profile, 42).collect();
    let n = starts.len() as f64;
    let asked = asked_by(&pieces, 12.0);
    assert!(
        (n - asked).abs() < 4.0 * asked.sqrt(),
        "{n} starts for {asked}"
    );
    let farthest = starts.iter().enumerate().map(|(i, &at_ns)| {
        let expected = asked_by(&pieces, at_ns as f64 / 1e9) / asked;
        (expected - i as f64 / n)
            .abs()
            .max(((i + 1) as f64 / n - expected).abs())
    });
    let farthest = farthest.fold(0.0, f64::max);
    assert!(farthest < 1.63 / n.sqrt(), "{farthest}");
}

#[test]
fn a_constant_profile_has_the_arrivals_of_its_rate() {
    let profile = Profile::new(&[piece(500.0, 500.0, 10.0)]).unwrap();
    let even: Vec<u64> = Schedule::constant(500.0).take(5_000).collect();
    assert_eq!(Schedule::profile(&profile).collect::<Vec<_>>(), even);
    let near = |(one, other): (u64, u64)| one.abs_diff(other) <= 1;
    let profiled = Schedule::poisson_profile(&profile, 9);
    assert!(
        profiled.zip(Schedule::poisson(500.0, 9)).all(near),
        "the same seed"
    );
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    let profile = Profile::new(&[piece(100.0, 900.0, 1.0)]).unwrap();
    let starts = |seed| Schedule::poisson_profile(&profile, seed).collect::<Vec<_>>();
    assert_eq!(starts(7), starts(7));
    assert_ne!(starts(7), starts(8));
}

fn any_rate() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(0.0), 4 => 0.01f64..2_000.0]
}

fn any_pieces() -> impl Strategy<Value = Vec<Piece>> {
    let any_piece =
        (any_rate(), any_rate(), 1u64..1_000_000_000).prop_map(|(from, to, ns)| Piece {
            from_per_s: from,
            to_per_s: to,
            lasts: Duration::from_nanos(ns),
        });
    prop::collection::vec(any_piece, 1..6).prop_filter("some start", |pieces| {
        pieces.iter().any(|p| p.starts() > 0.0)
    })
}

proptest! {
    #[test]
    fn even_starts_are_sorted_counted_and_exact(pieces in any_pieces()) {
        let profile = Profile::new(&pieces).unwrap();
        let starts: Vec<u64> = Schedule::profile(&profile).collect();
        prop_assert!(starts.is_sorted());
        prop_assert!(u128::from(*starts.last().unwrap()) < profile.lasts().as_nanos());
        let asked = asked_by(&pieces, profile.lasts().as_secs_f64());
        prop_assert!((starts.len() as f64 - asked).abs() < 1.0 + 1e-6, "{} for {}", starts.len(), asked);
        // Half a nanosecond at the highest rate is a millionth of a start.
        for (ordinal, &at_ns) in starts.iter().enumerate() {
            let reached = asked_by(&pieces, at_ns as f64 / 1e9);
            prop_assert!((reached - ordinal as f64).abs() < 2e-6, "{} at {}", reached, ordinal);
        }
    }

    #[test]
    fn random_starts_are_sorted_within_the_profile_and_of_the_expected_number(
        pieces in any_pieces(),
        seed: u64,
    ) {
        let profile = Profile::new(&pieces).unwrap();
        let starts: Vec<u64> = Schedule::poisson_profile(&profile, seed).collect();
        prop_assert!(starts.is_sorted());
        prop_assert!(starts.iter().all(|&at| u128::from(at) < profile.lasts().as_nanos()));
        // Bernstein's bound for a Poisson count; fails once in e⁵⁰ runs.
        let asked = asked_by(&pieces, profile.lasts().as_secs_f64());
        let tolerance = (100.0 * asked).sqrt() + 34.0;
        prop_assert!((starts.len() as f64 - asked).abs() < tolerance);
        for &at_ns in &starts {
            let at_s = at_ns as f64 / 1e9;
            // Nothing starts where the rate is zero: the integral grows around each start.
            let grows = asked_by(&pieces, at_s + 1e-6) > asked_by(&pieces, at_s - 1e-6);
            prop_assert!(grows, "a start at {at_s}");
        }
    }
}
