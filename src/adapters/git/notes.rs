//! Notes on commits, as `git notes` keeps them: one text per commit, in the tree of a ref.
//!
//! In: a notes ref and what to do with the text of some commits. Out: the ref, changed on the other
//! side. Several writers may work at once: no change is lost, because a push that comes late
//! is repeated on top of what the others wrote. It does not know the content of a note.

use std::collections::BTreeSet;
use std::time::Duration;

use git2::{Oid, Repository};
use jiff::Timestamp;

use super::Error;
use super::hooks::Change;
use super::mirror::{Mirror, Ref, is_missing, kept};
use super::note_tree::{NoteEdit, Notes, NotesFault, Rewrite};
use super::push::Pushed;
use super::remote::Connection;

/// How often a push is tried (DESIGN §10).
const ATTEMPTS: u32 = 10;

impl Mirror {
    /// Changes the note on one commit: [`Mirror::edit_notes`] with one edit.
    ///
    /// # Errors
    /// As there.
    pub fn edit_note(
        &self,
        reference: &str,
        commit: &str,
        rewrite: &Rewrite<'_>,
        at: Timestamp,
    ) -> Result<(), Error> {
        self.edit_notes(reference, &[NoteEdit { commit, rewrite }], at)
    }

    /// Changes notes under `reference` on the other side, in order, with one commit dated `at` and
    /// one push. When no text changes, nothing is pushed. Sleeps between attempts, for a few
    /// seconds in all.
    ///
    /// # Errors
    /// When the repository does not answer, does not take it, or others wrote each time before us.
    pub fn edit_notes(
        &self,
        reference: &str,
        edits: &[NoteEdit<'_>],
        at: Timestamp,
    ) -> Result<(), Error> {
        for edit in edits {
            self.noted(edit.commit)?;
        }
        let attempt = || self.try_notes(reference, edits, at);
        match repeat(attempt, std::thread::sleep)? {
            true => Ok(()),
            false => Err(Error::Contended {
                url: self.address.shown.clone(),
                reference: reference.to_owned(),
                attempts: ATTEMPTS,
            }),
        }
    }

    /// Whether notes may be written under `reference`: pushes the value that the ref has already, which changes
    /// nothing. While there is no such ref, only whether anything may be pushed.
    ///
    /// # Errors
    /// When the repository does not answer, or does not take it.
    pub fn probe_notes(&self, reference: &str) -> Result<(), Error> {
        let _noting = self.noting();
        self.reading(|repository| {
            let Some(id) = self.fetch_notes(repository, reference)? else {
                return self.remote.probe();
            };
            let (old, new) = (Some(id), Some(id));
            let change = Change {
                reference,
                old,
                new,
            };
            self.remote.push(repository, change).map(drop)
        })
    }

    /// The note on `commit` under `reference`, by what was last fetched or written.
    ///
    /// # Errors
    /// When the mirror cannot be read.
    pub fn note(&self, reference: &str, commit: &str) -> Result<Option<String>, Error> {
        self.reading(|repository| {
            let id = self.noted(commit)?;
            let text = noted_text(repository, reference, id);
            text.map_err(|cause| self.unusable(repository, reference, cause))
        })
    }

    /// The id a note is kept under, which must be written out.
    fn noted(&self, commit: &str) -> Result<Oid, Error> {
        let id = Oid::from_str(commit).ok();
        id.filter(|id| id.to_string() == commit)
            .ok_or_else(|| self.missing(&Ref::Commit(commit.to_owned())))
    }

    /// One attempt. Returns the commit that came too late, if it did.
    fn try_notes(
        &self,
        reference: &str,
        edits: &[NoteEdit<'_>],
        at: Timestamp,
    ) -> Result<Option<Oid>, Error> {
        let _noting = self.noting();
        self.reading(|repository| {
            let old = self.fetch_notes(repository, reference)?;
            let unusable = |cause| self.unusable(repository, reference, cause);
            let notes = Notes::at(repository, old).map_err(unusable)?;
            let (new, fault) = notes.rewritten(edits, at).map_err(unusable)?;
            let done = || match fault {
                Some(fault) => Err(unusable(NotesFault::Unusable(fault))),
                None => Ok(None),
            };
            let Some(new) = new else { return done() };
            let change = Change {
                reference,
                old,
                new: Some(new),
            };
            if self.remote.push(repository, change)? == Pushed::Moved {
                return Ok(Some(new));
            }
            self.keep_notes(repository, reference, new)?;
            done()
        })
    }

    fn unusable(&self, repository: &Repository, reference: &str, fault: NotesFault) -> Error {
        match fault {
            NotesFault::Git(cause) => Error::damaged(repository, &cause),
            NotesFault::Unusable(cause) => Error::Notes {
                url: self.address.shown.clone(),
                reference: reference.to_owned(),
                cause,
            },
        }
    }

    /// Brings the notes as they are now.
    fn fetch_notes(&self, repository: &Repository, reference: &str) -> Result<Option<Oid>, Error> {
        let mut connection = Connection::open(&self.remote)?;
        let Some(&id) = connection.list()?.get(reference) else {
            return Ok(None);
        };
        connection.download(repository, &[id].into(), &BTreeSet::new())?;
        self.keep_notes(repository, reference, id)?;
        Ok(Some(id))
    }

    fn keep_notes(&self, repository: &Repository, reference: &str, id: Oid) -> Result<(), Error> {
        let _keeping = self.keeping();
        let kept = repository.reference(&kept(reference), id, true, "notes");
        kept.map(drop)
            .map_err(|cause| Error::damaged(repository, &cause))
    }
}

fn noted_text(
    repository: &Repository,
    reference: &str,
    commit: Oid,
) -> Result<Option<String>, NotesFault> {
    let tip = match repository.refname_to_id(&kept(reference)) {
        Ok(tip) => tip,
        Err(cause) if is_missing(&cause) => return Ok(None),
        Err(cause) => return Err(cause.into()),
    };
    Ok(Notes::at(repository, Some(tip))?.find(commit)?.1)
}

/// Attempts until one does not come too late, with pauses between them. Whether one was in time.
fn repeat(
    mut attempt: impl FnMut() -> Result<Option<Oid>, Error>,
    mut sleep: impl FnMut(Duration),
) -> Result<bool, Error> {
    for number in 1..=ATTEMPTS {
        match attempt()? {
            None => return Ok(true),
            Some(rejected) if number < ATTEMPTS => sleep(pause(rejected, number)),
            Some(_) => {}
        }
    }
    Ok(false)
}

/// How long to wait after attempt `number` made `rejected`, which came too late: longer each time, and not as long as others,
/// whose commits have other ids.
fn pause(rejected: Oid, number: u32) -> Duration {
    let step = 5 << number.min(7);
    let bytes = rejected.as_bytes();
    let share = u64::from(bytes[number as usize % bytes.len()]);
    Duration::from_millis(step / 2 + step * share / 255)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::adapters::git::fixture::{Origin, open};
    use crate::model::ErrorClass;

    /// What is written must also be fetched without being asked for.
    const NOTES: &str = crate::adapters::checks::NOTES_REF;

    fn now() -> Timestamp {
        Timestamp::from_second(1_760_000_000).unwrap()
    }

    fn append<'a>(line: &'a str) -> impl Fn(Option<&str>) -> String + 'a {
        move |old| format!("{}{line}\n", old.unwrap_or_default())
    }

    /// What `git notes` shows, or nothing where there is no git program.
    fn git_notes(origin: &Origin, arguments: &[&str]) -> Option<String> {
        let output = Command::new("git")
            .arg("-C")
            .arg(origin.dir.path())
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(["notes", "--ref=capstan"])
            .args(arguments)
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: needs the git program; install the package git");
            return None;
        };
        assert!(output.status.success(), "{output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn a_note_is_written_and_read_back() {
        let origin = Origin::new();
        let commit = origin.push("main", &[("a.yaml", "")]);
        let mirror = origin.mirror(&[]);
        assert_eq!(mirror.note(NOTES, &commit).unwrap(), None);
        mirror
            .edit_note(NOTES, &commit, &append("one"), now())
            .unwrap();
        mirror
            .edit_note(NOTES, &commit, &append("two"), now())
            .unwrap();
        assert_eq!(mirror.note(NOTES, &commit).unwrap().unwrap(), "one\ntwo\n");

        let other = origin.mirror(&[]);
        assert!(other.fetch().unwrap().contains_key(NOTES));
        assert_eq!(other.note(NOTES, &commit).unwrap().unwrap(), "one\ntwo\n");
        let tip = origin
            .repository
            .find_reference(NOTES)
            .unwrap()
            .peel_to_commit()
            .unwrap();
        assert_eq!(tip.author().email(), Ok("capstan@localhost"));
        assert_eq!(tip.time().seconds(), now().as_second());
        assert_eq!(tip.parent_count(), 1);
    }

    #[test]
    fn many_notes_cost_one_commit_and_no_change_costs_none() {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let second = origin.push("main", &[("a.yaml", "2")]);
        let mirror = origin.mirror(&[]);
        let (one, two) = (append("one"), append("two"));
        let edit = |commit, rewrite| NoteEdit { commit, rewrite };
        let edits = [
            edit(&first, &one as &Rewrite<'_>),
            edit(&second, &one),
            edit(&first, &two),
        ];
        mirror.edit_notes(NOTES, &edits, now()).unwrap();
        let tip = || origin.repository.refname_to_id(NOTES).unwrap();
        let before = tip();
        assert_eq!(
            origin
                .repository
                .find_commit(before)
                .unwrap()
                .parent_count(),
            0
        );
        assert_eq!(mirror.note(NOTES, &first).unwrap().unwrap(), "one\ntwo\n");
        assert_eq!(mirror.note(NOTES, &second).unwrap().unwrap(), "one\n");

        let same = |old: Option<&str>| old.unwrap().to_owned();
        mirror.edit_note(NOTES, &first, &same, now()).unwrap();
        mirror.edit_notes(NOTES, &[], now()).unwrap();
        assert_eq!(tip(), before);
    }

    #[test]
    fn the_git_program_reads_our_notes_and_we_read_its() {
        let origin = Origin::new();
        let ours = origin.push("main", &[("a.yaml", "1")]);
        let theirs = origin.push("main", &[("a.yaml", "2")]);
        let mirror = origin.mirror(&[]);
        mirror
            .edit_note(NOTES, &ours, &append("ours"), now())
            .unwrap();
        let Some(shown) = git_notes(&origin, &["show", &ours]) else {
            return;
        };
        assert_eq!(shown, "ours\n");
        git_notes(&origin, &["add", "-m", "theirs", &theirs]);
        mirror
            .edit_note(NOTES, &theirs, &append("and ours"), now())
            .unwrap();
        assert_eq!(
            git_notes(&origin, &["show", &theirs]).unwrap(),
            "theirs\nand ours\n"
        );
        assert_eq!(git_notes(&origin, &["show", &ours]).unwrap(), "ours\n");
        assert_eq!(git_notes(&origin, &["list"]).unwrap().lines().count(), 2);
    }

    #[test]
    fn notes_are_found_however_they_are_spread() {
        let origin = Origin::new();
        let id = origin.push("main", &[("a.yaml", "1")]);
        let (first, rest) = id.split_at_checked(2).unwrap();
        let (second, last) = rest.split_at_checked(2).unwrap();
        let spread = format!("{first}/{second}/{last}");
        let notes = origin.push("notes", &[(spread.as_str(), "theirs\n")]);
        origin.point(NOTES, Oid::from_str(&notes).unwrap());
        let mirror = origin.mirror(&[]);
        mirror
            .edit_note(NOTES, &id, &append("ours"), now())
            .unwrap();
        assert_eq!(mirror.note(NOTES, &id).unwrap().unwrap(), "theirs\nours\n");
        let tip = origin
            .repository
            .find_reference(NOTES)
            .unwrap()
            .peel_to_tree()
            .unwrap();
        assert!(tip.get_path(Path::new(&spread)).is_ok());
        assert_eq!(tip.len(), 1);
    }

    #[test]
    fn writers_at_once_lose_nothing() {
        const EACH: usize = 6;
        let origin = Origin::new();
        let shared = origin.push("main", &[("a.yaml", "1")]);
        let own: Vec<String> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| origin.push(name, &[("a.yaml", name)]))
            .collect();
        let url = origin.url();
        std::thread::scope(|scope| {
            for commit in &own {
                let (shared, url) = (&shared, &url);
                scope.spawn(move || {
                    let dir = tempfile::tempdir().unwrap();
                    let mirror = open(dir.path(), url, &[]);
                    for at in 0..EACH {
                        let line = format!("{commit} {at}");
                        let rewrite = append(&line);
                        let edit = |commit| NoteEdit {
                            commit,
                            rewrite: &rewrite,
                        };
                        mirror
                            .edit_notes(NOTES, &[edit(shared), edit(commit)], now())
                            .unwrap();
                    }
                });
            }
        });
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let lines = |commit: &str| -> Vec<String> {
            let text = mirror.note(NOTES, commit).unwrap().unwrap();
            text.lines().map(str::to_owned).collect()
        };
        for commit in &own {
            let expected: Vec<String> = (0..EACH).map(|at| format!("{commit} {at}")).collect();
            assert_eq!(lines(commit), expected);
            let mut shared = lines(&shared);
            shared.retain(|line| line.starts_with(commit));
            assert_eq!(shared, expected);
        }
        assert_eq!(lines(&shared).len(), own.len() * EACH);
    }

    #[test]
    fn a_hook_that_refuses_is_a_denial_and_changes_nothing() {
        for hook in ["pre-receive", "update"] {
            let origin = Origin::new();
            let commit = origin.push("main", &[("a.yaml", "1")]);
            symlink("/bin/false", origin.dir.path().join("hooks").join(hook)).unwrap();
            let mirror = origin.mirror(&[]);
            let error = mirror
                .edit_note(NOTES, &commit, &append("x"), now())
                .unwrap_err();
            assert_eq!(error.class(), ErrorClass::Denied);
            let text = format!("refused {NOTES}: its {hook} hook declined;");
            assert!(error.to_string().contains(&text), "{error}");
            assert!(origin.repository.find_reference(NOTES).is_err());
            assert_eq!(mirror.note(NOTES, &commit).unwrap(), None);
        }
    }

    #[test]
    fn a_probe_meets_the_hooks_and_changes_nothing() {
        let origin = Origin::new();
        let commit = origin.push("main", &[("a.yaml", "1")]);
        let mirror = origin.mirror(&[]);
        mirror.probe_notes(NOTES).unwrap();
        assert!(origin.repository.find_reference(NOTES).is_err());
        mirror
            .edit_note(NOTES, &commit, &append("x"), now())
            .unwrap();
        let tip = || origin.repository.refname_to_id(NOTES).unwrap();
        let before = tip();
        mirror.probe_notes(NOTES).unwrap();
        symlink("/bin/false", origin.dir.path().join("hooks/update")).unwrap();
        let error = mirror.probe_notes(NOTES).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
        assert!(
            error.to_string().contains(&format!("refused {NOTES}")),
            "{error}"
        );
        assert_eq!(tip(), before);
    }

    #[test]
    fn a_hook_that_runs_afterwards_cannot_refuse() {
        let origin = Origin::new();
        let commit = origin.push("main", &[("a.yaml", "1")]);
        for hook in ["post-receive", "post-update"] {
            symlink("/bin/false", origin.dir.path().join("hooks").join(hook)).unwrap();
        }
        let mirror = origin.mirror(&[]);
        mirror
            .edit_note(NOTES, &commit, &append("x"), now())
            .unwrap();
        assert!(origin.repository.find_reference(NOTES).is_ok());
    }

    #[test]
    fn an_unreachable_repository_and_a_bad_id_are_errors() {
        let origin = Origin::new();
        let commit = origin.push("main", &[("a.yaml", "1")]);
        let mirror = origin.mirror(&[]);
        let error = mirror
            .edit_note(NOTES, "../../x", &append("x"), now())
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::Gone);
        drop(origin);
        let error = mirror
            .edit_note(NOTES, &commit, &append("x"), now())
            .unwrap_err();
        assert_eq!(error.class(), ErrorClass::Transient);
    }

    /// The pauses, in milliseconds, of a writer whose commits have ids of this byte and whose pushes
    /// are in time from this attempt on; and whether one was.
    fn pauses(byte: u8, in_time: u32) -> (Vec<u128>, bool) {
        let (mut attempts, mut pauses) = (0, Vec::new());
        let attempt = || {
            attempts += 1;
            let late = (attempts < in_time).then(|| Oid::from_bytes(&[byte; 20]).unwrap());
            Ok(late)
        };
        let arrived = repeat(attempt, |pause| pauses.push(pause.as_millis())).unwrap();
        assert_eq!(attempts, in_time.min(ATTEMPTS));
        (pauses, arrived)
    }

    #[test]
    fn a_late_writer_pauses_longer_each_time_up_to_the_tenth_attempt() {
        assert_eq!(pauses(0, 1), (vec![], true));
        let shortest = vec![5, 10, 20, 40, 80, 160, 320, 320, 320];
        assert_eq!(pauses(0, 10), (shortest.clone(), true));
        assert_eq!(pauses(0, 11), (shortest.clone(), false));
        let longest: Vec<u128> = shortest.iter().map(|pause| pause * 3).collect();
        assert_eq!(pauses(255, 99), (longest, false));
    }

    #[test]
    fn no_two_writers_wait_equally_long() {
        let total = |byte| pauses(byte, 10).0.iter().sum::<u128>();
        assert!(total(1) < total(200));
    }
}
