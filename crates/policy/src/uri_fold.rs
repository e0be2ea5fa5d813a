//! Which URIs a deny of one resource or completion covers (PERM-3, PERM-18): all that some server may treat as
//! the denied one. Never used for allows: two URIs with the same folded form may well be two resources.
//!
//! A client writes the URI of a resource, and it is sent to the server as written. Servers decode escapes,
//! fold case, resolve `..`, or ignore the port, the query or a file URI's host, each in its own way. So a URI
//! has several readings, each folded as far as any server does, and a deny covers every URI that shares a
//! reading with the denied one. Tools and prompts don't need this: the client's name is looked up in the
//! catalog, and rules use the server's own name.

use gatehouse_model::subject::SubjectRef;
use url::Url;

use crate::conditions::host;
use crate::conditions::name_folding::{case_folded, is_unseen, unescaped};
use crate::conditions::path::normalize_lexically;
use crate::uri_destination::is_scheme;

/// Characters that end the path of a folded URI, for each kind of server. Some decode escapes first, some end a name
/// at a NUL byte, and to some these are ordinary characters, so that a `..` after them removes what is before them.
const PATH_ENDS: [&[char]; 4] = [&['?', '#', '\0'], &['#', '\0'], &['\0'], &[]];

/// Separators of the parameters of a folded URI.
const ENDS_PARAMETER: [char; 5] = ['?', '#', '\0', '&', ';'];

/// One interpretation of a URI.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UriReading {
    /// Kind of subject, scheme, host and path.
    pub(crate) place: Box<str>,
    /// Parts that a server may use or ignore: the port, and the parameters of the query and of path segments.
    /// Sorted and without duplicates.
    parameters: Box<[Box<str>]>,
}

impl UriReading {
    /// `root` is the kind of subject and the scheme; `rest` is the part after the scheme, folded; `ends` are the
    /// characters that end the path.
    fn new(root: &str, rest: &str, port: Option<u16>, ends: &[char]) -> Self {
        let (path, query) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let query = query.replace('+', " ");
        let port = port.map(|port| format!(":{port}"));
        let mut parameters: Vec<&str> = query.split(ENDS_PARAMETER).chain(port.as_deref()).collect();
        let mut steps = Vec::new();
        for step in path.split('/') {
            let (step, own) = step.split_once(';').unwrap_or((step, ""));
            parameters.extend(own.split(';'));
            steps.push(plain_step(step));
        }
        let path = normalize_lexically(&steps.join("/"));
        let mut parameters: Vec<Box<str>> =
            parameters.into_iter().map(str::trim).filter(|one| !one.is_empty()).map(Box::from).collect();
        parameters.sort_unstable();
        parameters.dedup();
        Self {
            place: format!("{root}:{}", path.trim_start_matches('/')).into(),
            parameters: parameters.into_boxed_slice(),
        }
    }

    /// The reading by the URL standard; `None` if the text isn't a valid URL.
    fn of_url(kind: &str, text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let host = url.host().map_or_else(String::new, |host| host::plain(&host));
        let rest = folded(&format!("{host}/{}?{}", url.path(), url.query().unwrap_or_default()));
        Some(Self::new(&format!("{kind}:{}", url.scheme()), &rest, url.port(), PATH_ENDS[0]))
    }

    /// Whether a deny with reading `denied` covers this one: same place, and this one has all parameters of
    /// the denied reading, possibly among others.
    pub(crate) fn is_denied_by(&self, denied: &Self) -> bool {
        self.place == denied.place
            && denied.parameters.iter().all(|one| self.parameters.binary_search(one).is_ok())
    }
}

/// The readings of a resource's or completion's URI; empty for prompts, and for tools that aren't called like one.
pub(crate) fn readings(subject: SubjectRef<'_>) -> Vec<UriReading> {
    // By rule name, so that a tool that is called like a resource is denied with it.
    let name = subject.rule_name();
    let (kind, uri) = match SubjectRef::from_rule_name(&name) {
        SubjectRef::Resource(uri) => ("resource", uri),
        SubjectRef::Completion(reference) => ("completion", reference),
        SubjectRef::Tool(_) | SubjectRef::Prompt(_) | SubjectRef::Request(_) => return Vec::new(),
    };
    let uri = uri.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let mut readings: Vec<UriReading> = Vec::new();
    let mut add = |reading: UriReading| {
        if !readings.contains(&reading) {
            readings.push(reading);
        }
    };
    for raw in raw_ends(uri) {
        let text = uri.split(*raw).next().unwrap_or_default();
        let folded = folded(text);
        let parted = folded.split_once(':').filter(|(scheme, _)| is_scheme(scheme));
        let (scheme, rest) = parted.unwrap_or(("", folded.as_str()));
        let root = format!("{kind}:{scheme}");
        // Other servers ignore the host of a file URI.
        let path = rest.strip_prefix("//").filter(|_| scheme == "file").and_then(|rest| rest.split_once('/'));
        for ends in PATH_ENDS {
            // Many servers treat the host as the first path segment, which `..` can remove.
            add(UriReading::new(&root, &format!("/{rest}"), None, ends));
            if let Some((_, path)) = path {
                add(UriReading::new(&root, &format!("/{path}"), None, ends));
            }
        }
        [text, folded.as_str()]
            .into_iter()
            .filter_map(|text| UriReading::of_url(kind, text))
            .for_each(&mut add);
    }
    readings
}

/// Whether `denied` and `used` may be spellings of the same URI.
pub(crate) fn is_another_spelling(denied: SubjectRef<'_>, used: SubjectRef<'_>) -> bool {
    let used = readings(used);
    !used.is_empty()
        && readings(denied).iter().any(|denied| used.iter().any(|used| used.is_denied_by(denied)))
}

/// Characters that end a URI as written, for each kind of server: most ignore the fragment, and the query of a file
/// URI; for some both belong to the path.
fn raw_ends(uri: &str) -> &'static [&'static [char]] {
    let is_file = uri.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("file"));
    match (is_file, uri.contains('?'), uri.contains('#')) {
        (true, true, true) => &[&['#', '?'], &['#'], &[]],
        (true, true, false) => &[&['?'], &[]],
        (_, _, true) => &[&['#'], &[]],
        (_, _, false) => &[&[]],
    }
}

/// Decodes escapes, folds compatibility forms and case, replaces `\` by `/`, and removes invisible characters.
fn folded(text: &str) -> String {
    let folded = seen(&unescaped(text));
    if !folded.contains('%') {
        return folded;
    }
    // Compatibility forms of `%` or of digits may form an escape only after folding.
    seen(&unescaped(&folded))
}

fn seen(text: &str) -> String {
    let plain = |c: char| if c == '\\' { '/' } else { c };
    let is_kept = |c: &char| *c == '\0' || !is_unseen(*c);
    if text.is_ascii() {
        return text.chars().map(|c| plain(c.to_ascii_lowercase())).filter(is_kept).collect();
    }
    case_folded(text).map(plain).filter(is_kept).collect()
}

/// Trims a path segment and removes trailing dots, which some file systems and name servers ignore.
fn plain_step(step: &str) -> &str {
    let step = step.trim();
    if matches!(step, "." | "..") { step } else { step.trim_end_matches(['.', ' ']) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_one_spelling_has_no_readings() {
        for name in ["read_file", "prompt:review", "file:///a", "Resource:x", ""] {
            assert!(readings(SubjectRef::from_rule_name(name)).is_empty(), "{name}");
        }
    }

    #[test]
    fn readings_of_a_uri() {
        let of = |name: &str| -> Vec<String> {
            readings(SubjectRef::from_rule_name(name))
                .iter()
                .map(|reading| {
                    format!("{} {}", reading.place, reading.parameters.join(" ")).trim().to_owned()
                })
                .collect()
        };
        assert_eq!(of("resource:file:///Home/./a//%73ecret"), ["resource:file:home/a/secret"]);
        assert_eq!(of("resource:file://nas/x"), ["resource:file:nas/x", "resource:file:x"]);
        for (name, reading) in [
            ("resource:file:///Home/./a//%73ecret?x#y", "resource:file:home/a/secret"),
            ("resource:file:///home/a/secret?x#y", "resource:file:home/a/secret?x#y"),
            ("resource:file:///home/a/x?y#/../secret", "resource:file:home/a/secret"),
            ("resource:https://Host.:8443/a;v=1?b&a=1&&b#c", "resource:https:host.:8443/a a=1 b v=1"),
            ("resource:https://Host.:8443/a;v=1?b&a=1&&b#c", "resource:https:host/a :8443 a=1 b v=1"),
        ] {
            assert!(of(name).iter().any(|one| one == reading), "{name}: {:?}", of(name));
        }
        assert_eq!(
            of("completion:notes://all/../{id}"),
            ["completion:notes:{id}", "completion:notes:all/{id}"]
        );
        assert_eq!(of("resource:no uri"), ["resource::no uri"]);
    }

    #[test]
    fn many_steps_and_escapes_take_no_time() {
        let began = std::time::Instant::now();
        for part in ["%25", "/..", "/a", "?&", ";", "\u{fdfa}", "//"] {
            let uri = format!("https://host/{}", part.repeat(64 * 1024 / part.len()));
            let (denied, used) = (SubjectRef::Resource("https://host/x"), SubjectRef::Resource(&uri));
            assert!(!is_another_spelling(denied, used), "{part}");
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60));
    }
}
