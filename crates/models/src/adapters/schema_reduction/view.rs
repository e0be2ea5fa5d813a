//! A schema with what it has to be merged with: the targets of references, `allOf`, and what the root says in other ways.

use std::collections::{HashMap, HashSet};
use std::ptr;

use gatehouse_mcp_wire::json::Json;

use crate::adapters::schema_reduction::SchemaReducer;
use crate::adapters::schema_reduction::paths::PathId;
use crate::adapters::schema_reduction::rules::Dialect;
use crate::adapters::schema_reduction::type_set::TypeSet;

/// Most schemas that are merged into one.
const MAX_MERGED: usize = 256;

/// Most keywords of merged schemas.
const MAX_KEYWORDS: usize = 64;

/// A schema, or what of it still counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaPart<'a> {
    pub(super) json: &'a Json,
    pub(super) path: PathId,
    /// Its references and `allOf` are parts of their own already.
    pub(super) is_resolved: bool,
    /// Its `anyOf` and `oneOf` are written by what is above it.
    pub(super) ignores_unions: bool,
    /// Its texts are written by what is above it.
    pub(super) ignores_texts: bool,
}

impl<'a> SchemaPart<'a> {
    pub(super) fn new(json: &'a Json, path: PathId) -> Self {
        Self { json, path, is_resolved: false, ignores_unions: false, ignores_texts: false }
    }
}

/// A property of a view. It has either parts or versions.
#[derive(Debug)]
pub(super) struct ViewProperty<'a> {
    pub(super) name: &'a str,
    /// What its value has to be valid against, all of them.
    pub(super) parts: Vec<SchemaPart<'a>>,
    /// One of these is enough.
    pub(super) versions: Vec<SchemaPart<'a>>,
}

/// An `anyOf` or `oneOf`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SchemaUnion<'a> {
    pub(super) keyword: &'a str,
    /// The schema that has it.
    pub(super) path: PathId,
    pub(super) branches: &'a [Json],
}

/// A keyword with its value and the schema that has it.
pub(super) type ViewKeyword<'a> = (&'a str, &'a Json, PathId);

#[derive(Debug, Default)]
pub(super) struct SchemaView<'a> {
    /// All that have no field of their own here, in their order.
    pub(super) keywords: Vec<ViewKeyword<'a>>,
    /// `None` if nothing is said.
    pub(super) types: Option<TypeSet>,
    pub(super) has_properties: bool,
    pub(super) properties: Vec<ViewProperty<'a>>,
    pub(super) required: Vec<&'a str>,
    /// Those that aren't keywords: of the root, and in the dialect without `allOf`.
    pub(super) unions: Vec<SchemaUnion<'a>>,
    /// No value is valid.
    pub(super) is_never: bool,
    /// The schemas that were merged, references resolved.
    pub(super) parts: Vec<SchemaPart<'a>>,
    /// Positions of properties by name, once schemas are merged.
    index: HashMap<&'a str, usize>,
}

impl<'a> SchemaView<'a> {
    pub(super) fn keyword(&self, name: &str) -> Option<ViewKeyword<'a>> {
        self.keywords.iter().find(|(keyword, ..)| *keyword == name).copied()
    }

    /// The first of the merged schemas.
    pub(super) fn path(&self) -> PathId {
        self.parts.first().map_or(PathId::ROOT, |part| part.path)
    }

    fn position(&mut self, name: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.index =
                self.properties.iter().enumerate().map(|(at, property)| (property.name, at)).collect();
        }
        self.index.get(name).copied()
    }

    fn add_property(&mut self, property: ViewProperty<'a>) {
        if !self.index.is_empty() {
            self.index.insert(property.name, self.properties.len());
        }
        self.properties.push(property);
    }
}

/// A merge under way.
struct SchemaMerge<'a> {
    /// Whether references, `allOf`, `anyOf` and `oneOf` are resolved.
    merges: bool,
    /// How many targets of references were active before.
    before: usize,
    waiting: Vec<SchemaPart<'a>>,
}

impl<'a> SchemaReducer<'a> {
    pub(super) fn view(&mut self, parts: &[SchemaPart<'a>], is_root: bool) -> SchemaView<'a> {
        let mut merge = SchemaMerge {
            merges: is_root || self.rules.dialect == Dialect::OpenApi,
            before: self.active.len(),
            waiting: Vec::new(),
        };
        let mut view = SchemaView::default();
        let mut parts = parts.iter().copied();
        while let Some(part) = merge.waiting.pop().or_else(|| parts.next()) {
            if view.parts.len() == MAX_MERGED {
                self.report(part.path, None);
                break;
            }
            view.parts.push(SchemaPart { is_resolved: true, ..part });
            match part.json {
                Json::Object(members) => self.add_members(&mut view, part, members, &mut merge),
                Json::Bool(true) => {}
                Json::Bool(false) if !merge.merges => view.is_never = true,
                // Nothing is valid, which can't be said where schemas are merged; or it is no schema.
                _ => self.report(part.path, None),
            }
        }
        if is_root {
            self.lift_unions(&mut view);
        }
        view
    }

    fn add_members(
        &mut self,
        view: &mut SchemaView<'a>,
        part: SchemaPart<'a>,
        members: &'a [(Box<str>, Json)],
        merge: &mut SchemaMerge<'a>,
    ) {
        // An array of schemas in `items` is how earlier drafts wrote `prefixItems`.
        let is_tuple =
            members.iter().any(|(name, value)| &**name == "items" && matches!(value, Json::Array(_)));
        for (name, value) in members {
            match (&**name, value) {
                ("type", value) => self.add_types(view, part.path, value),
                ("properties", Json::Object(properties)) => self.add_properties(view, part.path, properties),
                ("required", Json::Array(names)) if names.iter().all(|name| name.as_str().is_some()) => {
                    view.required.extend(names.iter().filter_map(Json::as_str));
                }
                ("properties" | "required", _) => self.report(part.path, Some(name)),
                ("$ref", Json::String(reference)) => {
                    if part.is_resolved {
                        continue;
                    }
                    let Some((target, pointer)) = self.resolve(reference) else {
                        self.report(part.path, Some(name));
                        continue;
                    };
                    if !merge.merges && self.keeps_reference(reference) {
                        view.keywords.push((name, value, part.path));
                    } else if let Some(at) = self.active.iter().position(|active| ptr::eq(*active, target)) {
                        // What is merged already says it; what is above would go on without end.
                        if at < merge.before {
                            self.report(part.path, Some(name));
                            let types = target.get("type").and_then(TypeSet::of_keyword);
                            view.types.get_or_insert(types.unwrap_or(TypeSet::OBJECT));
                        }
                    } else {
                        self.active.push(target);
                        let path = self.paths.target(pointer);
                        merge.waiting.push(SchemaPart { json: target, path, ..part });
                    }
                }
                ("allOf", Json::Array(all)) if merge.merges => {
                    if part.is_resolved {
                        continue;
                    }
                    let path = self.paths.key(part.path, name);
                    for (index, one) in all.iter().enumerate().rev() {
                        let path = self.paths.item(path, index);
                        merge.waiting.push(SchemaPart { json: one, path, ..part });
                    }
                }
                ("anyOf" | "oneOf", Json::Array(branches)) if merge.merges => {
                    if !part.ignores_unions && !branches.is_empty() {
                        view.unions.push(SchemaUnion { keyword: name, path: part.path, branches });
                    }
                }
                ("title" | "description" | "default", _) if part.ignores_texts => {}
                ("items", Json::Array(_)) => self.add_keyword(view, ("prefixItems", value, part.path)),
                ("additionalItems", _) => {
                    if is_tuple {
                        self.add_keyword(view, ("items", value, part.path));
                    }
                }
                _ => self.add_keyword(view, (name, value, part.path)),
            }
        }
    }

    /// Whether what a reference points to is still there in what is written.
    fn keeps_reference(&self, reference: &str) -> bool {
        let is_plain_root =
            ["$ref", "allOf", "anyOf", "oneOf"].iter().all(|keyword| self.root.get(keyword).is_none());
        reference == "#"
            || reference.starts_with("#/$defs/")
            || reference.starts_with("#/definitions/")
            || (is_plain_root && reference.starts_with("#/properties/"))
    }

    fn add_types(&mut self, view: &mut SchemaView<'a>, path: PathId, value: &Json) {
        let Some(types) = TypeSet::of_keyword(value) else {
            self.report(path, Some("type"));
            return;
        };
        let both = view.types.map_or(types, |known| known.intersection(types));
        if both.is_empty() {
            self.report(path, Some("type"));
        } else {
            view.types = Some(both);
        }
    }

    fn add_properties(
        &mut self,
        view: &mut SchemaView<'a>,
        path: PathId,
        properties: &'a [(Box<str>, Json)],
    ) {
        let path = self.paths.key(path, "properties");
        // The names of one schema are different from each other.
        let merges = !view.properties.is_empty();
        view.has_properties = true;
        for (name, schema) in properties {
            let part = SchemaPart::new(schema, self.paths.key(path, name));
            let known = if merges { view.position(name) } else { None };
            match known.and_then(|at| view.properties.get_mut(at)) {
                // The same part is merged a second time if a view is.
                Some(known) if known.parts.iter().any(|other| ptr::eq(other.json, schema)) => {}
                Some(known) => known.parts.push(part),
                None => view.add_property(ViewProperty { name, parts: vec![part], versions: Vec::new() }),
            }
        }
    }

    fn add_keyword(&mut self, view: &mut SchemaView<'a>, keyword: ViewKeyword<'a>) {
        if view.parts.len() > 1 {
            let (name, value, path) = keyword;
            if let Some((_, known, _)) = view.keyword(name) {
                let is_text = matches!(name, "title" | "description" | "default" | "examples");
                if known != value && !is_text && !matches!(name, "$defs" | "definitions") {
                    self.report(path, Some(name));
                }
                return;
            }
            if view.keywords.len() >= MAX_KEYWORDS {
                self.report(path, Some(name));
                return;
            }
        }
        view.keywords.push(keyword);
    }

    /// The root has to be an object with its properties. Alternatives become properties of which none is required that isn't
    /// in all alternatives.
    fn lift_unions(&mut self, view: &mut SchemaView<'a>) {
        for union in std::mem::take(&mut view.unions) {
            self.report(union.path, Some(union.keyword));
            let path = self.paths.key(union.path, union.keyword);
            let mut in_all: Option<HashSet<&'a str>> = None;
            let own = view.properties.len();
            for (index, branch) in union.branches.iter().enumerate() {
                if self.levels >= super::MAX_LEVELS || self.schemas >= super::MAX_SCHEMAS {
                    break;
                }
                self.levels += 1;
                self.schemas += 1;
                let active = self.active.len();
                let part = SchemaPart::new(branch, self.paths.item(path, index));
                let branch = self.view(&[part], true);
                self.active.truncate(active);
                self.levels -= 1;
                for property in branch.properties {
                    match view.position(property.name) {
                        Some(at) if at < own => {}
                        Some(at) => {
                            if let Some(known) = view.properties.get_mut(at) {
                                known.add_versions(property);
                            }
                        }
                        None => {
                            let mut lifted =
                                ViewProperty { name: property.name, parts: Vec::new(), versions: Vec::new() };
                            lifted.add_versions(property);
                            view.has_properties = true;
                            view.add_property(lifted);
                        }
                    }
                }
                let required: HashSet<&'a str> = branch.required.into_iter().collect();
                in_all = Some(match in_all {
                    None => required,
                    Some(known) => known.intersection(&required).copied().collect(),
                });
            }
            let mut in_all: Vec<&'a str> = in_all.unwrap_or_default().into_iter().collect();
            in_all.sort_unstable();
            view.required.extend(in_all);
        }
    }
}

impl<'a> ViewProperty<'a> {
    /// Adds what another alternative says of the property. Where that is several schemas, the first one is taken.
    fn add_versions(&mut self, other: ViewProperty<'a>) {
        if other.versions.is_empty() {
            other.parts.into_iter().take(1).for_each(|part| self.add_version(part));
        } else {
            other.versions.into_iter().for_each(|part| self.add_version(part));
        }
    }

    pub(super) fn add_version(&mut self, part: SchemaPart<'a>) {
        if self.versions.len() < MAX_MERGED && self.versions.iter().all(|known| known.json != part.json) {
            self.versions.push(part);
        }
    }
}
