//! Any bytes as a review of the API server: it is refused or decided, and an answer can be written.
#![no_main]

use capstan_fuzz::admission::{Outline, Request, decide, queries, response, uid_of};
use capstan_fuzz::api::fleet::FleetPolicy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let uid = uid_of(body);
    let Ok(outline) = Outline::read(body) else { return };
    assert_eq!(uid.as_ref(), Some(&outline.uid));
    let (is_exempt, is_too_large, cost) = (outline.is_exempt(), outline.excess().is_some(), outline.cost());
    let Ok(request) = outline.request() else { return };
    if is_too_large {
        return;
    }
    assert!(cost.bytes <= body.len() && cost.memory > cost.bytes);
    let around: Vec<_> = request.old.iter().cloned().collect();
    let _ = queries(&request);
    let decision = decide(&request, &around, &FleetPolicy::default(), &|| false);
    let decision = decision.expect("somebody waits");
    assert!(!is_exempt || decision.errors.is_empty(), "{decision:?}");
    assert_eq!(response(&request.uid, &decision)["response"]["allowed"], decision.errors.is_empty());
    assert!(Request::read(body).is_ok());
});
