//! What git, or who may push, can do to a checkout.

use super::*;

/// Git-sync was stopped while it made a worktree again (`reset --hard`), which it cannot finish without its server.
#[test]
fn half_a_worktree_is_not_the_commit_that_it_is_named_after() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let mut followed = volume.followed(&volume.link(), &["fleet"]);
    followed.look().unwrap();
    let worktree = volume.path("git/.worktrees").join(&first);
    for (file, text) in [("3.yaml", None), ("4.yaml", Some("te"))] {
        // A new process, or one that saw the worktree disappear.
        for restarts in [true, false] {
            fs::rename(&worktree, volume.path("away")).unwrap();
            followed.look().unwrap_err();
            volume.write(&first, "text: 1");
            match text {
                Some(text) => fs::write(worktree.join("fleet").join(file), text).unwrap(),
                None => fs::remove_file(worktree.join("fleet").join(file)).unwrap(),
            }
            if restarts {
                drop(followed);
                followed = volume.followed(&volume.link(), &["fleet"]);
            }
            let message = fault(&followed);
            let expected = format!("checkout of commit {first} is not complete: fleet/{file} is");
            assert!(message.contains(&expected), "{message}");
            assert!(
                message.contains(&format!("store/{first}.json")),
                "{message}"
            );
            volume.write(&first, "text: 1");
            assert_eq!(followed.look().unwrap(), first, "it is whole again");
            fs::remove_dir_all(volume.path("away")).unwrap();
        }
    }
    drop(followed);
    fs::write(worktree.join("fleet/4.yaml"), "wanted").unwrap();
    fs::remove_file(volume.path("store").join(format!("{first}.json"))).unwrap();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    followed.look().unwrap();
    let tree = followed.tree(&first, "fleet").unwrap();
    assert_eq!(&*tree.files["fleet/4.yaml"], b"wanted");
}

#[test]
fn a_worktree_that_is_filled_at_the_first_look_is_read_once_it_stays() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let fleet = volume.path("git/.worktrees").join(&first).join("fleet");
    fs::remove_dir_all(&fleet).unwrap();
    fs::create_dir(&fleet).unwrap();
    fs::write(fleet.join("0.yaml"), "a: 1").unwrap();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for file in 1..8 {
                std::thread::sleep(Duration::from_millis(20));
                fs::write(fleet.join(format!("{file}.yaml")), "a: 1").unwrap();
            }
        });
        followed.look().unwrap();
    });
    assert_eq!(followed.tree(&first, "fleet").unwrap().files.len(), 8);
}

/// `git worktree add --no-checkout` and `git reset --hard` of git 2.43: the index is written last.
#[test]
fn a_worktree_that_git_has_not_finished_is_no_revision() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let known = volume.path("git/.git/worktrees").join(&first);
    fs::create_dir_all(&known).unwrap();
    let worktree = volume.path("git/.worktrees").join(&first);
    let text = format!("gitdir: ../../.git/worktrees/{first}\n");
    fs::write(worktree.join(".git"), text).unwrap();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    let message = fault(&followed);
    assert!(
        message.contains("git has not checked out all files yet"),
        "{message}"
    );
    fs::write(known.join("index"), "").unwrap();
    fs::write(known.join("index.lock"), "").unwrap();
    let message = fault(&followed);
    assert!(
        message.contains("git is at work in it; if not, delete "),
        "{message}"
    );
    fs::remove_file(known.join("index.lock")).unwrap();
    assert_eq!(followed.look().unwrap(), first);
}

/// Who may push to a checkout decides on what is in it, and on nothing else of the machine.
#[test]
fn a_commit_cannot_lead_out_of_its_checkout() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let worktree = volume.path("git/.worktrees").join(&first);
    let other = volume.path("other");
    fs::create_dir_all(other.join("..data/fleet")).unwrap();
    fs::write(other.join("secret.yaml"), "secret").unwrap();
    let clone = volume.path("clone");
    git2::Repository::init(&clone).unwrap();
    symlink(&other, clone.join("link")).unwrap();
    symlink(&other, worktree.join("link")).unwrap();
    // Git-sync has its repository beside the worktrees.
    git2::Repository::init(volume.path("git")).unwrap();
    symlink(volume.path("git/.git"), worktree.join("repository")).unwrap();
    for link in [
        clone.join("link"),
        volume.link().join("link"),
        volume.link().join("repository"),
    ] {
        let to = fs::canonicalize(&link).unwrap();
        let followed = volume.followed(&link, &[""]);
        let (message, name) = (fault(&followed), link.file_name().unwrap().display());
        let expected = format!("/{name} leads to {}, out of the checkout ", to.display());
        assert!(message.contains(&expected), "{message}");
    }
    // Nor by a link that looks as if Kubernetes had made it.
    fs::create_dir(worktree.join("mount")).unwrap();
    fs::write(worktree.join("mount/a.yaml"), "a: 1").unwrap();
    symlink(&other, worktree.join("mount/..data")).unwrap();
    let followed = volume.followed(&volume.link().join("mount"), &[""]);
    assert_eq!(followed.look().unwrap(), first);
    assert_eq!(paths(&followed.tree(&first, "").unwrap()), ["mount/a.yaml"]);
    drop(followed);
    fs::create_dir(volume.path("plain")).unwrap();
    symlink(&other, volume.path("plain/..data")).unwrap();
    let followed = volume.followed(&volume.path("plain"), &[""]);
    let message = fault(&followed);
    assert!(message.contains("/other, out of /"), "{message}");
    drop(followed);
    // Nor does a directory of a clone become a commit by its name.
    let forged = clone.join(commit(7));
    fs::create_dir(&forged).unwrap();
    fs::write(forged.join("a.yaml"), "a: 1").unwrap();
    symlink(commit(7), clone.join("forged")).unwrap();
    let followed = volume.followed(&clone.join("forged"), &[""]);
    let revision = followed.look().unwrap();
    assert!(revision.starts_with("files-"), "{revision}");
}

#[test]
fn links_of_the_machine_may_lead_to_the_link_of_git_sync() {
    let volume = Volume::new();
    volume.publish(1);
    symlink(volume.link().join("fleet"), volume.path("mine")).unwrap();
    let followed = volume.followed(&volume.path("mine"), &["", "../fleet"]);
    assert_eq!(followed.look().unwrap(), commit(1));
    assert_eq!(followed.root(&commit(1)).as_deref(), Some("fleet"));
    let count = watched(&followed);
    notices(&count, &followed, || drop(volume.publish(2)));
    assert_eq!(followed.look().unwrap(), commit(2));
}
