//! Single expressions.

use serde_json::{Value, json};

use super::{schema, violations};

/// A spec with a value of every kind.
fn spec() -> Value {
    json!({
        "text": "ab☃", "empty": "", "size": 3, "share": 2, "yes": true,
        "list": ["a", "b"], "set": ["a", "b"], "numbers": [1, 2, 0],
        "keyed": [{"k": "a", "v": 1}, {"k": "b"}], "map": {"a.b": "x"},
        "percent": "50%", "port": 80, "time": "2024-01-02T03:04:05Z", "delay": "1h30m",
        "bytes": "aGVsbG8=", "deep": {"my-field": {"a__b": 1}, "namespace": "n"}, "open": {"x": [1]},
    })
}

fn properties() -> Value {
    let text = || json!({"type": "string"});
    let either = || json!({"x-kubernetes-int-or-string": true});
    let item = json!({"type": "object", "properties": {"k": text(), "v": {"type": "integer"}}});
    json!({
        "text": text(), "empty": text(), "size": {"type": "integer"}, "share": {"type": "number"},
        "yes": {"type": "boolean"}, "list": {"type": "array", "items": text()},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text()},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item},
        "map": {"type": "object", "additionalProperties": text()},
        "percent": either(), "port": either(), "none": text(),
        "time": {"type": "string", "format": "date-time"}, "delay": {"type": "string", "format": "duration"},
        "bytes": {"type": "string", "format": "byte"},
        "deep": {"type": "object", "properties": {"namespace": text(),
            "my-field": {"type": "object", "properties": {"a__b": {"type": "integer"}}}}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

/// The violations of the spec when `rule` is its rule.
fn broken(rule: &str) -> Vec<String> {
    let rules = json!([{"rule": rule, "message": "m"}]);
    violations(&schema(properties(), rules), spec(), None)
}

fn all_hold(rules: &[&str]) {
    for rule in rules {
        assert_eq!(broken(rule), [""; 0], "{rule}");
    }
}

#[test]
fn texts_are_counted_in_characters() {
    all_hold(&[
        "self.text.size() == 3 && size('é') == 1",
        "self.text.endsWith('☃') && self.text.contains('b') && self.text.matches('^[a-b]+☃$')",
        "self.text.substring(2) == '☃' && self.text.upperAscii() == 'AB☃'",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('') == ['a', 'b'] && ''.split('') == []",
        "['a', 'b'].join('-') == 'a-b' && '%s %d'.format(['x', self.size]) == 'x 3'",
        "self.bytes == b'hello' && self.bytes.size() == 5",
    ]);
}

#[test]
fn numbers_mean_what_the_schema_says() {
    all_hold(&[
        "self.share == 2.0 && self.share > 1 && self.size < 3.5",
        "self.size + 1 == 4 && -self.size == -3 && self.size % 2 == 1",
        "type(self.port) == int && type(self.percent) == string && self.port > 79",
        "string(self.size) == '3' && int('7') == 7 && double('1e3') == 1000.0 && string(1e6) == '1e+06'",
        "quantity('1Gi').isGreaterThan(quantity('1000Mi')) && isSemver('1.2.3')",
        "!!self.yes && !!!false && --self.size == 3 && 1 - -1 == 2",
    ]);
}

#[test]
fn an_error_counts_only_where_nothing_else_decides() {
    all_hold(&[
        "self.numbers.exists(n, 2 / n == 1)",
        "!self.numbers.all(n, 2 / n == 2)",
        "self.none == 'a' || self.yes",
        "!(self.none == 'a' && !self.yes)",
        "self.keyed.exists(x, x.v == 1)",
    ]);
    for (rule, why) in [
        ("self.numbers.all(n, 2 / n > 0)", "division by zero"),
        ("self.none == 'a' || !self.yes", "no such key: none"),
        ("self.list[7] == 'a'", "index out of bounds: 7"),
        (
            "int(self.text) == 1",
            "type conversion error from 'string' to 'int'",
        ),
    ] {
        let expected = format!("spec: Invalid value: \"object\": {why} evaluating rule: m");
        assert_eq!(broken(rule), [expected], "{rule}");
    }
}

#[test]
fn lists_compare_as_their_type_wants() {
    all_hold(&[
        "self.list == ['a', 'b'] && self.list != ['b', 'a']",
        "self.set == ['b', 'a'] && (self.set + ['a', 'c']).size() == 3",
        "(self.keyed + self.keyed).size() == 2 && 'b' in self.list",
        "self.keyed.map(x, x.k) == self.list && self.keyed.filter(x, has(x.v)).size() == 1",
        "self.list.exists_one(x, x == 'a') && self.numbers.sum() == 3 && self.numbers.max() == 2",
        "self.list.all(i, x, i < 2 && x in self.set) && self.map.exists(k, v, v == 'x')",
        "self.map.transformMap(k, v, v + k)['a.b'] == 'xa.b' && sets.contains(self.list, ['a'])",
    ]);
}

#[test]
fn fields_may_be_absent_and_have_any_name() {
    all_hold(&[
        "!has(self.none) && self.?none.orValue('x') == 'x' && !self.?none.hasValue()",
        "self.?deep.?my__dash__field.a__underscores__b.orValue(0) == 1",
        "self.deep.my__dash__field.a__underscores__b == 1 && self.deep.__namespace__ == 'n'",
        "self.map['a.b'] == 'x' && self.map[?'c'].orValue('y') == 'y' && !('c' in self.map)",
        "self.?size.optMap(n, n + 1).orValue(0) == 4 && has(self.deep.my__dash__field)",
        "self.?deep.optFlatMap(d, d.?my__dash__field).hasValue() && self.open == self.open",
        "[?self.?none, ?self.?text] == [self.text] && {?'a': self.?none} == {}",
    ]);
}

#[test]
fn times_and_addresses_are_understood() {
    all_hold(&[
        "self.time > timestamp('2024-01-01T00:00:00Z') && self.time.getFullYear() == 2024",
        "self.delay == duration('90m') && self.delay.getMinutes() == 90 && string(self.delay) == '5400s'",
        "string(self.time + duration('1h')) == '2024-01-02T04:04:05Z'",
        "isIP('::1') && ip('10.0.0.1').family() == 4 && !isCIDR('10.0.0.0/33')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').prefixLength() == 8",
        "isURL('https://') && !isURL('a') && url('https://a:80/b?c=d').getHost() == 'a:80'",
        "url('http://[::1]:80/b c').getHostname() == '::1' && url('/b c').getEscapedPath() == '/b%20c'",
        "!format.dns1123Label().validate('a-b').hasValue() && !format.named('nope').hasValue()",
    ]);
}
