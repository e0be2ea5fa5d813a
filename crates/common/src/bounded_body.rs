//! Bodies of HTTP messages, collected up to a limit whatever their sender announces. Reads nothing itself: whoever has
//! the connection hands over each chunk.

use bytes::{Bytes, BytesMut};

/// A body is longer than is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyTooLarge;

/// The part of a body that has come. A body of a single chunk is not copied.
#[derive(Debug)]
pub struct BoundedBody {
    limit: usize,
    announced: usize,
    /// The only chunk so far.
    first: Bytes,
    /// All chunks, once there are several.
    all: BytesMut,
}

impl BoundedBody {
    /// A body of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, announced: 0, first: Bytes::new(), all: BytesMut::new() }
    }

    /// As [`Self::new`], for a body of which a length in bytes was announced, or 0. There is room for that much from the
    /// second chunk on.
    ///
    /// # Errors
    /// When that is more than the limit.
    pub fn announced(limit: usize, length: u64) -> Result<Self, BodyTooLarge> {
        let announced = usize::try_from(length).ok().filter(|length| *length <= limit);
        Ok(Self { announced: announced.ok_or(BodyTooLarge)?, ..Self::new(limit) })
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// When the body is then longer than the limit. Nothing was added.
    pub fn push(&mut self, chunk: Bytes) -> Result<(), BodyTooLarge> {
        let length = self.first.len() + self.all.len();
        if chunk.len() > self.limit - length {
            return Err(BodyTooLarge);
        }
        if length == 0 {
            self.first = chunk;
            return Ok(());
        }
        if self.all.is_empty() {
            self.all.reserve(self.announced.max(length + chunk.len()));
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&chunk);
        Ok(())
    }

    /// What has come.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(limit: usize, chunks: &[&'static str]) -> Result<Bytes, BodyTooLarge> {
        let mut body = BoundedBody::new(limit);
        for chunk in chunks {
            body.push(Bytes::from_static(chunk.as_bytes()))?;
        }
        Ok(body.into_bytes())
    }

    #[test]
    fn collects_chunks_up_to_limit() {
        let cases: [(&[&'static str], Result<&'static str, BodyTooLarge>); 7] = [
            (&[], Ok("")),
            (&["abcde"], Ok("abcde")),
            (&["", "abc", "", "de"], Ok("abcde")),
            (&["a", "b", "c", "d", "e"], Ok("abcde")),
            (&["abcdef"], Err(BodyTooLarge)),
            (&["abcde", "f"], Err(BodyTooLarge)),
            (&["a", "b", "cdef"], Err(BodyTooLarge)),
        ];
        for (chunks, wanted) in cases {
            assert_eq!(collected(5, chunks), wanted.map(Bytes::from), "{chunks:?}");
        }
    }

    #[test]
    fn single_chunk_is_not_copied() {
        let chunk = Bytes::from(vec![1, 2, 3]);
        let mut body = BoundedBody::new(3);
        body.push(chunk.clone()).unwrap();
        assert_eq!(body.into_bytes().as_ptr(), chunk.as_ptr());
    }

    #[test]
    fn refuses_announced_length_over_limit() {
        assert!(BoundedBody::announced(5, 5).is_ok());
        assert_eq!(BoundedBody::announced(5, 6).err(), Some(BodyTooLarge));
        assert_eq!(BoundedBody::announced(5, u64::MAX).err(), Some(BodyTooLarge));
    }

    #[test]
    fn announced_length_does_not_raise_limit() {
        let mut body = BoundedBody::announced(5, 2).unwrap();
        body.push(Bytes::from_static(b"abcd")).unwrap();
        assert_eq!(body.push(Bytes::from_static(b"ef")), Err(BodyTooLarge));
        assert_eq!(body.into_bytes(), "abcd");
    }
}
