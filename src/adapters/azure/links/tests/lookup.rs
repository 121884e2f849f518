//! The frontend that has an address.

use super::*;

fn found(balancer: &str, frontend: &str) -> Frontend {
    Frontend {
        id: frontend_id(balancer, frontend),
        load_balancer: balancer_id(balancer),
        location: "westeurope".to_owned(),
    }
}

#[tokio::test]
async fn the_frontend_with_the_address_is_found_on_whatever_page() {
    let (links, arm) = world();
    let one = balancer(
        "lb-1",
        &[("a", "10.0.0.4", "vnet-a"), ("b", "10.0.0.5", "vnet-a")],
    );
    let two = balancer(
        "lb-2",
        &[("c", "10.0.0.6", "vnet-a"), ("v6", "fd00::4", "vnet-a")],
    );
    arm.list(LIST, vec![vec![one], vec![], vec![two]]);
    for (address, balancer, frontend) in [
        ("10.0.0.5", "lb-1", "b"),
        ("10.0.0.6", "lb-2", "c"),
        ("FD00:0:0::0004", "lb-2", "v6"),
    ] {
        let answer = links.frontend(&request(address)).await;
        assert_eq!(answer, Ok(found(balancer, frontend)), "{address}");
    }
    let page = format!("GET {LIST}");
    let pages = [page.clone(), format!("{page} 1"), format!("{page} 2")];
    assert_eq!(arm.requests(), pages);
}

#[tokio::test]
async fn an_address_that_no_frontend_has_is_not_found_and_the_message_says_where() {
    let (links, arm) = world();
    arm.list(
        LIST,
        vec![vec![balancer("lb", &[("a", "10.0.0.44", "vnet-a")])]],
    );
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::NotFound);
    assert_eq!(error.pause().as_secs(), 30);
    for part in [
        "the resource group 'rg' in the subscription '11111111-2222-3333-4444-555555555555'",
        "the address 10.0.0.4 in the virtual network",
        "vnet-a'; check that the Service has an internal load balancer",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(!error.to_string().contains("other networks"), "{error}");
}

#[tokio::test]
async fn a_resource_group_without_load_balancers_has_no_frontend() {
    let (links, arm) = world();
    arm.list(LIST, vec![vec![]]);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::NotFound);
}

#[tokio::test]
async fn whatever_is_missing_or_odd_is_skipped() {
    let odd = [
        Value::Null,
        json!(7),
        json!([]),
        json!({}),
        json!({"id": balancer_id("lb")}),
        json!({"id": balancer_id("lb"), "location": "westeurope"}),
        json!({"id": balancer_id("lb"), "location": "westeurope", "properties": null}),
    ];
    let id = frontend_id("lb", "x");
    let subnet = json!({"id": format!("{}/subnets/s", network("vnet-a"))});
    let of = |id: &Value, properties: Value| json!({"id": id, "properties": properties});
    let has = json!({"privateIPAddress": "10.0.0.4", "subnet": subnet});
    let frontends = json!([
        null,
        7,
        {},
        {"id": id},
        of(&json!(id), json!(null)),
        of(&json!(id), json!({})),
        of(&json!(id), json!({"privateIPAddress": null, "subnet": subnet})),
        of(&json!(id), json!({"privateIPAddress": "", "subnet": subnet})),
        of(&json!(id), json!({"privateIPAddress": "10.0.0.4"})),
        of(&json!(id), json!({"privateIPAddress": "10.0.0.4", "subnet": null})),
        of(&json!(id), json!({"privateIPAddress": "10.0.0.4", "subnet": {"id": 7}})),
        of(&json!(id), json!({"privateIPAddress": "10.0.0.4", "subnet": {"id": network("vnet-a")}})),
        of(&json!(7), has.clone()),
        of(&json!(frontend_id("other", "x")), has.clone()),
        of(&json!(format!("{id}/../y")), has),
    ]);
    let mut whole = balancer("lb", &[]);
    whole["properties"]["frontendIPConfigurations"] = frontends;
    let mut page: Vec<Value> = odd.into_iter().collect();
    page.push(whole);
    for (member, odd) in [
        ("id", json!("https://evil.example/x")),
        ("id", json!(balancer_id("lb").replace("/rg/", "/other/"))),
        ("location", Value::Null),
        ("location", json!("a/b")),
        ("location", json!("")),
    ] {
        let mut balancer = balancer("lb", &[("x", "10.0.0.4", "vnet-a")]);
        balancer[member] = odd;
        page.push(balancer);
    }
    let (links, arm) = world();
    arm.list(LIST, vec![page.clone()]);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::NotFound, "{error}");
    let (links, arm) = world();
    page.push(balancer("lb-2", &[("y", "10.0.0.4", "vnet-a")]));
    arm.list(LIST, vec![page]);
    let answer = links.frontend(&request("10.0.0.4")).await;
    assert_eq!(answer, Ok(found("lb-2", "y")));
}

#[tokio::test]
async fn trap_15_networks_with_the_same_addresses_are_told_apart() {
    let (links, arm) = world();
    let other = balancer("lb-b", &[("b", "10.0.0.4", "vnet-b")]);
    let longer = balancer("lb-ab", &[("ab", "10.0.0.4", "vnet-ab")]);
    let own = balancer("lb-a", &[("a", "10.0.0.4", "vnet-a")]);
    arm.list(LIST, vec![vec![other.clone(), longer.clone()], vec![own]]);
    let answer = links.frontend(&request("10.0.0.4")).await;
    assert_eq!(answer, Ok(found("lb-a", "a")));

    let (links, arm) = world();
    arm.list(LIST, vec![vec![other, longer]]);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::NotFound);
    for part in [
        "frontends in other networks have the address: ",
        "/frontendIPConfigurations/b' in the virtual network '",
        "vnet-b'",
        "vnet-ab'",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn trap_15_ids_compare_without_regard_to_case() {
    let (links, arm) = world();
    let mut page = balancer("LB", &[("A", "10.0.0.4", "VNET-A")]);
    page["id"] = json!(balancer_id("lb").to_uppercase());
    page["location"] = json!("West Europe");
    let subnet = network("vnet-a").to_uppercase() + "/SUBNETS/WORKERS";
    page["properties"]["frontendIPConfigurations"][0]["properties"]["subnet"]["id"] = json!(subnet);
    arm.list(LIST, vec![vec![page]]);
    let mut request = request("10.0.0.4");
    request.resource_group = "RG".to_owned();
    let frontend = links.frontend(&request).await.unwrap();
    assert_eq!(frontend.id, frontend_id("LB", "A"));
    assert_eq!(
        frontend.load_balancer.to_lowercase(),
        balancer_id("lb").to_lowercase()
    );
    assert_eq!(frontend.location, "westeurope");
}

#[tokio::test]
async fn several_frontends_are_ambiguous_unless_a_page_repeats_one() {
    let one = balancer("lb-1", &[("a", "10.0.0.4", "vnet-a")]);
    let two = balancer("lb-2", &[("b", "10.0.0.4", "vnet-a")]);
    let (links, arm) = world();
    arm.list(LIST, vec![vec![one.clone()], vec![two]]);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Ambiguous);
    assert_eq!(error.error.class(), ErrorClass::Invalid);
    for id in [frontend_id("lb-1", "a"), frontend_id("lb-2", "b")] {
        assert!(error.to_string().contains(&id), "{error}");
    }
    let (links, arm) = world();
    arm.list(LIST, vec![vec![one.clone()], vec![one]]);
    let answer = links.frontend(&request("10.0.0.4")).await;
    assert_eq!(answer, Ok(found("lb-1", "a")));
}

#[tokio::test]
async fn a_message_names_five_of_many_frontends() {
    let (links, arm) = world();
    let names: Vec<String> = (0..1_000).map(|n| format!("f{n:04}")).collect();
    let frontends: Vec<_> = names
        .iter()
        .map(|n| (n.as_str(), "10.0.0.4", "vnet-a"))
        .collect();
    arm.list(LIST, vec![vec![balancer("lb", &frontends)]]);
    let error = links.frontend(&request("10.0.0.4")).await.unwrap_err();
    assert!(error.to_string().contains("f0004 and 995 more"), "{error}");
}

#[tokio::test]
async fn each_cloud_is_asked_at_its_own_host() {
    for (environment, host) in [
        ("", "management.azure.com"),
        ("AzurePublicCloud", "management.azure.com"),
        ("AzureChinaCloud", "management.chinacloudapi.cn"),
        ("AzureUSGovernmentCloud", "management.usgovcloudapi.net"),
    ] {
        let arm = Arm::at(host);
        let one = balancer("lb", &[("a", "10.0.0.4", "vnet-a")]);
        arm.list(LIST, vec![vec![one], vec![]]);
        let mut request = request("10.0.0.4");
        request.caller.environment = environment.to_owned();
        links(&arm).frontend(&request).await.unwrap();
        assert_eq!(arm.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_group_with_parentheses_and_letters_of_any_script_is_asked_for() {
    let (links, arm) = world();
    let path = LIST.replace("/rg/", "/gr%C3%BCn(1)/");
    arm.list(&path, vec![vec![]]);
    let mut request = request("10.0.0.4");
    request.resource_group = "grün(1)".to_owned();
    let error = links.frontend(&request).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::NotFound, "{error}");
}
