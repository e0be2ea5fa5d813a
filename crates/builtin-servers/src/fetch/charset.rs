//! Decodes a page. The encoding is determined by the byte order mark, then the `Content-Type`, then
//! the page's `<meta>`, then UTF-8 if the bytes are valid, otherwise windows-1252.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use html5gum::{Token, Tokenizer};

/// How many bytes of a page are searched for its `<meta>` encoding.
const LOOKED_AT: usize = 4096;

/// Decodes a page; `message` is the charset of its `Content-Type`.
pub(super) fn decode(bytes: &[u8], said: Option<&str>, is_html: bool) -> String {
    let encoding = said
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| is_html.then(|| of_page(bytes)).flatten())
        .unwrap_or_else(|| if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 });
    // `decode` gives precedence to a byte order mark.
    encoding.decode(bytes).0.into_owned()
}

/// The encoding in a `<meta>` tag.
fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(bytes.get(..LOOKED_AT).unwrap_or(bytes));
    let encoding = Tokenizer::new(head.as_ref()).find_map(|token| {
        let Ok(Token::StartTag(tag)) = token else { return None };
        if tag.name.as_slice() != b"meta" {
            return None;
        }
        let attribute = |name: &[u8]| {
            let value = tag.attributes.iter().find(|(key, _)| key.as_slice() == name);
            value.map(|(_, value)| String::from_utf8_lossy(value).to_ascii_lowercase())
        };
        let label = attribute(b"charset").or_else(|| {
            let content = attribute(b"content")?;
            let is_type = attribute(b"http-equiv")? == "content-type";
            is_type.then(|| parameter(&content)).flatten()
        })?;
        Encoding::for_label(label.as_bytes())
    })?;
    // A `<meta>` tag that could be read as single bytes is not in UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding })
}

/// The `charset` parameter of a content type.
pub(super) fn parameter(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_encoding_from_every_source() {
        let table: [(&[u8], Option<&str>, &str); 10] = [
            ("Grüße".as_bytes(), None, "Grüße"),
            (b"Gr\xfc\xdfe", None, "Grüße"),
            (b"Gr\xfc\xdfe", Some("iso-8859-1"), "Grüße"),
            (b"\x83e\x83X\x83g", Some("Shift_JIS"), "テスト"),
            (b"<meta charset='koi8-r'>\xf4\xc5\xd3\xd4", None, "<meta charset='koi8-r'>Тест"),
            (
                b"<META http-equiv=Content-Type content='text/html; charset=gbk'>\xb2\xe2",
                None,
                "<META http-equiv=Content-Type content='text/html; charset=gbk'>测",
            ),
            ("<meta charset=utf-16>é".as_bytes(), None, "<meta charset=utf-16>é"),
            (b"\xef\xbb\xbfx\xc3\xa9", Some("iso-8859-1"), "xé"),
            (b"\xff\xfeh\0i\0", None, "hi"),
            ("é".as_bytes(), Some("no-such-charset"), "é"),
        ];
        for (bytes, said, expected) in table {
            assert_eq!(decode(bytes, said, true), expected);
        }
        assert_eq!(decode(b"<meta charset='koi8-r'>\xf4", None, false), "<meta charset='koi8-r'>ô");
    }

    #[test]
    fn parses_charset_parameter() {
        let table = [
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;boundary=x;Charset=\"GBK\"", Some("GBK")),
            ("text/html", None),
            ("text/html; charset", None),
        ];
        for (text, expected) in table {
            assert_eq!(parameter(text).as_deref(), expected, "{text}");
        }
    }
}
