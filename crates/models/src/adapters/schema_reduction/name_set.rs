//! Sets of names.

use std::collections::HashSet;

/// Up to this many names are compared one by one, which is faster than hashing them.
const FEW: usize = 16;

pub(super) enum NameSet<'n> {
    Few(Vec<&'n str>),
    Many(HashSet<&'n str>),
}

impl<'n> NameSet<'n> {
    pub(super) fn new() -> Self {
        Self::Few(Vec::new())
    }

    /// Whether the name is new.
    pub(super) fn insert(&mut self, name: &'n str) -> bool {
        match self {
            Self::Few(names) if names.contains(&name) => false,
            Self::Few(names) if names.len() < FEW => {
                names.push(name);
                true
            }
            Self::Few(names) => {
                let mut many: HashSet<&'n str> = names.drain(..).collect();
                many.insert(name);
                *self = Self::Many(many);
                true
            }
            Self::Many(names) => names.insert(name),
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        match self {
            Self::Few(names) => names.contains(&name),
            Self::Many(names) => names.contains(name),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Few(names) => names.len(),
            Self::Many(names) => names.len(),
        }
    }
}

impl<'n> FromIterator<&'n str> for NameSet<'n> {
    fn from_iter<I: IntoIterator<Item = &'n str>>(names: I) -> Self {
        let mut set = Self::new();
        for name in names {
            set.insert(name);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_names_are_in_a_set_once() {
        let names: Vec<String> = (0..3 * FEW).map(|number| number.to_string()).collect();
        for count in [0, 1, FEW - 1, FEW, FEW + 1, 3 * FEW] {
            let mut set: NameSet<'_> = names.iter().take(count).map(String::as_str).collect();
            assert!(names.iter().take(count).all(|name| !set.insert(name) && set.contains(name)));
            assert!(names.iter().skip(count).all(|name| !set.contains(name)));
            assert_eq!(set.len(), count);
        }
    }
}
