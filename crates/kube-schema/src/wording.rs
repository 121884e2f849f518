//! Values in messages as Go prints them, so that our messages are the API server's, byte for byte.

use std::ops::Range;

use serde_json::{Number, Value};

/// A string in double quotes, as `%q` writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => out += &format!("\\x{:02x}", u32::from(c)),
            c if c.is_control() => out += &format!("\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A float as `%v` writes it: the shortest form, with an exponent below 1e-4 and from 1e6.
pub fn float(number: f64) -> String {
    in_range(number, 1e-4..1e6)
}

fn in_range(number: f64, plain: Range<f64>) -> String {
    if number == 0.0 || plain.contains(&number.abs()) {
        format!("{number}")
    } else {
        exponent(number)
    }
}

fn exponent(number: f64) -> String {
    let text = format!("{number:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    format!("{digits}e{sign}{power:0>2}")
}

/// A value as it is printed after "Invalid value: ": scalars plainly, the rest as JSON.
#[must_use]
pub fn value(json: &Value) -> String {
    match json {
        Value::String(text) => quoted(text),
        Value::Number(number) => plain_number(number),
        other => encoded(other),
    }
}

fn plain_number(number: &Number) -> String {
    match number.as_i64() {
        Some(int) => int.to_string(),
        None => float(number.as_f64().unwrap_or_default()),
    }
}

/// JSON as Go encodes it: `<`, `>` and `&` escaped, whole floats without a fraction.
pub fn encoded(json: &Value) -> String {
    match json {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(encoded).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                format!("{}:{}", escaped(&name.as_str().into()), encoded(value))
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Number(number) if !number.is_i64() => {
            in_range(number.as_f64().unwrap_or_default(), 1e-6..1e21)
        }
        other => escaped(other),
    }
}

fn escaped(json: &Value) -> String {
    json.to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// A value as `%v` prints what Go decoded it to: `map[a:1 b:[x y]]`.
#[must_use]
pub fn printed(json: &Value) -> String {
    match json {
        Value::Null => "<nil>".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => float(number.as_f64().unwrap_or_default()),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(printed).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}:{}", printed(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Bool(_) => json.to_string(),
    }
}

/// A value as `%#v` writes what Go decoded it to: `map[string]interface {}{"a":1}`.
pub fn in_go(json: &Value) -> String {
    match json {
        Value::Null => "interface {}(nil)".into(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(in_go).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{}:{}", quoted(name), in_go(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::Number(_) | Value::Bool(_) => printed(json),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        assert_eq!(float(10.0), "10");
        assert_eq!(float(0.5), "0.5");
        assert_eq!(float(1e6), "1e+06");
        assert_eq!(float(1234567.5), "1.2345675e+06");
        assert_eq!(float(0.00001), "1e-05");
    }

    #[test]
    fn strings_are_quoted_as_go_quotes_them() {
        assert_eq!(quoted("a\"b\\c\n\u{1}é"), r#""a\"b\\c\n\x01é""#);
    }

    #[test]
    fn decoded_values_are_printed_as_go_prints_them() {
        let json = json!({"b": [1, "x", null], "a": {"c": true}});
        assert_eq!(printed(&json), "map[a:map[c:true] b:[1 x <nil>]]");
        assert_eq!(
            in_go(&json),
            "map[string]interface {}{\"a\":map[string]interface {}{\"c\":true}, \
             \"b\":[]interface {}{1, \"x\", interface {}(nil)}}"
        );
    }

    #[test]
    fn compound_values_are_json() {
        assert_eq!(value(&json!({"a": "<b>"})), r#"{"a":"\u003cb\u003e"}"#);
        assert_eq!(value(&json!(null)), "null");
        assert_eq!(value(&json!(1.5)), "1.5");
    }
}
