//! A second opinion: what fits a schema for us, fits it for the `jsonschema` crate, and the other way
//! round, as far as Kubernetes means what JSON Schema means.
//!
//! [`generate`] makes schemas that a CRD may have and values that nearly fit them, [`translate`] expresses in
//! JSON Schema what Kubernetes means, [`shrink`] makes a difference small. `CAPSTAN_SEED=n` repeats one.
//!
//! Left out, because both mean different things, or JSON Schema means nothing:
//! - fractional bounds and factors, which Kubernetes cuts off where the value is a whole number;
//! - whole numbers beyond 64 bits, and those of which a float knows no neighbours;
//! - `format`, where the crate knows other names, and `default`, which validation does not look at;
//! - `uniqueItems` and `x-kubernetes-list-type`: a CRD may not have the one, the other is no JSON Schema;
//! - patterns with more than both syntaxes share, and `type` within `anyOf` and the like, which a CRD
//!   may not have.

mod generate;
mod shrink;
mod translate;

use kube_schema::{Schema, Unknown, validate};
use kube_sim::structural_faults;
use serde_json::Value as Json;

use crate::random::Random;

const SCHEMAS: u64 = 1000;
/// Values tried on each schema.
const VALUES: usize = 6;

/// What two say of a schema's values.
struct Opinions {
    ours: Schema,
    theirs: jsonschema::Validator,
    unknown: Unknown,
}

impl Opinions {
    fn of(schema: &Json, unknown: Unknown) -> Self {
        let translated = translate::schema(schema, unknown);
        Self {
            ours: Schema::from_definition(schema).expect("a schema"),
            theirs: jsonschema::draft7::new(&translated).expect("a schema, too"),
            unknown,
        }
    }

    /// Whether `value` fits for us, and for the other.
    fn on(&self, value: &Json) -> (bool, bool) {
        let ours = validate(&self.ours, value, self.unknown).is_empty();
        (ours, self.theirs.is_valid(value))
    }
}

#[test]
fn a_second_opinion_is_the_same() {
    let repeated = std::env::var("CAPSTAN_SEED").ok();
    let seeds = match &repeated {
        Some(seed) => vec![seed.parse::<u64>().expect("a number")],
        None => (0..SCHEMAS).collect(),
    };
    let (mut fit, mut tried) = (0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let schema = generate::root(&mut random);
        assert_eq!(structural_faults(&schema), [""; 0], "{schema}");
        let both = [Unknown::Ignore, Unknown::Reject].map(|unknown| Opinions::of(&schema, unknown));
        for _ in 0..VALUES {
            let value = generate::value(&mut random, &schema, |value| both[1].on(value).0);
            for opinions in &both {
                let (ours, theirs) = opinions.on(&value);
                assert!(
                    ours == theirs,
                    "{}",
                    described(seed, &schema, &value, opinions.unknown)
                );
                fit += u32::from(ours);
                tried += 1;
            }
        }
    }
    // Where nearly all values fit, or none, the schemas are not what makes the difference.
    let share = 100 * fit / tried;
    assert!(
        repeated.is_some() || (25..75).contains(&share),
        "{share} % fit"
    );
}

/// The smallest form of a difference.
fn described(seed: u64, schema: &Json, value: &Json, unknown: Unknown) -> String {
    let opinions = |(schema, value): &(Json, Json)| Opinions::of(schema, unknown).on(value);
    let case = shrink::shrink((schema.clone(), value.clone()), |case| {
        let (ours, theirs) = opinions(case);
        ours != theirs
    });
    let ((ours, theirs), (schema, value)) = (opinions(&case), case);
    let translated = translate::schema(&schema, unknown);
    format!(
        "CAPSTAN_SEED={seed}, {unknown:?}: fits for us: {ours}, for jsonschema: {theirs}\n\
         schema {schema}\nas     {translated}\nvalue  {value}"
    )
}
