//! Maps and sets for what is looked up often.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// A map whose keys are hashed fast, with a seed of the process: nobody outside can choose keys that are slow.
pub type QuickMap<K, V> = HashMap<K, V, RandomState>;
/// A set of the same kind.
pub type QuickSet<K> = HashSet<K, RandomState>;
