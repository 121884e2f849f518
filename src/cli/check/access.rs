//! The rights of the component's account, each asked of the API server.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::item::Item;
use super::subject::Subject;
use crate::adapters::kubernetes::{Error, Right, lacking, whoami};

const ID: &str = "rights";

/// Checks every rule of the roles that `install` binds, for the account to which it is bound.
pub(super) async fn check(subject: &Subject<'_>) -> Vec<Item> {
    let caller = whoami(subject.client).await;
    let mut items = Vec::new();
    for (account, rights) in accounts(&subject.set.objects) {
        let user = account.user();
        let asked = (caller.as_deref() != Some(&user)).then_some(user.as_str());
        match lacking(subject.client, &rights, asked).await {
            Ok(missing) if missing.is_empty() => {
                let message = format!("{user} has all {} rights that it needs", rights.len());
                items.push(Item::fine(ID, message));
            }
            Ok(missing) => items.extend(wrong(&user, &missing)),
            Err(error) => items.push(unknown(&error, &account)),
        }
    }
    items
}

/// A service account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    namespace: String,
    name: String,
}

impl Account {
    fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// The accounts of bindings, with the rights of the roles that are bound to them.
pub(super) fn accounts(objects: &[Json]) -> BTreeMap<Account, Vec<Right>> {
    let mut accounts: BTreeMap<Account, Vec<Right>> = BTreeMap::new();
    for binding in objects
        .iter()
        .filter(|object| object.get("roleRef").is_some())
    {
        let reference = &binding["roleRef"];
        let role = objects.iter().find(|object| {
            object["kind"] == reference["kind"]
                && object["metadata"]["name"] == reference["name"]
                && object["metadata"]["namespace"] == binding["metadata"]["namespace"]
        });
        let subject = &binding["subjects"][0];
        let text = |key: &str| subject[key].as_str().unwrap_or_default().to_owned();
        let account = Account {
            namespace: text("namespace"),
            name: text("name"),
        };
        let rights = role.map(Right::of_role).unwrap_or_default();
        accounts.entry(account).or_default().extend(rights);
    }
    accounts
}

/// A line for each place and set of verbs.
fn wrong(account: &str, missing: &[Right]) -> Vec<Item> {
    let help = "apply what `capstan install` prints with the same flags; `capstan install --apply` does it";
    let lines = lines(missing).into_iter();
    lines
        .map(|line| Item::wrong(ID, format!("{account} may not {line}"), help))
        .collect()
}

/// The rights as lines such as `get, list pods, services in namespace n`: resources of one place with the same verbs share one.
pub(super) fn lines(rights: &[Right]) -> Vec<String> {
    let mut verbs: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for right in rights {
        let verbs = verbs.entry((&right.namespace, right.what())).or_default();
        if !verbs.contains(&right.verb.as_str()) {
            verbs.push(&right.verb);
        }
    }
    let mut lines: BTreeMap<(&str, Vec<&str>), Vec<String>> = BTreeMap::new();
    for ((namespace, what), verbs) in verbs {
        lines.entry((namespace, verbs)).or_default().push(what);
    }
    let lines = lines.into_iter();
    lines
        .map(|((namespace, verbs), resources)| {
            let place = Right::place(namespace);
            format!("{} {} {place}", verbs.join(", "), resources.join(", "))
        })
        .collect()
}

fn unknown(error: &Error, account: &Account) -> Item {
    let Account { namespace, name } = account;
    let help = format!(
        "not checked; ask as somebody who may create subjectaccessreviews, or in the pod: `kubectl exec deploy/{name} --namespace {namespace} -- capstan check`"
    );
    Item::doubtful(ID, error.to_string(), help)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_account_has_the_rights_of_the_roles_that_are_bound_to_it() {
        let metadata = json!({"name": "r", "namespace": "n"});
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]);
        let bound = |name: &str, account: &str| {
            json!({"kind": "RoleBinding", "metadata": {"name": name, "namespace": "n"},
                "roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"namespace": "m", "name": account}]})
        };
        let objects = [
            json!({"kind": "Role", "metadata": metadata, "rules": rules}),
            json!({"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules}),
            bound("a", "one"),
            bound("b", "two"),
        ];
        let accounts = accounts(&objects);
        let users: Vec<String> = accounts.keys().map(Account::user).collect();
        assert_eq!(
            users,
            ["system:serviceaccount:m:one", "system:serviceaccount:m:two"]
        );
        for rights in accounts.values() {
            assert_eq!(lines(rights), ["get, list pods in namespace n"]);
        }
    }

    #[test]
    fn a_line_has_all_resources_of_a_place_with_the_same_verbs_each_once() {
        let role = |namespace: &str, resources: &[&str], verbs: &[&str]| {
            Right::of_role(&json!({"metadata": {"namespace": namespace},
                "rules": [{"apiGroups": ["x.dev"], "resources": resources, "verbs": verbs}]}))
        };
        let rights = [
            role("n", &["a", "b"], &["get", "list"]),
            role("n", &["b"], &["get"]),
            role("n", &["c"], &["get"]),
            role("", &["a"], &["get", "list"]),
        ];
        assert_eq!(
            lines(&rights.concat()),
            [
                "get, list a.x.dev in the whole cluster",
                "get c.x.dev in namespace n",
                "get, list a.x.dev, b.x.dev in namespace n",
            ]
        );
    }
}
