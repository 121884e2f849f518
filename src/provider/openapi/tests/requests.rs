//! The document takes the requests that the server takes, and refuses those that it refuses.

use serde_json::{Value as Json, json};

use super::bodies::{self, set};
use super::{at, operation, parameter, validator};
use crate::provider::openapi::document;
use crate::provider::page::PageQuery;
use crate::provider::request::{Dialect, Request, instance_id, is_instance_id};

/// Returns true if the server takes a body.
fn takes(body: &Json) -> bool {
    Request::read(body.to_string().as_bytes()).is_ok()
}

/// The schema of the body of a request for a cluster.
fn schema() -> jsonschema::Validator {
    let document = document();
    let create = operation(&document, "/api/v1alpha1/clusters", "post");
    validator(&create["requestBody"]["content"]["application/json"]["schema"])
}

/// A body, and in snake_case also the same body as the field `spec` of an object.
fn envelopes(dialect: Dialect, body: Json) -> Vec<Json> {
    match dialect {
        Dialect::Proposal => vec![body],
        Dialect::Dcm => vec![json!({"spec": body}), body],
    }
}

#[test]
fn each_value_of_each_field_is_taken_by_both_or_by_none() {
    let schema = schema();
    let mut taken = Vec::new();
    for dialect in [Dialect::Proposal, Dialect::Dcm] {
        for (pointer, values) in bodies::fields(dialect) {
            for value in values {
                let body = set(bodies::whole(dialect), &pointer, value.clone());
                for body in envelopes(dialect, body) {
                    taken.push(takes(&body));
                    assert_eq!(
                        Some(&schema.is_valid(&body)),
                        taken.last(),
                        "{pointer} {value}"
                    );
                }
            }
        }
    }
    let refused = taken.iter().filter(|is_taken| !**is_taken).count();
    assert!(
        refused > 250 && taken.len() - refused > 250,
        "{refused} of {}",
        taken.len()
    );
}

#[test]
fn each_field_may_be_absent_for_both_or_for_none() {
    let schema = schema();
    for dialect in [Dialect::Proposal, Dialect::Dcm] {
        for (pointer, _) in bodies::fields(dialect) {
            let body = bodies::without(bodies::whole(dialect), &pointer);
            assert_eq!(schema.is_valid(&body), takes(&body), "{pointer}");
        }
    }
}

#[test]
fn bodies_of_another_shape_are_refused_by_both() {
    let schema = schema();
    let spec = bodies::whole(Dialect::Dcm);
    for body in [
        json!(null),
        json!([]),
        json!([spec]),
        json!("x"),
        json!({}),
        json!({"spec": null}),
        json!({"spec": {}}),
        json!({"spec": [spec]}),
        json!({"spec": {"spec": spec}}),
    ] {
        assert!(!schema.is_valid(&body) && !takes(&body), "{body}");
    }
}

#[test]
fn an_envelope_is_the_request_and_null_is_none_for_both() {
    let schema = schema();
    for dialect in [Dialect::Proposal, Dialect::Dcm] {
        for (spec, is_taken) in [
            (Json::Null, true),
            (json!({}), false),
            (json!(3), false),
            (json!({"version": ""}), false),
            (bodies::whole(Dialect::Dcm), true),
        ] {
            let body = set(bodies::whole(dialect), "/spec", spec);
            assert_eq!(takes(&body), is_taken, "{body}");
            assert_eq!(schema.is_valid(&body), is_taken, "{body}");
        }
    }
}

#[test]
fn a_null_in_the_other_spelling_is_left_out() {
    for (field, value) in [
        ("/schema_version", Json::Null),
        ("/provider_hints", Json::Null),
        ("/provisioning_type", Json::Null),
    ] {
        let body = set(bodies::whole(Dialect::Proposal), field, value);
        assert!(schema().is_valid(&body) && takes(&body), "{body}");
    }
}

#[test]
fn what_only_answers_have_and_what_nobody_knows_is_taken_by_both() {
    let schema = schema();
    for dialect in [Dialect::Proposal, Dialect::Dcm] {
        let mut body = bodies::whole(dialect);
        for (field, value) in [
            ("id", json!(3)),
            ("path", json!([])),
            ("status", json!("x")),
            ("create_time", json!(1)),
            ("other", json!({})),
        ] {
            body[field] = value;
        }
        body["metadata"]["other"] = json!(1);
        assert!(schema.is_valid(&body) && takes(&body), "{body}");
    }
}

/// The pointers of the fields below a schema.
fn documented(document: &Json, schema: &Json, pointer: &str, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let pointer = format!("{pointer}/{name}");
        documented(document, super::resolved(document, field), &pointer, found);
        found.push(pointer);
    }
}

#[test]
fn every_documented_field_is_compared() {
    let document = document();
    for (dialect, name) in [
        (Dialect::Proposal, "ProposalRequest"),
        (Dialect::Dcm, "DcmSpec"),
    ] {
        let mut found = Vec::new();
        documented(
            &document,
            at(&document, &format!("/components/schemas/{name}")),
            "",
            &mut found,
        );
        let mut compared: Vec<_> = bodies::fields(dialect)
            .into_iter()
            .map(|(pointer, _)| pointer)
            .collect();
        found.sort();
        compared.sort();
        assert_eq!(found, compared);
    }
}

#[test]
fn every_example_is_taken_by_the_server() {
    let document = document();
    for name in ["ProposalRequest", "DcmSpec"] {
        let examples = at(&document, &format!("/components/schemas/{name}/examples"));
        let examples = examples.as_array().unwrap();
        assert_eq!(examples.len(), 2, "{name}");
        for example in examples {
            assert!(takes(example), "{example}");
        }
    }
}

#[test]
fn ids_in_the_query_and_in_the_path_are_those_of_the_server() {
    let document = document();
    let create = operation(&document, "/api/v1alpha1/clusters", "post");
    let chosen = validator(&parameter(create, "id")["schema"]);
    let path = validator(at(
        &document,
        "/paths/~1api~1v1alpha1~1clusters~1{clusterId}/parameters/0/schema",
    ));
    let (longest, longer) = ("a".repeat(63), "a".repeat(64));
    for id in [
        "",
        "a",
        "0",
        "my-custom-id",
        &longest,
        &longer,
        "A",
        "-a",
        "a-",
        "a.b",
        "a/b",
        "a\n",
        "..",
        "ä",
    ] {
        assert_eq!(
            chosen.is_valid(&json!(id)),
            instance_id(Some(id)).is_ok(),
            "{id:?}"
        );
        assert_eq!(path.is_valid(&json!(id)), is_instance_id(id), "{id:?}");
    }
}

#[test]
fn pages_are_those_of_the_server() {
    let document = document();
    let list = operation(&document, "/api/v1alpha1/clusters", "get");
    let size = validator(&parameter(list, "max_page_size")["schema"]);
    for number in [-5, 0, 1, 50, 100, 101, 1_000] {
        let is_taken = PageQuery::read(Some(&number.to_string()), None).is_ok();
        assert_eq!(size.is_valid(&json!(number)), is_taken, "{number}");
    }
    let token = validator(&parameter(list, "page_token")["schema"]);
    for (text, is_taken) in [
        ("", true),
        ("NTA=", true),
        ("MQpuCmk", true),
        ("!", false),
        ("a b", false),
    ] {
        assert_eq!(token.is_valid(&json!(text)), is_taken, "{text}");
        assert_eq!(
            PageQuery::read(None, Some(text)).is_ok(),
            is_taken,
            "{text}"
        );
    }
    let long = "MQpu".repeat(128);
    assert!(PageQuery::read(None, Some(&(long.clone() + "MQpu"))).is_err());
    assert!(token.is_valid(&json!(long)));
    assert!(!token.is_valid(&json!(long + "MQpu")));
}
