use super::*;

fn counting(from: u64, step: u64) -> Work {
    let counter = Field::Counter { from, step };
    work(&[get(text("/{0}"))], fields(&[counter], Vec::new()))
}

fn of_table(order: RowOrder, rows: usize) -> Work {
    let numbers: String = (0..rows).map(|row| format!("{row}\n")).collect();
    let column = Field::Column {
        table: 0,
        column: 0,
    };
    let rows = table(&format!("n\n{numbers}"), order);
    work(&[get(text("/{0}"))], fields(&[column], vec![rows]))
}

fn random(low: u64, high: u64) -> Work {
    let field = Field::Random { low, high };
    work(&[get(text("/{0}"))], fields(&[field], Vec::new()))
}

fn all_draws(work: &Work) -> Draws {
    Draws::new(work, WHOLE)
}

/// The draws of three threads, turn by turn.
fn three_threads(work: &Work, turns: usize) -> Vec<String> {
    let mut threads = [0, 1, 2].map(|index| Draws::new(work, Share { index, of: 3 }));
    let turn = |_| {
        threads
            .each_mut()
            .map(|draws| paths(draws, work, 1).remove(0))
    };
    (0..turns).flat_map(turn).collect()
}

fn numbers(paths: &[String]) -> Vec<u64> {
    paths
        .iter()
        .map(|path| path[1..].parse().unwrap())
        .collect()
}

#[test]
fn counters_count_requests_over_runs_and_threads() {
    let by_tens = counting(5, 10);
    let mut draws = all_draws(&by_tens);
    assert_eq!(paths(&mut draws, &by_tens, 3), ["/5", "/15", "/25"]);
    draws.reseed(1);
    assert_eq!(
        paths(&mut draws, &by_tens, 1),
        ["/35"],
        "a new run continues"
    );
    let three = numbers(&three_threads(&counting(0, 1), 4));
    assert_eq!(
        three,
        (0..12).collect::<Vec<u64>>(),
        "every number exactly once"
    );
    let wrapping = counting(u64::MAX, 1);
    assert_eq!(paths(&mut all_draws(&wrapping), &wrapping, 2)[1], "/0");
}

#[test]
fn counters_count_only_requests_that_have_them() {
    let counter = Field::Counter { from: 0, step: 1 };
    let steps = [get(text("/{0}-{0}")), get("/x".into()), get(text("/{0}"))];
    let work = work(&steps, fields(&[counter], Vec::new()));
    let expected = ["/0-0", "/x", "/1", "/2-2", "/x", "/3"];
    assert_eq!(paths(&mut all_draws(&work), &work, 2), expected);
}

#[test]
fn rows_in_order_cycle_over_runs_and_threads() {
    let work = of_table(RowOrder::InOrder, 5);
    let mut draws = all_draws(&work);
    assert_eq!(numbers(&paths(&mut draws, &work, 6)), [0, 1, 2, 3, 4, 0]);
    draws.reseed(1);
    assert_eq!(
        numbers(&paths(&mut draws, &work, 1)),
        [1],
        "a new run continues"
    );
    let expected: Vec<u64> = (0..12).map(|turn| turn % 5).collect();
    assert_eq!(numbers(&three_threads(&work, 4)), expected);
}

#[test]
fn a_flow_keeps_its_rows_in_all_steps_and_columns() {
    for order in [RowOrder::InOrder, RowOrder::Random] {
        let user = |column| Field::Column { table: 0, column };
        let item = Field::Column {
            table: 1,
            column: 0,
        };
        let users = table("id,key\n0,k0\n1,k1\n2,k2\n", order);
        let items = table("i\na\nb\n", RowOrder::InOrder);
        let all = fields(&[user(0), user(1), item], vec![users, items]);
        let flows = vec![
            flow(1, &[get(text("/{0}/{1}")), get(text("/{1}/{2}"))]),
            flow(1, &[get("/without-columns".into())]),
        ];
        let work = Work::new(flows, all, Protocol::Http1).unwrap();
        let mut draws = all_draws(&work);
        // Two concurrent users, their steps interleaved.
        let mut turn = 0;
        for _ in 0..50 {
            let begun = [draws.begin(&work), draws.begin(&work)];
            let with_columns: Vec<Position> = begun
                .into_iter()
                .filter(|&at| work.step(at).next.is_some())
                .collect();
            let firsts: Vec<String> = with_columns
                .iter()
                .map(|&at| write(&mut draws, &work, at))
                .collect();
            for (&at, first) in with_columns.iter().zip(&firsts) {
                let second = write(&mut draws, &work, work.step(at).next.unwrap());
                let id = &first[5..6];
                assert!(first.starts_with(&format!("GET /{id}/k{id} ")), "{first}");
                let item = ["a", "b"][turn % 2];
                assert!(
                    second.starts_with(&format!("GET /k{id}/{item} ")),
                    "{second}"
                );
                if order == RowOrder::InOrder {
                    assert_eq!(id, (turn % 3).to_string(), "no row is left out");
                }
                turn += 1;
            }
        }
        assert!(turn > 20, "both flows were drawn");
    }
}

#[test]
fn random_draws_follow_from_seed_and_share() {
    let mut flows = vec![
        flow(1, &[get(text("/a{0}-{1}"))]),
        flow(2, &[get(text("/b{0}"))]),
    ];
    flows[0].steps[0].think = Duration::from_millis(1);
    let numbers: String = (0..100).map(|row| format!("{row}\n")).collect();
    let all = fields(
        &[
            Field::Random { low: 0, high: 999 },
            Field::Column {
                table: 0,
                column: 0,
            },
        ],
        vec![table(&format!("n\n{numbers}"), RowOrder::Random)],
    );
    let work = Work::new(flows, all, Protocol::Http1).unwrap();
    let mut draws = all_draws(&work);
    let mut run = |seed| {
        draws.reseed(seed);
        paths(&mut draws, &work, 40)
    };
    let first = run(7);
    assert_ne!(run(8), first);
    assert_eq!(run(7), first, "the same seed after other runs");
    let mut other = Draws::new(&work, Share { index: 1, of: 2 });
    other.reseed(7);
    assert_ne!(
        paths(&mut other, &work, 40),
        first,
        "another thread draws differently"
    );
}

#[test]
fn random_numbers_reach_both_ends_and_are_uniform() {
    let dice = random(1, 6);
    let thrown = numbers(&paths(&mut all_draws(&dice), &dice, 6_000));
    let counts = [1, 2, 3, 4, 5, 6].map(|n| thrown.iter().filter(|&&t| t == n).count());
    assert_eq!(counts.iter().sum::<usize>(), 6_000, "no other numbers");
    // χ² with 5 degrees of freedom: 20.5 is the 0.1 % critical value.
    let chi_square: f64 = counts
        .iter()
        .map(|&c| (c as f64 - 1_000.0).powi(2) / 1_000.0)
        .sum();
    assert!(chi_square < 20.5, "{counts:?}");
    let one = random(3, 3);
    assert_eq!(paths(&mut all_draws(&one), &one, 1), ["/3"]);
    let all = random(0, u64::MAX);
    let drawn = numbers(&paths(&mut all_draws(&all), &all, 100));
    assert!(drawn.iter().any(|&n| n > u64::MAX / 2) && drawn.iter().any(|&n| n < u64::MAX / 2));
}

#[test]
fn random_rows_are_uniform() {
    let work = of_table(RowOrder::Random, 10);
    for seed in 0..5 {
        let mut draws = all_draws(&work);
        draws.reseed(seed);
        let drawn = numbers(&paths(&mut draws, &work, 10_000));
        let mut counts = [0.0f64; 10];
        for &row in &drawn {
            counts[row as usize] += 1.0;
        }
        // χ² with 9 degrees of freedom: 27.9 is the 0.1 % critical value.
        let chi_square: f64 = counts.iter().map(|c| (c - 1_000.0).powi(2) / 1_000.0).sum();
        assert!(chi_square < 27.9, "{counts:?}");
        let repeats = drawn.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
        assert!(
            (repeats - 1_000.0).abs() < 4.0 * 900.0f64.sqrt(),
            "{repeats} of 10,000"
        );
    }
}

#[test]
fn flows_begin_by_weight() {
    let weights = [2, 0, 5, 3];
    let flows = weights.iter().enumerate();
    let flows = flows.map(|(i, &weight)| flow(weight, &[get(format!("/{i}").into())]));
    let work = Work::new(flows.collect(), Fields::default(), Protocol::Http1).unwrap();
    let begun = numbers(&paths(&mut all_draws(&work), &work, 10_000));
    let count = |flow| begun.iter().filter(|&&begun| begun == flow).count() as f64;
    for (flow, &weight) in (0..).zip(&weights) {
        let expected = f64::from(weight) * 1_000.0;
        let error = (expected * (1.0 - expected / 10_000.0)).sqrt();
        assert!(
            (count(flow) - expected).abs() <= 4.0 * error,
            "flow {flow}: {}",
            count(flow)
        );
    }
}

#[test]
fn the_largest_weights_do_not_overflow() {
    let flows = (0..3).map(|i| flow(u32::MAX, &[get(format!("/{i}").into())]));
    let work = Work::new(flows.collect(), Fields::default(), Protocol::Http1).unwrap();
    let begun = paths(&mut all_draws(&work), &work, 100);
    for path in ["/0", "/1", "/2"] {
        assert!(begun.iter().any(|begun| begun == path), "{path}");
    }
}
