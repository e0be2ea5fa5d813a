//! Whether a URI can come from a resource template (RFC 6570), as far as it takes to find the server
//! that a read is for. Never expands a template, and its answer confers nothing.

/// A template with more parts than this is not matched.
const MOST_PARTS: usize = 64;

/// A URI that is longer than this, in bytes, comes from no template.
const LONGEST_URI: usize = 8 * 1024;

/// A template, ready to be compared with URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    /// `{var}`: at least one character, none of them a slash.
    Segment,
    /// `{+var}` and every other operator: anything.
    Anything,
}

impl Template {
    /// Reads a template; `None` when it is none or has too many parts.
    pub(crate) fn read(text: &str) -> Option<Self> {
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
                    parts.push(match expression.chars().next()? {
                        first if first.is_ascii_alphanumeric() || matches!(first, '_' | '%') => Part::Segment,
                        _ => Part::Anything,
                    });
                    rest = after;
                }
            }
        }
        Some(Self { parts })
    }

    /// How many bytes stand before the first expression.
    pub(crate) fn literal_prefix(&self) -> usize {
        match self.parts.first() {
            Some(Part::Literal(literal)) => literal.len(),
            Some(Part::Segment | Part::Anything) | None => 0,
        }
    }

    /// Whether the template can be expanded to this URI. Takes time in proportion to its parts and the URI.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        if uri.len() > LONGEST_URI {
            return false;
        }
        let bytes = uri.as_bytes();
        // Where in the URI the parts so far may have ended.
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
                Part::Segment => {
                    let mut inside = false;
                    for (at, byte) in bytes.iter().enumerate() {
                        inside = *byte != b'/' && (inside || ends.get(at) == Some(&true));
                        if let Some(end) = next.get_mut(at + 1) {
                            *end = inside;
                        }
                    }
                }
                Part::Anything => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matches_what() {
        for (template, uri, fits) in [
            ("demo://text/{id}", "demo://text/7", true),
            ("demo://text/{id}", "demo://text/a%2Fb", true),
            ("demo://text/{id}", "demo://text/", false),
            ("demo://text/{id}", "demo://text/7/8", false),
            ("demo://text/{id}", "demo://other/7", false),
            ("demo://text/{id}/end", "demo://text/7/end", true),
            ("demo://text/{id}/end", "demo://text/7/", false),
            ("file:///{+path}", "file:///a/b/c", true),
            ("file:///{+path}", "file:///", true),
            ("x://{a}-{b}", "x://1-2-3", true),
            ("x://{a}-{b}", "x://12", false),
            ("x://{a,b}", "x://1,2", true),
            ("x://find{?q,n}", "x://find?q=1&n=2", true),
            ("x://find{?q,n}", "x://find", true),
            ("x://a{/p*}", "x://a/b/c", true),
            ("x://plain", "x://plain", true),
            ("x://plain", "x://plainer", false),
        ] {
            assert_eq!(Template::read(template).unwrap().matches(uri), fits, "{template} {uri}");
        }
    }

    #[test]
    fn what_is_no_template() {
        for text in ["x://{a", "x://{}", &"{a}".repeat(65)] {
            assert_eq!(Template::read(text), None, "{text}");
        }
    }

    #[test]
    fn many_parts_and_a_long_uri_take_no_time() {
        let template = Template::read(&format!("{}b", "{+a}".repeat(60))).unwrap();
        let began = std::time::Instant::now();
        assert!(!template.matches(&"a".repeat(LONGEST_URI)));
        assert!(!template.matches(&"a".repeat(LONGEST_URI + 1)));
        assert!(began.elapsed() < std::time::Duration::from_secs(2));
    }

    #[test]
    fn the_literal_prefix() {
        assert_eq!(Template::read("a://b/{c}").unwrap().literal_prefix(), 6);
        assert_eq!(Template::read("{c}").unwrap().literal_prefix(), 0);
    }
}
