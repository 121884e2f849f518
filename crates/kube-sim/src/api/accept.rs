//! The form of an answer, as the `Accept` header asks for it.
//!
//! In: the header. Out: the first of its forms that we can give, or a refusal. It does not know what is
//! answered.

use super::object::Form;
use super::status::Refusal;

/// The form of objects and lists.
///
/// # Errors
/// 406 when it takes no JSON, or only in a form that is not known.
pub(super) fn form(accept: Option<&str>) -> Result<Form, Refusal> {
    negotiate(accept, Form::Whole, |kind, group, version| {
        match (kind, group, version) {
            (_, group, version)
                if group != "meta.k8s.io" || !matches!(version, "v1" | "v1beta1") =>
            {
                None
            }
            ("PartialObjectMetadata", ..) => Some(Form::Metadata),
            ("PartialObjectMetadataList", ..) => Some(Form::MetadataList),
            ("Table", ..) => Some(Form::Table),
            _ => None,
        }
    })
}

/// How much a document of discovery shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// The names of groups and versions.
    Names,
    /// All groups with all their resources at once.
    Everything,
}

/// The media type of [`Detail::Everything`].
pub(super) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The form of a document of discovery, which may be the one with everything.
///
/// # Errors
/// 406 when it takes no JSON, or only in a form that is not known.
pub(super) fn detail(accept: Option<&str>, can_show_all: bool) -> Result<Detail, Refusal> {
    negotiate(accept, Detail::Names, |kind, group, version| {
        let all = (kind, group, version) == ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2");
        (all && can_show_all).then_some(Detail::Everything)
    })
}

/// The first form that is `known` by kind, group and version, or `plain`.
fn negotiate<F>(
    accept: Option<&str>,
    plain: F,
    known: impl Fn(&str, &str, &str) -> Option<F>,
) -> Result<F, Refusal> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok(plain);
    };
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        if !["application/json", "application/*", "*/*"].contains(&media) {
            continue;
        }
        let parameters: Vec<(&str, &str)> = parts.filter_map(|one| one.split_once('=')).collect();
        let of = |key: &str| {
            let found = parameters.iter().find(|(name, _)| *name == key);
            found.map_or("", |(_, value)| value)
        };
        match (of("as"), of("g"), of("v")) {
            ("", "", "") => return Ok(plain),
            (kind, group, version) => {
                if let Some(form) = known(kind, group, version) {
                    return Ok(form);
                }
            }
        }
    }
    Err(Refusal::not_acceptable())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_first_form_that_we_can_give_is_given() {
        assert_eq!(form(None).unwrap(), Form::Whole);
        assert_eq!(form(Some("text/html, */*;q=0.8")).unwrap(), Form::Whole);
        let partial =
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(form(Some(partial)).unwrap(), Form::Metadata);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(form(Some(table)).unwrap(), Form::Table);
        let unheard = "application/json;as=Poem;g=meta.k8s.io;v=v1";
        assert_eq!(form(Some(unheard)).unwrap_err().code, 406);
        let or_plain = format!("{unheard},application/json");
        assert_eq!(form(Some(&or_plain)).unwrap(), Form::Whole);
        let no_group = "application/json;as=PartialObjectMetadata";
        assert_eq!(form(Some(no_group)).unwrap_err().code, 406);
        let protobuf = form(Some("application/vnd.kubernetes.protobuf"));
        assert_eq!(protobuf.unwrap_err().code, 406);
    }

    #[test]
    fn everything_is_discovered_where_aggregation_is_supported() {
        let accept = format!("{AGGREGATED},application/json");
        let discovered = detail(Some(&accept), true).unwrap();
        assert_eq!(discovered, Detail::Everything);
        let discovered = detail(Some(&accept), false).unwrap();
        assert_eq!(discovered, Detail::Names);
        assert_eq!(detail(Some(AGGREGATED), false).unwrap_err().code, 406);
    }
}
