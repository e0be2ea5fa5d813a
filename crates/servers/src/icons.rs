//! Images that servers name as their icon (`icons` of `serverInfo`).
//!
//! A server chooses both the address and the image, so the address has to pass the rules of the built-in server `Fetch`,
//! and the image is never handed on: it is decoded in a process of its own, scaled down and encoded anew (`decoder.rs`). SVG
//! is refused, since it is a document that can hold scripts and addresses of its own.
//!
//! Such an image must never be shown where a person decides about a call: a server could take that of another one.

mod decoder;

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_builtin_servers::PublicDownloads;
use serde::Deserialize;
use serde_json::value::RawValue;

use self::decoder::IconDecoder;
pub use self::decoder::restore_icon;
pub(crate) use self::decoder::{ARGUMENT, serve};

/// Largest image that is read, in bytes.
const MAX_IMAGE_BYTES: usize = 512 * 1024;
/// Width and height of what is shown, in pixels.
const SIDE: u32 = 64;
/// Time for one download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How many of a server's icons are tried.
const MAX_TRIED: usize = 3;
const ACCEPTED: &str = "image/png, image/webp, image/jpeg, image/gif";
const IMAGE_TYPES: [&str; 5] = ["image/png", "image/webp", "image/jpeg", "image/jpg", "image/gif"];

/// The addresses of a server's icons, the most suitable first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IconSources(Vec<String>);

impl IconSources {
    /// Reads them from `serverInfo`.
    #[must_use]
    pub fn of(server_info: &RawValue) -> Self {
        let written: WrittenInfo = serde_json::from_str(server_info.get()).unwrap_or_default();
        let mut icons: Vec<WrittenIcon> =
            written.icons.into_iter().flatten().filter(WrittenIcon::is_usable).collect();
        // Icons for dark backgrounds are hardly seen on light ones; of the others the one that is nearest in size.
        icons.sort_by_key(|icon| (icon.theme.as_deref() == Some("dark"), icon.distance()));
        icons.truncate(MAX_TRIED);
        Self(icons.into_iter().map(|icon| icon.src).collect())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn addresses(&self) -> &[String] {
        &self.0
    }
}

#[derive(Default, Deserialize)]
struct WrittenInfo {
    #[serde(default)]
    icons: Option<Vec<WrittenIcon>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenIcon {
    src: String,
    #[serde(default)]
    mime_type: Option<String>,
    #[serde(default)]
    sizes: Option<Vec<String>>,
    #[serde(default)]
    theme: Option<String>,
}

impl WrittenIcon {
    fn is_usable(&self) -> bool {
        let is_image = self.mime_type.as_deref().is_none_or(|kind| IMAGE_TYPES.contains(&kind));
        let is_short = self.src.len() <= MAX_IMAGE_BYTES.saturating_mul(2);
        is_image && is_short && (self.src.starts_with("https://") || self.src.starts_with("data:"))
    }

    /// How far its width is from the one that is shown; smaller ones are worse.
    fn distance(&self) -> u32 {
        let widths =
            self.sizes.iter().flatten().filter_map(|size| size.split_once('x')?.0.parse::<u32>().ok());
        let distance = |width: u32| if width < SIDE { SIDE * SIDE - width } else { width - SIDE };
        widths.map(distance).min().unwrap_or(SIDE)
    }
}

/// Fetches icons of servers.
pub struct IconFetcher {
    downloads: PublicDownloads,
    decoder: IconDecoder,
}

impl IconFetcher {
    /// `program` calls [`crate::run_helper_if_requested`], so that images are decoded in processes of their own. Without
    /// one, they are decoded in this process, as in the crates' tests.
    #[must_use]
    pub fn new(program: Option<PathBuf>) -> Self {
        let downloads = PublicDownloads::new(MAX_IMAGE_BYTES, DOWNLOAD_TIMEOUT);
        Self { downloads, decoder: IconDecoder::new(program) }
    }

    /// The first icon that is one, as PNG.
    pub async fn fetch(&self, sources: &IconSources) -> Option<Vec<u8>> {
        for address in sources.addresses() {
            let bytes = match address.strip_prefix("data:") {
                Some(data) => embedded_image(data),
                None => self.downloads.get(address, ACCEPTED).await,
            };
            let image = match bytes {
                Ok(bytes) => self.decoder.reencode(bytes).await,
                Err(reason) => {
                    tracing::debug!(reason, "an icon of a server was not fetched");
                    None
                }
            };
            if image.is_some() {
                return image;
            }
        }
        None
    }
}

/// The bytes of a `data:` address, without that word.
fn embedded_image(data: &str) -> Result<Vec<u8>, String> {
    let (kind, content) = data.split_once(";base64,").ok_or("It is not written in base64.")?;
    if !IMAGE_TYPES.contains(&kind) {
        return Err("It is of another type.".to_owned());
    }
    STANDARD.decode(content).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::decoder::tests::picture;
    use super::*;

    fn sources(icons: &str) -> Vec<String> {
        let info = RawValue::from_string(format!(r#"{{"name":"a","version":"1","icons":{icons}}}"#)).unwrap();
        IconSources::of(&info).addresses().to_vec()
    }

    #[test]
    fn chooses_addresses() {
        for (icons, expected) in [
            ("null", vec![]),
            (r#"[{"src":7}]"#, vec![]),
            (r#"[{"src":"http://a.example/i.png"}]"#, vec![]),
            (r#"[{"src":"file:///etc/passwd"}]"#, vec![]),
            (r#"[{"src":"javascript:alert(1)"}]"#, vec![]),
            (r#"[{"src":"https://a.example/i.svg","mimeType":"image/svg+xml"}]"#, vec![]),
            (r#"[{"src":"https://a.example/i"}]"#, vec!["https://a.example/i"]),
            (
                r#"[{"src":"https://a.example/16","sizes":["16x16"]},{"src":"https://a.example/512","sizes":["512x512"]},
                    {"src":"https://a.example/96","sizes":["48x48","96x96"]}]"#,
                vec!["https://a.example/96", "https://a.example/512", "https://a.example/16"],
            ),
            (
                r#"[{"src":"https://a.example/dark","theme":"dark","sizes":["64x64"]},
                    {"src":"https://a.example/light","theme":"light"}]"#,
                vec!["https://a.example/light", "https://a.example/dark"],
            ),
        ] {
            assert_eq!(sources(icons), expected, "{icons}");
        }
        let many: Vec<String> = (0..9).map(|at| format!(r#"{{"src":"https://a.example/{at}"}}"#)).collect();
        assert_eq!(sources(&format!("[{}]", many.join(","))).len(), MAX_TRIED);
    }

    #[tokio::test]
    async fn reads_embedded_images_and_goes_on_after_others() {
        let png = STANDARD.encode(picture(64, 64, image::ImageFormat::Png));
        let fetcher = IconFetcher::new(None);
        for (address, is_found) in [
            (format!("data:image/png;base64,{png}"), true),
            (format!("data:image/svg+xml;base64,{png}"), false),
            (format!("data:text/html;base64,{png}"), false),
            ("data:image/png,abc".to_owned(), false),
            ("data:image/png;base64,!".to_owned(), false),
            ("https://127.0.0.1/icon.png".to_owned(), false),
        ] {
            let sources = IconSources(vec![address.clone()]);
            assert_eq!(fetcher.fetch(&sources).await.is_some(), is_found, "{address}");
        }
        let sources =
            IconSources(vec!["data:image/png;base64,!".to_owned(), format!("data:image/png;base64,{png}")]);
        assert!(fetcher.fetch(&sources).await.is_some());
    }
}
