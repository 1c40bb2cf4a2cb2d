//! A plan at two revisions of the services' source, as one plan whose arms take turns.

use windage_model::{ArmId, ArmIndex, Budget, BudgetOf, Revisions, Role};

use crate::{Arm, Checkout, Origin, Plan};

impl Plan {
    /// One plan that measures both, each with all arms. The processes of a revision share the pages
    /// of its program, which the turn of one leaves in the caches for the next: with fewer arms, a
    /// revision would cost more. Budgets are of the arms from `head`. Arms that differ by an agent's
    /// mere presence are left out.
    ///
    /// # Errors
    /// Why they can't be measured at the same time, in a sentence for the user.
    pub fn at_both(base: Plan, head: Plan, revisions: Revisions) -> Result<Plan, String> {
        for service in head.services.iter().filter(|service| !service.shared) {
            let (name, both) = (&service.name, "both revisions run at the same time");
            if let Origin::Attach(_) = service.origin {
                return Err(format!(
                    "service `{name}` runs already: {both}, so give it a `command`"
                ));
            }
            if let Some(listen) = service.listen {
                return Err(format!(
                    "service `{name}` has the fixed address {listen}: {both}, so use `{{listen}}` \
                     in its command instead"
                ));
            }
        }
        if base
            .arms
            .iter()
            .map(|arm| &arm.id)
            .ne(head.arms.iter().map(|arm| &arm.id))
        {
            return Err("the plan has other arms at the base".to_owned());
        }
        let of_base = arms_at(&base, "base")?;
        let mut of_head = arms_at(&head, "head")?;
        for (arm, of) in &mut of_head {
            if arm.role == Role::Baseline {
                arm.role = Role::Treatment;
            }
            let same = of_base.iter().find(|(_, at_base)| at_base == of);
            if let Some(checkout) = &mut arm.checkout {
                checkout.at_base = same.map(|(arm, _)| arm.id.clone());
            }
        }
        let planned: Vec<(Arm, ArmIndex)> = of_base.into_iter().chain(of_head.clone()).collect();
        let place = |of: ArmIndex| {
            let is_it = |(arm, index): &(Arm, ArmIndex)| *index == of && is_of_head(arm);
            let found = planned.iter().position(is_it)?;
            u16::try_from(found).ok().map(ArmIndex)
        };
        let mut budgets = head.budgets;
        for budget in &mut budgets {
            budget.arms = budget.arms.iter().filter_map(|of| place(*of)).collect();
        }
        Ok(Plan {
            arms: planned.into_iter().map(|(arm, _)| arm).collect(),
            budgets,
            claims: Vec::new(),
            profile: None,
            revisions: Some(revisions),
            ..head
        })
    }

    /// The budgets that its run decides. Those of a change need two revisions.
    pub fn decided_budgets(&self) -> impl Iterator<Item = &Budget> {
        let is_of_two = self.revisions.is_some();
        let decides = move |budget: &&Budget| (budget.of == BudgetOf::Change) == is_of_two;
        self.budgets.iter().filter(decides)
    }
}

fn is_of_head(arm: &Arm) -> bool {
    arm.checkout.as_ref().is_some_and(|of| of.at_base.is_some())
}

/// The arms of one revision, each with its index in the plan.
fn arms_at(plan: &Plan, revision: &str) -> Result<Vec<(Arm, ArmIndex)>, String> {
    let arms = (0u16..).map(ArmIndex).zip(&plan.arms);
    let own = arms.filter(|(_, arm)| arm.bystander_of.is_none());
    let at = |(index, arm): (ArmIndex, &Arm)| {
        // Names of equal length: a process's speed depends slightly on the lengths of its paths.
        let name = format!("{}@{revision}", arm.name);
        let id = ArmId::from_text(&format!("{}@{revision}", arm.id));
        let arm = Arm {
            id: id.ok_or_else(|| format!("arm `{}` has no id", arm.name))?,
            name,
            instance: format!("{}-{revision}", arm.instance),
            adds_to: None,
            same_as: None,
            checkout: Some(Checkout {
                folder: plan.folder.clone(),
                services: plan.services.clone(),
                at_base: None,
            }),
            ..arm.clone()
        };
        Ok((arm, index))
    };
    own.map(at).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use windage_model::{Revision, Role};

    use super::*;

    const PLAN: &str = r#"
name = "two"
[[service]]
name    = "app"
command = ["bin/app", "{listen}"]
[load]
model   = "closed"
request = "GET http://{app}/"
[[arm]]
name     = "off"
baseline = true
[[arm]]
name  = "on"
env   = { LEVEL = "{level}" }
sweep = { level = [1, 2] }
[[budget]]
metric  = "cpu_per_request"
at_most = "5%"
[[budget]]
of      = "change"
metric  = "cpu_per_request"
at_most = "1%"
[[budget]]
of      = "change"
metric  = "cpu_per_request"
arms    = ["off"]
at_most = "10us"
"#;

    fn plan(text: &str, folder: &str) -> Plan {
        Plan::parse(text, "plan.toml", Path::new(folder))
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    fn revisions() -> Revisions {
        let of = |name: &str| Revision {
            name: name.to_owned(),
            commit: "0".repeat(40),
        };
        Revisions {
            base: of("main"),
            head: of("HEAD"),
        }
    }

    #[test]
    fn every_arm_is_there_twice() {
        let both = Plan::at_both(plan(PLAN, "/base"), plan(PLAN, "/head"), revisions()).unwrap();
        let shown = both.arms.iter().map(|arm| {
            let checkout = arm.checkout.as_ref().unwrap();
            let folder = checkout.folder.to_str().unwrap();
            let at_base = checkout.at_base.as_ref().map_or("", ArmId::as_str);
            (arm.name.as_str(), arm.role, folder, at_base)
        });
        use Role::{Baseline, Control, Treatment};
        let expected = [
            ("off@base", Baseline, "/base", ""),
            ("control@base", Control, "/base", ""),
            ("on, level 1@base", Treatment, "/base", ""),
            ("on, level 2@base", Treatment, "/base", ""),
            ("off@head", Treatment, "/head", "off-base"),
            ("control@head", Control, "/head", "control-base"),
            ("on, level 1@head", Treatment, "/head", "on-level-1-base"),
            ("on, level 2@head", Treatment, "/head", "on-level-2-base"),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        let mut instances: Vec<&str> = both.arms.iter().map(|arm| arm.instance.as_str()).collect();
        instances.sort_unstable();
        instances.dedup();
        assert_eq!(instances.len(), 8, "{instances:?}");
        assert_eq!(both.build_folders(), ["/base", "/head"].map(Path::new));
        let arms = both.decided_budgets().map(|budget| budget.arms.clone());
        let [all, service] = [[4, 6, 7].map(ArmIndex).to_vec(), vec![ArmIndex(4)]];
        assert_eq!(arms.collect::<Vec<_>>(), [all, service]);
    }

    #[test]
    fn without_revisions_no_change_is_judged() {
        let usual = plan(PLAN, "/here");
        assert_eq!(usual.build_folders(), [Path::new("/here")]);
        let decided: Vec<BudgetOf> = usual.decided_budgets().map(|budget| budget.of).collect();
        assert_eq!(decided, [BudgetOf::Cost]);
    }

    #[test]
    fn what_can_not_run_twice_is_refused() {
        let fixed = PLAN.replace("{listen}\"]", "{listen}\"]\nlisten = \"127.0.0.1:8080\"");
        let attached = PLAN.replace("command = [\"bin/app\", \"{listen}\"]", "attach = \"url\"");
        for (text, says) in [(fixed, "fixed address"), (attached, "")] {
            let Ok(of) = Plan::parse(&text, "plan.toml", Path::new("/")) else {
                continue;
            };
            let refused = Plan::at_both(of.clone(), of, revisions()).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        let other = PLAN.replace("level = [1, 2]", "level = [1]");
        let refused = Plan::at_both(plan(&other, "/base"), plan(PLAN, "/head"), revisions());
        assert!(refused.unwrap_err().contains("other arms"));
    }
}
