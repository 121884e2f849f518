//! The OpenAPI document that the repository has is the one that the server gives.

use std::path::Path;

use capstan::provider::openapi::document;

#[test]
fn the_document_of_the_repository_is_that_of_the_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    let text = serde_json::to_string_pretty(&document()).expect("JSON") + "\n";
    if std::env::var_os("CAPSTAN_WRITE").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "write docs/openapi.json anew with CAPSTAN_WRITE=1"
    );
}
