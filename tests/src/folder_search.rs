//! Looks for a text in files, as somebody would who looks for a secret.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// Whether a text is in a file of a folder or of one below it.
pub fn is_in_folder(folder: &Path, text: &str) -> Result<bool> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let has_it = if path.is_dir() {
            is_in_folder(&path, text)?
        } else {
            path.is_file() && fs::read(&path)?.windows(text.len()).any(|window| window == text.as_bytes())
        };
        if has_it {
            return Ok(true);
        }
    }
    Ok(false)
}
