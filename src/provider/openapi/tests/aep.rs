//! The rules of the API Enhancement Proposals (AEP) that this API follows, each by what it demands of a document.

use serde_json::{Value as Json, json};

use super::{at, keys, operation, parameter, resolved};
use crate::provider::openapi::document;
use crate::provider::page::PageQuery;
use crate::provider::problem::{Problem, ProblemKind};

const COLLECTION: &str = "/api/v1alpha1/clusters";
const RESOURCE: &str = "/api/v1alpha1/clusters/{clusterId}";
const CLUSTER: &str = "#/components/schemas/Cluster";

/// The schema of an answer.
fn answer<'a>(operation: &'a Json, status: &str) -> &'a Json {
    &operation["responses"][status]["content"]["application/json"]["schema"]
}

/// The names of the parameters of an operation that must be given, except those in the path.
fn required_parameters(operation: &Json) -> Vec<&Json> {
    let parameters = operation["parameters"].as_array();
    let required = parameters
        .into_iter()
        .flatten()
        .filter(|one| one["required"] == true && one["in"] != "path");
    required.map(|one| &one["name"]).collect()
}

/// The names of the parameters of an operation in its query.
fn query(operation: &Json) -> Vec<&str> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let query = parameters.filter(|one| one["in"] == "query");
    query.map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn aep_4_a_cluster_is_a_resource_with_a_path() {
    let document = document();
    let cluster = at(&document, "/components/schemas/Cluster");
    let resource = &cluster["x-aep-resource"];
    let expected = json!({
        "type": "acm-cluster-service-provider.dcm.io/cluster",
        "singular": "cluster",
        "plural": "clusters",
        "patterns": ["clusters/{cluster_id}"],
    });
    assert_eq!(resource, &expected);
    assert_eq!(cluster["properties"]["path"]["type"], "string");
    assert_eq!(cluster["properties"]["id"]["type"], "string");
}

#[test]
fn aep_131_get_returns_the_resource_itself() {
    let document = document();
    let get = operation(&document, RESOURCE, "get");
    // The operation ID begins with `get`, and ends with the name of the resource.
    assert_eq!(get["operationId"], "getCluster");
    // There is no body, and nothing in the query.
    assert_eq!(get.get("requestBody"), None);
    assert_eq!(get.get("parameters"), None);
    // The only parameter is the ID in the path: the name of the resource with `Id`.
    let parameters = document["paths"][RESOURCE]["parameters"]
        .as_array()
        .unwrap();
    assert_eq!(parameters.len(), 1);
    assert_eq!(
        (&parameters[0]["name"], &parameters[0]["in"]),
        (&json!("clusterId"), &json!("path"))
    );
    assert_eq!(
        (&parameters[0]["required"], &parameters[0]["schema"]["type"]),
        (&json!(true), &json!("string"))
    );
    // The answer is a reference to a resource, without anything around it.
    assert_eq!(answer(get, "200"), &json!({"$ref": CLUSTER}));
    assert!(resolved(&document, answer(get, "200"))["x-aep-resource"].is_object());
    // A cluster that does not exist is 404.
    assert!(get["responses"]["404"].is_object());
}

#[test]
fn aep_132_list_returns_resources_without_wrapping() {
    let document = document();
    let list = operation(&document, COLLECTION, "get");
    // The operation ID begins with `list`, and ends with the plural of the resource.
    assert_eq!(list["operationId"], "listClusters");
    // There is no body, and no parameter that must be given.
    assert_eq!(list.get("requestBody"), None);
    assert_eq!(required_parameters(list), Vec::<&Json>::new());
    // `results` is an array of references to the resource.
    let page = resolved(&document, answer(list, "200"));
    let results = &page["properties"]["results"];
    assert_eq!(
        (&results["type"], &results["items"]),
        (&json!("array"), &json!({"$ref": CLUSTER}))
    );
    // The field with the plural of the resource is one, too; there is no other array.
    assert_eq!(page["properties"]["clusters"]["items"], results["items"]);
    assert_eq!(
        keys(&page["properties"]),
        ["clusters", "next_page_token", "results"].into()
    );
    // What is about the list is beside the resources, not in them.
    let cluster = at(&document, "/components/schemas/Cluster");
    assert_eq!(cluster["properties"].get("next_page_token"), None);
}

#[test]
fn aep_133_create_takes_and_returns_the_resource() {
    let document = document();
    let create = operation(&document, COLLECTION, "post");
    // The operation ID begins with `create`, and ends with the name of the resource.
    assert_eq!(create["operationId"], "createCluster");
    // The client may choose the ID, in the query; only the body must be given.
    let id = parameter(create, "id");
    assert_eq!(
        (&id["in"], &id["schema"]["type"]),
        (&json!("query"), &json!("string"))
    );
    assert_eq!(required_parameters(create), Vec::<&Json>::new());
    assert_eq!(create["requestBody"]["required"], true);
    // The query has no field that no rule knows.
    assert_eq!(query(create), ["id"]);
    // The body is the resource: it is marked as it, and has the field that a client may write, with the same schema.
    let cluster = at(&document, "/components/schemas/Cluster");
    let body = &create["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(body["x-aep-resource"], cluster["x-aep-resource"]);
    let written = at(&document, "/components/schemas/DcmRequest/properties/spec");
    let read = cluster["properties"]["spec"]["anyOf"].as_array().unwrap();
    assert!(read.iter().any(|one| resolved(&document, one) == written));
    let properties = cluster["properties"].as_object().unwrap();
    let writable: Vec<_> = properties
        .iter()
        .filter(|(_, field)| field["readOnly"] != true)
        .collect();
    assert_eq!(
        writable.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["spec"]
    );
    // The answer is 201 with the resource itself.
    assert_eq!(answer(create, "201"), &json!({"$ref": CLUSTER}));
    assert_eq!(create["responses"].get("200"), None);
    // A cluster that exists is `ALREADY_EXISTS`.
    assert!(create["responses"]["409"].is_object());
    assert_eq!(Problem::exists("").kind.status(), 409);
}

#[test]
fn aep_135_delete_returns_nothing() {
    let document = document();
    let delete = operation(&document, RESOURCE, "delete");
    // The operation ID begins with `delete`, and ends with the name of the resource.
    assert_eq!(delete["operationId"], "deleteCluster");
    // There is no body, and nothing in the query.
    assert_eq!(delete.get("requestBody"), None);
    assert_eq!(delete.get("parameters"), None);
    // The only success is 204, without a body.
    let successes: Vec<_> = keys(&delete["responses"])
        .into_iter()
        .filter(|status| status.starts_with('2'))
        .collect();
    assert_eq!(successes, ["204"]);
    assert_eq!(delete["responses"]["204"].get("content"), None);
    // A cluster that does not exist is 404.
    assert!(delete["responses"]["404"].is_object());
}

#[test]
fn aep_158_lists_have_pages() {
    let document = document();
    let list = operation(&document, COLLECTION, "get");
    // `max_page_size` is an optional integer with a default that is documented, as the server has it.
    let size = parameter(list, "max_page_size");
    assert_eq!(
        (&size["in"], &size["required"]),
        (&json!("query"), &json!(false))
    );
    let schema = json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 50});
    assert_eq!(size["schema"], schema);
    assert_eq!(
        PageQuery::read(None, None),
        PageQuery::read(Some("50"), None)
    );
    // A negative size is `INVALID_ARGUMENT`.
    let problem = PageQuery::read(Some("-1"), None).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::InvalidArgument);
    assert!(list["responses"]["400"].is_object());
    // `page_token` is an optional string.
    let token = parameter(list, "page_token");
    assert_eq!(
        (&token["in"], &token["required"]),
        (&json!("query"), &json!(false))
    );
    assert_eq!(token["schema"]["type"], "string");
    // The answer has an array, and a string `next_page_token`, which the last page has not.
    let page = resolved(&document, answer(list, "200"));
    assert_eq!(page["properties"]["results"]["type"], "array");
    assert_eq!(page["properties"]["next_page_token"]["type"], "string");
    assert_eq!(page.get("required"), None);
    // The server's tokens are such strings, and safe in a URL.
    let items: Vec<String> = (0..3).map(|number| format!("c{number}")).collect();
    let query = PageQuery::read(Some("1"), None).unwrap();
    let (_, next) = query.page(&items, |item| (item.clone(), item.clone()));
    let next = json!(next.unwrap());
    assert!(super::validator(&token["schema"]).is_valid(&next));
    assert!(
        next.as_str()
            .unwrap()
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    );
}

#[test]
fn aep_193_every_error_is_a_problem_document() {
    let document = document();
    let mut count = 0;
    for item in document["paths"].as_object().unwrap().values() {
        for method in ["get", "post", "delete"] {
            let responses = item[method]["responses"].as_object();
            for (status, response) in responses
                .into_iter()
                .flatten()
                .filter(|(status, _)| status.as_str() >= "400")
            {
                let content = &resolved(&document, response)["content"];
                let expected = json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}});
                assert_eq!(content, &expected, "{method} {status}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 5 + 9 + 6 + 8);
    // A problem has the fields of RFC 9457, with these types; `type` is required.
    let problem = at(&document, "/components/schemas/Problem");
    let types = [
        ("type", "string"),
        ("title", "string"),
        ("status", "integer"),
        ("detail", "string"),
        ("instance", "string"),
    ];
    assert_eq!(
        keys(&problem["properties"]),
        types.map(|(name, _)| name).into()
    );
    for (name, kind) in types {
        assert_eq!(problem["properties"][name]["type"], kind, "{name}");
    }
    assert!(
        problem["required"]
            .as_array()
            .unwrap()
            .contains(&json!("type"))
    );
}
