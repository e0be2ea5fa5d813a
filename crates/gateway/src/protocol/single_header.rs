//! Headers that may occur only once. One that occurs twice is never taken as either of its values, because another
//! program on the way may have taken the other one.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// A header that may occur only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SingleHeader<'a> {
    /// Absent.
    None,
    /// Occurs once, as text.
    One(&'a str),
    /// Occurs more than once, or isn't text.
    Unusable,
}

/// Reads a header that may occur only once.
pub(crate) fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> SingleHeader<'a> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => SingleHeader::None,
        (Some(value), None) => HeaderValue::to_str(value).map_or(SingleHeader::Unusable, SingleHeader::One),
        (Some(_), Some(_)) => SingleHeader::Unusable,
    }
}
