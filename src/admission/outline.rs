//! The outline of an `AdmissionReview`: whose it is and how large, before anything of its objects is kept.
//!
//! In: the body of a request. Out: its namespace, what it will cost to check, and whether that is too much or not needed.
//! It takes one pass over the body and no memory of its own. It does not know: rules, other requests.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};

use super::request::{Malformed, Operation, REVIEW, Request, generated};
use super::turns::Cost;
use crate::model::ObjectId;

/// The most resources in `spec.resources` of an object that is checked. A cluster needs about fifty.
pub const MOST_RESOURCES: usize = 500;
/// The most keys and values of such an object. The largest that Capstan makes has 1,600.
pub const MOST_VALUES: usize = 20_000;
/// The memory that checking a key or a value may take, with what is found about it.
const BYTES_OF_A_VALUE: usize = 1_500;
/// The memory that each request may take beside: for the objects around its own.
const BYTES_AROUND: usize = 3 << 20;

/// A review whose objects are not read yet.
#[derive(Debug)]
pub struct Outline<'a> {
    /// Names the request; the answer repeats it.
    pub uid: String,
    sent: Sent<'a>,
    object: Option<Part<'a>>,
    old: Option<Part<'a>>,
}

/// An object of a review.
#[derive(Debug)]
struct Part<'a> {
    text: &'a RawValue,
    metadata: Option<&'a RawValue>,
    spec: Option<&'a RawValue>,
    is_ending: bool,
    resources: usize,
    values: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    api_version: String,
    kind: String,
    #[serde(borrow)]
    request: Option<Sent<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent<'a> {
    uid: String,
    kind: Kind,
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    sub_resource: String,
    operation: Operation,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Kind {
    #[serde(default)]
    group: String,
    version: String,
    kind: String,
}

impl<'a> Outline<'a> {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        let review: Review<'a> = serde_json::from_slice(body).map_err(Malformed::from)?;
        if (&*review.api_version, &*review.kind) != REVIEW {
            let found = format!("it is {} of {}", review.kind, review.api_version);
            return Err(Malformed(found));
        }
        let Some(mut sent) = review.request else {
            return Err(Malformed("it has no request".to_owned()));
        };
        let part = |text: Option<&'a RawValue>| text.map(Part::of).transpose();
        Ok(Self {
            uid: std::mem::take(&mut sent.uid),
            object: part(sent.object)?,
            old: part(sent.old_object)?,
            sent,
        })
    }

    /// The namespace of the object.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.sent.namespace
    }

    /// Returns true if the request cannot make an object worse: of a subresource, of an object that is being deleted, or
    /// one that leaves the spec alone.
    #[must_use]
    pub fn is_exempt(&self) -> bool {
        if !self.sent.sub_resource.is_empty() {
            return true;
        }
        let is_ending = |part: &Option<Part<'_>>| part.as_ref().is_some_and(|part| part.is_ending);
        match self.sent.operation {
            Operation::Create => false,
            Operation::Delete => is_ending(&self.old),
            Operation::Update => {
                let spec = |part: &Option<Part<'a>>| {
                    part.as_ref().map(|part| part.spec.map(RawValue::get))
                };
                is_ending(&self.object) || spec(&self.object) == spec(&self.old)
            }
            Operation::Connect => true,
        }
    }

    /// Why the object is too large to be checked, and what to do; `None` if it is not.
    #[must_use]
    pub fn excess(&self) -> Option<String> {
        let object = self.object.as_ref()?;
        let spread = "spread the resources over several objects, or make those that nothing refers to objects of their own";
        if object.resources > MOST_RESOURCES {
            return Some(format!(
                "spec.resources has {} resources, and the admission webhook of Capstan accepts at most {MOST_RESOURCES} in one object: {spread}",
                object.resources
            ));
        }
        let values = object.values;
        (values > MOST_VALUES).then(|| {
            format!(
                "the object has {values} keys and values, and the admission webhook of Capstan accepts at most {MOST_VALUES} in one object: {spread}"
            )
        })
    }

    /// What it takes to check the request.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let parts = self.object.iter().chain(&self.old);
        let parts = parts.filter(|part| !part.is_too_large());
        let (bytes, values) = parts.fold((0, 0), |(bytes, values), part| {
            (bytes + part.text.get().len(), values + part.values)
        });
        Cost {
            bytes,
            memory: BYTES_AROUND + bytes + values * BYTES_OF_A_VALUE,
        }
    }

    /// Reads the objects. An object that was too large before the change is left out, so that nothing that it had excuses
    /// the change. Of one that is deleted only the metadata are read.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn request(self) -> Result<Request, Malformed> {
        let Sent {
            kind,
            name,
            namespace,
            sub_resource,
            operation,
            ..
        } = self.sent;
        let is_deleted = operation == Operation::Delete;
        let read = |part: Part<'_>| match is_deleted {
            true => part.metadata(),
            false => serde_json::from_str(part.text.get()).map_err(Malformed::from),
        };
        let object = self.object.map(read).transpose()?;
        let old = self.old.filter(|part| is_deleted || !part.is_too_large());
        let old = old.map(read).transpose()?;
        let name = match name.as_str() {
            // A name that the API server has yet to generate.
            "" => generated(object.as_ref()),
            _ => name,
        };
        Ok(Request {
            id: ObjectId::new(kind.group, kind.kind, namespace, name),
            version: kind.version,
            uid: self.uid,
            operation,
            subresource: sub_resource,
            object: object.filter(|object| !object.is_null()),
            old: old.filter(|object| !object.is_null()),
        })
    }
}

impl Request {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        Outline::read(body)?.request()
    }
}

impl<'a> Part<'a> {
    fn of(text: &'a RawValue) -> Result<Self, Malformed> {
        #[derive(Default, Deserialize)]
        struct Whole<'a> {
            #[serde(borrow)]
            metadata: Option<&'a RawValue>,
            #[serde(borrow)]
            spec: Option<&'a RawValue>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata<'a> {
            #[serde(borrow)]
            deletion_timestamp: Option<&'a RawValue>,
        }
        #[derive(Default, Deserialize)]
        struct Spec<'a> {
            #[serde(borrow)]
            resources: Option<&'a RawValue>,
        }
        let whole: Whole<'_> = map(Some(text))?;
        let metadata: Metadata<'_> = map(whole.metadata)?;
        let spec: Spec<'_> = map(whole.spec)?;
        let deleted = metadata.deletion_timestamp.map(RawValue::get);
        Ok(Self {
            text,
            metadata: whole.metadata,
            spec: whole.spec,
            is_ending: deleted.is_some_and(|text| text.starts_with('"')),
            resources: spec.resources.map_or(0, |list| items(list.get())),
            values: values(text.get()),
        })
    }

    const fn is_too_large(&self) -> bool {
        self.resources > MOST_RESOURCES || self.values > MOST_VALUES
    }

    /// The object without everything but its metadata.
    fn metadata(&self) -> Result<Json, Malformed> {
        let metadata = self.metadata.map_or("null", RawValue::get);
        let metadata: Json = serde_json::from_str(metadata)?;
        Ok(json!({"metadata": metadata}))
    }
}

/// The fields of a map; none of anything else.
fn map<'a, T: Default + Deserialize<'a>>(text: Option<&'a RawValue>) -> Result<T, Malformed> {
    match text.map(RawValue::get) {
        Some(text) if text.starts_with('{') => serde_json::from_str(text).map_err(Malformed::from),
        _ => Ok(T::default()),
    }
}

/// The number of items of a list.
fn items(text: &str) -> usize {
    // It has no size, so a list of it takes no memory.
    serde_json::from_str::<Vec<IgnoredAny>>(text).map_or(0, |items| items.len())
}

/// The number of keys and values in a JSON text.
fn values(text: &str) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::review;
    use super::*;

    const ARO: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

    fn cluster(resources: usize, more: &Json) -> Json {
        let one =
            |at| json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": format!("a{at}")}});
        json!({"apiVersion": ARO, "kind": "AROCluster", "metadata": {"name": "c", "namespace": "ns"},
            "spec": {"resources": (0..resources).map(one).collect::<Vec<_>>(), "more": more}})
    }

    fn excess(operation: &str, old: &Json, new: &Json) -> Option<String> {
        let body = review(operation, old, new).to_string();
        Outline::read(body.as_bytes()).expect("a review").excess()
    }

    #[test]
    fn an_object_with_too_many_resources_is_refused_before_it_is_read() {
        let created = |resources| excess("CREATE", &Json::Null, &cluster(resources, &Json::Null));
        assert_eq!(created(MOST_RESOURCES), None);
        let why = created(15_000).expect("too many");
        assert!(
            why.starts_with("spec.resources has 15000 resources, and")
                && why.contains("at most 500"),
            "{why}"
        );
    }

    #[test]
    fn an_object_with_too_many_values_is_refused_before_it_is_read() {
        let created = |more: Json| excess("CREATE", &Json::Null, &cluster(1, &more));
        let long = "x,:[{\\\"".repeat(100_000);
        assert_eq!(created(json!(long)), None, "one value");
        let why = created(json!(vec![Vec::<u8>::new(); MOST_VALUES])).expect("too many");
        assert!(
            why.starts_with("the object has ") && why.contains("at most 20000"),
            "{why}"
        );
    }

    #[test]
    fn keys_and_values_are_counted_as_they_are_written() {
        for (text, expected) in [
            ("1", 1),
            ("[]", 2),
            ("[1]", 2),
            ("[1, 2]", 3),
            (r#"{"a": "b,\",", "c": [{}]}"#, 7),
            (r#""\\", 1"#, 2),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
    }

    /// The API server sends none, and whoever reaches the port may.
    #[test]
    fn a_change_of_nothing_is_no_exemption() {
        let mut new = cluster(1, &Json::Null);
        new.as_object_mut().expect("a map").remove("spec");
        for (old, is_exempt) in [(Json::Null, false), (new.clone(), true)] {
            let body = review("UPDATE", &old, &new).to_string();
            let outline = Outline::read(body.as_bytes()).expect("a review");
            assert_eq!(outline.is_exempt(), is_exempt, "{old}");
            let request = outline.request().expect("objects");
            assert_eq!(request.is_exempt(), is_exempt, "{old}");
        }
    }

    /// An object may be from before the webhook: it can be made smaller, and nothing that it has excuses a change.
    #[test]
    fn what_was_too_large_before_can_shrink_and_end() {
        let (old, new) = (cluster(600, &Json::Null), cluster(400, &Json::Null));
        assert_eq!(excess("UPDATE", &old, &new), None);
        let body = review("UPDATE", &old, &new).to_string();
        let outline = Outline::read(body.as_bytes()).expect("a review");
        assert!(!outline.is_exempt());
        assert!(outline.cost().bytes < new.to_string().len() + 10);
        let request = outline.request().expect("objects");
        assert!(request.old.is_none() && request.object.is_some());
        assert!(excess("UPDATE", &old, &cluster(599, &Json::Null)).is_some());
        let body = review("DELETE", &old, &Json::Null).to_string();
        let outline = Outline::read(body.as_bytes()).expect("a review");
        assert_eq!(outline.excess(), None);
        let old = outline.request().expect("objects").old;
        assert_eq!(
            old,
            Some(json!({"metadata": {"name": "c", "namespace": "ns"}}))
        );
    }
}
