//! `profiles` of `analysis.json`.

use serde::Serialize;
use windage_profile::{Added, FunctionCost};

use super::{IntervalWire, finite};
use crate::{ArmProfile, Sampled, profiles};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProfileWire {
    pub arm: String,
    pub profiler: String,
    pub version: Option<String>,
    pub rate: u32,
    pub samples: Option<u64>,
    pub lasts_s: Option<f64>,
    pub iterations: Option<u64>,
    pub cpu_us_per_iteration: Option<f64>,
    pub profiled_cpu_us_per_iteration: Option<f64>,
    pub scale: Option<String>,
    pub functions: Vec<FunctionWire>,
    pub functions_added: usize,
    pub functions_compared: usize,
    pub failure: Option<FailureWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FunctionWire {
    pub function: String,
    pub is_added: bool,
    #[serde(rename = "self")]
    pub itself: AddedWire,
    pub total: AddedWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AddedWire {
    pub baseline_us: Option<f64>,
    pub arm_us: Option<f64>,
    pub added_us: IntervalWire,
    pub within_noise: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailureWire {
    pub text: String,
    pub remedy: String,
}

impl From<&ArmProfile> for ProfileWire {
    fn from(profile: &ArmProfile) -> Self {
        let sampled: Option<&Sampled> = profile.outcome.as_ref().ok();
        let failure = profile.outcome.as_ref().err();
        ProfileWire {
            arm: profile.arm().as_str().to_owned(),
            profiler: profile.taken.profiler.clone(),
            version: profile.taken.version.clone(),
            rate: profile.taken.rate_hz,
            samples: sampled.map(|s| s.profile.stacks.samples()),
            lasts_s: sampled.and_then(|s| finite(s.lasts_s)),
            iterations: sampled.map(|s| s.iterations),
            cpu_us_per_iteration: sampled.and_then(|s| finite(s.profile.cpu_us)),
            profiled_cpu_us_per_iteration: sampled.and_then(|s| finite(s.profiled_cpu_us)),
            scale: sampled.map(|s| match s.is_scale_measured {
                true => "measured".to_owned(),
                false => "profiled".to_owned(),
            }),
            functions: sampled.map_or_else(Vec::new, |s| {
                s.functions.iter().map(FunctionWire::from).collect()
            }),
            functions_added: sampled.map_or(0, |s| s.functions_added),
            functions_compared: sampled.map_or(0, |s| s.functions_compared),
            failure: failure.map(|failure| FailureWire {
                text: failure.text.clone(),
                remedy: failure.remedy.clone(),
            }),
        }
    }
}

impl From<&FunctionCost> for FunctionWire {
    fn from(cost: &FunctionCost) -> Self {
        FunctionWire {
            function: cost.function.clone(),
            is_added: cost.is_added(),
            itself: (&cost.itself).into(),
            total: (&cost.total).into(),
        }
    }
}

impl From<&Added> for AddedWire {
    fn from(added: &Added) -> Self {
        AddedWire {
            baseline_us: finite(added.baseline_us),
            arm_us: finite(added.arm_us),
            added_us: (&profiles::interval(added)).into(),
            within_noise: added.is_within_noise(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use windage_model::ArmId;
    use windage_profile::Stacks;
    use windage_record::{ProfileFailure, RecordedProfile};

    fn profile(outcome: Result<Sampled, ProfileFailure>) -> ArmProfile {
        ArmProfile {
            taken: RecordedProfile {
                regime: None,
                arm: ArmId::from_text("otel").unwrap(),
                profiler: "py-spy".to_owned(),
                version: Some("py-spy 0.4.3".to_owned()),
                rate_hz: 250,
                outcome: Ok(windage_record::Profiled::default()),
            },
            outcome,
        }
    }

    #[test]
    fn keys_match_the_format() {
        let added = Added {
            arm_us: 12.0,
            baseline_us: 2.0,
            half_width_us: 1.0,
        };
        let sampled = Sampled {
            profile: windage_profile::ArmProfile {
                stacks: Stacks::of_text("main;span 3\nmain 1\n"),
                cpu_us: f64::NAN,
                cpu_half_width_us: 0.0,
            },
            is_scale_measured: true,
            profiled_cpu_us: 30.0,
            lasts_s: 5.0,
            iterations: 100,
            functions: vec![FunctionCost {
                function: "span".to_owned(),
                itself: added,
                total: added,
            }],
            functions_added: 1,
            functions_compared: 2,
        };
        let found = serde_json::to_value(ProfileWire::from(&profile(Ok(sampled)))).unwrap();
        let of_function = json!({
            "baseline_us": 2.0, "arm_us": 12.0, "within_noise": false,
            "added_us": {"estimate": 10.0, "low": 9.0, "high": 11.0, "confidence": 0.95,
                "method": "binomial"},
        });
        let expected = json!({
            "arm": "otel", "profiler": "py-spy", "version": "py-spy 0.4.3", "rate": 250,
            "samples": 4, "lasts_s": 5.0, "iterations": 100, "cpu_us_per_iteration": null,
            "profiled_cpu_us_per_iteration": 30.0, "scale": "measured",
            "functions": [{"function": "span", "is_added": true, "self": of_function, "total": of_function}],
            "functions_added": 1, "functions_compared": 2, "failure": null,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_failure_is_reported() {
        let failure = ProfileFailure {
            text: "it may not attach".to_owned(),
            remedy: "run as root".to_owned(),
        };
        let found = serde_json::to_value(ProfileWire::from(&profile(Err(failure)))).unwrap();
        assert_eq!(
            found["failure"],
            json!({"text": "it may not attach", "remedy": "run as root"})
        );
        assert_eq!(
            (&found["samples"], &found["functions"]),
            (&Value::Null, &json!([]))
        );
    }
}
