//! The outcome as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;

use super::{Killed, PLANS, Phase, Study, Victim};
use crate::machine;

const METHOD: &str = "\
Each run is killed by SIGKILL at a moment drawn evenly from its usual length: Windage, its keeper (or the keeper's \
guardian), or both. About one kill in seven hits a run that was killed before and is resumed, and one of Windage in \
six the time in which it computes and writes its report, when the keeper has ended. After each kill no process of the \
run may be left (by the mark in its environment, its folder as working directory, executable or argument), no BPF \
program or link, no control group, no temporary file. What was committed before the kill must be committed after it; \
all blocks of rounds that Windage had announced as over must be; `windage report` must report them all, or say that \
there is no run yet. Resumed runs must reach their end with all planned blocks, and everything that was committed \
unchanged in them: entries of the journal one by one, histograms byte by byte. When both are killed, nobody is left to \
remove the arms' empty control groups: the next run must.";

pub(super) fn page(
    study: &Study<'_>,
    killed: &BTreeMap<u32, Killed>,
    swept: &[String],
) -> Result<String> {
    let args = study.args;
    let mut command = format!(
        "cargo xtask kills --count {} --seed {}",
        args.count, study.seed
    );
    let _ = write!(command, " --jobs {}", args.jobs);
    if args.resume_all {
        command += " --resume-all";
    }
    let all = || killed.values();
    let failed = all().filter(|killed| !killed.faults.is_empty()).count();
    let blocks: Vec<u32> = all().filter_map(|killed| killed.blocks).collect();
    let mut page = format!(
        "# Killed runs\n\n- Date: {}\n- Command: `{command}`\n- Machine: {}\n- Versions: {}\n\
         - Kills: {}, of which {failed} failed\n\n{METHOD}\n\n",
        machine::today()?,
        machine::in_words()?,
        study.versions,
        killed.len(),
    );
    if study.plans.len() < PLANS.len() {
        page += "Without plans whose agents need BPF, which this user may not use.\n\n";
    }
    page += &table(killed);
    let _ = write!(
        page,
        "\n- Runs that had committed blocks: {}, with {} blocks in all; without blocks: {}; without a manifest, so that \
         `windage report` says that there is no run: {}.\n\
         - Resumed to their end: {}.\n\
         - Empty control groups left until the next run: after {} kills of both, of which {} groups were never removed.\n\
         - Files that were being written (`.NAME.PID-N.part`), which a write an hour later removes: {}.\n",
        blocks.iter().filter(|blocks| **blocks > 0).count(),
        blocks.iter().sum::<u32>(),
        blocks.iter().filter(|blocks| **blocks == 0).count(),
        killed.len() - blocks.len(),
        all().filter(|killed| killed.was_resumed).count(),
        all().filter(|killed| killed.left_groups.is_some()).count(),
        swept.len(),
        all().map(|killed| killed.parts).sum::<usize>(),
    );
    for (number, killed) in killed
        .iter()
        .filter(|(_, killed)| !killed.faults.is_empty())
    {
        let (victim, phase) = (killed.victim.name(), killed.phase.name());
        let faults = killed.faults.join("; ").replace('\n', " ");
        let (plan, after) = (killed.plan, killed.after);
        let _ = writeln!(
            page,
            "- Failed: kill {number} ({plan}, {victim} after {after:.2?}, {phase}): {faults}"
        );
    }
    Ok(page)
}

/// Kills and failures, by plan, victim and phase.
fn table(killed: &BTreeMap<u32, Killed>) -> String {
    let names = Phase::ALL.map(Phase::name).join(" | ");
    let lines = "---:|".repeat(Phase::ALL.len() + 2);
    let mut table = format!("| plan | victim | {names} | kills | failed |\n|---|---|{lines}\n");
    let mut plans: Vec<&str> = killed.values().map(|killed| killed.plan).collect();
    plans.sort_unstable();
    plans.dedup();
    for plan in plans {
        for victim in Victim::ALL {
            let of_row = |killed: &&Killed| killed.plan == plan && killed.victim == victim;
            table += &row(&format!("{plan} | {}", victim.name()), killed, of_row);
        }
    }
    table + &row("all | ", killed, |_| true)
}

fn row(name: &str, killed: &BTreeMap<u32, Killed>, of_row: impl Fn(&&Killed) -> bool) -> String {
    let kills: Vec<&Killed> = killed.values().filter(of_row).collect();
    let count = |is: &dyn Fn(&&&Killed) -> bool| kills.iter().filter(is).count();
    let mut row = format!("| {name} |");
    for phase in Phase::ALL {
        let _ = write!(row, " {} |", count(&|killed| killed.phase == phase));
    }
    let failed = count(&|killed| !killed.faults.is_empty());
    let _ = writeln!(row, " {} | {failed} |", kills.len());
    row
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn kills_are_counted_by_plan_victim_and_phase() {
        let killed = |plan, victim, phase, faults: &[&str]| Killed {
            plan,
            victim,
            phase,
            after: Duration::from_secs(1),
            blocks: None,
            was_resumed: false,
            parts: 0,
            left_groups: None,
            faults: faults.iter().map(|&fault| fault.to_owned()).collect(),
        };
        let killed = [
            killed("demo", Victim::Keeper, Phase::Blocks, &[]),
            killed("demo", Victim::Keeper, Phase::Blocks, &["left: sleep"]),
            killed("agents", Victim::Both, Phase::Resumed, &[]),
        ];
        let table = table(&(1..).zip(killed).collect());
        for row in [
            "| agents | both | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 1 | 0 |\n",
            "| demo | keeper | 0 | 0 | 0 | 2 | 0 | 0 | 0 | 2 | 1 |\n",
            "| demo | windage | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n",
            "| all |  | 0 | 0 | 0 | 2 | 0 | 0 | 1 | 3 | 1 |\n",
        ] {
            assert!(table.contains(row), "{row}\n{table}");
        }
    }
}
