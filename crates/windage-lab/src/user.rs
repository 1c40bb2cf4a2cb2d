//! Who runs Windage, and who its subjects run as.
//!
//! Under `sudo`, a subject runs as the user who called `sudo`, and that user owns the run directory.

use std::ffi::{CString, OsString};
use std::path::PathBuf;

use nix::unistd::{Gid, Uid, User, geteuid, getgrouplist};
use windage_files::Owner;
use windage_keeper::Credentials;
use windage_plan::{Origin, Plan, Service};

use crate::LabError;

/// The user that a subject becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// `None` when there is a number but no such user.
    name: Option<String>,
    home: Option<PathBuf>,
    pub(crate) credentials: Credentials,
}

/// The user who called `sudo`, if Windage is root because of it.
#[must_use]
pub fn invoking_user() -> Option<Owner> {
    let number = |name: &str| -> Option<u32> { std::env::var(name).ok()?.parse().ok() };
    let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
    (geteuid().is_root() && uid != 0).then_some(Owner { uid, gid })
}

/// Why services of a plan can't run as their users.
pub(crate) fn lacking(plan: &Plan) -> impl Iterator<Item = LabError> {
    let launched = |service: &&Service| matches!(service.origin, Origin::Command(_));
    let services = plan.services.iter().filter(launched);
    services.filter_map(|service| account(service).err())
}

/// The user that a service becomes; `None` if it runs as Windage does.
pub(crate) fn account(service: &Service) -> Result<Option<Account>, LabError> {
    let Some(name) = &service.user else {
        return Ok(invoking_user().map(invoker));
    };
    let wrong = |why: String| LabError::User {
        service: service.name.to_string(),
        user: name.clone(),
        why,
    };
    let found = match name.parse() {
        Ok(uid) => User::from_uid(Uid::from_raw(uid)),
        Err(_) => User::from_name(name),
    };
    let user = found
        .map_err(|errno| wrong(format!("looking it up failed: {errno}")))?
        .ok_or_else(|| {
            wrong("there is no such user; name one that `getent passwd` lists".into())
        })?;
    if user.uid == geteuid() {
        return Ok(None);
    }
    if !geteuid().is_root() {
        let why = "only root can start programs of another user; run windage with sudo, or remove \
                   `user`";
        return Err(wrong(why.into()));
    }
    Ok(Some(Account::of(user)))
}

fn invoker(owner: Owner) -> Account {
    match User::from_uid(Uid::from_raw(owner.uid)) {
        Ok(Some(user)) => Account::of(user),
        // A number without a name, as in containers, has the one group.
        _ => Account {
            name: None,
            home: None,
            credentials: Credentials {
                uid: owner.uid,
                gid: owner.gid,
                groups: vec![owner.gid],
            },
        },
    }
}

impl Account {
    fn of(user: User) -> Account {
        Account {
            credentials: Credentials {
                uid: user.uid.as_raw(),
                gid: user.gid.as_raw(),
                groups: groups(&user),
            },
            name: Some(user.name),
            home: Some(user.dir),
        }
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner {
            uid: self.credentials.uid,
            gid: self.credentials.gid,
        }
    }

    /// The variables that name a user, of which Windage's own name another.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let named = self.name.iter().flat_map(|name| {
            ["USER", "LOGNAME"].map(|variable| (OsString::from(variable), OsString::from(name)))
        });
        let home = self.home.iter();
        let home = home.map(|home| (OsString::from("HOME"), OsString::from(home)));
        named.chain(home).collect()
    }
}

/// All groups of a user.
fn groups(user: &User) -> Vec<u32> {
    let own = user.gid;
    let all = CString::new(user.name.as_str()).map(|name| getgrouplist(&name, own));
    let all = all.ok().and_then(Result::ok).unwrap_or_else(|| vec![own]);
    all.into_iter().map(Gid::as_raw).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn service(user: &str) -> Service {
        let text = format!(
            "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{{listen}}']\n\
             user = '{user}'\n[load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n\
             [[arm]]\nname = 'off'\nbaseline = true\n[[arm]]\nname = 'on'\n"
        );
        let plan = Plan::parse(&text, "plan.toml", Path::new("/")).unwrap();
        plan.services[0].clone()
    }

    #[test]
    fn users_are_found_by_name_and_number() {
        let own = service(&geteuid().to_string());
        assert_eq!(account(&own).unwrap(), None);
        let Some(nobody) = User::from_name("nobody").unwrap() else {
            return;
        };
        let by_name = account(&service("nobody"));
        if !geteuid().is_root() {
            let error = by_name.unwrap_err().to_string();
            assert!(error.contains("sudo"), "{error}");
            return;
        }
        let found = by_name.unwrap().unwrap();
        assert_eq!(found.credentials.uid, nobody.uid.as_raw());
        assert!(found.credentials.groups.contains(&nobody.gid.as_raw()));
        let variables = found.variables();
        assert!(variables.contains(&("USER".into(), "nobody".into())));
        assert!(variables.contains(&("HOME".into(), nobody.dir.into())));
        let by_number = account(&service(&nobody.uid.to_string())).unwrap();
        assert_eq!(by_number, Some(found));
    }

    #[test]
    fn an_unknown_user_is_named_with_its_service() {
        let error = account(&service("no.such.user")).unwrap_err().to_string();
        for part in ["service `app`", "`user`", "`no.such.user`", "getent passwd"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
