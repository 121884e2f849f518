//! The life of a pull request: opened, found, merged, closed.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_pull_request_is_opened_once_found_and_followed_to_its_merge() {
    let (fake, pulls) = pulls(strict());
    assert_eq!(pulls.find(HEAD_BRANCH, "main").await, Ok(None));
    assert_eq!(pulls.get(1).await, Ok(None));
    fake.lines();
    let opened = shown(1, OPEN);
    assert_eq!(pulls.open(&new()).await, Ok(opened.clone()));
    let other_texts = NewPullRequest {
        title: "again".to_owned(),
        ..new()
    };
    assert_eq!(pulls.open(&other_texts).await, Ok(opened.clone()));
    let post = format!("POST {PULLS}");
    let any = format!("GET {PULLS}/main/{HEAD_BRANCH}");
    assert_eq!(fake.lines(), [post.clone(), post, any.clone()]);
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(opened.clone()))
    );
    assert_eq!(pulls.get(1).await, Ok(Some(opened)));
    assert_eq!(fake.lines(), [any, format!("GET {PULLS}/1")]);
    {
        let mut server = fake.server.lock().unwrap();
        (server.pulls[0].merged, server.pulls[0].state) = (true, "closed");
        // It is deleted with the merge.
        server.branches.retain(|name| name != HEAD_BRANCH);
    }
    let merged = shown(1, merged());
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(merged.clone()))
    );
    assert_eq!(pulls.get(1).await, Ok(Some(merged.clone())));
    assert_eq!(pulls.close(1).await, Ok(merged));
}

#[tokio::test(start_paused = true)]
async fn a_pull_request_is_closed_once_and_its_branch_may_have_another() {
    let (fake, pulls) = pulls(strict());
    pulls.open(&new()).await.unwrap();
    for _ in 0..2 {
        assert_eq!(pulls.close(1).await, Ok(shown(1, CLOSED)));
    }
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(1, CLOSED)))
    );
    assert_eq!(pulls.open(&new()).await, Ok(shown(2, OPEN)));
    // Gitea names the first of them.
    assert_eq!(pulls.open(&new()).await, Ok(shown(2, OPEN)));
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(2, OPEN)))
    );
    fake.server.lock().unwrap().pulls[1].merged = true;
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(2, merged())))
    );
    let gone = pulls.close(3).await.unwrap_err();
    assert_eq!(gone.class(), ErrorClass::Gone);
    assert_eq!(
        gone.to_string(),
        "git.example/o/r: cannot close pull request 3: there is none of this number"
    );
}

#[tokio::test(start_paused = true)]
async fn a_fork_or_a_push_to_refs_for_opens_none_of_ours() {
    let mut server = strict();
    let fork = |repo| Pull {
        repo,
        ..Pull::new(HEAD_BRANCH, "open")
    };
    let pushed = Pull {
        is_pushed: true,
        ..Pull::new(HEAD_BRANCH, "open")
    };
    server.pulls = vec![pushed, fork(Some(2)), fork(None)];
    let (_, pulls) = pulls(server);
    assert_eq!(pulls.find(HEAD_BRANCH, "main").await, Ok(None));
    assert_eq!(pulls.open(&new()).await, Ok(shown(4, OPEN)));
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(4, OPEN)))
    );
}

/// Gitea answers something else below these paths.
#[tokio::test(start_paused = true)]
async fn a_branch_may_be_called_as_a_part_of_a_path() {
    for head in ["merge", "commits/x"] {
        let (_, pulls) = pulls(strict());
        assert_eq!(pulls.find(head, "main").await, Ok(None));
        let new = NewPullRequest {
            head: head.to_owned(),
            ..new()
        };
        for _ in 0..2 {
            assert_eq!(pulls.open(&new).await, Ok(shown(1, OPEN)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_than_a_thousand_pull_requests_are_read() {
    let mut server = strict();
    server.pulls = vec![Pull::new("other", "open"); 2_000];
    server.pulls[0] = Pull::new(HEAD_BRANCH, "closed");
    let (fake, pulls) = pulls(server);
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(1, CLOSED)))
    );
    assert_eq!(fake.lines().len(), 21);
    // Of those, a newer one is found, and nothing older is read.
    fake.server.lock().unwrap().pulls[999] = Pull::new(HEAD_BRANCH, "open");
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(1, CLOSED)))
    );
    fake.server.lock().unwrap().pulls[1_000] = Pull::new(HEAD_BRANCH, "open");
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(1_001, OPEN)))
    );
    for at in [0, 999] {
        fake.server.lock().unwrap().pulls[at].head = "other".to_owned();
    }
    fake.lines();
    assert_eq!(
        pulls.find(HEAD_BRANCH, "main").await,
        Ok(Some(shown(1_001, OPEN)))
    );
    assert_eq!(fake.lines().len(), 1);
}
