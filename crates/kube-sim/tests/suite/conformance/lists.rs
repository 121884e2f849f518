//! Lists: selectors, pages, versions and forms.

use http::header::ACCEPT;
use serde_json::{Value as Json, json};

use super::objects::{a_thing, config_map};
use super::{behaviours, orbit, thing};
use crate::reply::Reply;
use crate::session::{Ask, GROUP, Session};

/// Makes ConfigMaps with these labels.
async fn labelled(s: &Session, objects: &[(&str, Json)]) {
    for (name, labels) in objects {
        let mut object = config_map(name, &json!({}));
        object["metadata"]["labels"] = labels.clone();
        let reply = s
            .send(Ask::new("POST", "configmaps").json(&object).silent())
            .await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
}

/// The names in a list.
fn names(list: &Reply) -> String {
    let items = list.body["items"].as_array().into_iter().flatten();
    let names: Vec<&str> = items
        .map(|item| item["metadata"]["name"].as_str().unwrap_or_default())
        .collect();
    names.join(" ")
}

/// A query less the characters that a URL cannot hold.
fn escaped(query: &str) -> String {
    let escape = |c: char| match c {
        ' ' | '<' | '>' | '\\' => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    };
    query.chars().map(escape).collect()
}

/// Notes which objects the queries find.
async fn found(s: &Session, path: &str, queries: &[&str]) {
    for query in queries {
        let ask = Ask::new("GET", &format!("{path}?{}", escaped(query)));
        let reply = s.send(ask.silent()).await;
        s.note(&format!(
            "{path}?{query}: {} {}",
            reply.status,
            names(&reply)
        ));
    }
}

async fn labels_select(s: &Session) {
    let objects = [
        ("a", json!({"env": "prod", "tier": "1"})),
        ("b", json!({"env": "test", "tier": "2"})),
        ("c", json!({"env": "prod", "example.com/team": ""})),
        ("d", json!({})),
    ];
    labelled(s, &objects).await;
    let queries = [
        "labelSelector=env=prod",
        "labelSelector=env==prod",
        "labelSelector=env = prod",
        "labelSelector=env!=prod",
        "labelSelector=env",
        "labelSelector=!env",
        "labelSelector=! env",
        "labelSelector=env in (prod,test)",
        "labelSelector=env in (prod , dev)",
        "labelSelector=env in ()",
        "labelSelector=env notin (prod)",
        "labelSelector=env,env notin (prod)",
        "labelSelector=env notin ()",
        "labelSelector=env=prod,tier=1",
        "labelSelector=env=prod,!tier",
        "labelSelector=tier>1",
        "labelSelector=tier<2",
        "labelSelector=env>1",
        "labelSelector=example.com/team=",
        "labelSelector=example.com/team in (,x)",
        "labelSelector=env=",
        "labelSelector=in",
        "labelSelector=",
    ];
    found(s, "configmaps", &queries).await;
}

async fn what_is_no_label_selector_is_refused(s: &Session) {
    for text in [
        "a b",
        "=",
        "a=b=c",
        "a in b",
        "a in (b",
        "a in (",
        ",",
        "a,,b",
        "a,",
        "!",
        "a is (b)",
        "-a",
        "a=-",
        "!a=b",
        "a>b",
        "a in (b,-)",
        "a/b/c",
        "a in (b c)",
        "a in",
        "a notin",
        "in in in",
        "(a)",
        "a)",
        "a=(b)",
        "a!b",
        "a in (b,",
        "a in (=)",
        "a in (b,=)",
    ] {
        s.get(&format!("configmaps?labelSelector={}", escaped(text)))
            .await;
    }
}

async fn fields_select(s: &Session) {
    s.install(&thing()).await;
    let objects = [("a", json!({})), ("b", json!({})), ("c", json!({}))];
    labelled(s, &objects).await;
    let here = format!("fieldSelector=metadata.namespace={}", s.namespace);
    let queries = [
        "fieldSelector=metadata.name=a",
        "fieldSelector=metadata.name==a",
        "fieldSelector=metadata.name!=a",
        "fieldSelector=metadata.name=",
        "fieldSelector=metadata.name=a,metadata.name=b",
        "fieldSelector=metadata.name!=a,metadata.name!=b",
        "fieldSelector=metadata.namespace=elsewhere",
        &*here,
        "fieldSelector=,",
        "fieldSelector=metadata.name=a\\,b",
        "fieldSelector=metadata.name=none",
    ];
    found(s, "configmaps", &queries).await;
    for (name, mode) in [("a", "Fast"), ("b", "Slow"), ("c", "Fast")] {
        let object = a_thing(name, &json!({"mode": mode}));
        s.send(Ask::new("POST", "things").json(&object).silent())
            .await;
    }
    let queries = [
        "fieldSelector=spec.mode=Fast",
        "fieldSelector=spec.mode!=Fast",
        "fieldSelector=spec.mode=",
        "fieldSelector=spec.mode=Fast,metadata.name=c",
        "fieldSelector=spec.mode=Fast&labelSelector=x",
    ];
    found(s, "things", &queries).await;
    for (name, kind) in [("a", "Opaque"), ("b", "capstan.dev/other")] {
        let object = json!({"metadata": {"name": name}, "type": kind});
        s.send(Ask::new("POST", "secrets").json(&object).silent())
            .await;
    }
    found(
        s,
        "secrets",
        &["fieldSelector=type=Opaque", "fieldSelector=type!=Opaque"],
    )
    .await;
    let this = format!(
        "fieldSelector=metadata.name={},status.phase=Active",
        s.namespace
    );
    found(s, "namespaces", &[&*this]).await;
}

async fn what_is_no_field_selector_is_refused(s: &Session) {
    s.install(&thing()).await;
    s.install(&orbit()).await;
    for (path, text) in [
        ("configmaps", "a"),
        ("configmaps", "metadata.name=a=b"),
        ("configmaps", "metadata.name=%5C"),
        ("configmaps", "metadata.name=%5Ca"),
        ("configmaps", "b=c,a"),
        ("configmaps", "data.k=v"),
        ("configmaps", "=v"),
        ("configmaps", "metadata.labels=v"),
        ("secrets", "data.k=v"),
        ("pods", "spec.colour=red"),
        ("services", "spec.ports=1"),
        ("deployments", "spec.replicas=1"),
        ("replicasets", "status.replicas=1"),
        ("namespaces", "metadata.namespace=x"),
        ("/api/v1/events", "reason.x=1"),
        ("events", "involvedObject.name=a"),
        ("things", "spec.text=a"),
        ("things", "status.phase=a"),
        ("orbits", "metadata.namespace=x"),
        ("orbits", "any=x"),
        ("customresourcedefinitions", "spec.group=x"),
        ("customresourcedefinitions", "metadata.namespace=x"),
        ("/apis/batch/v1/jobs", "spec.x=1"),
    ] {
        s.get(&format!("{path}?fieldSelector={text}&limit=1")).await;
    }
}

/// The token to go on with.
fn token(page: &Reply) -> String {
    page.at("/metadata/continue").replace('=', "%3D")
}

async fn pages_show_one_state(s: &Session) {
    let objects = ["a", "b", "c", "d", "e"].map(|name| (name, json!({})));
    labelled(s, &objects).await;
    let first = s.get("configmaps?limit=2").await;
    s.put("configmaps/c", &config_map("c", &json!({"k": "new"})))
        .await;
    s.post("configmaps", &config_map("cc", &json!({}))).await;
    s.delete("configmaps/d").await;
    let second = s
        .get(&format!("configmaps?limit=1&continue={}", token(&first)))
        .await;
    let third = s
        .get(&format!("configmaps?limit=1&continue={}", token(&second)))
        .await;
    s.get(&format!("configmaps?limit=5&continue={}", token(&third)))
        .await;
    s.get(&format!("configmaps?continue={}", token(&first)))
        .await;
    s.note(&format!("{}", first.version() == third.version()));
    found(s, "configmaps", &["limit=10"]).await;
}

async fn a_selected_page_does_not_say_what_remains(s: &Session) {
    let odd = |name| if name == "b" { "no" } else { "yes" };
    let objects = ["a", "b", "c", "d", "e"].map(|name| (name, json!({"odd": odd(name)})));
    labelled(s, &objects).await;
    let first = s.get("configmaps?limit=2&labelSelector=odd=yes").await;
    s.get(&format!(
        "configmaps?limit=2&labelSelector=odd=yes&continue={}",
        token(&first)
    ))
    .await;
    s.get("configmaps?limit=2&fieldSelector=metadata.name=a")
        .await;
    s.get("configmaps?limit=5").await;
    s.get("configmaps?limit=4").await;
}

async fn a_token_goes_alone(s: &Session) {
    let objects = ["a", "b", "c"].map(|name| (name, json!({})));
    labelled(s, &objects).await;
    let first = s.get("configmaps?limit=1").await;
    let token = token(&first);
    for query in [
        format!("continue={token}&resourceVersion={}", first.version()),
        format!("continue={token}&resourceVersion=0"),
        format!(
            "continue={token}&resourceVersion={}&resourceVersionMatch=Exact",
            first.version()
        ),
        format!("continue={token}&resourceVersionMatch=NotOlderThan"),
        format!("continue={token}&resourceVersion=0&resourceVersionMatch=Exact"),
    ] {
        s.get(&format!("configmaps?limit=1&{query}")).await;
    }
    for token in ["x", "e30", "eyJ2IjoieCJ9"] {
        s.send(Ask::new("GET", &format!("configmaps?continue={token}")).gist())
            .await;
    }
}

async fn a_list_shows_the_state_that_is_asked_for(s: &Session) {
    let made = s
        .post("configmaps", &config_map("a", &json!({"k": "1"})))
        .await;
    let changed = s
        .put("configmaps/a", &config_map("a", &json!({"k": "2"})))
        .await;
    s.post("configmaps", &config_map("b", &json!({}))).await;
    s.delete("configmaps/a").await;
    for (version, query) in [
        (&made, "resourceVersionMatch=Exact"),
        (&changed, "resourceVersionMatch=Exact"),
        (&changed, "resourceVersionMatch=Exact&limit=1"),
        (&changed, "limit=5"),
        (&made, "resourceVersionMatch=NotOlderThan"),
        (&made, "resourceVersionMatch=NotOlderThan&limit=1"),
        (&made, ""),
    ] {
        let version = version.version();
        let list = s
            .get(&format!("configmaps?resourceVersion={version}&{query}"))
            .await;
        s.note(&format!("{}", list.version() == version));
    }
    s.get("configmaps").await;
}

async fn pages_of_a_past_state_stay_there(s: &Session) {
    let mut last = String::new();
    for name in ["a", "b", "c"] {
        let ask = Ask::new("POST", "configmaps").json(&config_map(name, &json!({})));
        last = s.send(ask.silent()).await.version().to_owned();
    }
    s.send(Ask::new("DELETE", "configmaps/b").silent()).await;
    let exact = format!("configmaps?limit=1&resourceVersion={last}&resourceVersionMatch=Exact");
    let first = s.get(&exact).await;
    let second = s
        .get(&format!("configmaps?limit=1&continue={}", token(&first)))
        .await;
    s.get(&format!("configmaps?limit=1&continue={}", token(&second)))
        .await;
    s.note(&format!("{}", second.version() == last));
}

async fn what_may_be_of_any_age_has_no_pages(s: &Session) {
    let objects = ["a", "b", "c"].map(|name| (name, json!({})));
    labelled(s, &objects).await;
    let all = |reply: &Reply| names(reply) == "a b c";
    s.until("configmaps?resourceVersion=0", all).await;
    s.get("configmaps?resourceVersion=0&limit=1").await;
    s.get("configmaps?resourceVersion=0&limit=1&resourceVersionMatch=NotOlderThan")
        .await;
}

async fn a_version_is_matched_in_known_ways(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({}))).await;
    for query in [
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=Newest",
        "resourceVersion=5&resourceVersionMatch=Newest",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "sendInitialEvents=false",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        "resourceVersion=x&resourceVersionMatch=Exact",
    ] {
        s.get(&format!("configmaps?{query}")).await;
    }
}

async fn what_is_yet_to_come_is_waited_for_in_vain(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({}))).await;
    s.get("configmaps?resourceVersion=99999999").await;
    s.get("configmaps?resourceVersion=99999999&resourceVersionMatch=Exact")
        .await;
    s.get("configmaps?resourceVersion=99999999&limit=1").await;
    s.get("configmaps/a?resourceVersion=99999999").await;
}

async fn an_object_is_read_as_it_is_now(s: &Session) {
    let made = s
        .post("configmaps", &config_map("a", &json!({"k": "1"})))
        .await;
    let changed = s
        .put("configmaps/a", &config_map("a", &json!({"k": "2"})))
        .await;
    s.get(&format!(
        "configmaps/a?resourceVersion={}",
        changed.version()
    ))
    .await;
    s.get(&format!(
        "configmaps/a?resourceVersion={}&resourceVersionMatch=Exact",
        changed.version()
    ))
    .await;
    s.get(&format!("configmaps/b?resourceVersion={}", made.version()))
        .await;
    s.get("configmaps/a?watch=true").await;
}

async fn a_list_may_span_namespaces(s: &Session) {
    s.install(&thing()).await;
    let other = format!("{}-2", s.namespace);
    let namespace = json!({"metadata": {"name": other}});
    s.send(Ask::new("POST", "namespaces").json(&namespace).silent())
        .await;
    let label = json!({"of": s.namespace});
    for short in ["configmaps", "things"] {
        for (place, name) in [(&s.namespace, "b"), (&other, "a"), (&s.namespace, "a")] {
            let mut object = match short {
                "things" => a_thing(name, &json!({})),
                _ => config_map(name, &json!({})),
            };
            object["metadata"]["labels"] = label.clone();
            let path = s.path(short).replace(&s.namespace, place);
            s.send(Ask::new("POST", &path).json(&object).silent()).await;
        }
    }
    let all = format!("labelSelector=of={}", s.namespace);
    s.get(&format!("/api/v1/configmaps?{all}")).await;
    let first = s.get(&format!("/api/v1/configmaps?{all}&limit=1")).await;
    s.get(&format!(
        "/api/v1/configmaps?{all}&limit=1&continue={}",
        token(&first)
    ))
    .await;
    s.get(&format!(
        "/apis/{GROUP}/v1/things?{all}&fieldSelector=metadata.namespace={other}"
    ))
    .await;
    s.get(&format!(
        "/apis/{GROUP}/v1/things?{all}&fieldSelector=metadata.name=a"
    ))
    .await;
    s.get("/api/v1/namespaces/not-there/configmaps").await;
    s.send(Ask::new("DELETE", &format!("namespaces/{other}")).silent())
        .await;
}

async fn what_has_no_namespace_is_listed_as_well(s: &Session) {
    s.install(&orbit()).await;
    for name in ["a", "b"] {
        let metadata =
            json!({"name": format!("{}-{name}", s.namespace), "labels": {"of": s.namespace}});
        let object =
            json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit", "metadata": metadata});
        s.send(Ask::new("POST", "orbits").json(&object).silent())
            .await;
    }
    s.get(&format!("orbits?labelSelector=of={}", s.namespace))
        .await;
    let first = s
        .get(&format!("orbits?labelSelector=of={}&limit=1", s.namespace))
        .await;
    s.get(&format!(
        "orbits?labelSelector=of={}&continue={}",
        s.namespace,
        token(&first)
    ))
    .await;
    s.get(&format!(
        "orbits?fieldSelector=metadata.name={}-a",
        s.namespace
    ))
    .await;
    s.delete(&format!("orbits?labelSelector=of={}", s.namespace))
        .await;
}

async fn metadata_alone_is_listed(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({"k": "v"})))
        .await;
    s.post("things", &a_thing("a", &json!({"count": 1}))).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    for path in [
        "configmaps",
        "things",
        "secrets",
        "configmaps?limit=1&labelSelector=x",
    ] {
        s.send(Ask::new("GET", path).header(ACCEPT, accept)).await;
    }
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    s.send(Ask::new("GET", "things/a").header(ACCEPT, accept))
        .await;
    s.send(Ask::new("GET", "things/b").header(ACCEPT, accept))
        .await;
}

behaviours! { Api:
    a_list_may_span_namespaces,
    a_list_shows_the_state_that_is_asked_for,
    a_selected_page_does_not_say_what_remains,
    a_token_goes_alone,
    a_version_is_matched_in_known_ways,
    an_object_is_read_as_it_is_now,
    fields_select,
    labels_select,
    metadata_alone_is_listed,
    pages_of_a_past_state_stay_there,
    pages_show_one_state,
    what_has_no_namespace_is_listed_as_well,
    what_is_no_field_selector_is_refused,
    what_is_no_label_selector_is_refused,
    what_is_yet_to_come_is_waited_for_in_vain,
    what_may_be_of_any_age_has_no_pages,
}
