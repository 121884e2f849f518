//! The path from the root of a document to one of its values.

use std::fmt;

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Into a map, by key.
    Key(String),
    /// Into a list, by 0-based index.
    Index(usize),
}

/// A field path such as `spec.nodePools[0].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Segment>);

impl Path {
    /// Parses dotted keys (`spec.api.visibility`); keys that contain a dot cannot be written this way.
    #[must_use]
    pub fn dotted(text: &str) -> Self {
        Self(
            text.split('.')
                .filter(|key| !key.is_empty())
                .map(|key| Segment::Key(key.into()))
                .collect(),
        )
    }

    /// This path with a key appended.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(Segment::Key(key.into()))
    }

    /// This path with an index appended.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    /// As a JSON pointer: `/a/b/0/c`.
    #[must_use]
    pub fn pointer(&self) -> String {
        let step = |segment: &Segment| match segment {
            Segment::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Index(index) => format!("/{index}"),
        };
        self.0.iter().map(step).collect()
    }

    fn with(&self, segment: Segment) -> Self {
        let mut longer = self.clone();
        longer.0.push(segment);
        longer
    }
}

/// As Kubernetes writes field paths: `a.b[0].c`, keys with other characters as `a[x.y/z]`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if key.contains(['.', '/']) => write!(f, "[{key}]")?,
                Segment::Key(key) if at == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}
