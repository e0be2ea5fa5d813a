//! The rule that no key occurs twice in one JSON object. Keys are compared unescaped.

/// Objects up to this size are compared pair by pair; larger ones are sorted, so that a body with a
/// million keys costs no more than sorting them.
const SMALL_OBJECT: usize = 16;

/// A key that occurs more than once, if there is one.
pub(crate) fn first_repeated<'k>(keys: impl ExactSizeIterator<Item = &'k str> + Clone) -> Option<&'k str> {
    if keys.len() <= SMALL_OBJECT {
        let mut later = keys;
        while let Some(key) = later.next() {
            if later.clone().any(|other| other == key) {
                return Some(key);
            }
        }
        return None;
    }
    let mut sorted: Vec<&str> = keys.collect();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_repeated_key_in_small_and_large_objects() {
        for count in [0_usize, 1, 2, 15, 16, 17, 18, 1000] {
            let mut keys: Vec<String> = (0..count).map(|number| format!("k{number}")).collect();
            assert_eq!(first_repeated(keys.iter().map(String::as_str)), None, "{count} keys");
            if let Some(last) = keys.last_mut().filter(|_| count > 1) {
                "k0".clone_into(last);
                assert_eq!(first_repeated(keys.iter().map(String::as_str)), Some("k0"), "{count} keys");
            }
        }
    }
}
