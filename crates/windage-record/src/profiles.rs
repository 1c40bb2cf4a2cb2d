//! `profiles/`: where each arm spends its time.
//!
//! A profile is two files: `ARM.json` describes how it was taken and is written last;
//! `ARM.collapsed` has its stacks. A profile that could not be taken has only the first file, with
//! the reason.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windage_model::ArmId;

use crate::disk::create_directories;
use crate::run_dir::path_part;
use crate::{RecordError, RunDir, whole_file};

const PROFILES: &str = "profiles";
const FACTS: &str = "json";
const STACKS: &str = "collapsed";
/// The format of `ARM.json`; no other is read.
const FORMAT: u32 = 1;
/// Larger files are not profiles written by Windage.
const MOST_BYTES: u64 = 256 << 20;

/// How an arm's profile was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedProfile {
    /// The load's name; `None` where the plan has only one.
    pub regime: Option<String>,
    /// The arm.
    pub arm: ArmId,
    /// The profiler, as the plan names it.
    pub profiler: String,
    /// The profiler's version; `None` when it gave none.
    pub version: Option<String>,
    /// Requested samples per second.
    pub rate_hz: u32,
    /// The outcome.
    pub outcome: Result<Profiled, ProfileFailure>,
}

/// A profile that was taken, and what the arm did in the meantime.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiled {
    /// How long the arm had load, in nanoseconds.
    pub lasts_ns: u64,
    /// Iterations or requests that were completed.
    pub iterations: u64,
    /// CPU that the arm used; `None` if not counted.
    pub cpu_ns: Option<u64>,
    /// Lines of the profiler's output that could not be read.
    pub malformed_lines: u64,
    /// Samples left out because there were too many different stacks.
    pub beyond_limit: u64,
    /// How often each stack was seen, one line per stack.
    pub collapsed: String,
}

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFailure {
    /// What happened.
    pub text: String,
    /// The remedy.
    pub remedy: String,
}

impl RecordedProfile {
    /// The name of its files without extension.
    #[must_use]
    pub fn stem(&self) -> String {
        match &self.regime {
            Some(regime) => format!("{}+{}", path_part(regime), self.arm),
            None => self.arm.to_string(),
        }
    }
}

impl RunDir {
    /// The directory of profiles, created if missing.
    ///
    /// # Errors
    /// When it can't be created.
    pub fn profiles_dir(&self) -> Result<PathBuf, RecordError> {
        let directory = self.path().join(PROFILES);
        create_directories(self.disk(), &directory)?;
        Ok(directory)
    }

    /// Writes or replaces an arm's profile.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write_profile(&self, profile: &RecordedProfile) -> Result<(), RecordError> {
        if let Ok(profiled) = &profile.outcome {
            self.write_beside_profile(profile, STACKS, profiled.collapsed.as_bytes())?;
        }
        let facts = StoredProfile::from(profile);
        let json =
            serde_json::to_string_pretty(&facts).map_err(|error| RecordError::Unstorable {
                why: error.to_string(),
            })?;
        self.write_beside_profile(profile, FACTS, (json + "\n").as_bytes())?;
        Ok(())
    }

    /// Atomically writes or replaces a file that belongs to a profile, such as its picture.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write_beside_profile(
        &self,
        profile: &RecordedProfile,
        ending: &str,
        contents: &[u8],
    ) -> Result<PathBuf, RecordError> {
        let directory = self.profiles_dir()?;
        let name = format!("{}.{ending}", profile.stem());
        whole_file::write(self.disk(), &directory, &name, contents)?;
        Ok(directory.join(name))
    }

    /// Every profile of the run, in the order of their files; may be empty.
    ///
    /// # Errors
    /// When a file can't be read, is damaged or has another format.
    pub fn profiles(&self) -> Result<Vec<RecordedProfile>, RecordError> {
        let directory = self.path().join(PROFILES);
        let entries = match fs::read_dir(&directory) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(RecordError::io("list", &directory))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(RecordError::io("list", &directory))?.path();
            if path.extension() == Some(OsStr::new(FACTS)) {
                files.push(path);
            }
        }
        files.sort();
        files.iter().map(|path| read(path)).collect()
    }
}

fn read(path: &Path) -> Result<RecordedProfile, RecordError> {
    let damaged = |why: String| RecordError::Damaged {
        path: path.to_owned(),
        why,
    };
    let json = text_of(path)?;
    let front: Front = serde_json::from_str(&json).map_err(|e| damaged(e.to_string()))?;
    if front.format != FORMAT {
        return Err(RecordError::OtherFormat {
            path: path.to_owned(),
            found: front.format,
            known: "format 1",
            windage: front.windage,
        });
    }
    let stored: StoredProfile = serde_json::from_str(&json).map_err(|e| damaged(e.to_string()))?;
    let mut profile = RecordedProfile::try_from(stored).map_err(damaged)?;
    if let Ok(profiled) = &mut profile.outcome {
        profiled.collapsed = text_of(&path.with_extension(STACKS))?;
    }
    Ok(profile)
}

fn text_of(path: &Path) -> Result<String, RecordError> {
    let bytes = fs::metadata(path)
        .map_err(RecordError::io("read", path))?
        .len();
    if bytes > MOST_BYTES {
        return Err(RecordError::Damaged {
            path: path.to_owned(),
            why: format!("{bytes} bytes are too many for a profile"),
        });
    }
    windage_files::read_to_string(path).map_err(RecordError::io("read", path))
}

/// Fields that every format has.
#[derive(Deserialize)]
struct Front {
    format: u32,
    windage: String,
}

/// The stored form. Within a format fields are only added: unknown fields are ignored, and added
/// ones must have a default.
#[derive(Serialize, Deserialize)]
struct StoredProfile {
    format: u32,
    windage: String,
    regime: Option<String>,
    arm: String,
    profiler: String,
    version: Option<String>,
    rate_hz: u32,
    profiled: Option<StoredProfiled>,
    failure: Option<StoredFailure>,
}

#[derive(Serialize, Deserialize)]
struct StoredProfiled {
    lasts_ns: u64,
    iterations: u64,
    cpu_ns: Option<u64>,
    malformed_lines: u64,
    beyond_limit: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredFailure {
    text: String,
    remedy: String,
}

impl From<&RecordedProfile> for StoredProfile {
    fn from(profile: &RecordedProfile) -> Self {
        let profiled = profile
            .outcome
            .as_ref()
            .ok()
            .map(|profiled| StoredProfiled {
                lasts_ns: profiled.lasts_ns,
                iterations: profiled.iterations,
                cpu_ns: profiled.cpu_ns,
                malformed_lines: profiled.malformed_lines,
                beyond_limit: profiled.beyond_limit,
            });
        let failure = profile.outcome.as_ref().err().map(|failure| StoredFailure {
            text: failure.text.clone(),
            remedy: failure.remedy.clone(),
        });
        StoredProfile {
            format: FORMAT,
            windage: env!("CARGO_PKG_VERSION").to_owned(),
            regime: profile.regime.clone(),
            arm: profile.arm.to_string(),
            profiler: profile.profiler.clone(),
            version: profile.version.clone(),
            rate_hz: profile.rate_hz,
            profiled,
            failure,
        }
    }
}

impl TryFrom<StoredProfile> for RecordedProfile {
    type Error = String;

    fn try_from(stored: StoredProfile) -> Result<Self, String> {
        let arm = ArmId::from_text(&stored.arm)
            .filter(|id| id.as_str() == stored.arm)
            .ok_or_else(|| format!("`{}` is not an arm id", stored.arm))?;
        let outcome = match (stored.profiled, stored.failure) {
            (Some(profiled), None) => Ok(Profiled {
                lasts_ns: profiled.lasts_ns,
                iterations: profiled.iterations,
                cpu_ns: profiled.cpu_ns,
                malformed_lines: profiled.malformed_lines,
                beyond_limit: profiled.beyond_limit,
                collapsed: String::new(),
            }),
            (None, Some(failure)) => Err(ProfileFailure {
                text: failure.text,
                remedy: failure.remedy,
            }),
            _ => return Err("it must have exactly one of `profiled` and `failure`".to_owned()),
        };
        Ok(RecordedProfile {
            regime: stored.regime,
            arm,
            profiler: stored.profiler,
            version: stored.version,
            rate_hz: stored.rate_hz,
            outcome,
        })
    }
}
