//! The functions that an API server offers to rules: names and numbers of arguments.
//!
//! Source: k8s.io/apiserver `pkg/cel/environment/base.go` (1.34), cel-go's standard library and its
//! extensions for strings, lists, sets, optional values and two-variable macros.

/// A function's name, and its numbers of arguments in calls `f(x)` and `x.f()`.
type Function = (&'static str, &'static [usize], &'static [usize]);

/// All functions, those in namespaces by their qualified names.
const FUNCTIONS: &[Function] = &[
    // The standard library.
    ("bool", &[1], &[]),
    ("bytes", &[1], &[]),
    ("contains", &[], &[1]),
    ("double", &[1], &[]),
    ("duration", &[1], &[]),
    ("dyn", &[1], &[]),
    ("endsWith", &[], &[1]),
    ("getDate", &[], &[0, 1]),
    ("getDayOfMonth", &[], &[0, 1]),
    ("getDayOfWeek", &[], &[0, 1]),
    ("getDayOfYear", &[], &[0, 1]),
    ("getFullYear", &[], &[0, 1]),
    ("getHours", &[], &[0, 1]),
    ("getMilliseconds", &[], &[0, 1]),
    ("getMinutes", &[], &[0, 1]),
    ("getMonth", &[], &[0, 1]),
    ("getSeconds", &[], &[0, 1]),
    ("int", &[1], &[]),
    ("matches", &[2], &[1]),
    ("size", &[1], &[0]),
    ("startsWith", &[], &[1]),
    ("string", &[1], &[]),
    ("timestamp", &[1], &[]),
    ("type", &[1], &[]),
    ("uint", &[1], &[]),
    // Strings.
    ("charAt", &[], &[1]),
    ("format", &[], &[1]),
    ("indexOf", &[], &[1, 2]),
    ("join", &[], &[0, 1]),
    ("lastIndexOf", &[], &[1, 2]),
    ("lowerAscii", &[], &[0]),
    ("replace", &[], &[2, 3]),
    ("split", &[], &[1, 2]),
    ("strings.quote", &[1], &[]),
    ("substring", &[], &[1, 2]),
    ("trim", &[], &[0]),
    ("upperAscii", &[], &[0]),
    ("find", &[], &[1]),
    ("findAll", &[], &[1, 2]),
    // Lists and sets.
    ("distinct", &[], &[0]),
    ("first", &[], &[0]),
    ("flatten", &[], &[0, 1]),
    ("isSorted", &[], &[0]),
    ("last", &[], &[0]),
    ("lists.range", &[1], &[]),
    ("max", &[], &[0]),
    ("min", &[], &[0]),
    ("reverse", &[], &[0]),
    ("slice", &[], &[2]),
    ("sort", &[], &[0]),
    ("sortBy", &[], &[2]),
    ("sum", &[], &[0]),
    ("sets.contains", &[2], &[]),
    ("sets.equivalent", &[2], &[]),
    ("sets.intersects", &[2], &[]),
    // Optional values.
    ("hasValue", &[], &[0]),
    ("optFlatMap", &[], &[2]),
    ("optMap", &[], &[2]),
    ("optional.none", &[0], &[]),
    ("optional.of", &[1], &[]),
    ("optional.ofNonZeroValue", &[1], &[]),
    ("optional.unwrap", &[1], &[]),
    ("or", &[], &[1]),
    ("orValue", &[], &[1]),
    ("unwrapOpt", &[], &[0]),
    ("value", &[], &[0]),
    // Macros with two variables. The parser expands those with one.
    ("all", &[], &[3]),
    ("exists", &[], &[3]),
    ("existsOne", &[], &[3]),
    ("exists_one", &[], &[3]),
    ("transformList", &[], &[3, 4]),
    ("transformMap", &[], &[3, 4]),
    ("transformMapEntry", &[], &[3, 4]),
    // Addresses.
    ("cidr", &[1], &[]),
    ("containsCIDR", &[], &[1]),
    ("containsIP", &[], &[1]),
    ("family", &[], &[0]),
    ("ip", &[1], &[0]),
    ("ip.isCanonical", &[1], &[]),
    ("isCIDR", &[1], &[]),
    ("isGlobalUnicast", &[], &[0]),
    ("isIP", &[1], &[]),
    ("isLinkLocalMulticast", &[], &[0]),
    ("isLinkLocalUnicast", &[], &[0]),
    ("isLoopback", &[], &[0]),
    ("isUnspecified", &[], &[0]),
    ("masked", &[], &[0]),
    ("prefixLength", &[], &[0]),
    ("getEscapedPath", &[], &[0]),
    ("getHost", &[], &[0]),
    ("getHostname", &[], &[0]),
    ("getPort", &[], &[0]),
    ("getQuery", &[], &[0]),
    ("getScheme", &[], &[0]),
    ("isURL", &[1], &[]),
    ("url", &[1], &[]),
    // Quantities and versions.
    ("add", &[], &[1]),
    ("asApproximateFloat", &[], &[0]),
    ("asInteger", &[], &[0]),
    ("compareTo", &[], &[1]),
    ("isGreaterThan", &[], &[1]),
    ("isInteger", &[], &[0]),
    ("isLessThan", &[], &[1]),
    ("isQuantity", &[1], &[]),
    ("isSemver", &[1, 2], &[]),
    ("major", &[], &[0]),
    ("minor", &[], &[0]),
    ("patch", &[], &[0]),
    ("quantity", &[1], &[]),
    ("semver", &[1, 2], &[]),
    ("sign", &[], &[0]),
    ("sub", &[], &[1]),
    // Formats.
    ("format.byte", &[0], &[]),
    ("format.date", &[0], &[]),
    ("format.datetime", &[0], &[]),
    ("format.dns1035Label", &[0], &[]),
    ("format.dns1035LabelPrefix", &[0], &[]),
    ("format.dns1123Label", &[0], &[]),
    ("format.dns1123LabelPrefix", &[0], &[]),
    ("format.dns1123Subdomain", &[0], &[]),
    ("format.dns1123SubdomainPrefix", &[0], &[]),
    ("format.labelValue", &[0], &[]),
    ("format.named", &[1], &[]),
    ("format.qualifiedName", &[0], &[]),
    ("format.uri", &[0], &[]),
    ("format.uuid", &[0], &[]),
    ("validate", &[], &[1]),
];

/// The macros with two variables.
const MACROS: &[&str] = &[
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "transformList",
    "transformMap",
    "transformMapEntry",
];

/// The namespaces of functions.
const NAMESPACES: &[&str] = &["format", "ip", "lists", "optional", "sets", "strings"];

/// Types as values, to compare `type(x)` with.
const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

/// Whether an API server has a function of that name for such a call.
pub(super) fn is_known(name: &str, is_method: bool, arguments: usize) -> bool {
    let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
    known.is_some_and(|(_, calls, methods)| {
        let counts = if is_method { methods } else { calls };
        counts.contains(&arguments)
    })
}

/// Whether a function is a macro with two variables.
pub(super) fn is_macro(name: &str) -> bool {
    MACROS.contains(&name)
}

/// The qualified name of a function in a namespace; `None` when `target` is not a namespace.
pub(super) fn qualified(target: &str, name: &str) -> Option<String> {
    NAMESPACES
        .contains(&target)
        .then(|| format!("{target}.{name}"))
}

/// The name, if it is that of a type.
pub(super) fn type_name(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|known| **known == name).copied()
}
