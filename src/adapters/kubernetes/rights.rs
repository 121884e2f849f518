//! The rights that applying a plan needs, and which of them are missing.
//!
//! In: a plan. Out: what the user may not do of it, and the rules that allow all of it. The API server is asked
//! about each right, so this is for when a request was refused. It does not know: who can grant rights.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::Error;
use super::discovery::{Discovery, Served};
use super::request::with_timeout;
use super::review::{Right, allows, whoami};
use super::runner::Target;
use crate::api::azure_cluster_identity::VERSIONS;
use crate::api::platform::Role;
use crate::model::{EmbeddedId, ObjectId, hex};
use crate::plan::{ApplySet, IdentityUse, Plan};

/// All verbs, in the order in which they are shown.
const VERBS: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
/// The verbs that are used on all namespaces at once.
const WIDE: [&str; 2] = ["list", "watch"];
/// How many questions are asked at once.
const WIDTH: usize = 16;
/// In how many namespaces a right is asked about.
const MOST_ASKED: usize = 100;
/// How many of those where it is missing are named.
const MOST_NAMED: usize = 10;

/// What is missing, and what grants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// What may not be done, as `list, watch secrets in the whole cluster`.
    pub missing: Vec<String>,
    /// A ClusterRole with everything that the plan needs, and its binding to the user if that is known. For an account that is
    /// confined to namespaces, a Role for each of them with its binding, and a ClusterRole only for kinds without a namespace.
    pub grant: Vec<Json>,
    /// The name of the roles. It depends on the rules, so that it replaces no other role.
    pub role: String,
}

/// What is done with one kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Need {
    version: String,
    verbs: BTreeSet<&'static str>,
    namespaces: BTreeSet<String>,
}

/// By group and kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs(BTreeMap<(String, String), Need>);

impl Needs {
    /// The needs of a plan. Of an account that `is_confined`, the parent is none: the daemon writes it.
    fn of(
        set: &ApplySet,
        (plan, embedded): (&Plan, &[EmbeddedId]),
        prune: bool,
        is_confined: bool,
    ) -> Self {
        let mut needs = Self::default();
        if !is_confined {
            needs.add(&set.parent(), "v1", &["get", "create", "patch"]);
        }
        for step in &plan.steps {
            // A part goes with its cluster, which Cluster API deletes.
            let is_deleted = prune && Role::of(&step.object) != Some(Role::Part);
            let own = if is_deleted { &VERBS[..] } else { &VERBS[..5] };
            let payload = &step.action.payload;
            needs.add(&step.object, payload.version(), own);
            if let Some(uses) = IdentityUse::of(step) {
                needs.add(&uses.identity, VERSIONS[0], &["get"]);
                let namespace = ObjectId::new("", "Namespace", "", uses.namespace);
                needs.add(&namespace, "v1", &["get"]);
            }
        }
        for (id, version) in embedded {
            needs.add(id, version, &WIDE);
        }
        needs
    }

    fn add(&mut self, id: &ObjectId, version: &str, verbs: &[&'static str]) {
        let kind = (id.group.clone(), id.kind.clone());
        let need = self.0.entry(kind).or_default();
        if need.version.is_empty() {
            version.clone_into(&mut need.version);
        }
        need.verbs.extend(verbs);
        need.namespaces.insert(id.namespace.clone());
    }
}

/// Asks which rights of those that a plan, with what its objects carry, needs are missing to the account of `target`. Kinds that
/// the cluster does not serve are left out.
///
/// # Errors
/// When the API server does not answer.
pub async fn missing_rights(
    target: &Target,
    set: &ApplySet,
    (plan, embedded): (&Plan, &[EmbeddedId]),
    prune: bool,
) -> Result<Rights, Error> {
    let (client, is_confined) = (&target.account, target.is_confined);
    let mut needs = Needs::of(set, (plan, embedded), prune, is_confined);
    if !is_confined {
        let home = ObjectId::new("", "Namespace", "", set.namespace());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        if let Ok(None) = namespaces.get_opt(set.namespace()).await {
            needs.add(&home, "v1", &["create"]);
        }
    }
    let discovery = Discovery::new(client.clone());
    let mut served = Vec::new();
    for ((group, kind), need) in &needs.0 {
        let example = ObjectId::new(&**group, &**kind, "", "");
        let found = with_timeout(&example, discovery.find(&example, &need.version)).await?;
        served.extend(found.map(|found| (found, need)));
    }
    let mut questions = Vec::new();
    for (served, need) in &served {
        for verb in VERBS.iter().filter(|verb| need.verbs.contains(*verb)) {
            questions.push(ask(client, served, need, (verb, is_confined)).boxed());
        }
    }
    let answers: Vec<_> = stream::iter(questions)
        .buffered(WIDTH)
        .try_collect()
        .await?;
    let mut missing: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (resource, verb, place) in answers {
        if let Some(place) = place {
            missing.entry((resource, place)).or_default().push(verb);
        }
    }
    let user = whoami(client).await;
    let (role, grant) = grant(set, &served, user.as_deref(), is_confined);
    Ok(Rights {
        missing: missing
            .into_iter()
            .map(|((resource, place), verbs)| format!("{} {resource} {place}", verbs.join(", ")))
            .collect(),
        grant,
        role,
    })
}

/// A resource and a verb, and the place where that is missing.
async fn ask(
    client: &Client,
    served: &Served,
    need: &Need,
    (verb, is_confined): (&'static str, bool),
) -> Result<(String, &'static str, Option<String>), Error> {
    let place = lacking(client, served, need, (verb, is_confined)).await?;
    Ok((resource(served), verb, place))
}

/// `clusters.cluster.x-k8s.io`.
fn resource(served: &Served) -> String {
    let resource = &served.resource;
    match resource.group.as_str() {
        "" => resource.plural.clone(),
        group => format!("{}.{group}", resource.plural),
    }
}

/// Where `verb` is not allowed, although it is needed there. A confined account lists in its namespaces.
async fn lacking(
    client: &Client,
    served: &Served,
    need: &Need,
    (verb, is_confined): (&str, bool),
) -> Result<Option<String>, Error> {
    if may(client, served, verb, None).await? {
        return Ok(None);
    }
    if !served.namespaced || WIDE.contains(&verb) && !is_confined {
        return Ok(Some("in the whole cluster".to_owned()));
    }
    let mut lacking = Vec::new();
    for namespace in need.namespaces.iter().take(MOST_ASKED) {
        if !may(client, served, verb, Some(namespace)).await? {
            lacking.push(namespace.as_str());
        }
    }
    let unasked = need.namespaces.len().saturating_sub(MOST_ASKED);
    Ok(places(&lacking, unasked))
}

/// Where a right is missing, as `in the namespaces a and b`; `None` if nowhere. Of `unasked` more it is not known.
fn places(lacking: &[&str], unasked: usize) -> Option<String> {
    let more = match (lacking.len().saturating_sub(MOST_NAMED), unasked) {
        (0, 0) => String::new(),
        (0, unasked) => format!(" (and maybe in {unasked} that were not asked about)"),
        (more, 0) => format!(" and {more} more"),
        (more, _) => format!(" and at least {more} more"),
    };
    match lacking {
        [] => None,
        [one] => Some(format!("in namespace {one}{more}")),
        several => {
            let named = &several[..several.len().min(MOST_NAMED)];
            Some(format!("in the namespaces {}{more}", named.join(", ")))
        }
    }
}

async fn may(
    client: &Client,
    served: &Served,
    verb: &str,
    namespace: Option<&str>,
) -> Result<bool, Error> {
    let right = Right {
        group: served.resource.group.clone(),
        resource: served.resource.plural.clone(),
        namespace: namespace.unwrap_or_default().to_owned(),
        verb: verb.to_owned(),
        ..Right::default()
    };
    allows(client, &right, None).await
}

/// The roles that allow all of it with their name, and their bindings to the user if that is known. The names depend on the
/// content: what is there under such a name is the same.
fn grant(
    set: &ApplySet,
    needs: &[(Served, &Need)],
    user: Option<&str>,
    is_confined: bool,
) -> (String, Vec<Json>) {
    let is_near = |served: &Served| is_confined && served.namespaced;
    let mut places: BTreeMap<&str, Vec<&(Served, &Need)>> = BTreeMap::new();
    for one in needs {
        if is_near(&one.0) {
            for namespace in &one.1.namespaces {
                places.entry(namespace).or_default().push(one);
            }
        } else {
            places.entry("").or_default().push(one);
        }
    }
    let named = |content: &str| format!("capstan:apply:{}:{}", set.fleet(), digest(content));
    let places: Vec<(&str, Json)> = places
        .into_iter()
        .map(|(namespace, needs)| (namespace, rules(&needs)))
        .collect();
    let all: Vec<String> = places.iter().map(|(_, rules)| rules.to_string()).collect();
    let name = named(&all.join("\n"));
    let binding = user.map(|user| (user, named(&format!("{name} {user}"))));
    let objects = places.into_iter().flat_map(|(namespace, rules)| {
        let role = role(namespace, &name, &rules);
        let binding = binding.as_ref();
        let binding = binding.map(|(user, binding)| bind(&role, binding, user));
        std::iter::once(role).chain(binding)
    });
    let objects = objects.collect();
    (name, objects)
}

const GROUP: &str = "rbac.authorization.k8s.io";

/// The rules that allow what is needed.
fn rules(needs: &[&(Served, &Need)]) -> Json {
    let mut rules: BTreeMap<(&str, Vec<&str>), Vec<&str>> = BTreeMap::new();
    for (served, need) in needs {
        let verbs = VERBS.iter().filter(|verb| need.verbs.contains(*verb));
        let key = (&*served.resource.group, verbs.copied().collect());
        rules.entry(key).or_default().push(&served.resource.plural);
    }
    let rules = rules.into_iter().map(|((group, verbs), resources)| {
        json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
    });
    Json::Array(rules.collect())
}

/// A Role in a namespace, or a ClusterRole if there is none.
fn role(namespace: &str, name: &str, rules: &Json) -> Json {
    let mut role = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
        "metadata": {"name": name}, "rules": rules});
    if !namespace.is_empty() {
        role["kind"] = json!("Role");
        role["metadata"]["namespace"] = json!(namespace);
    }
    role
}

/// The binding of a role to a user.
fn bind(role: &Json, name: &str, user: &str) -> Json {
    let account = user.strip_prefix("system:serviceaccount:");
    let subject = match account.and_then(|account| account.split_once(':')) {
        Some((namespace, name)) => {
            json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
        }
        None => json!({"apiGroup": GROUP, "kind": "User", "name": user}),
    };
    let kind = role["kind"].as_str().unwrap_or_default();
    let mut metadata = role["metadata"].clone();
    metadata["name"] = json!(name);
    json!({"apiVersion": role["apiVersion"], "kind": format!("{kind}Binding"), "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role["metadata"]["name"]}, "subjects": [subject]})
}

fn digest(content: &str) -> String {
    let hash = Sha256::digest(content);
    hex(&hash[..4])
}

#[cfg(test)]
mod tests {
    use kube::core::{ApiResource, GroupVersionKind};

    use super::*;
    use crate::model::{Payload, Step};

    fn step(group: &str, kind: &str, namespace: &str) -> Step {
        let object = ObjectId::new(group, kind, namespace, "a");
        let sent = json!({"apiVersion": format!("{group}/v1")});
        Step::bare(object, &[]).sending(Payload::new(&sent, "", ""))
    }

    #[test]
    fn all_kinds_of_a_plan_are_needed_with_what_is_done_to_them() {
        let plan = Plan {
            steps: vec![step("x.dev", "Thing", "one"), step("x.dev", "Thing", "two")],
            ..Plan::default()
        };
        let set = ApplySet::new("f", "home");
        let vault = ObjectId::new("keyvault.azure.com", "Vault", "one", "kv");
        let carried = [(vault.into(), "v2".into())];
        let needs = Needs::of(&set, (&plan, &carried), false, false);
        let needs: Vec<String> = needs
            .0
            .iter()
            .map(|((group, kind), need)| {
                let verbs: Vec<&str> = need.verbs.iter().copied().collect();
                let places: Vec<&str> = need.namespaces.iter().map(String::as_str).collect();
                let (verbs, places) = (verbs.join(" "), places.join(" "));
                format!("{kind}.{group} {}: {verbs} in {places}", need.version)
            })
            .collect();
        assert_eq!(
            needs,
            [
                "ConfigMap. v1: create get patch in home",
                "Vault.keyvault.azure.com v2: list watch in one",
                "Thing.x.dev v1: create get list patch watch in one two",
            ]
        );
        let pruned = Needs::of(&set, (&plan, &[]), true, true);
        assert!(!pruned.0.keys().any(|(_, kind)| kind == "ConfigMap"));
        let thing = &pruned.0[&("x.dev".to_owned(), "Thing".to_owned())];
        assert!(thing.verbs.contains("delete"));
    }

    #[test]
    fn one_role_grants_all() {
        let served = |group: &str, kind: &str, plural: &str| Served {
            resource: ApiResource::from_gvk_with_plural(
                &GroupVersionKind::gvk(group, "v1", kind),
                plural,
            ),
            namespaced: true,
        };
        let need = |verbs: &[&'static str]| Need {
            verbs: verbs.iter().copied().collect(),
            ..Need::default()
        };
        let (reads, writes) = (need(&["watch", "list"]), need(&["patch", "create"]));
        let needs = [
            (served("", "Secret", "secrets"), &reads),
            (served("", "ConfigMap", "configmaps"), &reads),
            (served("", "Event", "events"), &writes),
        ];
        let set = ApplySet::new("f", "home");
        let (name, all) = grant(&set, &needs, Some("system:serviceaccount:ci:bot"), false);
        assert_eq!(
            all[0]["rules"],
            json!([
                {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
                {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["list", "watch"]},
            ])
        );
        let subject = json!({"kind": "ServiceAccount", "name": "bot", "namespace": "ci"});
        assert_eq!(all[1]["subjects"], json!([subject]));
        assert!(name.starts_with("capstan:apply:f:"), "{name}");
        assert_eq!(all[0]["metadata"]["name"], json!(name));
        assert_eq!(all[1]["roleRef"]["name"], json!(name));
        assert_ne!(all[1]["metadata"]["name"], json!(name));
        assert_eq!(
            grant(&set, &needs, None, false),
            (name.clone(), vec![all[0].clone()])
        );
        let fewer = grant(&set, &needs[..1], None, false).0;
        assert_ne!(fewer, name, "other rules replace nothing");
    }

    #[test]
    fn a_confined_account_gets_a_role_in_each_namespace() {
        let served = |kind: &str, plural: &str, namespaced| Served {
            resource: ApiResource::from_gvk_with_plural(
                &GroupVersionKind::gvk("x.dev", "v1", kind),
                plural,
            ),
            namespaced,
        };
        let need = |namespaces: &[&str]| Need {
            verbs: ["get"].into(),
            namespaces: namespaces.iter().map(|one| (*one).to_owned()).collect(),
            ..Need::default()
        };
        let (things, classes) = (need(&["one", "two"]), need(&[""]));
        let needs = [
            (served("Thing", "things", true), &things),
            (served("Class", "classes", false), &classes),
        ];
        let set = ApplySet::new("f", "one");
        let (name, all) = grant(&set, &needs, Some("jo"), true);
        let shown: Vec<String> = all
            .iter()
            .map(|object| format!("{} {}", object["kind"], object["metadata"]["namespace"]))
            .collect();
        assert_eq!(
            shown,
            [
                "\"ClusterRole\" null",
                "\"ClusterRoleBinding\" null",
                "\"Role\" \"one\"",
                "\"RoleBinding\" \"one\"",
                "\"Role\" \"two\"",
                "\"RoleBinding\" \"two\"",
            ]
        );
        assert_eq!(all[0]["rules"][0]["resources"], json!(["classes"]));
        assert_eq!(all[2]["rules"][0]["resources"], json!(["things"]));
        let reference = json!({"apiGroup": GROUP, "kind": "Role", "name": name});
        assert_eq!(all[5]["roleRef"], reference);
    }

    #[test]
    fn all_namespaces_that_lack_a_right_are_named_up_to_a_limit() {
        let said = |lacking: &[&str], unasked| places(lacking, unasked).unwrap_or_default();
        assert_eq!(said(&[], 9), "");
        assert_eq!(said(&["a"], 0), "in namespace a");
        assert_eq!(said(&["a", "b"], 0), "in the namespaces a, b");
        let many = ["n"; MOST_NAMED + 2];
        assert!(said(&many, 0).ends_with("n, n and 2 more"));
        assert!(said(&many, 7).ends_with("n, n and at least 2 more"));
    }
}
