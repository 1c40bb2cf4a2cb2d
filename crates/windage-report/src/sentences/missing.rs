//! Why a figure is missing, in words.

use windage_analysis::{Item, Missing};

/// The sentence that says why a figure is missing.
pub(crate) fn missing(why: &Missing) -> String {
    let text = match why {
        Missing::Baseline => "The baseline is what the others are compared with.",
        Missing::NoValue => "No usable window has a value.",
        Missing::NeverTogether => {
            "Both sides were measured, but never enough of both in the same block to compare."
        }
        Missing::NoneComputed => {
            "The measurements give no value: too few answers, or a counter that can't be read."
        }
        Missing::OneValue => {
            "One value per side: without scatter there is no interval. Measure more rounds."
        }
        Missing::UnboundedSequence => {
            "The run could stop early, and with so few launches or batches an interval that holds \
             at every look is unbounded."
        }
        Missing::BaselineZero => "The baseline is zero, so there is no ratio.",
        Missing::NoRatio => {
            "The baseline is or may be zero, so there is a difference but no ratio."
        }
        Missing::NoBaselinePer(item) => return no_baseline_per(*item),
        Missing::NothingDelivered(item) => {
            let item = item.as_str();
            return format!("No {item} was delivered, so there is no cost per {item}.");
        }
        Missing::UnboundedPer(item) => return unbounded_per(*item),
        Missing::NoEvents => "No BPF program ran, so there is no event to divide by.",
        Missing::FewAttachments => {
            "Runs per request differ between attachments, which are too few to estimate by how \
             much. Measure more rounds."
        }
        Missing::UnboundedPerRun => {
            "Runs per request differ so much between attachments that the cost per run is \
             unbounded. Measure more rounds."
        }
        Missing::StageNotMeasured => {
            "An arm of this stage has no usable window beside the chain's first arm."
        }
        Missing::StageNeverTogether => {
            "The two arms were never measured in the same half of a block, in a launch that has \
             all arms of the chain."
        }
        Missing::NotInRun(run) => return format!("Run {} did not measure it.", run.as_str()),
        Missing::InRun(run, why) => return format!("Run {}: {}", run.as_str(), missing(why)),
        Missing::UnboundedInRun => "The interval of one of the runs has no end.",
    };
    text.to_owned()
}

fn no_baseline_per(item: Item) -> String {
    let item = item.as_str();
    format!("The cost per {item} is an arm's overhead over the baseline, so the baseline has none.")
}

fn unbounded_per(item: Item) -> String {
    let item = item.as_str();
    format!(
        "Launches delivered such different numbers of {item}s that the cost per {item} is \
         unbounded. Measure more rounds."
    )
}
