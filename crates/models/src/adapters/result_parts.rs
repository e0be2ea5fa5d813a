//! The content of a tool result, read block by block, in no provider's format.

use std::borrow::Cow;

use gatehouse_mcp_wire::json::read;
use gatehouse_mcp_wire::raw::Members;
use serde_json::value::RawValue;

use crate::adapters::json_numbers::all_finite;

/// A piece of a result for a model.
#[derive(Debug)]
pub(super) enum RenderedPart<'a> {
    Text(Cow<'a, str>),
    /// Bytes of a type.
    Media(ResultMedia<'a>),
}

#[derive(Debug)]
pub(super) struct ResultMedia<'a> {
    pub(super) mime_type: Cow<'a, str>,
    /// Base64 (RFC 4648).
    pub(super) data: Cow<'a, str>,
    /// Where it comes from, if that is said.
    pub(super) uri: Option<Cow<'a, str>>,
    /// JSON pointer in the result.
    pub(super) pointer: String,
    pub(super) kind: &'static str,
}

impl ResultMedia<'_> {
    /// Stands in the result for what can't be carried.
    pub(super) fn placeholder(&self) -> String {
        let size = self.data.len() / 4 * 3;
        match &self.uri {
            Some(uri) => format!("[{} {uri} ({}, {size} bytes): not shown]", self.kind, self.mime_type),
            None => format!("[{} ({}, {size} bytes): not shown]", self.kind, self.mime_type),
        }
    }

    /// For the report.
    pub(super) fn lost(&self) -> String {
        format!("{}: {} of the type {}", self.pointer, self.kind, self.mime_type)
    }
}

/// A result as it is read.
#[derive(Debug, Default)]
pub(super) struct ReadResult<'a> {
    pub(super) parts: Vec<RenderedPart<'a>>,
    pub(super) is_error: bool,
    /// `structuredContent`, unless a text has the same.
    pub(super) structured: Option<&'a RawValue>,
    /// `structuredContent`, if the only text has the same.
    pub(super) only_structured: Option<&'a RawValue>,
    /// What can't be read.
    pub(super) lost: Vec<String>,
}

impl<'a> ReadResult<'a> {
    /// Reads a `CallToolResult`. What isn't one is a text.
    pub(super) fn read(result: &'a RawValue) -> Self {
        let Ok(members) = Members::of(result) else {
            return Self { parts: vec![RenderedPart::Text(Cow::Borrowed(result.get()))], ..Self::default() };
        };
        let mut content = Self { is_error: members.flag("isError").unwrap_or(false), ..Self::default() };
        let blocks =
            members.get("content").map(|blocks| serde_json::from_str::<Vec<&RawValue>>(blocks.get()));
        match blocks {
            Some(Ok(blocks)) => {
                for (index, block) in blocks.into_iter().enumerate() {
                    content.add(format!("/content/{index}"), block);
                }
            }
            Some(Err(_)) => content.lost.push("/content: not a list".to_owned()),
            None => {}
        }
        let structured = members.get("structuredContent").filter(|value| value.get() != "null");
        if let Some(structured) = structured {
            content.add_structured(structured);
        }
        content
    }

    fn add(&mut self, pointer: String, block: &'a RawValue) {
        let Ok(members) = Members::of(block) else {
            self.lost.push(format!("{pointer}: not an object"));
            return;
        };
        let kind = members.text("type");
        match kind.as_deref() {
            Some("text") => match members.text("text") {
                Some(text) => self.parts.push(RenderedPart::Text(text)),
                None => self.lost.push(format!("{pointer}: a text without text")),
            },
            Some("image") => self.add_media(pointer, &members, "data", "Image"),
            Some("audio") => self.add_media(pointer, &members, "data", "Audio"),
            Some("resource_link") => self.parts.push(RenderedPart::Text(Cow::Owned(resource_link(&members)))),
            Some("resource") => match members.get("resource").map(Members::of) {
                Some(Ok(resource)) => self.add_resource(pointer, &resource),
                _ => self.lost.push(format!("{pointer}: a resource without resource")),
            },
            other => {
                let kind = other.unwrap_or("none").chars().take(64).collect::<String>();
                self.lost.push(format!("{pointer}: content of the unknown type {kind:?}"));
            }
        }
    }

    fn add_resource(&mut self, pointer: String, resource: &Members<'a>) {
        if let Some(text) = resource.text("text") {
            let uri = resource.text("uri").unwrap_or_default();
            let mime_type = resource.text("mimeType").map(|kind| format!(" ({kind})")).unwrap_or_default();
            self.parts.push(RenderedPart::Text(Cow::Owned(format!("Resource {uri}{mime_type}:\n{text}"))));
            return;
        }
        self.add_media(format!("{pointer}/resource"), resource, "blob", "Resource");
    }

    fn add_media(&mut self, pointer: String, members: &Members<'a>, data: &str, kind: &'static str) {
        let mime_type = members.text("mimeType").unwrap_or(Cow::Borrowed("application/octet-stream"));
        let data = members.text(data).unwrap_or_default();
        // A provider would refuse the whole request.
        if !is_base64(&data) {
            self.lost.push(format!("{pointer}: data that is not base64"));
            self.parts.push(RenderedPart::Text(Cow::Owned(format!("[{kind} ({mime_type}): damaged]"))));
            return;
        }
        let uri = members.text("uri");
        self.parts.push(RenderedPart::Media(ResultMedia { mime_type, data, uri, pointer, kind }));
    }

    /// Servers repeat structured content as text, for clients that don't know it.
    fn add_structured(&mut self, structured: &'a RawValue) {
        let texts = self.parts.iter().filter_map(|part| match part {
            RenderedPart::Text(text) => Some(&**text),
            RenderedPart::Media(_) => None,
        });
        let tree = read(structured.get()).ok();
        let is_readable = tree.as_ref().is_some_and(all_finite);
        let tree = tree.map(|tree| tree.canonical());
        let repeats = |text: &str| {
            let text = text.trim();
            text == structured.get()
                || (text.starts_with(['{', '[']) && read(text).ok().map(|tree| tree.canonical()) == tree)
        };
        let texts: Vec<&str> = texts.collect();
        if texts.iter().any(|text| repeats(text)) {
            self.only_structured = (texts.len() == 1 && is_readable).then_some(structured);
        } else if is_readable {
            self.structured = Some(structured);
        } else {
            // As a text it can be read by whatever reads texts.
            self.parts.push(RenderedPart::Text(Cow::Borrowed(structured.get())));
        }
    }
}

fn resource_link(members: &Members<'_>) -> String {
    let uri = members.text("uri").unwrap_or_default();
    let mut out = format!("Resource link: {uri}");
    let names = [members.text("title"), members.text("name"), members.text("mimeType")];
    let names: Vec<Cow<'_, str>> = names.into_iter().flatten().filter(|name| !name.is_empty()).collect();
    if !names.is_empty() {
        out.push_str(&format!(" ({})", names.join(", ")));
    }
    if let Some(description) = members.text("description") {
        out.push('\n');
        out.push_str(&description);
    }
    out
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    !digits.is_empty()
        && data.len() - digits.len() <= 2
        && digits.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/'))
}
