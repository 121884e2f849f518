#![allow(clippy::unwrap_used)]

mod aep;
mod answers;
mod bodies;
mod requests;

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value as Json, json};

use super::document;

/// The value at a JSON pointer, behind references.
fn at<'a>(document: &'a Json, pointer: &str) -> &'a Json {
    let value = document.pointer(pointer);
    resolved(document, value.expect(pointer))
}

/// The value that a reference is of; itself, if it is none.
fn resolved<'a>(document: &'a Json, value: &'a Json) -> &'a Json {
    match value["$ref"].as_str() {
        Some(reference) => at(document, reference.strip_prefix('#').unwrap()),
        None => value,
    }
}

/// The operation of a path and method.
fn operation<'a>(document: &'a Json, path: &str, method: &str) -> &'a Json {
    let operation = &document["paths"][path][method];
    assert!(operation.is_object(), "{method} {path}");
    operation
}

/// The parameter of an operation.
fn parameter<'a>(operation: &'a Json, name: &str) -> &'a Json {
    let parameters = operation["parameters"].as_array().unwrap();
    let found = parameters.iter().find(|one| one["name"] == name);
    found.expect(name)
}

/// A validator of a schema of the document.
fn validator(schema: &Json) -> Validator {
    let mut whole = schema.clone();
    whole["components"] = document()["components"].clone();
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    options.build(&whole).unwrap()
}

/// A validator of a schema by its name.
fn named(name: &str) -> Validator {
    validator(&json!({"$ref": format!("#/components/schemas/{name}")}))
}

/// The names of the fields of an object.
fn keys(object: &Json) -> BTreeSet<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn the_document_is_openapi_3_1_and_always_the_same() {
    let document = document();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], "v1alpha1");
    assert_eq!(document.to_string(), super::document().to_string());
}

#[test]
fn every_operation_has_the_statuses_of_the_server() {
    let document = document();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if method == "parameters" {
                continue;
            }
            let statuses: Vec<_> = keys(&operation["responses"]).into_iter().collect();
            let id = operation["operationId"].as_str().unwrap();
            found.push(format!("{method} {path} {id}: {}", statuses.join(" ")));
        }
    }
    let expected = [
        "get /api/v1alpha1/clusters listClusters: 200 400 401 429 500 503",
        "post /api/v1alpha1/clusters createCluster: 201 400 401 403 409 413 422 429 500 503",
        "get /api/v1alpha1/clusters/health getHealth: 200",
        "delete /api/v1alpha1/clusters/{clusterId} deleteCluster: 204 400 401 403 404 409 429 500 503",
        "get /api/v1alpha1/clusters/{clusterId} getCluster: 200 400 401 404 429 500 503",
        "get /api/v1alpha1/health getApiHealth: 200",
        "get /api/v1alpha1/openapi.json getOpenapi: 200",
        "get /health getRootHealth: 200",
    ];
    assert_eq!(
        found.iter().collect::<BTreeSet<_>>(),
        expected.map(str::to_owned).iter().collect()
    );
    assert_eq!(found.len(), expected.len());
}

#[test]
fn a_token_is_for_clusters_alone() {
    let document = document();
    let scheme = at(&document, "/components/securitySchemes/bearer");
    assert_eq!(
        (&scheme["type"], &scheme["scheme"]),
        (&json!("http"), &json!("bearer"))
    );
    assert_eq!(document.get("security"), None);
    for (path, item) in document["paths"].as_object().unwrap() {
        let is_open = path.ends_with("/health") || path.ends_with("/openapi.json");
        let expected = if is_open {
            json!([])
        } else {
            json!([{"bearer": []}])
        };
        for method in ["get", "post", "delete"] {
            if let Some(operation) = item.get(method) {
                assert_eq!(operation["security"], expected, "{method} {path}");
            }
        }
    }
}

#[test]
fn every_reference_and_tag_is_there() {
    fn walk(document: &Json, value: &Json, count: &mut usize) {
        if value.get("$ref").is_some_and(Json::is_string) {
            assert!(resolved(document, value).is_object());
            *count += 1;
        }
        let fields = value
            .as_object()
            .into_iter()
            .flat_map(|object| object.values());
        let items = value.as_array().into_iter().flatten();
        fields
            .chain(items)
            .for_each(|inner| walk(document, inner, count));
    }
    let document = document();
    let mut count = 0;
    walk(&document, &document, &mut count);
    assert!(count > 30, "{count}");
    let tags: BTreeSet<_> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["name"])
        .map(Json::to_string)
        .collect();
    for item in document["paths"].as_object().unwrap().values() {
        for method in ["get", "post", "delete"] {
            let used = item
                .get(method)
                .map(|operation| operation["tags"][0].to_string());
            assert!(used.is_none_or(|used| tags.contains(&used)));
        }
    }
}
