//! Bodies of requests: one with every field, and values of each field at and beyond its limits.

use serde_json::{Map, Value as Json, json};

use crate::provider::request::Dialect;

/// A request with every field.
pub(super) fn whole(dialect: Dialect) -> Json {
    let machines = json!({"count": 3, "cpu": 4, "memory": "16GB", "storage": "120GB"});
    let values = [
        ("/serviceType", json!("cluster")),
        ("/schemaVersion", json!("v1alpha1")),
        ("/version", json!("4.20")),
        ("/provisioningType", json!("hypershift")),
        (
            "/metadata",
            json!({"name": "dev-cluster-01", "labels": {"team": "a"}}),
        ),
        ("/nodes", json!({})),
        ("/nodes/controlPlane", machines.clone()),
        ("/nodes/worker", machines),
        ("/providerHints", json!({"acm": {}})),
        ("/providerHints/acm/platform", json!("baremetal")),
        ("/providerHints/acm/provisioningType", json!("hypershift")),
        ("/providerHints/acm/baseDomain", json!("example.com")),
        ("/providerHints/acm/infraEnv", json!("production")),
        (
            "/providerHints/acm/agentLabels",
            json!({"location": "datacenter-1"}),
        ),
        ("/providerHints/acm/releaseImage", json!("quay.io/a/b:1")),
    ];
    values
        .into_iter()
        .fold(json!({}), |body, (pointer, value)| {
            set(body, &spelled(dialect, pointer), value)
        })
}

/// The pointer of a field in a dialect.
fn spelled(dialect: Dialect, pointer: &str) -> String {
    if dialect == Dialect::Proposal {
        return pointer.to_owned();
    }
    let mut snake = String::new();
    for c in pointer.replace("/worker", "/workers").chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// A body with a value at a pointer.
pub(super) fn set(mut body: Json, pointer: &str, value: Json) -> Json {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[key] = value;
    body
}

/// A body without the value at a pointer.
pub(super) fn without(mut body: Json, pointer: &str) -> Json {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(key)
        .unwrap();
    body
}

/// Every field of a request, with values to try.
pub(super) fn fields(dialect: Dialect) -> Vec<(String, Vec<Json>)> {
    let (longest, longer) = ("a".repeat(63), "a".repeat(64));
    let mut fields = vec![
        (
            "/serviceType",
            vec![
                json!("cluster"),
                json!("vm"),
                json!(""),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/schemaVersion",
            vec![
                json!("v1alpha1"),
                json!("v2"),
                json!(""),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/version",
            vec![
                json!("4.20"),
                json!("x"),
                json!("é"),
                json!("a".repeat(64)),
                json!("é".repeat(64)),
                json!("a".repeat(65)),
                json!(""),
                json!("4\n"),
                json!("4\u{7f}"),
                json!("4\u{85}"),
                json!(4.2),
                Json::Null,
            ],
        ),
        (
            "/provisioningType",
            vec![
                json!("hypershift"),
                json!("hive"),
                json!(""),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/metadata",
            vec![json!({}), json!([]), json!("x"), Json::Null],
        ),
        (
            "/metadata/name",
            vec![
                json!("a"),
                json!("0"),
                json!("a-b"),
                json!("a".repeat(61)),
                json!("a".repeat(62)),
                json!("-a"),
                json!("a-"),
                json!("A"),
                json!("a.b"),
                json!("a\n"),
                json!("ä"),
                json!(""),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/metadata/labels",
            vec![
                json!({}),
                json!({"a b": "c"}),
                json!({"a": 1}),
                json!({"a": null}),
                json!("x"),
                Json::Null,
            ],
        ),
        (
            "/nodes",
            vec![
                json!({}),
                json!({"other": 1}),
                json!([]),
                json!("x"),
                Json::Null,
            ],
        ),
        (
            "/providerHints",
            vec![
                json!({}),
                json!({"other": 1}),
                json!([]),
                json!("x"),
                Json::Null,
            ],
        ),
        (
            "/providerHints/acm",
            vec![
                json!({}),
                json!({"other": 1}),
                json!([]),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/providerHints/acm/platform",
            vec![
                json!("kubevirt"),
                json!("baremetal"),
                json!(""),
                json!("KubeVirt"),
                json!("aws"),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/providerHints/acm/provisioningType",
            vec![
                json!("hypershift"),
                json!("hive"),
                json!(""),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/providerHints/acm/baseDomain",
            vec![
                json!("example.com"),
                json!("a.b-c.de"),
                json!(""),
                json!("example"),
                json!("Example.com"),
                json!("example.com."),
                json!("no domain"),
                json!(domain(253)),
                json!(domain(254)),
                json!(1),
                Json::Null,
            ],
        ),
        (
            "/providerHints/acm/infraEnv",
            vec![
                json!("a"),
                json!("a.b"),
                json!(""),
                json!("A"),
                json!("-a"),
                json!("a..b"),
                json!("a b"),
                json!(longest),
                json!(longer),
                json!(1),
                Json::Null,
            ],
        ),
        ("/providerHints/acm/agentLabels", labels()),
        (
            "/providerHints/acm/releaseImage",
            vec![
                json!("quay.io/a/b:1"),
                json!("ab"),
                json!(""),
                json!("a"),
                json!("-ab"),
                json!("a b"),
                json!("a\u{1}b"),
                json!("a".repeat(253)),
                json!("a".repeat(254)),
                json!(1),
                Json::Null,
            ],
        ),
    ];
    fields.extend(machines());
    fields
        .into_iter()
        .map(|(pointer, values)| (spelled(dialect, pointer), values))
        .collect()
}

fn machines() -> Vec<(&'static str, Vec<Json>)> {
    let objects = vec![
        json!({}),
        json!({"other": 1}),
        json!([]),
        json!(3),
        Json::Null,
    ];
    let numbers: Vec<_> = [-1, 0, 1, 2, 3, 4, 5, 6, 100_000, 100_001]
        .into_iter()
        .map(|number| json!(number))
        .collect();
    let others = [
        json!(1.5),
        json!("3"),
        json!(true),
        json!([]),
        json!(4_294_967_296_u64),
        Json::Null,
    ];
    let numbers: Vec<_> = numbers.into_iter().chain(others).collect();
    let amounts = vec![
        json!("16GB"),
        json!("1MB"),
        json!("2TB"),
        json!("12345678901234GB"),
        json!("123456789012345GB"),
        json!("0GB"),
        json!("01GB"),
        json!("16Gi"),
        json!("16 GB"),
        json!("16gb"),
        json!("GB"),
        json!("16"),
        json!("16GB\n"),
        json!(""),
        json!(16),
        Json::Null,
    ];
    vec![
        ("/nodes/controlPlane", objects.clone()),
        ("/nodes/controlPlane/count", numbers.clone()),
        ("/nodes/controlPlane/cpu", numbers.clone()),
        ("/nodes/controlPlane/memory", amounts.clone()),
        ("/nodes/controlPlane/storage", amounts.clone()),
        ("/nodes/worker", objects),
        ("/nodes/worker/count", numbers.clone()),
        ("/nodes/worker/cpu", numbers),
        ("/nodes/worker/memory", amounts.clone()),
        ("/nodes/worker/storage", amounts),
    ]
}

fn labels() -> Vec<Json> {
    let key = |prefix: usize, name: usize| format!("{}/{}", "p".repeat(prefix), "n".repeat(name));
    let many = |count: usize| {
        Json::Object(
            (0..count)
                .map(|number| (format!("k{number}"), json!("")))
                .collect::<Map<_, _>>(),
        )
    };
    vec![
        json!({}),
        json!({"a": "b"}),
        json!({"a.b/c_d": "e-F.g_0"}),
        json!({"a": ""}),
        json!({key(253, 63): "v".repeat(63)}),
        many(64),
        json!({key(254, 63): ""}),
        json!({key(253, 64): ""}),
        json!({"a": "v".repeat(64)}),
        many(65),
        json!({"": ""}),
        json!({"a b": ""}),
        json!({"/a": ""}),
        json!({"A/a": ""}),
        json!({"a": "b c"}),
        json!({"a": "b\n"}),
        json!({"a": 1}),
        json!({"a": null}),
        json!([]),
        json!("x"),
        Json::Null,
    ]
}

/// A domain of this length.
fn domain(length: usize) -> String {
    let end = ".example.com";
    "a".repeat(length - end.len()) + end
}
