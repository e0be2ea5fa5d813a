//! What the user has begun in the main page and not finished, such as filters and drafts. The page ends with its window;
//! this stays in memory for the next one, and is never stored.

use std::collections::BTreeMap;

use gatehouse_model::{ErrorCode, UserError, message};
use parking_lot::Mutex;

/// Maximum size of all names and values together, in bytes. The largest value is a draft with images.
const MAX_BYTES: usize = 32 << 20;

/// Values by name, each as JSON that only the page reads.
#[derive(Default)]
pub(crate) struct PageState(Mutex<BTreeMap<String, String>>);

impl PageState {
    pub(crate) fn entries(&self) -> BTreeMap<String, String> {
        self.0.lock().clone()
    }

    /// Sets or removes a value.
    ///
    /// # Errors
    /// [`ErrorCode::BadRequest`] if there is no room for it; then the value is what it was.
    pub(crate) fn set(&self, name: String, value: Option<String>) -> Result<(), UserError> {
        let mut entries = self.0.lock();
        let Some(value) = value else {
            entries.remove(&name);
            return Ok(());
        };
        let others = entries.iter().filter(|(other, _)| **other != name);
        let taken: usize = others.map(|(other, value)| other.len() + value.len()).sum();
        if taken + name.len() + value.len() > MAX_BYTES {
            return Err(UserError::new(ErrorCode::BadRequest, message!("error.desktop.pageStateTooLarge")));
        }
        entries.insert(name, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_what_is_kept() {
        let state = PageState::default();
        state.set("a".to_owned(), Some("1".to_owned())).unwrap();
        let refused = state.set("a".to_owned(), Some("x".repeat(MAX_BYTES)));
        assert_eq!(refused.unwrap_err().code, ErrorCode::BadRequest);
        assert_eq!(state.entries()["a"], "1", "what is refused changes nothing");
        let largest = MAX_BYTES - "a1b".len();
        state.set("b".to_owned(), Some("x".repeat(largest))).unwrap();
        assert!(state.set("c".to_owned(), Some(String::new())).is_err());
        state.set("b".to_owned(), None).unwrap();
        state.set("c".to_owned(), Some(String::new())).unwrap();
        assert_eq!(state.entries().into_keys().collect::<Vec<_>>(), ["a", "c"]);
    }
}
