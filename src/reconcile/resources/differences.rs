//! How a resource in Azure differs from the one that is listed.
//!
//! In: a spec, and the status in which ASO reports what Azure has. Out: fields with both values, as text. Only what Azure
//! reports under the same name can be compared.

use serde_json::Value;

use crate::health::Live;

/// As many are named.
const NAMED: usize = 3;
/// A longer value is cut.
const LONGEST: usize = 80;
/// Fields of a spec that are for ASO, not for Azure.
const FOR_ASO: [&str; 3] = ["azureName", "operatorSpec", "owner"];

/// The differences, the first few of them named; empty if there are none.
pub(super) fn describe(item: Live<'_>, live: Live<'_>) -> String {
    let mut found = Vec::new();
    if let (Some(spec), Some(status)) = (item.at(&["spec"]), live.at(&["status"])) {
        compare("spec", spec, status, &mut found);
    }
    let more = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    found.join(", ")
}

fn compare(path: &str, wanted: &Value, found: &Value, differences: &mut Vec<String>) {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            let is_top = path == "spec";
            let fields = wanted.iter().filter(|(key, _)| is_compared(is_top, key));
            for (key, wanted) in fields {
                let path = format!("{path}.{key}");
                match found.get(key) {
                    Some(found) if !found.is_null() => compare(&path, wanted, found, differences),
                    // Azure reports every tag, so that one that is not reported is not there.
                    _ if path.starts_with("spec.tags") => {
                        differences.push(format!("{path} (wanted {}, found none)", text(wanted)));
                    }
                    _ => {}
                }
            }
        }
        (Value::Array(list), Value::Array(other)) if list.len() == other.len() => {
            if !is_same_set(list, other) {
                for (place, (wanted, found)) in list.iter().zip(other).enumerate() {
                    compare(&format!("{path}[{place}]"), wanted, found, differences);
                }
            }
        }
        _ if is_same(path, wanted, found) => {}
        _ => {
            let (wanted, found) = (text(wanted), text(found));
            differences.push(format!("{path} (wanted {wanted}, found {found})"));
        }
    }
}

/// References are ARM ids in a status, and values from Secrets and ConfigMaps are not repeated there.
fn is_compared(is_top: bool, key: &str) -> bool {
    let is_reference = ["reference", "references"].contains(&key.to_ascii_lowercase().as_str());
    let ends = ["Reference", "References", "FromConfig", "FromSecret"];
    let is_for_aso = is_top && FOR_ASO.contains(&key);
    !is_reference && !is_for_aso && !ends.iter().any(|end| key.ends_with(end))
}

/// Whether two lists hold the same, in whatever order.
fn is_same_set(list: &[Value], other: &[Value]) -> bool {
    list.iter().all(|value| other.contains(value)) && other.iter().all(|value| list.contains(value))
}

/// Azure writes names of regions and of its constants in upper and lower case as it likes; tags it keeps.
fn is_same(path: &str, wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::String(wanted), Value::String(found)) if !path.starts_with("spec.tags") => {
            let plain = |text: &str| text.replace(' ', "").to_ascii_lowercase();
            plain(wanted) == plain(found)
        }
        _ => wanted == found,
    }
}

fn text(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let mut start: String = text.chars().take(LONGEST).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "cases are written in place")]

    use serde_json::json;

    use super::*;

    fn differences(spec: Value, status: Value) -> String {
        describe(
            Live(&json!({"spec": spec})),
            Live(&json!({"status": status})),
        )
    }

    #[test]
    fn what_azure_reports_under_the_same_name_is_compared() {
        let spec = json!({"azureName": "vnet", "owner": {"name": "rg"}, "location": "uksouth",
            "addressSpace": {"addressPrefixes": ["10.0.0.0/16", "10.1.0.0/16"]},
            "networkSecurityGroup": {"reference": {"name": "nsg"}}, "enableDdosProtection": true});
        let same = json!({"azureName": "x", "owner": "y", "location": "UK South", "networkSecurityGroup": {"id": "/nsg"},
            "addressSpace": {"addressPrefixes": ["10.1.0.0/16", "10.0.0.0/16"]}});
        assert_eq!(differences(spec.clone(), same), "");
        let other = json!({"location": "westeurope", "enableDdosProtection": false,
            "addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}});
        assert_eq!(
            differences(spec, other),
            "spec.addressSpace.addressPrefixes (wanted [\"10.0.0.0/16\",\"10.1.0.0/16\"], found [\"10.0.0.0/8\"]), \
             spec.enableDdosProtection (wanted true, found false), spec.location (wanted uksouth, found westeurope)"
        );
    }

    #[test]
    fn a_missing_tag_differs_and_only_three_are_named() {
        let spec = json!({"tags": {"a": "1", "b": "2", "c": "3", "d": "4"}});
        assert_eq!(
            differences(
                spec.clone(),
                json!({"tags": {"a": "1", "b": "x", "c": "3"}})
            ),
            "spec.tags.b (wanted 2, found x), spec.tags.d (wanted 4, found none)"
        );
        assert_eq!(
            differences(spec, json!({})),
            "spec.tags (wanted {\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":\"4\"}, found none)"
        );
        let five = json!({"a": 1, "b": 1, "c": 1, "d": 1, "e": 1});
        let others = json!({"a": 2, "b": 2, "c": 2, "d": 2, "e": 2});
        assert_eq!(
            differences(five, others),
            "spec.a (wanted 1, found 2), spec.b (wanted 1, found 2), spec.c (wanted 1, found 2), and 2 more"
        );
    }

    #[test]
    fn long_values_are_cut() {
        let found = differences(json!({"a": "x".repeat(200)}), json!({"a": 1}));
        assert!(found.len() < 120, "{found}");
    }
}
