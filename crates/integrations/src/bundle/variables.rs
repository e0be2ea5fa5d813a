//! Variables in the manifest of a bundle: `${__dirname}`, the user's folders, the path separator, and
//! `${user_config.KEY}`. An unknown one is refused: left as it is, it would mean something else to Gatehouse, which
//! writes `${secret:NAME}` and `${env:NAME}` into settings itself.

use std::path::{Path, PathBuf};

use gatehouse_common::invisible_chars::one_line;

use super::error::{BundleError, ManifestError};
use crate::System;

const SHOWN_VARIABLE_CHARS: usize = 60;

/// The user's folders, for bundles that name them.
#[derive(Clone, Debug)]
pub struct BundlePlaces {
    pub system: System,
    pub home: PathBuf,
    pub desktop: PathBuf,
    pub documents: PathBuf,
    pub downloads: PathBuf,
}

/// A part of a text of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ManifestPart {
    Text(String),
    /// The value of the option with this key.
    Option(String),
}

/// Takes a text apart. `folder` is that of the bundle.
pub(super) fn pieces(
    text: &str,
    places: &BundlePlaces,
    folder: Option<&Path>,
) -> Result<Vec<ManifestPart>, BundleError> {
    let unknown = |variable: &str| {
        let variable = one_line(variable, SHOWN_VARIABLE_CHARS);
        BundleError::Manifest(ManifestError::Variable { variable: format!("${{{variable}}}") })
    };
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        push_text(&mut pieces, before);
        let (name, tail) = after.split_once('}').ok_or_else(|| unknown(after))?;
        match name.strip_prefix("user_config.") {
            Some(key) => pieces.push(ManifestPart::Option(key.to_owned())),
            None => push_text(&mut pieces, &value_of(name, places, folder).ok_or_else(|| unknown(name))?),
        }
        rest = tail;
    }
    push_text(&mut pieces, rest);
    Ok(pieces)
}

/// A text without options, such as the default of one.
pub(super) fn expand(text: &str, places: &BundlePlaces) -> Result<String, BundleError> {
    pieces(text, places, None)?
        .into_iter()
        .map(|piece| match piece {
            ManifestPart::Text(text) => Ok(text),
            ManifestPart::Option(key) => Err(BundleError::Manifest(ManifestError::Variable {
                variable: format!("${{user_config.{key}}}"),
            })),
        })
        .collect()
}

fn value_of(name: &str, places: &BundlePlaces, folder: Option<&Path>) -> Option<String> {
    let folder = match name {
        "__dirname" => folder?,
        "HOME" => &places.home,
        "DESKTOP" => &places.desktop,
        "DOCUMENTS" => &places.documents,
        "DOWNLOADS" => &places.downloads,
        "pathSeparator" | "/" => Path::new(if places.system == System::Windows { "\\" } else { "/" }),
        _ => return None,
    };
    Some(folder.display().to_string())
}

/// Appends a text, to the one before it if there is one.
fn push_text(pieces: &mut Vec<ManifestPart>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(ManifestPart::Text(before)) => before.push_str(text),
        _ => pieces.push(ManifestPart::Text(text.to_owned())),
    }
}
