//! Writes Markdown: words, separated by the widest gap that was requested since the last word.

/// Length in bytes at which the rest of the page is left out.
const MOST_TEXT: usize = 10 * 1024 * 1024;
/// Deepest nesting of lists and quotes that is shown; what is deeper is written at this depth.
const DEEPEST: usize = 12;

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
struct Mark {
    text: String,
    /// Whether it is the marker of a list item, which takes the place of the item's indentation.
    of_item: bool,
}

struct Link {
    url: String,
    /// Position at which the link text begins, once there is some.
    start: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    Off,
    Wanted,
    Open,
}

/// The text so far.
pub(super) struct Writer {
    out: String,
    gap: Gap,
    frames: Vec<Frame>,
    mark: Option<Mark>,
    link: Option<Link>,
    code: Code,
    preformatted: bool,
    /// Whether no preformatted text has been seen yet.
    preformatted_is_new: bool,
    /// Number of cells begun in the current row.
    cells: usize,
    /// Whether nothing has been written in the current cell yet.
    cell_is_new: bool,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            out: String::new(),
            gap: Gap::None,
            frames: Vec::new(),
            mark: None,
            link: None,
            code: Code::Off,
            preformatted: false,
            preformatted_is_new: false,
            cells: 0,
            cell_is_new: false,
        }
    }
}

impl Writer {
    /// Whether [`MOST_TEXT`] is exceeded.
    pub(super) fn is_full(&self) -> bool {
        self.out.len() > MOST_TEXT
    }

    pub(super) fn finish(mut self) -> String {
        self.close_preformatted();
        self.close_link();
        self.close_code();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }

    /// Requests at least this gap, but no new line at the start of a cell.
    pub(super) fn ask(&mut self, gap: Gap) {
        if !(self.cell_is_new && gap > Gap::Space) {
            self.gap = self.gap.max(gap);
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.preformatted {
            self.new_line();
        } else {
            self.ask(if self.gap >= Gap::Line { Gap::Paragraph } else { Gap::Line });
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
                self.ask(Gap::Space);
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
        if let Some(Link { start: start @ None, .. }) = &mut self.link {
            *start = Some(self.out.len());
        }
        if self.code == Code::Wanted {
            self.code = Code::Open;
            self.out.push('`');
        }
        self.out.push_str(words);
    }

    fn new_line(&mut self) {
        self.out.push('\n');
        self.begin_line();
    }

    fn begin_line(&mut self) {
        let mark = self.mark.take();
        let frames = self.frames.len().min(DEEPEST);
        // The marker of an item takes the place of the indentation of its other lines.
        let indents = frames - usize::from(mark.as_ref().is_some_and(|mark| mark.of_item)).min(frames);
        for frame in self.frames.iter().take(indents) {
            self.out.push_str(match frame {
                Frame::Quote => "> ",
                Frame::List(None) => "  ",
                Frame::List(Some(_)) => "   ",
            });
        }
        if let Some(mark) = mark {
            self.out.push_str(&mark.text);
        }
    }

    pub(super) fn heading(&mut self, level: usize) {
        let mark = self.mark.get_or_insert(Mark { text: String::new(), of_item: false });
        if !mark.text.ends_with("# ") {
            mark.text.push_str(&"#".repeat(level));
            mark.text.push(' ');
        }
    }

    /// Removes the prefix of a heading that turned out to be empty.
    pub(super) fn forget_heading(&mut self) {
        self.mark.take_if(|mark| !mark.of_item);
    }

    /// Opens a list, numbered from `first` if that is given.
    pub(super) fn open_list(&mut self, first: Option<u32>) {
        self.ask_around_list();
        self.push(Frame::List(first));
    }

    pub(super) fn close_list(&mut self) {
        if matches!(self.frames.last(), Some(Frame::List(_))) {
            self.frames.pop();
        }
        self.mark = None;
        self.ask_around_list();
    }

    fn ask_around_list(&mut self) {
        let inner = matches!(self.frames.last(), Some(Frame::List(_)));
        self.ask(if inner { Gap::Line } else { Gap::Paragraph });
    }

    pub(super) fn item(&mut self) {
        self.ask(Gap::Line);
        let mark = match self.frames.last_mut() {
            Some(Frame::List(Some(number))) => {
                let text = format!("{number}. ");
                *number = number.saturating_add(1);
                Mark { text, of_item: true }
            }
            Some(Frame::List(None)) => Mark { text: "- ".to_owned(), of_item: true },
            Some(Frame::Quote) | None => Mark { text: "- ".to_owned(), of_item: false },
        };
        self.mark = Some(mark);
    }

    pub(super) fn end_item(&mut self) {
        self.mark = None;
        self.ask(Gap::Line);
    }

    pub(super) fn open_quote(&mut self) {
        self.ask(Gap::Paragraph);
        self.push(Frame::Quote);
    }

    pub(super) fn close_quote(&mut self) {
        if matches!(self.frames.last(), Some(Frame::Quote)) {
            self.frames.pop();
        }
        self.ask(Gap::Paragraph);
    }

    fn push(&mut self, frame: Frame) {
        self.frames.push(frame);
    }

    pub(super) fn open_preformatted(&mut self) {
        if !self.preformatted {
            self.close_link();
            self.close_code();
            self.ask(Gap::Paragraph);
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
        if !self.preformatted && self.code == Code::Off {
            self.code = Code::Wanted;
        }
    }

    pub(super) fn close_code(&mut self) {
        if self.code == Code::Open {
            self.out.push('`');
        }
        self.code = Code::Off;
    }

    pub(super) fn open_link(&mut self, url: String) {
        if !self.preformatted {
            self.link = Some(Link { url, start: None });
        }
    }

    pub(super) fn close_link(&mut self) {
        let Some(Link { url, start: Some(start) }) = self.link.take() else { return };
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
        self.ask(Gap::Line);
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
        self.ask(Gap::Paragraph);
    }
}
