//! Decodes images that servers chose, and encodes them anew. Decoders are large, an error in one can end its process, and
//! they don't always keep to the limits that they are given: a WebP frame can be far larger than its picture, which is
//! noticed once it is decoded. So each image has a process of its own: this program, started as `--image-worker`, with limits
//! on time and memory.

use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gatehouse_mcp_client::worker_process::{Watchdog, WorkerProcess};
use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageFormat, ImageReader, ImageResult, Limits, RgbaImage};
use tokio::sync::Semaphore;

use super::{MAX_IMAGE_BYTES, SIDE};

/// The hidden argument that makes a program an image worker.
pub(crate) const ARGUMENT: &str = "--image-worker";
/// Widest and highest image that is decoded, in pixels.
const MAX_SIDE: u32 = 2048;
/// Memory that a decoder is told that it may take, in bytes.
const MAX_DECODER_BYTES: u64 = 32 * 1024 * 1024;
/// Memory of a worker, in bytes: enough for the largest image, which is copied a few times on its way.
#[cfg(unix)]
const MEMORY: u64 = 256 * 1024 * 1024;
/// Time limit for one image. Usual ones take milliseconds.
const TIME: Duration = Duration::from_secs(5);
/// How many workers run at a time.
const MAX_RUNNING: usize = 2;
/// Largest PNG that a worker may answer with, in bytes: more than one of this size without compression.
const MAX_PNG_BYTES: usize = 32 * 1024;
const FORMATS: [ImageFormat; 4] = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif];

/// Decodes images, of all servers a few at a time.
#[derive(Debug)]
pub(super) struct IconDecoder {
    /// The worker program. Without it images are decoded in this process.
    program: Option<PathBuf>,
    turns: Semaphore,
}

impl IconDecoder {
    pub(super) fn new(program: Option<PathBuf>) -> Self {
        Self { program, turns: Semaphore::new(MAX_RUNNING) }
    }

    /// Decodes an image and encodes it anew as a square PNG; of an animation it is the first picture. `None` for what is
    /// no image of a known type, is too large, or could not be decoded within the limits.
    pub(super) async fn reencode(&self, image: Vec<u8>) -> Option<Vec<u8>> {
        let _turn = self.turns.acquire().await.ok()?;
        let program = self.program.clone();
        let decoding = tokio::task::spawn_blocking(move || {
            let Some(program) = program else { return reencode(&image) };
            reencode_in_worker(&program, &image).unwrap_or_else(|error| {
                tracing::warn!(%error, "the image of a server could not be decoded");
                None
            })
        });
        decoding.await.ok().flatten()
    }
}

/// Encodes anew what [`IconFetcher::fetch`](super::IconFetcher::fetch) gave and was stored since. Only such an image is
/// decoded here: no other format, and no larger one.
#[must_use]
pub fn restore_icon(png: &[u8]) -> Option<Vec<u8>> {
    if image::guess_format(png).ok()? != ImageFormat::Png {
        return None;
    }
    decode(png, ImageFormat::Png, SIDE).and_then(encode).ok()
}

fn reencode_in_worker(program: &Path, image: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let mut worker = WorkerProcess::start(program, ARGUMENT, TIME)?;
    write_message(&mut worker.input, image)?;
    let png = read_message(&mut worker.output, MAX_PNG_BYTES)?;
    Ok(Some(png).filter(|png| !png.is_empty()))
}

/// Reencodes one image from standard input to standard output.
pub(crate) fn serve() {
    #[cfg(unix)]
    gatehouse_mcp_client::worker_process::limit_memory(MEMORY);
    let watchdog = Watchdog::start(TIME);
    let Ok(image) = read_message(&mut io::stdin().lock(), MAX_IMAGE_BYTES) else { return };
    watchdog.begin();
    let png = reencode(&image).unwrap_or_default();
    watchdog.end();
    if let Err(error) = write_message(&mut io::stdout().lock(), &png) {
        tracing::debug!(%error, "nobody takes the image");
    }
}

/// Writes the length in bytes as 32 bits, big end first, and the content.
fn write_message(output: &mut impl Write, content: &[u8]) -> io::Result<()> {
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_be_bytes())?;
    output.write_all(content)?;
    output.flush()
}

/// Reads what [`write_message`] wrote, of at most `max` bytes.
fn read_message(input: &mut impl Read, max: usize) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    if length > max {
        return Err(io::Error::other("the message is too long"));
    }
    let mut content = vec![0; length];
    input.read_exact(&mut content)?;
    Ok(content)
}

fn reencode(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.len() > MAX_IMAGE_BYTES {
        return None;
    }
    // By the first bytes, whatever the server said.
    let format = image::guess_format(bytes).ok().filter(|format| FORMATS.contains(format))?;
    decode(bytes, format, MAX_SIDE).and_then(encode).ok()
}

/// Decodes an image of at most `max_side` pixels in width and height.
fn decode(bytes: &[u8], format: ImageFormat, max_side: u32) -> ImageResult<DynamicImage> {
    let mut limits = Limits::default();
    limits.max_image_width = Some(max_side);
    limits.max_image_height = Some(max_side);
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    reader.decode()
}

/// Scales an image to a square and encodes it as PNG.
fn encode(image: DynamicImage) -> ImageResult<Vec<u8>> {
    let small = image.resize(SIDE, SIDE, FilterType::Triangle).to_rgba8();
    let mut square = RgbaImage::new(SIDE, SIDE);
    let middle = |side: u32| i64::from(SIDE.saturating_sub(side) / 2);
    imageops::overlay(&mut square, &small, middle(small.width()), middle(small.height()));
    let mut png = Cursor::new(Vec::new());
    DynamicImage::ImageRgba8(square).write_to(&mut png, ImageFormat::Png)?;
    Ok(png.into_inner())
}

#[cfg(test)]
pub(super) mod tests {
    use image::{ImageError, Rgba};

    use super::*;

    pub(in crate::icons) fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let image = RgbaImage::from_pixel(width, height, Rgba([200, 10, 10, 255]));
        // JPEG has no transparency.
        let image = DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(image).to_rgb8());
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
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
            let png = reencode(&picture(width, height, format)).expect("an image");
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
        let png = reencode(&bytes).unwrap();
        assert!(!png.windows(7).any(|part| part == b"<script"));
    }

    #[test]
    fn refuses_other_images() {
        let png = picture(64, 64, ImageFormat::Png);
        let mut padded = png.clone();
        padded.resize(MAX_IMAGE_BYTES + 1, 0);
        for (name, bytes) in [
            ("nothing", Vec::new()),
            ("text", b"no image".to_vec()),
            ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>".to_vec()),
            ("bmp", b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec()),
            ("ico", b"\0\0\x01\0\x01\0\x10\x10\0\0\x01\0\x20\0".to_vec()),
            ("cut off", png[..png.len() / 2].to_vec()),
            ("too wide", picture(2049, 1, ImageFormat::Png)),
            ("too high", picture(1, 2049, ImageFormat::Png)),
            ("too many bytes", padded),
        ] {
            assert_eq!(reencode(&bytes), None, "{name}");
        }
    }

    /// A header says how large a picture is: with it alone, nothing is decoded. A WebP file says it twice, so a changed
    /// one is damaged before it is too large.
    #[test]
    fn refuses_pictures_by_their_size_before_decoding_them() {
        let patched = |format: ImageFormat, at: fn(&[u8]) -> usize, size: &[u8]| {
            let mut bytes = picture(64, 64, format);
            let at = at(&bytes);
            bytes[at..at + size.len()].copy_from_slice(size);
            bytes
        };
        // After the marker of a frame come its length, the bits of a sample, the height and the width.
        let jpeg: fn(&[u8]) -> usize =
            |bytes| bytes.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap() + 5;
        for (format, bytes) in [
            (ImageFormat::Jpeg, patched(ImageFormat::Jpeg, jpeg, &[0xff, 0xff, 0xff, 0xff])),
            (ImageFormat::Gif, patched(ImageFormat::Gif, |_| 6, &[0xff, 0xff, 0xff, 0xff])),
            (ImageFormat::Png, picture(2048, 2049, ImageFormat::Png)),
        ] {
            let refused = decode(&bytes, format, MAX_SIDE).map(|image| (image.width(), image.height()));
            assert!(matches!(refused, Err(ImageError::Limits(_))), "{format:?}: {refused:?}");
        }
    }

    #[test]
    fn damaged_images_are_refused_or_shown_but_do_no_harm() {
        for format in FORMATS {
            let whole = picture(16, 16, format);
            for length in 0..whole.len() {
                let is_image = reencode(&whole[..length]).is_none_or(|png| restore_icon(&png).is_some());
                assert!(is_image, "{format:?} of {length} bytes");
            }
            for at in 0..whole.len().min(64) {
                let mut damaged = whole.clone();
                damaged[at] ^= 0xff;
                let is_image = reencode(&damaged).is_none_or(|png| restore_icon(&png).is_some());
                assert!(is_image, "{format:?} with another byte at {at}");
            }
        }
    }

    #[test]
    fn restores_only_what_it_encoded() {
        let png = reencode(&picture(300, 20, ImageFormat::WebP)).unwrap();
        assert!(restore_icon(&png).is_some());
        for format in [ImageFormat::Jpeg, ImageFormat::WebP, ImageFormat::Gif] {
            assert_eq!(restore_icon(&picture(64, 64, format)), None, "{format:?}");
        }
        assert_eq!(restore_icon(&picture(65, 64, ImageFormat::Png)), None);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_worker_that_fails_gives_no_image() {
        use std::os::unix::fs::PermissionsExt as _;

        let dir = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        for (name, script, expected) in [
            ("answers", "head -c 8 > /dev/null; printf '\\0\\0\\0\\3abc'", Some(&b"abc"[..])),
            ("refuses", "head -c 8 > /dev/null; printf '\\0\\0\\0\\0'", None),
            ("never-reads", "exit 1", None),
            ("crashes", "head -c 8 > /dev/null; kill -ABRT $$", None),
            ("stops", "head -c 8 > /dev/null; printf '\\0\\0\\0\\3a'", None),
            ("floods", "head -c 8 > /dev/null; printf '\\377\\377\\377\\377'; cat /dev/zero", None),
        ] {
            let program = dir.path().join(name);
            std::fs::write(&program, format!("#!/bin/sh\nPATH='{path}'\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            let decoder = IconDecoder::new(Some(program));
            let image = decoder.reencode(picture(64, 64, ImageFormat::Png)).await;
            assert_eq!(image.as_deref(), expected, "{name}");
        }
        let missing = IconDecoder::new(Some(dir.path().join("missing")));
        assert_eq!(missing.reencode(picture(64, 64, ImageFormat::Png)).await, None);
    }

    #[test]
    fn messages_have_a_limit() {
        let mut written = Vec::new();
        write_message(&mut written, b"abc").unwrap();
        assert_eq!(written, b"\0\0\0\x03abc");
        assert_eq!(read_message(&mut written.as_slice(), 3).unwrap(), b"abc");
        assert!(read_message(&mut written.as_slice(), 2).is_err());
        assert!(read_message(&mut &written[..6], 3).is_err());
    }
}
