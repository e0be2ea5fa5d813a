//! Writes Markdown: words, separated by the widest gap that was requested since the last word.

/// Length in bytes at which the rest of the page is left out.
const MAX_TEXT_BYTES: usize = 10 * 1024 * 1024;
/// Deepest nesting of lists and quotes that is shown; what is deeper is written at this depth.
const MAX_DEPTH: usize = 12;

/// Separation between what was written and what comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    /// This many cell borders of a table.
    Cells(usize),
    Line,
    Paragraph,
}

/// Blocks that lines are nested in.
enum Frame {
    Quote,
    /// The number of the next item, if the list is numbered.
    List(Option<u32>),
}

/// Prefix of the next line.
struct LinePrefix {
    text: String,
    /// Whether it is the marker of a list item, which takes the place of the item's indentation.
    of_item: bool,
}

struct OpenLink {
    url: String,
    /// Position at which the link text begins, once there is some.
    start: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeSpan {
    Off,
    Wanted,
    Open,
}

/// The text so far.
pub(super) struct MarkdownWriter {
    out: String,
    gap: Gap,
    frames: Vec<Frame>,
    prefix: Option<LinePrefix>,
    link: Option<OpenLink>,
    code: CodeSpan,
    preformatted: bool,
    /// Whether no preformatted text has been seen yet.
    preformatted_is_new: bool,
    /// Number of cells begun in the current row.
    cells: usize,
    /// Whether nothing has been written in the current cell yet.
    cell_is_new: bool,
}

impl Default for MarkdownWriter {
    fn default() -> Self {
        Self {
            out: String::new(),
            gap: Gap::None,
            frames: Vec::new(),
            prefix: None,
            link: None,
            code: CodeSpan::Off,
            preformatted: false,
            preformatted_is_new: false,
            cells: 0,
            cell_is_new: false,
        }
    }
}

impl MarkdownWriter {
    /// Whether [`MAX_TEXT_BYTES`] is exceeded.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() > MAX_TEXT_BYTES
    }

    pub(super) fn finish(mut self) -> String {
        self.close_preformatted();
        self.close_link();
        self.close_code();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    /// Requests at least this gap, but no new line at the start of a cell.
    pub(super) fn request_gap(&mut self, gap: Gap) {
        if !(self.cell_is_new && gap > Gap::Space) {
            self.gap = self.gap.max(gap);
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.preformatted {
            self.new_line();
        } else {
            self.request_gap(if self.gap >= Gap::Line { Gap::Paragraph } else { Gap::Line });
        }
    }

    /// Writes text of the page.
    pub(super) fn text(&mut self, text: &str) {
        if self.preformatted {
            if std::mem::take(&mut self.gap) >= Gap::Line && !self.out.ends_with('\n') {
                self.new_line();
            }
            // HTML ignores a line break right after the `<pre>` tag.
            let text = if std::mem::take(&mut self.preformatted_is_new) {
                text.strip_prefix('\n').unwrap_or(text)
            } else {
                text
            };
            for (number, line) in text.split('\n').enumerate() {
                if self.is_full() {
                    return;
                }
                if number > 0 {
                    self.new_line();
                }
                self.out.push_str(line);
            }
            return;
        }
        for (number, word) in text.split(|letter: char| letter.is_whitespace()).enumerate() {
            if number > 0 {
                self.request_gap(Gap::Space);
            }
            if !word.is_empty() {
                self.put(word);
            }
        }
    }

    /// Writes words without line breaks, after the pending gap.
    pub(super) fn put(&mut self, words: &str) {
        match std::mem::take(&mut self.gap) {
            _ if self.out.is_empty() => self.begin_line(),
            Gap::None => {}
            Gap::Space => self.out.push(' '),
            Gap::Cells(count) => (0..count).for_each(|_| self.out.push_str(" | ")),
            Gap::Line => self.new_line(),
            Gap::Paragraph => {
                self.out.push('\n');
                self.new_line();
            }
        }
        self.cell_is_new = false;
        if let Some(OpenLink { start: start @ None, .. }) = &mut self.link {
            *start = Some(self.out.len());
        }
        if self.code == CodeSpan::Wanted {
            self.code = CodeSpan::Open;
            self.out.push('`');
        }
        self.out.push_str(words);
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.begin_line();
    }

    fn begin_line(&mut self) {
        let prefix = self.prefix.take();
        let frames = self.frames.len().min(MAX_DEPTH);
        // The marker of an item takes the place of the indentation of its other lines.
        let indents = frames - usize::from(prefix.as_ref().is_some_and(|prefix| prefix.of_item)).min(frames);
        for frame in self.frames.iter().take(indents) {
            self.out.push_str(match frame {
                Frame::Quote => "> ",
                Frame::List(None) => "  ",
                Frame::List(Some(_)) => "   ",
            });
        }
        if let Some(prefix) = prefix {
            self.out.push_str(&prefix.text);
        }
    }

    pub(super) fn heading(&mut self, level: usize) {
        let prefix = self.prefix.get_or_insert(LinePrefix { text: String::new(), of_item: false });
        if !prefix.text.ends_with("# ") {
            prefix.text.push_str(&"#".repeat(level));
            prefix.text.push(' ');
        }
    }

    /// Removes the prefix of a heading that turned out to be empty.
    pub(super) fn forget_heading(&mut self) {
        self.prefix.take_if(|prefix| !prefix.of_item);
    }

    /// Opens a list, numbered from `first` if that is given.
    pub(super) fn open_list(&mut self, first: Option<u32>) {
        self.request_gap_around_list();
        self.push(Frame::List(first));
    }

    pub(super) fn close_list(&mut self) {
        if matches!(self.frames.last(), Some(Frame::List(_))) {
            self.frames.pop();
        }
        self.prefix = None;
        self.request_gap_around_list();
    }

    fn request_gap_around_list(&mut self) {
        let inner = matches!(self.frames.last(), Some(Frame::List(_)));
        self.request_gap(if inner { Gap::Line } else { Gap::Paragraph });
    }

    pub(super) fn item(&mut self) {
        self.request_gap(Gap::Line);
        let prefix = match self.frames.last_mut() {
            Some(Frame::List(Some(number))) => {
                let text = format!("{number}. ");
                *number = number.saturating_add(1);
                LinePrefix { text, of_item: true }
            }
            Some(Frame::List(None)) => LinePrefix { text: "- ".to_owned(), of_item: true },
            Some(Frame::Quote) | None => LinePrefix { text: "- ".to_owned(), of_item: false },
        };
        self.prefix = Some(prefix);
    }

    pub(super) fn end_item(&mut self) {
        self.prefix = None;
        self.request_gap(Gap::Line);
    }

    pub(super) fn open_quote(&mut self) {
        self.request_gap(Gap::Paragraph);
        self.push(Frame::Quote);
    }

    pub(super) fn close_quote(&mut self) {
        if matches!(self.frames.last(), Some(Frame::Quote)) {
            self.frames.pop();
        }
        self.request_gap(Gap::Paragraph);
    }

    fn push(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    pub(super) fn open_preformatted(&mut self) {
        if !self.preformatted {
            self.close_link();
            self.close_code();
            self.request_gap(Gap::Paragraph);
            self.put("```");
            self.new_line();
            self.preformatted = true;
            self.preformatted_is_new = true;
        }
    }

    pub(super) fn close_preformatted(&mut self) {
        if self.preformatted {
            self.preformatted = false;
            self.out.truncate(self.out.trim_end().len());
            self.new_line();
            self.out.push_str("```");
            self.gap = Gap::Paragraph;
        }
    }

    pub(super) fn open_code(&mut self) {
        if !self.preformatted && self.code == CodeSpan::Off {
            self.code = CodeSpan::Wanted;
        }
    }

    pub(super) fn close_code(&mut self) {
        if self.code == CodeSpan::Open {
            self.out.push('`');
        }
        self.code = CodeSpan::Off;
    }

    pub(super) fn open_link(&mut self, url: String) {
        if !self.preformatted {
            self.link = Some(OpenLink { url, start: None });
        }
    }

    pub(super) fn close_link(&mut self) {
        let Some(OpenLink { url, start: Some(start) }) = self.link.take() else { return };
        let Some(text) = self.out.get(start..) else { return };
        if text == url {
            return;
        }
        if text.contains('\n') {
            self.out.extend([" (", &url, ")"]);
        } else {
            self.out.insert(start, '[');
            self.out.extend(["](", &url, ")"]);
        }
    }

    pub(super) fn row(&mut self) {
        self.end_row();
        self.cells = 0;
    }

    pub(super) fn end_row(&mut self) {
        self.cell_is_new = false;
        if matches!(self.gap, Gap::Cells(_)) {
            self.gap = Gap::None;
        }
        self.request_gap(Gap::Line);
    }

    pub(super) fn cell(&mut self) {
        if self.cells > 0 {
            self.gap = match self.gap {
                Gap::Cells(count) => Gap::Cells(count + 1),
                _ => Gap::Cells(1),
            };
        }
        self.cells += 1;
        self.cell_is_new = true;
    }

    /// Ends a row and separates the table from its surroundings.
    pub(super) fn end_table(&mut self) {
        self.end_row();
        self.cells = 0;
        self.request_gap(Gap::Paragraph);
    }
}
