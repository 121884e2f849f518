//! Answers and requests that somebody made up.

use super::arm::Reply;
use super::*;

/// The error of a listing with this answer, which is asked for so many times.
async fn error_of(body: Reply, times: usize) -> String {
    let (links, arm) = world();
    arm.reply("GET", body);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Other);
    assert_eq!(arm.requests().len(), times, "{error}");
    error.to_string()
}

#[tokio::test]
async fn a_list_without_an_end_is_given_up_after_20_pages() {
    let next = format!("https://{HOST}{LIST}?api-version=2023-11-01&$skiptoken=1");
    let page = json!({"value": [], "nextLink": next});
    let error = error_of(Reply::Status(200, None, page), 20).await;
    assert!(error.contains("more than 20 pages"), "{error}");
}

#[tokio::test]
async fn a_list_with_too_many_frontends_is_given_up() {
    let (links, arm) = world();
    let names: Vec<String> = (0..10_001).map(|n| format!("f{n}")).collect();
    let all: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), "10.0.0.4", "vnet-b"))
        .collect();
    let page = |name| vec![balancer(name, &all)];
    arm.list(LIST, vec![page("lb-1"), page("lb-2"), page("lb-3")]);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(arm.requests().len(), 2);
    assert!(
        error.to_string().contains("more than 20000 frontends"),
        "{error}"
    );
}

#[tokio::test]
async fn a_next_page_at_another_host_is_not_read() {
    for next in [
        json!(format!("https://evil.example{LIST}?api-version=2023-11-01")),
        json!(format!("http://{HOST}{LIST}?api-version=2023-11-01")),
        json!(format!("https://{HOST}:8443{LIST}?api-version=2023-11-01")),
        json!(format!(
            "https://me:secret@{HOST}{LIST}?api-version=2023-11-01"
        )),
        json!(format!("https://{HOST}@evil.example{LIST}")),
        json!(format!("https://{HOST}.evil.example{LIST}")),
        json!("https://management.chinacloudapi.cn/"),
        json!("file:///etc/passwd"),
        json!(LIST),
        json!("//"),
        json!(7),
        json!({}),
    ] {
        let page = json!({"value": [], "nextLink": next});
        let error = error_of(Reply::Status(200, None, page), 1).await;
        assert!(
            error.contains("its next page is at another host"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_list_ends_with_an_empty_or_missing_link() {
    for next in [json!(""), Value::Null] {
        let (links, arm) = world();
        let page =
            json!({"value": [balancer("lb", &[("a", "10.0.0.4", "vnet-a")])], "nextLink": next});
        arm.reply("GET", Reply::Status(200, None, page));
        links.frontend(&request("10.0.0.4")).await.unwrap();
    }
}

#[tokio::test]
async fn a_huge_answer_is_given_up_at_8_mib() {
    let error = error_of(Reply::Endless, 1).await;
    assert!(
        error.contains("its answer is larger than 8388608 bytes"),
        "{error}"
    );
    let (links, arm) = world();
    arm.reply("GET", Reply::Endless);
    let error = links.reject(&rejection()).await.unwrap_err();
    assert!(
        error.to_string().contains("its answer is larger than"),
        "{error}"
    );
}

#[tokio::test]
async fn garbage_is_an_error() {
    for (body, what) in [
        ("", "is not JSON"),
        ("<html>", "is not JSON"),
        ("{\"value\": [", "is not JSON"),
        ("null", "is not a list"),
        ("[]", "is not a list"),
        ("{}", "is not a list"),
        ("{\"value\": {}}", "is not a list"),
    ] {
        let error = error_of(Reply::Body(body), 1).await;
        assert!(error.contains(what), "{body}: {error}");
    }
    for body in ["", "<html>", "null", "[]", "7"] {
        let (links, arm) = world();
        arm.reply("GET", Reply::Body(body));
        let error = links.reject(&rejection()).await.unwrap_err();
        assert_eq!(error.fault, AzureFault::Other);
        assert!(error.to_string().contains("its answer is not "), "{error}");
    }
}

#[tokio::test]
async fn a_service_id_that_leads_elsewhere_is_refused() {
    let (links, arm) = world();
    for service in [
        String::new(),
        "https://evil.example/".to_owned(),
        format!("https://evil.example{SERVICE}"),
        format!("//evil.example{SERVICE}"),
        format!("{SERVICE}?api-version=1&x"),
        format!("{SERVICE}#x"),
        format!("{SERVICE}/"),
        format!("{SERVICE}/privateEndpointConnections/a"),
        format!("{SERVICE}/../../loadBalancers/lb"),
        format!("{SERVICE}%2f.."),
        SERVICE.replace("pls-c1", ".."),
        SERVICE.replace("/rg/", "/../"),
        SERVICE.replace("privateLinkServices", "virtualNetworks"),
        SERVICE.replace("Microsoft.Network", "Microsoft.Authorization"),
        format!("{SERVICE}{}", "x".repeat(100_000)),
    ] {
        let request = RejectRequest {
            service,
            caller: caller(),
        };
        let error = links.reject(&request).await.unwrap_err();
        assert_eq!(
            (error.fault, error.error.class()),
            (AzureFault::Other, ErrorClass::Invalid)
        );
        assert!(error.to_string().len() < 5_000);
    }
    assert!(arm.requests().is_empty());
}

#[tokio::test]
async fn a_lookup_that_leads_elsewhere_is_refused() {
    let (links, arm) = world();
    let cases = [
        ("subscription", "../x"),
        ("subscription", ""),
        ("subscription", "s/resourceGroups/g"),
        ("group", ".."),
        ("group", "rg/providers/x"),
        ("group", "rg?x"),
        ("group", ""),
        ("network", "vnet-a"),
        ("network", ""),
        ("address", ""),
        ("address", "10.0.0"),
        ("address", "localhost"),
    ];
    for (field, value) in cases {
        let mut request = request("10.0.0.4");
        let place = match field {
            "subscription" => &mut request.subscription,
            "group" => &mut request.resource_group,
            "network" => &mut request.network,
            _ => &mut request.address,
        };
        *place = value.to_owned();
        let error = links.frontend(&request).await.unwrap_err();
        assert_eq!(
            (error.fault, error.error.class()),
            (AzureFault::Other, ErrorClass::Invalid)
        );
    }
    assert!(arm.requests().is_empty());
}

#[tokio::test]
async fn a_connection_name_that_leads_elsewhere_is_not_asked_for_and_others_are_rejected() {
    for name in [
        "..",
        "a/b",
        "a?x",
        "a#b",
        "../../../loadBalancers/lb",
        "a\\b",
        "a\nb",
        "%2e%2e",
    ] {
        let (links, arm) = world();
        let all = json!([connection(name, "Approved"), connection("good", "Pending")]);
        arm.service(SERVICE, &json!({"privateEndpointConnections": all}));
        let error = links.reject(&rejection()).await.unwrap_err();
        assert_eq!(error.fault, AzureFault::Other);
        assert!(
            error
                .to_string()
                .contains("its name is not that of a connection"),
            "{error}"
        );
        let good = format!("PUT {SERVICE}/privateEndpointConnections/good");
        assert_eq!(arm.requests(), [format!("GET {SERVICE}"), good]);
    }
}
