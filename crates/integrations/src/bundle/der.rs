//! Reads DER, as far as signatures of bundles need it.
//!
//! The usual tool for bundles writes the signed attributes in another order than DER demands, which strict readers
//! refuse, so this one leaves the order alone and gives each element as the bytes that it was.

/// Tags of elements.
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_ID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// A tag that the structure itself gives a meaning, of an element that holds others.
pub(super) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DerElement<'a> {
    pub(super) tag: u8,
    /// All of it, tag and length included.
    pub(super) whole: &'a [u8],
    pub(super) content: &'a [u8],
}

/// The elements of a text, one after the other. `None` is what is not there or cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct DerReader<'a>(&'a [u8]);

impl<'a> DerReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element.
    pub(super) fn any(&mut self) -> Option<DerElement<'a>> {
        let (tag, first) = (*self.0.first()?, *self.0.get(1)?);
        // Long forms of tags are in nothing that is read here.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (start, length) = match first {
            0..=0x7f => (2, usize::from(first)),
            0x81..=0x84 => {
                let count = usize::from(first & 0x7f);
                let digits = self.0.get(2..2 + count)?;
                let length = digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit));
                (2 + count, length)
            }
            _ => return None,
        };
        let end = start.checked_add(length)?;
        let whole = self.0.get(..end)?;
        let element = DerElement { tag, whole, content: whole.get(start..)? };
        self.0 = self.0.get(end..)?;
        Some(element)
    }

    /// The next element, which has this tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<DerElement<'a>> {
        self.any().filter(|element| element.tag == tag)
    }

    /// The next element if it has this tag; else nothing is read.
    pub(super) fn optional(&mut self, tag: u8) -> Option<DerElement<'a>> {
        if self.0.first() == Some(&tag) { self.any() } else { None }
    }

    /// What is in the next element, which has this tag.
    pub(super) fn inside(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(|element| element.reader())
    }
}

impl<'a> DerElement<'a> {
    /// The elements in it.
    pub(super) fn reader(&self) -> DerReader<'a> {
        DerReader(self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_elements_within_their_bounds() {
        let mut reader = DerReader::new(&[0x30, 0x03, 0x02, 0x01, 0x07, 0x04, 0x81, 0x01, 0xff]);
        let mut inner = reader.inside(SEQUENCE).unwrap();
        assert_eq!(inner.expect(INTEGER).unwrap().content, [7]);
        assert!(inner.is_empty() && inner.any().is_none());
        assert!(reader.optional(INTEGER).is_none());
        let last = reader.expect(OCTET_STRING).unwrap();
        assert_eq!((last.content, last.whole.len()), (&[0xff][..], 4));
        assert!(reader.is_empty());
    }

    #[test]
    fn rejects_lengths_beyond_the_end() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x02, 0x00],
            &[0x30, 0x80, 0x00, 0x00],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x30, 0x85, 0, 0, 0, 0, 0],
            &[0x1f, 0x01, 0x00],
        ] {
            assert_eq!(DerReader::new(bytes).any(), None, "{bytes:?}");
        }
    }
}
