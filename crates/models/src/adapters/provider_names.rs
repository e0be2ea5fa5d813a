//! Names of tools for providers. Exposed names are legal nearly everywhere and stay as they are; others are mapped so that
//! the mapping can be reversed.

use std::collections::{HashMap, HashSet};

use crate::adapters::tool_format::ToolFormat;

/// Longest name that every provider accepts, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The names of the tools of one request, both ways. Only names that differ are stored twice.
#[derive(Debug, Default)]
pub(super) struct ProviderNames {
    exposed: HashSet<Box<str>>,
    provider_by_exposed: HashMap<Box<str>, Box<str>>,
    exposed_by_provider: HashMap<Box<str>, Box<str>>,
}

impl ProviderNames {
    /// Assigns the names.
    pub(super) fn new(format: ToolFormat, exposed: HashSet<Box<str>>) -> Self {
        let mut all = Self { exposed, ..Self::default() };
        let mut mapped: Vec<&str> =
            all.exposed.iter().map(|name| &**name).filter(|name| !is_legal(format, name)).collect();
        // The same set gives the same names.
        mapped.sort_unstable();
        for name in mapped {
            let provider: Box<str> = candidates(name)
                .find(|candidate| {
                    !all.exposed.contains(candidate.as_str())
                        && !all.exposed_by_provider.contains_key(candidate.as_str())
                })
                .unwrap_or_default()
                .into();
            all.provider_by_exposed.insert(name.into(), provider.clone());
            all.exposed_by_provider.insert(provider, name.into());
        }
        all
    }

    /// The tool isn't told to the model after all.
    pub(super) fn forget(&mut self, exposed: &str) {
        self.exposed.remove(exposed);
        if let Some(provider) = self.provider_by_exposed.remove(exposed) {
            self.exposed_by_provider.remove(&provider);
        }
    }

    pub(super) fn exposed(&self, provider_name: &str) -> Option<&str> {
        if let Some(exposed) = self.exposed_by_provider.get(provider_name) {
            return Some(exposed);
        }
        // An exposed name that was mapped isn't one that the model was told.
        let exposed = self.exposed.get(provider_name)?;
        (!self.provider_by_exposed.contains_key(provider_name)).then_some(&**exposed)
    }

    pub(super) fn provider(&self, exposed: &str) -> Option<&str> {
        match self.provider_by_exposed.get(exposed) {
            Some(provider) => Some(provider),
            None => self.exposed.get(exposed).map(|name| &**name),
        }
    }
}

fn is_legal(format: ToolFormat, name: &str) -> bool {
    if format == ToolFormat::Mcp {
        return true;
    }
    let begins_well = format != ToolFormat::Gemini || begins_with_letter(name);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(is_name_char) && begins_well
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn begins_with_letter(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Legal names for a name that isn't, without end.
fn candidates(name: &str) -> impl Iterator<Item = String> {
    let mut legal: String = name.chars().map(|c| if is_name_char(c) { c } else { '_' }).collect();
    if !begins_with_letter(&legal) {
        legal.insert(0, '_');
    }
    let whole = (legal.len() <= MAX_NAME_BYTES).then(|| legal.clone());
    let numbered = (2_u64..).map(move |number| {
        let suffix = format!("_{number}");
        let kept = legal.len().min(MAX_NAME_BYTES - suffix.len());
        format!("{}{suffix}", legal.get(..kept).unwrap_or_default())
    });
    whole.into_iter().chain(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_names_that_a_format_refuses_and_back() {
        let long = format!("1{}", "a".repeat(63));
        let names = ["read", "7zip", "_7zip", "-x", "datei.lesen", long.as_str(), "read"];
        let of = |format| ProviderNames::new(format, names.into_iter().map(Into::into).collect());
        let gemini = of(ToolFormat::Gemini);
        for (exposed, provider) in [
            ("read", "read"),
            ("7zip", "_7zip_2"),
            ("_7zip", "_7zip"),
            ("-x", "_-x"),
            ("datei.lesen", "datei_lesen"),
        ] {
            assert_eq!(gemini.provider(exposed), Some(provider));
            assert_eq!(gemini.exposed(provider), Some(exposed));
        }
        let short = gemini.provider(&long).unwrap();
        assert!(short.len() == 64 && gemini.exposed(short) == Some(long.as_str()), "{short}");
        assert_eq!(
            (gemini.exposed("7zip"), gemini.exposed("other"), gemini.provider("other")),
            (None, None, None)
        );
        let chat = of(ToolFormat::OpenAiChat);
        assert_eq!(
            (chat.provider("7zip"), chat.provider("datei.lesen")),
            (Some("7zip"), Some("datei_lesen"))
        );
        assert_eq!(of(ToolFormat::Mcp).provider("datei.lesen"), Some("datei.lesen"));
    }
}
