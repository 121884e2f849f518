//! Requests that are refused, lost or limited, and answers to none of them.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_branch_that_gitea_does_not_know_yet_is_tried_again() {
    let mut server = strict();
    server.branches.retain(|name| name != HEAD_BRANCH);
    let (fake, pulls) = pulls(server);
    let early = pulls.open(&new()).await.unwrap_err();
    assert_eq!(early.class(), ErrorClass::Transient);
    let expected = "git.example/o/r: cannot open a pull request of \"capstan/create-7\" onto \"main\": it answered 404: The \
         target couldn't be found.; it does not know \"capstan/create-7\" or \"main\" as a branch (yet)";
    assert_eq!(early.to_string(), expected);
    fake.server
        .lock()
        .unwrap()
        .branches
        .push(HEAD_BRANCH.to_owned());
    assert_eq!(pulls.open(&new()).await, Ok(shown(1, OPEN)));
}

#[tokio::test(start_paused = true)]
async fn a_repository_whose_pull_requests_the_token_does_not_see_is_an_error() {
    let (fake, pulls) = pulls(Strict {
        has_pulls: false,
        ..strict()
    });
    for denied in [
        pulls.open(&new()).await.map(Some),
        pulls.find(HEAD_BRANCH, "main").await,
        pulls.get(1).await,
        pulls.close(1).await.map(Some),
    ] {
        let denied = denied.unwrap_err();
        assert_eq!(denied.class(), ErrorClass::Denied);
        assert!(
            denied
                .to_string()
                .contains("it has no pull requests, or the token cannot read them"),
            "{denied}"
        );
    }
    let lines = fake.lines();
    assert_eq!(lines.len(), 2, "nothing is sent after that: {lines:?}");
    tokio::time::sleep(Duration::from_secs(600)).await;
    fake.server.lock().unwrap().has_pulls = true;
    assert_eq!(pulls.find(HEAD_BRANCH, "main").await, Ok(None));
}

#[tokio::test(start_paused = true)]
async fn a_missing_scope_is_named_and_checks_are_written_without_it() {
    let fake = Fake::new(Strict {
        scopes: vec!["read:repository"],
        ..strict()
    });
    let (checks, pulls) = beside(&fake);
    for _ in 0..2 {
        let denied = pulls.open(&new()).await.unwrap_err();
        assert_eq!(denied.class(), ErrorClass::Denied);
        let denied = denied.to_string();
        assert!(denied.contains("required=[write:repository]"), "{denied}");
        assert!(denied.ends_with("pull requests need a token with the scope write:repository, of a user who may write to the repository"), "{denied}");
    }
    assert_eq!(fake.lines().len(), 1, "it is asked about every 10 minutes");
    checks.call(&status()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    fake.server.lock().unwrap().scopes = vec!["write:repository"];
    assert_eq!(pulls.open(&new()).await, Ok(shown(1, OPEN)));
}

/// Whoever goes on while a forge limits requests is banned from it.
#[tokio::test(start_paused = true)]
async fn a_limit_holds_up_checks_and_pull_requests_alike() {
    for is_of_checks in [true, false] {
        let fake = Fake::new(strict());
        let (checks, pulls) = beside(&fake);
        let limited = with(429, &[("retry-after", "100")], "{}");
        fake.next([Some(Mishap::Instead(limited))]);
        if is_of_checks {
            checks.call(&status()).await.unwrap_err();
        }
        let held = pulls.open(&new()).await.unwrap_err();
        assert_eq!(held.class(), ErrorClass::Transient);
        assert!(
            held.to_string()
                .contains("the forge limits requests; the next one is sent in 100 seconds"),
            "{held}"
        );
        let held = checks.call(&status()).await.unwrap_err();
        assert_eq!(held, Fault::Limited(Duration::from_secs(100)));
        assert_eq!(fake.lines().len(), 1, "nothing is sent meanwhile");
        tokio::time::sleep(Duration::from_secs(100)).await;
        checks.call(&status()).await.unwrap();
        pulls.open(&new()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_up_and_an_unsent_request_is_sent_again() {
    let (fake, pulls) = pulls(strict());
    fake.next([Some(Mishap::Unsent), Some(Mishap::Unsent)]);
    let unsent = pulls.open(&new()).await.unwrap_err();
    assert_eq!(unsent.class(), ErrorClass::Transient);
    fake.next([Some(Mishap::Lost)]);
    assert_eq!(pulls.open(&new()).await, Ok(shown(1, OPEN)));
    fake.next([Some(Mishap::Lost), Some(Mishap::Unsent)]);
    let lost = pulls.close(1).await.unwrap_err();
    assert_eq!(lost.class(), ErrorClass::Transient);
    fake.next([Some(Mishap::Lost)]);
    assert_eq!(pulls.close(1).await, Ok(shown(1, CLOSED)));
    assert_eq!(fake.server.lock().unwrap().opened.len(), 1);
    for status in [500, 502, 503] {
        fake.next([Some(Mishap::Instead(said(status, "")))]);
        let broken = pulls.get(1).await.unwrap_err();
        assert_eq!(broken.class(), ErrorClass::Transient, "{broken}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_renamed_repository_is_followed_on_the_same_server_alone() {
    let (fake, pulls) = pulls(strict());
    let moved = |to: &str| Some(Mishap::Instead(with(301, &[("location", to)], "")));
    fake.next([moved(PULLS)]);
    assert_eq!(pulls.open(&new()).await, Ok(shown(1, OPEN)));
    let [first, second] = &fake.requests()[..] else {
        panic!("two");
    };
    assert_eq!((&first.line, &first.body), (&second.line, &second.body));
    fake.next([moved("https://evil.example/api/v1/repos/o/r/pulls/1")]);
    let denied = pulls.get(1).await.unwrap_err();
    assert_eq!(denied.class(), ErrorClass::Denied);
    assert!(
        denied
            .to_string()
            .contains("a token is sent to no other server"),
        "{denied}"
    );
    assert!(
        fake.requests()
            .iter()
            .all(|seen| seen.host == "git.example")
    );
}

/// Of the answer, only what is checked gets further: the address of the page is ours.
#[tokio::test(start_paused = true)]
async fn what_a_hostile_server_answers_is_refused() {
    let row = |change: &dyn Fn(&mut Value)| {
        let mut server = strict();
        server.pulls.push(Pull::new(HEAD_BRANCH, "open"));
        let mut row = server.row(0);
        change(&mut row);
        row
    };
    let answers: Vec<Value> = vec![
        row(&|row| row["number"] = "1".into()),
        row(&|row| row["number"] = 2.into()),
        row(&|row| row["number"] = value!(1.0e300)),
        row(&|row| row["state"] = "\u{1b}[2J".into()),
        row(&|row| row["head"] = value!("main")),
        row(&|row| row["merged_at"] = "2026-01-01T00:00:00Z".into()),
        value!([]),
        value!("\u{1b}[2J"),
        Value::Null,
    ];
    for answer in answers {
        let mut server = strict();
        server.pulls.push(Pull::new(HEAD_BRANCH, "open"));
        let (fake, pulls) = pulls(server);
        for is_close in [true, false] {
            fake.next([Some(Mishap::Instead(json(200, &answer)))]);
            let refused = if is_close {
                pulls.close(1).await.map(Some)
            } else {
                pulls.get(1).await
            };
            let refused = refused.unwrap_err();
            assert_eq!(refused.class(), ErrorClass::Invalid, "{answer} {refused}");
            assert!(!refused.to_string().contains(char::is_control), "{refused}");
        }
    }
    let (fake, pulls) = pulls(strict());
    let other =
        row(&|row| row["head"] = value!({"ref": "other", "label": "other", "repo": {"id": 1}}));
    fake.next([Some(Mishap::Instead(json(201, &other)))]);
    let refused = pulls.open(&new()).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("the pull request of other branches"),
        "{refused}"
    );
    let page = with(200, &[("content-type", "text/html")], "<html>");
    fake.next([Some(Mishap::Instead(page))]);
    let sign_in = pulls.get(1).await.unwrap_err();
    assert_eq!(sign_in.class(), ErrorClass::Denied);
}

/// Answers more than a transport reads.
struct Large;

impl Transport for Large {
    fn send(
        &self,
        _: Request<Vec<u8>>,
    ) -> BoxFuture<'_, Result<Response<Vec<u8>>, TransportError>> {
        std::future::ready(Err(TransportError::TooLarge(8 << 20))).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_end_is_an_error() {
    let tokens = Tokens::of(&["s3cret"]);
    let dialect = GiteaPulls::dialect();
    let client = Client::new(
        Arc::new(Large),
        tokens,
        Scheme::Bearer,
        dialect,
        Ticking::start(),
    );
    let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
    let pulls = Opener::new(GiteaPulls::new(repository), client);
    let found = pulls.find(HEAD_BRANCH, "main").await.unwrap_err();
    assert_eq!(found.class(), ErrorClass::Invalid);
    assert!(
        found
            .to_string()
            .ends_with("its answer is larger than 8388608 bytes"),
        "{found}"
    );
    // It may have been opened.
    let opened = pulls.open(&new()).await.unwrap_err();
    assert_eq!(opened.class(), ErrorClass::Transient);
}

#[tokio::test(start_paused = true)]
async fn texts_are_cut_to_what_a_forge_takes_and_show_what_they_are() {
    let (fake, pulls) = pulls(strict());
    let hostile = NewPullRequest {
        title: format!("Create\n\u{1b}[2J\u{202e}{}", "é".repeat(400)),
        body: format!(
            "a\u{0}\u{1b}[2J\r\n\tb\u{202e}\n{}",
            "line\n".repeat(40_000)
        ),
        ..new()
    };
    pulls.open(&hostile).await.unwrap();
    let opened = fake.server.lock().unwrap().opened.remove(0);
    let title = opened["title"].as_str().unwrap();
    assert!(title.starts_with("Create [2J é"), "{title}");
    assert!(
        title.ends_with("é…") && (254..=255).contains(&title.len()),
        "{title}"
    );
    let body = opened["body"].as_str().unwrap();
    assert!(body.starts_with("a[2J\n\tb\nline\n"), "{body:.40}");
    fake.lines();
    for (head, base, title) in [
        ("", "main", "t"),
        ("-x", "main", "t"),
        ("a:b", "main", "t"),
        ("main", "main", "t"),
        (HEAD_BRANCH, "../../x", "t"),
        (HEAD_BRANCH, "main", "\u{1b}\n"),
    ] {
        let wrong = NewPullRequest {
            head: head.to_owned(),
            base: base.to_owned(),
            title: title.to_owned(),
            body: String::new(),
        };
        let refused = pulls.open(&wrong).await.unwrap_err();
        assert_eq!(refused.class(), ErrorClass::Invalid, "{wrong:?}");
        assert!(
            !fake.lines().iter().any(|line| line.starts_with("POST")),
            "{wrong:?}"
        );
    }
}
