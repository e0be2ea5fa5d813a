//! Converts HTML to readable Markdown in one pass over the tags, without building a tree: time and
//! memory grow with the length of the page and not with its nesting depth.
//!
//! Pages are untrusted input: whatever they contain, the conversion ends soon and never fails.

mod writer;

use html5gum::{HtmlString, StartTag, Token, Tokenizer, naive_next_state};
use url::Url;

use writer::{Gap, MarkdownWriter};

/// Longest link and base URL that are used, in bytes.
const MAX_LINK_BYTES: usize = 2000;
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 300;
/// Elements without readable content.
const SKIPPED_ELEMENTS: &[&str] = &[
    "script", "style", "template", "svg", "math", "iframe", "audio", "video", "canvas", "object", "noframes",
    "noembed", "select", "datalist", "textarea",
];
/// Elements that begin and end a line.
const BLOCK_ELEMENTS: &[&str] = &[
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "legend",
    "main",
    "nav",
    "section",
    "summary",
];

/// A converted page.
pub(super) struct HtmlPage {
    pub(super) title: Option<String>,
    pub(super) text: String,
}

/// Converts a page; `address` is the base of relative links.
pub(super) fn read(source: &str, address: &Url) -> HtmlPage {
    let mut tokens = Tokenizer::new(source);
    let mut reader = HtmlReader {
        writer: MarkdownWriter::default(),
        base: address.clone(),
        title: Title::None,
        skipped: None,
    };
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) => {
                // Scripts don't run here, so the content of `<noscript>` is part of the page.
                if tag.name.as_slice() != b"noscript"
                    && let Some(state) = naive_next_state(&tag.name)
                {
                    tokens.set_state(state);
                }
                reader.open(&tag);
            }
            Token::EndTag(tag) => reader.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if reader.writer.is_full() {
            reader.writer.request_gap(Gap::Paragraph);
            reader.writer.put("[The rest of this very long page is left out.]");
            break;
        }
    }
    let title = match reader.title {
        Title::Open(title) | Title::Closed(title) => title,
        Title::None => String::new(),
    };
    let title = shortened(&title, MAX_TITLE_CHARS);
    HtmlPage { title: (!title.is_empty()).then_some(title), text: reader.writer.finish() }
}

struct HtmlReader {
    writer: MarkdownWriter,
    /// The base URL of links.
    base: Url,
    title: Title,
    /// An element that is being skipped, and its nesting depth.
    skipped: Option<(String, usize)>,
}

enum Title {
    None,
    Open(String),
    Closed(String),
}

impl HtmlReader {
    fn open(&mut self, tag: &StartTag<()>) {
        let name = &*String::from_utf8_lossy(&tag.name);
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(skipped == name && !tag.self_closing);
            return;
        }
        if SKIPPED_ELEMENTS.contains(&name) {
            // Only these two can be self-closing.
            if !(tag.self_closing && matches!(name, "svg" | "math")) {
                self.skipped = Some((name.to_owned(), 1));
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "title" if matches!(self.title, Title::None) => self.title = Title::Open(String::new()),
            // The page has a title already.
            "title" => self.skipped = Some((name.to_owned(), 1)),
            "base" => {
                if let Some(base) = attribute(tag, "href").and_then(|href| self.base.join(&href).ok())
                    && base.as_str().len() <= MAX_LINK_BYTES
                {
                    self.base = base;
                }
            }
            "a" => {
                let url = attribute(tag, "href").and_then(|href| self.link(&href));
                self.writer.close_link();
                if let Some(url) = url {
                    self.writer.open_link(url);
                }
            }
            "img" => {
                let words = attribute(tag, "alt").map(|alt| shortened(&alt, MAX_TITLE_CHARS));
                if let Some(words) = words.filter(|words| !words.is_empty()) {
                    writer.put(&format!("[image: {words}]"));
                }
            }
            "br" => writer.line_break(),
            "hr" => {
                writer.request_gap(Gap::Paragraph);
                writer.put("---");
                writer.request_gap(Gap::Paragraph);
            }
            "p" => writer.request_gap(Gap::Paragraph),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                writer.request_gap(Gap::Paragraph);
                writer.heading(name.get(1..).and_then(|level| level.parse().ok()).unwrap_or(1));
            }
            "ul" | "menu" => writer.open_list(None),
            "ol" => {
                let first = attribute(tag, "start").and_then(|start| start.trim().parse().ok());
                writer.open_list(Some(first.unwrap_or(1)));
            }
            "li" => writer.item(),
            "blockquote" => writer.open_quote(),
            "pre" => writer.open_preformatted(),
            "code" => writer.open_code(),
            "table" => writer.end_table(),
            "tr" => writer.row(),
            "td" | "th" => writer.cell(),
            _ if BLOCK_ELEMENTS.contains(&name) => writer.request_gap(Gap::Line),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth -= usize::from(skipped == name);
            if *depth == 0 {
                self.skipped = None;
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "title" => {
                self.title = match std::mem::replace(&mut self.title, Title::None) {
                    Title::Open(title) => Title::Closed(title),
                    other => other,
                };
            }
            "a" => writer.close_link(),
            "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                writer.forget_heading();
                writer.request_gap(Gap::Paragraph);
            }
            "ul" | "menu" | "ol" => writer.close_list(),
            "li" => writer.end_item(),
            "blockquote" => writer.close_quote(),
            "pre" => writer.close_preformatted(),
            "code" => writer.close_code(),
            "table" => writer.end_table(),
            "tr" => writer.end_row(),
            _ if BLOCK_ELEMENTS.contains(&name) => writer.request_gap(Gap::Line),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        match &mut self.title {
            Title::Open(title) => title.push_str(text),
            Title::None | Title::Closed(_) => self.writer.text(text),
        }
    }

    /// The target of a link, if it is worth showing.
    fn link(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > MAX_LINK_BYTES {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let shown =
            matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= MAX_LINK_BYTES;
        shown.then(|| url.into())
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(&HtmlString::from(name.as_bytes().to_vec()))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Collapses white space and truncates to `most` characters.
fn shortened(text: &str, most: usize) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
        if short.len() > most * 4 {
            break;
        }
    }
    if short.chars().count() > most {
        short = short.chars().take(most).collect();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
