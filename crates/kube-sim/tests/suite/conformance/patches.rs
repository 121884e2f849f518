//! JSON merge patches and JSON patches.

use http::header;
use serde_json::json;

use super::script::{say, whole};
use super::{behaviours, thing};
use crate::session::{Ask, Session};

async fn of_things(s: &Session, lines: &str) {
    s.install(&thing()).await;
    say(s, lines).await;
}

const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json-patch+json";

/// A body as it is.
fn raw(path: &str, media_type: &str, body: &str) -> Ask {
    Ask::new("PATCH", path).body(media_type, body)
}

async fn a_merge_patch_goes_deep_and_nulls_delete(s: &Session) {
    of_things(
        s,
        "
        post things {metadata: {labels: {a: '1', b: '2'}}, spec: {text: x, list: [a, b], labels: {k: v, l: w}, nested: {a: '1', b: '2'}, free: {a: {b: 1}}}}
        merge things/a {spec: {text: null, list: [c], labels: {k: null, m: x}, nested: {a: null, deep: {d: z}}, free: {a: {c: 2}}}}
        merge things/a {metadata: {labels: null}, spec: {nested: null, free: {a: [1], l: {a: null, b: 1}}}}
        merge things/a {spec: {mode: null, free: {a: {x: [{k: null}, null]}}}}
        merge things/a {spec: null}
        post configmaps {data: {a: '1', b: '2'}}
        merge configmaps/a {data: {a: null, c: '3'}, binaryData: {x: AA==}}
        merge configmaps/a {data: null}
        ",
    )
    .await;
}

async fn a_merge_patch_is_an_object(s: &Session) {
    say(s, "post configmaps {data: {a: '1'}}").await;
    for body in [
        "[]",
        "\"text\"",
        "7",
        "true",
        "null",
        "",
        "{",
        "{\"data\":{\"a\":1,}}",
        "not json",
    ] {
        s.note(body);
        s.send(raw("configmaps/a", MERGE, body).gist()).await;
    }
    say(s, "get configmaps/a").await;
}

async fn directives_mean_nothing_to_a_merge_patch(s: &Session) {
    say(
        s,
        "
        post configmaps {data: {a: '1'}}
        merge configmaps/a {data: {$patch: replace, b: '2'}}
        merge configmaps/a?fieldValidation=Ignore {$retainKeys: [data], data: {c: '3'}}
        ",
    )
    .await;
}

async fn each_operation_of_a_json_patch_is_carried_out(s: &Session) {
    of_things(
        s,
        "
        post things {metadata: {annotations: {a/b: x, c~d: z}}, spec: {text: x, list: [a, b, c], free: {a: {b: 1}, l: [{k: 1}, [2, 3]]}}}
        json things/a [{op: add, path: /spec/flag, value: true}, {op: add, path: /spec/text, value: w}]
        json things/a [{op: remove, path: /spec/flag}, {op: replace, path: /spec/text, value: v}]
        json things/a [{op: add, path: /spec/list/0, value: z}, {op: add, path: /spec/list/-, value: e}, {op: remove, path: /spec/list/1}]
        json things/a [{op: replace, path: /spec/list/1, value: q}, {op: add, path: /spec/list/4, value: f}]
        json things/a [{op: move, from: /spec/free/a, path: /spec/free/b}, {op: copy, from: /spec/free/b/b, path: /spec/free/c}]
        json things/a [{op: test, path: /spec/text, value: v}, {op: test, path: /spec/list, value: [z, q, c, e, f]}, {op: add, path: /spec/count, value: 1}]
        json things/a [{op: replace, path: /metadata/annotations/a~1b, value: '1'}, {op: replace, path: /metadata/annotations/c~0d, value: '2'}]
        json things/a [{op: add, path: /spec/free/l/1/0, value: 9}, {op: replace, path: /spec/free/l/0/k, value: null}]
        json things/a []
        ",
    )
    .await;
}

async fn a_json_patch_is_carried_out_whole_or_not(s: &Session) {
    let post = whole("configmaps/a", json!({"data": {"a": "1", "l": "x"}}));
    s.post("configmaps", &post).await;
    let change = "{op: add, path: /data/z, value: '9'}";
    for operation in [
        "{op: test, path: /data/a, value: '2'}",
        "{op: test, path: /data/none, value: '2'}",
        "{op: test, path: /data/none, value: null}",
        "{op: remove, path: /data/none}",
        "{op: remove, path: /none/none}",
        "{op: replace, path: /data/none, value: '1'}",
        "{op: replace, path: /none/a, value: '1'}",
        "{op: add, path: /none/a, value: '1'}",
        "{op: add, path: data, value: {}}",
        "{op: add, path: '', value: {}}",
        "{op: remove, path: ''}",
        "{op: move, from: /data/none, path: /data/b}",
        "{op: copy, from: /data/none, path: /data/b}",
        "{op: copy, from: /none/none, path: /data/b}",
        "{op: move, from: /data, path: /data/a}",
        "{op: dance, path: /data/a}",
        "{op: add, path: /data/a}",
        "{op: add, value: '1'}",
        "{path: /data/a, value: '1'}",
        "{op: remove}",
        "{op: move, path: /data/b}",
        "{op: 1, path: /data/a}",
        "{op: add, path: 1, value: '1'}",
    ] {
        s.note(operation);
        say(
            s,
            &format!("json configmaps/a?dryRun=All [{change}, {operation}]"),
        )
        .await;
    }
    s.get("configmaps/a").await;
}

async fn an_index_of_a_json_patch_is_in_the_list(s: &Session) {
    s.install(&thing()).await;
    let post = whole("things/a", json!({"spec": {"list": ["a", "b"]}}));
    s.post("things", &post).await;
    for operation in [
        "{op: add, path: /spec/list/3, value: c}",
        "{op: add, path: /spec/list/2, value: c}",
        "{op: add, path: /spec/list/-1, value: c}",
        "{op: add, path: /spec/list/-3, value: c}",
        "{op: add, path: /spec/list/01, value: c}",
        "{op: add, path: /spec/list/x, value: c}",
        "{op: remove, path: /spec/list/2}",
        "{op: remove, path: /spec/list/-}",
        "{op: remove, path: /spec/list/-1}",
        "{op: replace, path: /spec/list/2, value: c}",
        "{op: replace, path: /spec/list/-, value: c}",
        "{op: replace, path: /spec/list/-1, value: c}",
        "{op: test, path: /spec/list/1, value: b}",
        "{op: test, path: /spec/list/2, value: b}",
        "{op: move, from: /spec/list/0, path: /spec/list/1}",
        "{op: copy, from: /spec/list/0, path: /spec/list/-}",
    ] {
        s.note(operation);
        say(s, &format!("json things/a?dryRun=All [{operation}]")).await;
    }
}

async fn a_json_patch_is_a_list_of_operations(s: &Session) {
    say(s, "post configmaps {data: {a: '1'}}").await;
    for body in [
        "{}", "\"text\"", "7", "null", "", "[", "[1]", "[null]", "[[]]", "[{}]",
    ] {
        s.note(body);
        s.send(raw("configmaps/a", JSON, body).gist()).await;
    }
    let many = vec![json!({"op": "test", "path": "/data/a", "value": "1"}); 10_001];
    s.json_patch("configmaps/a", &json!(many)).await;
}

async fn a_patch_does_not_make_another_object(s: &Session) {
    s.install(&thing()).await;
    say(s, "post things {spec: {text: x}}").await;
    say(s, "post configmaps {data: {k: v}}").await;
    for change in [
        "{metadata: {name: b}}",
        "{metadata: {namespace: elsewhere}}",
        "{metadata: {resourceVersion: '1'}}",
        "{metadata: {name: null}}",
        "{metadata: {namespace: null}}",
        "{metadata: {uid: null}}",
        "{metadata: {resourceVersion: null}}",
        "{metadata: null}",
    ] {
        s.note(change);
        say(s, &format!("sorted merge configmaps/a {change}")).await;
    }
    for change in [
        "{metadata: {name: b}}",
        "{metadata: {resourceVersion: '1'}}",
        "{metadata: null}",
    ] {
        s.note(change);
        say(s, &format!("merge things/a {change}")).await;
    }
    for change in ["{kind: Secret}", "{apiVersion: v2}", "{kind: null}"] {
        s.note(change);
        say(s, &format!("gist merge configmaps/a {change}")).await;
        say(s, &format!("gist merge things/a {change}")).await;
    }
}

async fn a_patch_may_be_for_one_version(s: &Session) {
    s.install(&thing()).await;
    for (path, field) in [("things", "spec"), ("configmaps", "data")] {
        let part = match field {
            "spec" => json!({"text": "x"}),
            _ => json!({"text": "x"}),
        };
        let made = whole(&format!("{path}/a"), json!({field: part}));
        let made = s.post(path, &made).await;
        let version = made.version();
        for text in ["v", "w"] {
            let line = format!(
                "merge {path}/a {{metadata: {{resourceVersion: '{version}'}}, {field}: {{text: {text}}}}}"
            );
            say(s, &line).await;
        }
        let line = format!(
            "json {path}/a [{{op: test, path: /metadata/resourceVersion, value: '{version}'}}, {{op: replace, path: /{field}/text, value: u}}]"
        );
        say(s, &line).await;
    }
}

async fn a_patch_needs_its_object(s: &Session) {
    of_things(
        s,
        "
        merge things/a {spec: {text: x}}
        json things/a []
        merge configmaps/a {}
        strategic configmaps/a {}
        merge things/a/status {}
        ",
    )
    .await;
}

async fn what_a_patch_made_is_checked(s: &Session) {
    of_things(
        s,
        "
        post things {spec: {text: x, structs: [{a: '1'}]}}
        merge things/a {spec: {text: UP}}
        merge things/a {spec: {text: 5}}
        json things/a [{op: remove, path: /spec/structs/0/a}]
        merge things/a {spec: {colour: red}}
        merge things/a?fieldValidation=Ignore {spec: {colour: red}}
        post configmaps {data: {k: v}}
        merge configmaps/a {data: {a b: x}}
        merge configmaps/a {colour: red}
        ",
    )
    .await;
}

async fn a_patch_counts_generations(s: &Session) {
    of_things(
        s,
        "
        post things {spec: {text: x}}
        merge things/a {metadata: {labels: {a: b}}}
        merge things/a {spec: {text: w}}
        json things/a [{op: replace, path: /spec/text, value: w}]
        merge things/a {metadata: {generation: 9}, spec: {text: w}}
        merge things/a/status {status: {phase: Up}}
        ",
    )
    .await;
}

async fn a_patch_of_a_part_leaves_the_other(s: &Session) {
    of_things(
        s,
        "
        post things {spec: {text: x}}
        merge things/a/status {metadata: {labels: {a: b}, finalizers: [example.com/a]}, spec: {text: w}, status: {phase: Up}}
        json things/a/status [{op: replace, path: /spec/text, value: w}, {op: add, path: /status/observedGeneration, value: 1}]
        merge things/a {spec: {text: v}, status: {phase: Down}}
        merge things/a/status {status: null}
        strategic things/a/status {status: {phase: Up}}
        ",
    )
    .await;
}

async fn a_patch_says_of_which_type_it_is(s: &Session) {
    s.install(&thing()).await;
    say(s, "post things {spec: {text: x}}").await;
    say(s, "post configmaps {data: {k: v}}").await;
    for path in ["things/a", "configmaps/a"] {
        for media_type in [
            "application/json",
            "application/yaml",
            "text/plain",
            "application/apply-patch+cbor",
            "application/merge-patch+json; charset=utf-8",
            "APPLICATION/MERGE-PATCH+JSON",
        ] {
            s.note(media_type);
            let ask = raw(
                path,
                media_type,
                "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}",
            );
            s.send(ask).await;
        }
        let bare = Ask::new("PATCH", path).header(header::CONTENT_TYPE, "");
        s.send(bare).await;
        say(
            s,
            &format!("strategic {path} {{metadata: {{labels: {{a: c}}}}}}"),
        )
        .await;
    }
}

async fn a_patch_takes_the_last_finalizer_off(s: &Session) {
    of_things(
        s,
        "
        post things {metadata: {finalizers: [example.com/a, example.com/b]}, spec: {text: x}}
        delete things/a
        json things/a [{op: remove, path: /metadata/finalizers/0}]
        merge things/a {metadata: {deletionTimestamp: null}, spec: {text: w}}
        merge things/a {metadata: {finalizers: null}}
        get things/a
        ",
    )
    .await;
}

async fn a_dry_run_of_a_patch_stores_nothing(s: &Session) {
    of_things(
        s,
        "
        post things {spec: {text: x}}
        merge things/a?dryRun=All {spec: {text: w}}
        json things/a?dryRun=All [{op: replace, path: /spec/text, value: v}]
        merge things/a?dryRun=All {spec: {text: UP}}
        merge things/a/status?dryRun=All {status: {phase: Up}}
        get things/a
        ",
    )
    .await;
}

behaviours! { Api:
    a_merge_patch_goes_deep_and_nulls_delete,
    a_merge_patch_is_an_object,
    directives_mean_nothing_to_a_merge_patch,
    each_operation_of_a_json_patch_is_carried_out,
    a_json_patch_is_carried_out_whole_or_not,
    an_index_of_a_json_patch_is_in_the_list,
    a_json_patch_is_a_list_of_operations,
    a_patch_does_not_make_another_object,
    a_patch_may_be_for_one_version,
    a_patch_needs_its_object,
    what_a_patch_made_is_checked,
    a_patch_counts_generations,
    a_patch_of_a_part_leaves_the_other,
    a_patch_says_of_which_type_it_is,
    a_patch_takes_the_last_finalizer_off,
    a_dry_run_of_a_patch_stores_nothing,
}
