//! The tables of budgets.

use windage_analysis::{Analysis, ArmAnalysis, BudgetAnalysis};
use windage_model::{Budget, BudgetOf, BudgetVerdict};

use super::{Align, Cell, Column, NOT_FINITE, Notes, Row, Table, Tone, column, plain};
use crate::fact::one_line;
use crate::{duration, limit, number, sentences};

/// A table for each budget, with a row for each arm that it holds for.
pub(crate) fn budget_tables(analysis: &Analysis) -> Vec<Table> {
    let mut budgets: Vec<&Budget> = Vec::new();
    for of in analysis.arms.iter().flat_map(|arm| &arm.budgets) {
        if !budgets.contains(&&of.budget) {
            budgets.push(&of.budget);
        }
    }
    let tables = budgets.into_iter().map(|budget| {
        let mut notes = Notes::default();
        let limit = |of| limit::limit(budget.metric, of);
        let mark = budget.overridden.as_ref().map(|of| {
            let usual = limit(budget.at_most);
            notes.mark(&format!(
                "Instead of {usual} until {}: {}.",
                of.until, of.reason
            ))
        });
        let mark = mark.unwrap_or_default();
        let of_arm = |arm: &'_ ArmAnalysis| {
            let held = arm.budgets.iter().find(|of| of.budget == *budget)?;
            Some(row(arm, held, &mut notes))
        };
        let rows = analysis.arms.iter().filter_map(of_arm).collect();
        Table {
            title: format!("{} {}{mark}", title(budget), limit(budget.limit())),
            columns: columns(budget),
            rows,
            notes: notes.0,
            ..Table::default()
        }
    });
    tables.collect()
}

fn title(of: &Budget) -> &'static str {
    match of.of {
        BudgetOf::Change => "Budget: a change of at most",
        BudgetOf::Cost => "Budget: at most",
        BudgetOf::Own => "Budget for its own figure: at most",
    }
}

fn columns(of: &Budget) -> Vec<Column> {
    vec![
        column(
            of.metric.label(),
            match of.of {
                BudgetOf::Cost => "What the arm costs over the baseline",
                BudgetOf::Own => "The arm's own figure",
                BudgetOf::Change => {
                    "How much more the arm costs at the head than at the base, in points of its \
                     baseline; of the baseline, how much more the service takes"
                }
            },
        ),
        column(
            format!("{} bounds", number::percent_short(of.confidence)),
            "It is at least the first and at most the second, each with this confidence",
        ),
        Column {
            align: Align::Left,
            ..column(
                "verdict",
                "Within: the upper bound is not above the limit; exceeded: the lower bound is",
            )
        },
    ]
}

fn row(arm: &ArmAnalysis, of: &BudgetAnalysis, notes: &mut Notes) -> Row {
    let found = of.cost.as_ref();
    let shown = found.map(|found| (found.estimate, limit::found(of, found)));
    let mut cells = match shown {
        Ok((estimate, Some(shown))) => {
            vec![Cell::figure(shown.point(), estimate), plain(shown.range())]
        }
        Ok((_, None)) => notes.absent(2, NOT_FINITE),
        Err(why) => notes.absent(2, &sentences::missing(why)),
    };
    cells.push(verdict(of, notes));
    Row {
        arm: one_line(&arm.name),
        cells,
    }
}

fn verdict(of: &BudgetAnalysis, notes: &mut Notes) -> Cell {
    let warning = of.budget.warn_above.filter(|_| of.warns).map(|above| {
        let above = limit::limit(of.budget.metric, above);
        notes.mark(&format!("The budget warns above {above}."))
    });
    let lacks = match (of.launches_needed, of.time_needed_s) {
        (Some(launches), _) => Some(format!("A verdict needs {launches} launches.")),
        (None, Some(s)) => Some(format!(
            "It takes about {} to decide, if the cost stays as it is.",
            duration::more(s)
        )),
        (None, None) => None,
    };
    let lacks = lacks.map(|lacks| notes.mark(&lacks));
    let marks = warning.into_iter().chain(lacks).collect::<String>();
    Cell {
        tone: match of.verdict {
            BudgetVerdict::Within => Tone::Plain,
            BudgetVerdict::Undecided => Tone::Faint,
            BudgetVerdict::Exceeded => Tone::Alarm,
        },
        ..plain(format!("{}{marks}", of.verdict.as_str()))
    }
}
