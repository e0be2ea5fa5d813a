//! Resource templates (RFC 6570): their variables, and whether a URI can come from one, as far as needed
//! to find the server for a read. Strict matching is used for permissions. Never expands a template.

/// A template with more parts is not matched.
const MOST_PARTS: usize = 64;

/// Longest URI that is matched, in bytes.
const LONGEST_URI: usize = 8 * 1024;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    /// `{var}`: at least one character, none of them a slash.
    Segment {
        /// It has more than one variable: `{a,b}`.
        several: bool,
    },
    /// `{+var}` and every other operator: anything.
    Anything {
        operator: u8,
    },
}

impl Part {
    fn of(expression: &str) -> Option<Self> {
        Some(match *expression.as_bytes().first()? {
            first if first.is_ascii_alphanumeric() || matches!(first, b'_' | b'%') => {
                Self::Segment { several: expression.contains(',') }
            }
            operator => Self::Anything { operator },
        })
    }
}

impl UriTemplate {
    /// Parses a template; `None` if it is invalid or has too many parts.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if parts.len() >= MOST_PARTS {
                return None;
            }
            match rest.split_once('{') {
                None => {
                    parts.push(Part::Literal(rest.into()));
                    break;
                }
                Some((literal, after)) => {
                    let (expression, after) = after.split_once('}')?;
                    if !literal.is_empty() {
                        parts.push(Part::Literal(literal.into()));
                    }
                    parts.push(Part::of(expression)?);
                    rest = after;
                }
            }
        }
        Some(Self { parts })
    }

    /// Number of bytes before the first expression.
    pub fn literal_prefix(&self) -> usize {
        match self.parts.first() {
            Some(Part::Literal(literal)) => literal.len(),
            Some(Part::Segment { .. } | Part::Anything { .. }) | None => 0,
        }
    }

    /// Whether a server may treat this URI as an instance of the template. Takes time proportional to
    /// the product of the number of parts and the length of the URI.
    #[must_use]
    pub fn matches(&self, uri: &str) -> bool {
        self.fits(uri, false)
    }

    /// Whether the template can be expanded to this URI by the strict rules of RFC 6570. Takes as long.
    #[must_use]
    pub fn makes(&self, uri: &str) -> bool {
        self.fits(uri, true)
    }

    fn fits(&self, uri: &str, strict: bool) -> bool {
        if uri.len() > LONGEST_URI {
            return false;
        }
        let bytes = uri.as_bytes();
        // Offsets in the URI at which the parts so far may end.
        let mut ends = vec![false; bytes.len() + 1];
        if let Some(start) = ends.first_mut() {
            *start = true;
        }
        for part in &self.parts {
            let mut next = vec![false; ends.len()];
            match part {
                Part::Literal(literal) => {
                    for (at, _) in ends.iter().enumerate().filter(|(_, end)| **end) {
                        if bytes.get(at..).is_some_and(|rest| rest.starts_with(literal.as_bytes()))
                            && let Some(end) = next.get_mut(at + literal.len())
                        {
                            *end = true;
                        }
                    }
                }
                Part::Segment { several } => {
                    let mut inside = false;
                    for (at, byte) in bytes.iter().enumerate() {
                        let fits = if strict {
                            is_plain(bytes, at) || (*several && *byte == b',')
                        } else {
                            *byte != b'/'
                        };
                        inside = fits && (inside || ends.get(at) == Some(&true));
                        if let Some(end) = next.get_mut(at + 1) {
                            *end = inside && !(strict && is_within_escape(bytes, at));
                        }
                    }
                }
                Part::Anything { operator } if strict && *operator != b'+' => {
                    let separators = separators(*operator);
                    // Without a value the expansion is empty.
                    next.clone_from(&ends);
                    let mut inside = false;
                    for (at, byte) in bytes.iter().enumerate() {
                        let begins = byte == operator && ends.get(at) == Some(&true);
                        let goes_on = is_plain(bytes, at) || separators.contains(byte);
                        inside = separators.contains(operator) && (begins || (inside && goes_on));
                        if inside
                            && !is_within_escape(bytes, at)
                            && let Some(end) = next.get_mut(at + 1)
                        {
                            *end = true;
                        }
                    }
                }
                Part::Anything { .. } => {
                    let mut inside = false;
                    for (end, before) in next.iter_mut().zip(&ends) {
                        inside |= *before;
                        *end = inside;
                    }
                }
            }
            ends = next;
        }
        ends.last() == Some(&true)
    }
}

/// Characters that an expansion with this operator may contain beside plain ones: the operator itself
/// and its separators. Empty if RFC 6570 has no such operator.
fn separators(operator: u8) -> &'static [u8] {
    match operator {
        b'?' => b"?&=,",
        b'&' => b"&=,",
        b'/' => b"/=,",
        b'.' => b".=,",
        b';' => b";=,",
        b'#' => b"#:/?[]@!$&'()*+,;=",
        _ => b"",
    }
}

/// Whether a byte is unreserved, or the first of a percent escape.
fn is_plain(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at..) {
        Some([b'%', high, low, ..]) => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        Some([byte, ..]) => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'),
        Some([]) | None => false,
    }
}

/// Whether a percent escape continues after this byte.
fn is_within_escape(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'%') || (at > 0 && bytes.get(at - 1) == Some(&b'%'))
}

/// The variables of a template (RFC 6570), in order, without duplicates.
#[must_use]
pub fn variables(template: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for piece in template.split('{').skip(1) {
        let Some((expression, _)) = piece.split_once('}') else { continue };
        for name in expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(',') {
            let name = name.split(':').next().unwrap_or_default().trim_end_matches('*');
            if !name.is_empty() && !found.iter().any(|known| known == name) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches_what() {
        #[derive(serde::Deserialize)]
        struct Row {
            template: String,
            uri: String,
            fits: bool,
        }
        // The UI's tests use the same table.
        let table: Vec<Row> = serde_json::from_str(include_str!("../tests/uri_templates.json")).unwrap();
        for Row { template, uri, fits } in table {
            let found = UriTemplate::read(&template).is_some_and(|template| template.matches(&uri));
            assert_eq!(found, fits, "{template} {uri}");
        }
    }

    #[test]
    fn what_makes_what() {
        for (template, uri, makes) in [
            ("demo://text/{id}", "demo://text/7", true),
            ("demo://text/{id}", "demo://text/a%2Fb", true),
            ("demo://text/{id}", "demo://text/a@b", false),
            ("demo://text/{id}", "demo://text/a?b", false),
            ("demo://text/{id}", "demo://text/a#b", false),
            ("demo://text/{id}", "demo://text/a\\b", false),
            ("demo://text/{id}", "demo://text/a%2", false),
            ("demo://text/{id}", "demo://text/a%zz", false),
            ("demo://text/{id}", "demo://text/\u{e9}", false),
            ("demo://text/{id}", "demo://text/", false),
            ("x://{a}F", "x://a%2F", false),
            ("x://{a,b}", "x://1,2", true),
            ("x://{a}", "x://1,2", false),
            ("file:///{+path}", "file:///a/b?c", true),
            ("x://find{?q,n}", "x://find", true),
            ("x://find{?q,n}", "x://find?q=1&n=2", true),
            ("x://find{?q,n}", "x://find.evil", false),
            ("x://find{?q,n}", "x://find/../x", false),
            ("x://find{?q,n}", "x://find?q=a/b", false),
            ("x://find?a=1{&q}", "x://find?a=1&q=2", true),
            ("x://find?a=1{&q}", "x://find?a=1@x", false),
            ("x://a{/p*}", "x://a/b/c", true),
            ("x://a{/p*}", "x://abc", false),
            ("x://a{.p}", "x://a.b", true),
            ("x://a{.p}", "x://ab", false),
            ("x://a{;p}", "x://a;p=1", true),
            ("x://a{;p}", "x://a/p", false),
            ("x://a{#p}", "x://a#b/c", true),
            ("x://a{#p}", "x://a/b", false),
            ("x://a{|p}", "x://a|b", false),
        ] {
            let found = UriTemplate::read(template).is_some_and(|template| template.makes(uri));
            assert_eq!(found, makes, "{template} {uri}");
        }
    }

    #[test]
    fn what_is_no_template() {
        for text in ["x://{a", "x://{}", &"{a}".repeat(65)] {
            assert_eq!(UriTemplate::read(text), None, "{text}");
        }
    }

    #[test]
    fn many_parts_and_a_long_uri_take_no_time() {
        let template = UriTemplate::read(&format!("{}b", "{+a}".repeat(60))).unwrap();
        let began = std::time::Instant::now();
        assert!(!template.matches(&"a".repeat(LONGEST_URI)));
        assert!(!template.matches(&"a".repeat(LONGEST_URI + 1)));
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
    }

    #[test]
    fn each_variable_is_named_once() {
        assert_eq!(variables("a://{x}/{+y,z*}{?q:3,x}"), ["x", "y", "z", "q"]);
    }

    #[test]
    fn the_literal_prefix() {
        assert_eq!(UriTemplate::read("a://b/{c}").unwrap().literal_prefix(), 6);
        assert_eq!(UriTemplate::read("{c}").unwrap().literal_prefix(), 0);
    }
}
