//! JSON pointers to schemas, written only when something has to be reported.

use gatehouse_mcp_wire::json::push_segment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathId(usize);

impl PathId {
    pub(super) const ROOT: Self = Self(0);
}

enum PathStep<'a> {
    Key(&'a str),
    Item(usize),
    /// A whole pointer: the target of a reference.
    Pointer(&'a str),
}

/// The paths of all schemas that were visited, each with the one that it is in.
pub(super) struct PathTable<'a>(Vec<(PathId, PathStep<'a>)>);

impl<'a> PathTable<'a> {
    pub(super) fn new() -> Self {
        let mut paths = Vec::with_capacity(32);
        paths.push((PathId::ROOT, PathStep::Pointer("")));
        Self(paths)
    }

    pub(super) fn key(&mut self, of: PathId, name: &'a str) -> PathId {
        self.add(of, PathStep::Key(name))
    }

    pub(super) fn item(&mut self, of: PathId, index: usize) -> PathId {
        self.add(of, PathStep::Item(index))
    }

    pub(super) fn target(&mut self, pointer: &'a str) -> PathId {
        self.add(PathId::ROOT, PathStep::Pointer(pointer))
    }

    fn add(&mut self, of: PathId, step: PathStep<'a>) -> PathId {
        self.0.push((of, step));
        PathId(self.0.len() - 1)
    }

    /// The pointer to a schema, or to one of its keywords.
    pub(super) fn pointer(&self, path: PathId, keyword: Option<&str>) -> String {
        let mut steps = Vec::new();
        let mut at = path;
        let mut pointer = String::new();
        while let Some((of, step)) = self.0.get(at.0) {
            if let PathStep::Pointer(whole) = step {
                pointer.push_str(whole);
                break;
            }
            steps.push(step);
            at = *of;
        }
        for step in steps.into_iter().rev() {
            match step {
                PathStep::Key(name) | PathStep::Pointer(name) => push_segment(&mut pointer, name),
                PathStep::Item(index) => push_segment(&mut pointer, &index.to_string()),
            }
        }
        if let Some(keyword) = keyword {
            push_segment(&mut pointer, keyword);
        }
        pointer
    }
}
