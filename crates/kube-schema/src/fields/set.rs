//! [`FieldSet`]: a tree of path elements, some of which are members.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use super::Element;

/// A way from the root of an object to one of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<Element>);

/// `.spec.ports[port=80,protocol="TCP"].name`
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

impl FromIterator<Element> for FieldPath {
    fn from_iter<I: IntoIterator<Item = Element>>(elements: I) -> Self {
        Self(elements.into_iter().collect())
    }
}

/// A set of fields. A field can be a member without the fields below it, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// By element. Most sets are small, and are read in order.
    branches: Vec<(Element, Branch)>,
}

/// Never neither a member nor with anything below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    member: bool,
    below: FieldSet,
}

impl Branch {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set without a field.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there is no field in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// How many fields are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.branches
            .iter()
            .map(|(_, branch)| usize::from(branch.member) + branch.below.len())
            .sum()
    }

    /// Where the branch of `element` is, or where it would be.
    fn place(&self, element: &Element) -> Result<usize, usize> {
        match self.branches.last() {
            // They mostly come in order.
            Some((last, _)) if last < element => Err(self.branches.len()),
            _ => self
                .branches
                .binary_search_by(|(known, _)| known.cmp(element)),
        }
    }

    fn get(&self, element: &Element) -> Option<&Branch> {
        let at = self.place(element).ok()?;
        Some(&self.branches[at].1)
    }

    /// The branch of `element`, which must not stay empty.
    fn made(&mut self, element: &Element) -> &mut Branch {
        let at = self.place(element).unwrap_or_else(|at| {
            let fresh = (element.clone(), Branch::default());
            self.branches.insert(at, fresh);
            at
        });
        &mut self.branches[at].1
    }

    /// Whether the field at `path` is in it.
    #[must_use]
    pub fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// Whether the field `element` of the root is in it.
    #[must_use]
    pub fn has(&self, element: &Element) -> bool {
        self.get(element).is_some_and(|branch| branch.member)
    }

    /// The fields below `element`; none when there is none.
    #[must_use]
    pub fn below(&self, element: &Element) -> Option<&Self> {
        let below = &self.get(element)?.below;
        (!below.is_empty()).then_some(below)
    }

    /// Puts the field at `path` in. The root itself cannot be a member.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => self.made(last).member = true,
            [first, rest @ ..] => self.made(first).below.insert(rest),
        }
    }

    /// Every field in it: at each level the members first, then what is below, as the API server
    /// lists conflicts.
    #[must_use]
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, at: &mut Vec<Element>, paths: &mut Vec<FieldPath>) {
        let members = self.branches.iter().filter(|(_, branch)| branch.member);
        for (element, _) in members {
            paths.push(at.iter().chain([element]).cloned().collect());
        }
        for (element, branch) in &self.branches {
            at.push(element.clone());
            branch.below.collect(at, paths);
            at.pop();
        }
    }

    /// What is below `element`, empty when nothing is; none when the set does not have it.
    pub(super) fn branch(&self, element: &Element) -> Option<&Self> {
        Some(&self.get(element)?.below)
    }

    /// The elements at the root: each with whether it is a member and with what is below it.
    pub fn branches(&self) -> impl Iterator<Item = (&Element, bool, &Self)> {
        self.branches
            .iter()
            .map(|(element, branch)| (element, branch.member, &branch.below))
    }

    /// Sets one element at the root.
    pub fn set(&mut self, element: Element, member: bool, below: Self) {
        let branch = Branch { member, below };
        match (self.place(&element), branch.is_empty()) {
            (Ok(at), false) => self.branches[at].1 = branch,
            (Ok(at), true) => drop(self.branches.remove(at)),
            (Err(at), false) => self.branches.insert(at, (element, branch)),
            (Err(_), true) => {}
        }
    }

    /// The fields in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add(other);
        all
    }

    /// Adds the fields of `other`.
    pub fn add(&mut self, other: &Self) {
        for (element, theirs) in &other.branches {
            match self.place(element) {
                Ok(at) => {
                    let mine = &mut self.branches[at].1;
                    mine.member |= theirs.member;
                    mine.below.add(&theirs.below);
                }
                Err(at) => self.branches.insert(at, (element.clone(), theirs.clone())),
            }
        }
    }

    /// The fields in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self::new();
        for (element, mine) in &self.branches {
            let Some(theirs) = other.get(element) else {
                continue;
            };
            let member = mine.member && theirs.member;
            let below = mine.below.intersection(&theirs.below);
            if member || !below.is_empty() {
                both.set(element.clone(), member, below);
            }
        }
        both
    }

    /// The fields that are not in `other`. A field stays when only its parent or its children are in
    /// `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.subtract(other);
        left
    }

    /// Takes out the fields of `other`, see [`Self::difference`].
    pub fn subtract(&mut self, other: &Self) {
        self.shrink(other, |mine, theirs| {
            mine.member &= !theirs.member;
            mine.below.subtract(&theirs.below);
        });
    }

    /// The fields that are neither in `other` nor below a field of `other`.
    #[must_use]
    pub fn without_subtrees(&self, other: &Self) -> Self {
        let mut left = self.clone();
        left.cut(other);
        left
    }

    /// Takes out the fields of `other` and all below them.
    pub fn cut(&mut self, other: &Self) {
        self.shrink(other, |mine, theirs| match theirs.member {
            true => *mine = Branch::default(),
            false => mine.below.cut(&theirs.below),
        });
    }

    /// Makes the branches smaller that `other` has too.
    fn shrink(&mut self, other: &Self, smaller: impl Fn(&mut Branch, &Branch)) {
        for (element, theirs) in &other.branches {
            let Ok(at) = self.place(element) else {
                continue;
            };
            let mine = &mut self.branches[at].1;
            smaller(mine, theirs);
            if mine.is_empty() {
                self.branches.remove(at);
            }
        }
    }

    /// Reads FieldsV1.
    ///
    /// # Errors
    /// Says which part is no set of fields.
    pub fn from_json(json: &Value) -> Result<Self, String> {
        let fields = json
            .as_object()
            .ok_or_else(|| format!("expected an object, got {json}"))?;
        let mut set = Self::new();
        for (text, below) in fields.iter().filter(|(text, _)| Element::reads(text)) {
            let below_set = Self::from_json(below)?;
            let member = below_set.is_empty() || below.get(".").is_some();
            set.set(Element::parse(text)?, member, below_set);
        }
        Ok(set)
    }

    /// The branches as FieldsV1 has them, in the order of their texts, with the text of each.
    fn printed(&self) -> Vec<(String, &Branch)> {
        let branches = self.branches.iter();
        let printed = branches.map(|(element, branch)| (element.print(), branch));
        let mut printed: Vec<_> = printed.collect();
        printed.sort_by(|a, b| a.0.cmp(&b.0));
        printed
    }

    /// Writes FieldsV1.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("its keys are texts")
    }
}

/// As FieldsV1.
impl Serialize for FieldSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.printed().into_iter();
        serializer.collect_map(entries.map(|(text, branch)| (text, Below(branch))))
    }
}

/// What is below a branch, and whether the branch is a member itself.
struct Below<'a>(&'a Branch);

impl Serialize for Below<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Branch { member, below } = self.0;
        if !member || below.is_empty() {
            return below.serialize(serializer);
        }
        let itself = FieldSet::new();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(".", &itself)?;
        for (text, branch) in below.printed() {
            map.serialize_entry(&text, &Below(branch))?;
        }
        map.end()
    }
}

impl FromIterator<FieldPath> for FieldSet {
    fn from_iter<I: IntoIterator<Item = FieldPath>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.0);
        }
        set
    }
}
