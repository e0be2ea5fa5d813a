//! Hidden characters.
