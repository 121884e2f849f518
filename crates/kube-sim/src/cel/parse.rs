//! The parser's limits.
//!
//! In: the text of an expression. Out: a syntax tree that can be walked on an ordinary stack, or an
//! error. The parser of `kube-cel` needs several stack frames per bracket, so it runs in a thread with
//! a large stack. Expressions that are still too deep are reported as not evaluated.

use std::thread;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;

use super::error::Error;
use super::{source, syntax};

/// The longest expression that the API server accepts, in characters (cel-go).
const LONGEST: usize = 100_000;

/// How many operators, brackets, commas and dots an expression may have here.
const MOST_SIGNS: usize = 5_000;

/// How deep brackets may be nested, and how deep a tree may be. The API server has the same limit, but
/// counts slightly differently.
const DEEPEST: u16 = 250;

/// The stack that the parser needs for these limits in an unoptimized build, in bytes.
const STACK: usize = 128 * 1024 * 1024;

/// Parses `text`.
///
/// # Errors
/// Where the syntax is wrong, or that the expression exceeds a limit.
pub(super) fn parse(text: &str) -> Result<IdedExpr, Error> {
    let length = text.chars().count();
    if length > LONGEST {
        return Err(Error::Failed(format!(
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: {length}, limit {LONGEST}"
        )));
    }
    let shape = source::shape(text);
    if shape.brackets > usize::from(DEEPEST) {
        return Err(Error::Unsupported("it is nested too deep".into()));
    }
    if shape.signs > MOST_SIGNS {
        return Err(Error::Unsupported("it is too long".into()));
    }
    let text = source::single_signs(text);
    let parser = thread::Builder::new().stack_size(STACK);
    let parsed = parser
        .spawn(move || on_large_stack(&text))
        .map(thread::JoinHandle::join);
    match parsed {
        Ok(Ok(parsed)) => parsed,
        Ok(Err(_)) | Err(_) => Err(Error::Unsupported("it cannot be parsed here".into())),
    }
}

fn on_large_stack(text: &str) -> Result<IdedExpr, Error> {
    let parser = Parser::new()
        .enable_optional_syntax(true)
        .max_recursion_depth(DEEPEST);
    let expr = parser
        .parse(text)
        .map_err(|errors| Error::Failed(errors.to_string()))?;
    match syntax::depth(&expr) > usize::from(DEEPEST) {
        true => Err(Error::Unsupported("it is nested too deep".into())),
        false => Ok(expr),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn fault(text: &str) -> Error {
        parse(text).unwrap_err()
    }

    #[test]
    fn deep_and_long_expressions_are_refused_without_overflowing_the_stack() {
        let deep = Error::Unsupported("it is nested too deep".into());
        let nested = |open: &str, close: &str, n: usize| {
            format!("{}true{}", open.repeat(n), close.repeat(n))
        };
        assert!(parse(&nested("(", ")", 240)).is_ok());
        assert_eq!(fault(&nested("(", ")", 251)), deep);
        assert_eq!(fault(&nested("[", "]", 2000)), deep);
        assert_eq!(fault(&format!("self{}", ".a".repeat(3000))), deep);
        assert_eq!(fault(&vec!["1"; 2000].join("+")), deep);
        assert_eq!(fault(&format!("self{}", "[0]".repeat(1500))), deep);
        assert_eq!(fault(&format!("self{}", ".a()".repeat(1200))), deep);
        assert_eq!(
            fault(&vec!["1"; 40_000].join("+")),
            Error::Unsupported("it is too long".into())
        );
        assert!(
            matches!(fault(&"a".repeat(100_001)), Error::Failed(why) if why.contains("exceeds limit"))
        );
        assert!(matches!(fault("self."), Error::Failed(why) if why.contains("Syntax error")));
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = format!("self == '{}'", "(".repeat(500));
        assert!(parse(&text).is_ok());
    }

    #[test]
    fn syntax_trees_can_be_walked_on_a_small_stack() {
        use crate::cel::check::Checker;
        use crate::cel::eval::Env;
        use crate::cel::place::Place;
        use crate::cel::value::Val;

        let chain = format!("'a'{} == 'a'", ".trim()".repeat(240));
        let condition = format!("{}true", "false ? true : ".repeat(100));
        let lists = format!("{}{} == []", "[".repeat(200), "]".repeat(200));
        let macros = format!("{}true{}", "[1].all(x, ".repeat(60), ")".repeat(60));
        for text in [chain, condition, lists, macros] {
            let go = move || {
                let expr = parse(&text).unwrap();
                let schema = kube_schema::Schema::default();
                Checker::new(Place::root(&schema), false)
                    .check(&expr)
                    .unwrap();
                let (this, patterns) = (Ok(Val::from(true)), Default::default());
                let value = Env::new(this, None, &patterns).value(&expr.clone());
                assert!(matches!(value, Ok(Val::Plain(_))), "{value:?}");
            };
            let thread = thread::Builder::new().stack_size(2 * 1024 * 1024);
            thread.spawn(go).unwrap().join().unwrap();
        }
    }
}
