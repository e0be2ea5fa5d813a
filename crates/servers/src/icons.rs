//! Images that servers name as their icon (`icons` of `serverInfo`).
//!
//! A server chooses both the address and the image, so the address has to pass the rules of the built-in server `Fetch`,
//! and the image is never handed on: it is decoded within limits, scaled down and encoded anew. SVG is refused, since it is
//! a document that can hold scripts and addresses of its own.
//!
//! Such an image must never be shown where a person decides about a call: a server could take that of another one.

use std::io::Cursor;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_builtin_servers::PublicDownloads;
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageFormat, ImageReader, Limits, RgbaImage};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Largest image that is read, in bytes.
const MAX_IMAGE_BYTES: usize = 512 * 1024;
/// Widest and highest image that is decoded, in pixels.
const MAX_SIDE: u32 = 2048;
/// Memory that decoding may take, in bytes.
const MAX_DECODER_BYTES: u64 = 32 * 1024 * 1024;
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
}

impl Default for IconFetcher {
    fn default() -> Self {
        Self { downloads: PublicDownloads::new(MAX_IMAGE_BYTES, DOWNLOAD_TIMEOUT) }
    }
}

impl IconFetcher {
    /// The first icon that is one, as PNG.
    pub async fn fetch(&self, sources: &IconSources) -> Option<Vec<u8>> {
        for address in sources.addresses() {
            let bytes = match address.strip_prefix("data:") {
                Some(data) => embedded_image(data),
                None => self.downloads.get(address, ACCEPTED).await,
            };
            let image = match bytes {
                // Decoding takes a while.
                Ok(bytes) => tokio::task::spawn_blocking(move || reencode_icon(&bytes)).await.ok().flatten(),
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

/// Decodes an image and encodes it anew as a square PNG; of an animation it is the first picture. `None` for what is no
/// image of a known type or too large.
#[must_use]
pub fn reencode_icon(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() > MAX_IMAGE_BYTES {
        return None;
    }
    // By the first bytes, whatever the server said.
    let format = image::guess_format(bytes).ok()?;
    if !matches!(format, ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP | ImageFormat::Gif) {
        return None;
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let small = reader.decode().ok()?.resize(SIDE, SIDE, FilterType::Triangle).to_rgba8();
    let mut square = RgbaImage::new(SIDE, SIDE);
    let middle = |side: u32| i64::from(SIDE.saturating_sub(side) / 2);
    imageops::overlay(&mut square, &small, middle(small.width()), middle(small.height()));
    let mut png = Cursor::new(Vec::new());
    DynamicImage::ImageRgba8(square).write_to(&mut png, ImageFormat::Png).ok()?;
    Some(png.into_inner())
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let image = RgbaImage::from_pixel(width, height, Rgba([200, 10, 10, 255]));
        // JPEG has no transparency.
        let image = DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(image).to_rgb8());
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn sources(icons: &str) -> Vec<String> {
        let info = RawValue::from_string(format!(r#"{{"name":"a","version":"1","icons":{icons}}}"#)).unwrap();
        IconSources::of(&info).addresses().to_vec()
    }

    #[test]
    fn encodes_images_anew() {
        for (format, width, height) in [
            (ImageFormat::Png, 64, 64),
            (ImageFormat::Png, 300, 20),
            (ImageFormat::Jpeg, 16, 16),
            (ImageFormat::WebP, 128, 200),
            (ImageFormat::Gif, 64, 64),
            (ImageFormat::Png, 2048, 64),
        ] {
            let png = reencode_icon(&picture(width, height, format)).expect("an image");
            assert_eq!(image::guess_format(&png).unwrap(), ImageFormat::Png);
            let image = image::load_from_memory(&png).unwrap().to_rgba8();
            assert_eq!(image.dimensions(), (64, 64), "{format:?} {width}x{height}");
            let middle = image.get_pixel(32, 32);
            assert!(middle[0] > 150 && middle[1] < 60 && middle[3] > 200, "{middle:?}");
        }
    }

    #[test]
    fn drops_what_is_hidden_behind_an_image() {
        let mut bytes = picture(64, 64, ImageFormat::Png);
        bytes.extend(b"<script>alert(1)</script>");
        let png = reencode_icon(&bytes).unwrap();
        assert!(!png.windows(7).any(|part| part == b"<script"));
    }

    #[test]
    fn refuses_other_images() {
        let png = picture(64, 64, ImageFormat::Png);
        let mut lying = png.clone();
        // The width in its header: 0x00ffffff pixels.
        lying[16..20].copy_from_slice(&[0, 0xff, 0xff, 0xff]);
        let mut padded = png.clone();
        padded.resize(MAX_IMAGE_BYTES + 1, 0);
        for (name, bytes) in [
            ("nothing", Vec::new()),
            ("text", b"no image".to_vec()),
            ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>".to_vec()),
            ("bmp", b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec()),
            ("ico", b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0".to_vec()),
            ("cut off", png[..png.len() / 2].to_vec()),
            ("a wrong size", lying),
            ("too wide", picture(2049, 1, ImageFormat::Png)),
            ("too many bytes", padded),
        ] {
            assert_eq!(reencode_icon(&bytes), None, "{name}");
        }
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
        let png = STANDARD.encode(picture(64, 64, ImageFormat::Png));
        let fetcher = IconFetcher::default();
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
