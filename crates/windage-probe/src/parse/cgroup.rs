//! Mount points of cgroup hierarchies and the cgroups of this process: `/proc/self/mountinfo`,
//! `/proc/self/cgroup`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::{lines, number, words};

/// A mounted cgroup hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The cgroup at the mount point: `/` unless a container shows only its own.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Its version and controllers.
    pub hierarchy: Hierarchy,
}

/// The two versions of cgroups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hierarchy {
    /// Version 1, with the controllers (and names) that it carries.
    V1(Vec<String>),
    /// Version 2: one hierarchy for all controllers.
    V2,
}

impl Hierarchy {
    /// Whether this is a hierarchy of version 1 with the controller.
    #[must_use]
    pub fn carries(&self, controller: &str) -> bool {
        matches!(self, Hierarchy::V1(controllers) if controllers.iter().any(|c| c == controller))
    }
}

/// The cgroup of a process within one hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The hierarchy.
    pub hierarchy: Hierarchy,
    /// The cgroup's path from the hierarchy's root.
    pub path: PathBuf,
}

impl Mount {
    /// The directory of a cgroup, given its path within the hierarchy. For a cgroup outside the
    /// mount, the mount point is the nearest.
    #[must_use]
    pub fn dir_of(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(below) if below.as_os_str().is_empty() => self.point.clone(),
            Ok(below) => self.point.join(below),
            Err(_) => self.point.clone(),
        }
    }
}

/// The cgroup mounts in `/proc/self/mountinfo`; other lines are skipped.
#[must_use]
pub fn mounts(mountinfo: &[u8]) -> Vec<Mount> {
    lines(mountinfo).filter_map(mount).collect()
}

/// The cgroups in `/proc/self/cgroup`; other lines are skipped.
#[must_use]
pub fn memberships(cgroup: &[u8]) -> Vec<Membership> {
    lines(cgroup).filter_map(membership).collect()
}

fn mount(line: &[u8]) -> Option<Mount> {
    // id parent device root point options [optional …] - type source superblock-options
    let mut fields = words(line);
    let root = path(&unescape(fields.nth(3)?));
    let point = path(&unescape(fields.next()?));
    fields.find(|field| *field == b"-")?;
    let hierarchy = match fields.next()? {
        b"cgroup2" => Hierarchy::V2,
        b"cgroup" => {
            let options = controllers(fields.nth(1)?);
            Hierarchy::V1(options.filter(|option| !is_setting(option)).collect())
        }
        _ => return None,
    };
    Some(Mount {
        root,
        point,
        hierarchy,
    })
}

fn membership(line: &[u8]) -> Option<Membership> {
    // id:controllers:path, where the path may contain colons.
    let mut fields = line.splitn(3, |&byte| byte == b':');
    let id = number(fields.next()?)?;
    let carried = fields.next()?;
    let hierarchy = match (id, carried) {
        (0, b"") => Hierarchy::V2,
        _ => Hierarchy::V1(controllers(carried).collect()),
    };
    let path = path(fields.next()?);
    path.is_absolute().then_some(Membership { hierarchy, path })
}

fn controllers(list: &[u8]) -> impl Iterator<Item = String> {
    list.split(|&byte| byte == b',')
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
}

/// A superblock's options are its controllers, its name, and settings of the mount
/// (`cgroup1_show_options` in the kernel).
fn is_setting(option: &str) -> bool {
    const SETTINGS: [&str; 7] = [
        "rw",
        "ro",
        "noprefix",
        "clone_children",
        "xattr",
        "cpuset_v2_mode",
        "favordynmods",
    ];
    SETTINGS.contains(&option) || option.starts_with("release_agent=")
}

pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Decodes the octal escapes (`\040` for a space) of mountinfo; anything else stays.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'\\').then(|| octal(after)).flatten();
        plain.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            &after[3..]
        } else {
            after
        };
    }
    plain
}

/// The byte of the three octal digits at the start of `bytes`.
fn octal(bytes: &[u8]) -> Option<u8> {
    let digits = bytes.get(..3)?;
    let value = digits.iter().try_fold(0u32, |sum, &digit| {
        matches!(digit, b'0'..=b'7').then(|| sum * 8 + u32::from(digit - b'0'))
    })?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HYBRID: &[u8] = include_bytes!("../../tests/samples/mountinfo-hybrid.txt");
    const HYBRID_OWN: &[u8] = include_bytes!("../../tests/samples/cgroup-hybrid.txt");

    fn v1(names: &[&str]) -> Hierarchy {
        Hierarchy::V1(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn a_hybrid_machine_has_both() {
        let mounts = mounts(HYBRID);
        assert_eq!(mounts.len(), 7);
        let found = |point: &str| mounts.iter().find(|m| m.point == Path::new(point)).unwrap();
        assert!(found("/sys/fs/cgroup/cpuacct").hierarchy.carries("cpuacct"));
        assert!(!found("/sys/fs/cgroup/cpu").hierarchy.carries("cpuacct"));
        assert_eq!(found("/sys/fs/cgroup/unified").hierarchy, Hierarchy::V2);
        let own = memberships(HYBRID_OWN);
        let memory = own.iter().find(|m| m.hierarchy.carries("memory")).unwrap();
        assert_eq!(memory.path, Path::new("/services/bench"));
        assert_eq!(
            own.last(),
            Some(&Membership {
                hierarchy: Hierarchy::V2,
                path: "/".into()
            })
        );
    }

    #[test]
    fn lines_of_mountinfo() {
        let mount = |root: &str, point: &str, hierarchy| {
            Some(Mount {
                root: root.into(),
                point: point.into(),
                hierarchy,
            })
        };
        let table = [
            (
                "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate",
                mount("/", "/sys/fs/cgroup", Hierarchy::V2),
                "systemd's, with an optional field",
            ),
            (
                "36 31 0:33 /docker/7 /cg/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct",
                mount("/docker/7", "/cg/cpu,cpuacct", v1(&["cpu", "cpuacct"])),
                "two controllers, a container's part",
            ),
            (
                "36 31 0:33 / /a\\040b\\134c rw master:1 propagate_from:2 - cgroup2 none rw",
                mount("/", "/a b\\c", Hierarchy::V2),
                "escapes, two optional fields",
            ),
            (
                "40 31 0:37 / /cg/systemd rw - cgroup none rw,xattr,release_agent=/a,name=systemd",
                mount("/", "/cg/systemd", v1(&["name=systemd"])),
                "settings are not controllers",
            ),
            (
                "27 1 254:0 / / rw - ext4 /dev/vda rw",
                None,
                "another file system",
            ),
            (
                "36 31 0:33 / /cg rw - cgroup cgroup",
                None,
                "cut before the controllers",
            ),
            (
                "36 31 0:33 / /cg rw cgroup2 cgroup2 rw",
                None,
                "without its separator",
            ),
            ("", None, "empty"),
        ];
        for (line, expected, why) in table {
            assert_eq!(mounts(line.as_bytes()).pop(), expected, "{why}");
        }
    }

    #[test]
    fn lines_of_cgroup() {
        let table = [
            (
                "0::/user.slice/a:b.scope",
                Some((Hierarchy::V2, "/user.slice/a:b.scope")),
            ),
            ("4:cpu,cpuacct:/x", Some((v1(&["cpu", "cpuacct"]), "/x"))),
            ("1:name=systemd:/", Some((v1(&["name=systemd"]), "/"))),
            ("x::/", None),
            ("0:", None),
            ("0::relative", None),
        ];
        for (line, expected) in table {
            let expected = expected.map(|(hierarchy, path)| Membership {
                hierarchy,
                path: path.into(),
            });
            assert_eq!(memberships(line.as_bytes()).pop(), expected, "{line}");
        }
    }

    #[test]
    fn a_group_s_directory_is_below_what_is_mounted() {
        let table = [
            ("/", "/", "/cg", "the root"),
            ("/", "/a/b", "/cg/a/b", "a cgroup of a full hierarchy"),
            ("/docker/7", "/docker/7", "/cg", "a container's own"),
            ("/docker/7", "/docker/7/x", "/cg/x", "below it"),
            (
                "/docker/7",
                "/docker/77",
                "/cg",
                "another cgroup: a prefix of characters is not one of path parts",
            ),
        ];
        for (root, path, expected, why) in table {
            let mount = Mount {
                root: root.into(),
                point: "/cg".into(),
                hierarchy: Hierarchy::V2,
            };
            assert_eq!(mount.dir_of(Path::new(path)), Path::new(expected), "{why}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = mounts(&bytes);
            let _ = memberships(&bytes);
            let _ = unescape(&bytes);
        }

        #[test]
        fn escapes_round_trip(plain in prop::collection::vec(any::<u8>(), 0..40)) {
            let escaped: Vec<u8> = plain.iter().flat_map(|&byte| match byte {
                b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
                _ => vec![byte],
            }).collect();
            prop_assert_eq!(unescape(&escaped), plain);
        }

        #[test]
        fn memberships_round_trip(id in 1u32.., name in "[a-z]{1,8}", path in "(/[a-z:. -]{1,8}){1,4}") {
            let text = format!("{id}:{name}:{path}\n0::{path}\n");
            let expected = vec![
                Membership { hierarchy: Hierarchy::V1(vec![name]), path: path.clone().into() },
                Membership { hierarchy: Hierarchy::V2, path: path.into() },
            ];
            prop_assert_eq!(memberships(text.as_bytes()), expected);
        }
    }
}
