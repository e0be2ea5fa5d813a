//! Writes schemas in Gemini's subset of OpenAPI: each schema has one type, and only keywords of that type.

use gatehouse_mcp_wire::json::{Json, write_string};

use crate::adapters::provider_texts::provider_text;
use crate::adapters::schema_reduction::name_set::NameSet;
use crate::adapters::schema_reduction::paths::PathId;
use crate::adapters::schema_reduction::type_set::TypeSet;
use crate::adapters::schema_reduction::view::{SchemaPart, SchemaUnion, SchemaView, ViewProperty};
use crate::adapters::schema_reduction::{SchemaPlace, SchemaReducer};

/// A value of which nothing is known. Objects and arrays can't be among the types: they would have to say what is in them.
const ANY_VALUE: &str = r#"[{"type":"STRING"},{"type":"NUMBER"},{"type":"BOOLEAN"}]"#;

/// Longest list of values in a description, in characters.
const MAX_LISTED_CHARS: usize = 500;

impl<'a> SchemaReducer<'a> {
    pub(super) fn openapi(&mut self, view: &SchemaView<'a>, place: SchemaPlace) {
        if place.is_root {
            self.check_root(view);
        }
        let values = AllowedValues::of(view);
        let mut types = place.only.or(view.types).unwrap_or_else(|| inferred_types(view, values.as_ref()));
        let mut nullable = place.nullable
            || types.has(TypeSet::NULL)
            || matches!(view.keyword("nullable"), Some((_, Json::Bool(true), _)));
        if let Some(values) = &values {
            nullable |= values.values.iter().any(|value| matches!(value, Json::Null));
        }
        types = types.without(TypeSet::NULL);
        if let Some((union, others)) = view.unions.split_first().filter(|_| place.only.is_none()) {
            for other in others {
                self.report(other.path, Some(other.keyword));
            }
            self.union(view, *union, nullable);
            return;
        }
        if types.has(TypeSet::NUMBER) {
            types = types.without(TypeSet::INTEGER);
        }
        let mut each = types.each();
        match (each.next(), each.next()) {
            (Some(only), None) => {
                self.one_type(
                    view,
                    OneType { only, nullable, is_root: place.is_root, values: values.as_ref() },
                );
            }
            (Some(_), Some(_)) => self.several_types(view, types, nullable),
            (None, _) => {
                self.report(view.path(), None);
                self.out.push('{');
                self.texts(view);
                self.raw_value("anyOf", ANY_VALUE);
                self.out.push('}');
            }
        }
    }

    /// A schema with alternatives: what it says besides is said in each of them.
    fn union(&mut self, view: &SchemaView<'a>, union: SchemaUnion<'a>, nullable: bool) {
        if union.keyword == "oneOf" {
            self.report(union.path, Some(union.keyword));
        }
        let path = self.paths.key(union.path, union.keyword);
        let branches: Vec<SchemaPart<'a>> = union
            .branches
            .iter()
            .enumerate()
            .filter(|(_, branch)| !is_null_only(branch))
            .map(|(index, branch)| SchemaPart::new(branch, self.paths.item(path, index)))
            .collect();
        let nullable = nullable || branches.len() < union.branches.len();
        let place = SchemaPlace { nullable, ..SchemaPlace::default() };
        let ignores_texts = branches.len() > 1;
        let mut parts: Vec<SchemaPart<'a>> = view
            .parts
            .iter()
            .map(|part| SchemaPart { ignores_unions: true, ignores_texts, ..*part })
            .collect();
        if branches.len() <= 1 {
            parts.extend(branches);
            self.schema(&parts, place);
            return;
        }
        self.out.push('{');
        self.texts(view);
        self.key("anyOf");
        self.out.push('[');
        for branch in branches {
            self.comma('[');
            // First, so that what it says counts where only one can.
            parts.insert(0, branch);
            self.schema(&parts, place);
            parts.remove(0);
        }
        self.out.push_str("]}");
    }

    fn several_types(&mut self, view: &SchemaView<'a>, types: TypeSet, nullable: bool) {
        let parts: Vec<SchemaPart<'a>> = view
            .parts
            .iter()
            .map(|part| SchemaPart { ignores_unions: true, ignores_texts: true, ..*part })
            .collect();
        self.out.push('{');
        self.texts(view);
        self.key("anyOf");
        self.out.push('[');
        for only in types.each() {
            self.comma('[');
            self.schema(&parts, SchemaPlace { is_root: false, only: Some(only), nullable });
        }
        self.out.push_str("]}");
    }

    fn one_type(&mut self, view: &SchemaView<'a>, one: OneType<'_, 'a>) {
        let OneType { only, nullable, is_root, values } = one;
        self.out.push('{');
        let name = only.names().next().unwrap_or("string").to_ascii_uppercase();
        self.copy("type", &Json::String(name.into()));
        for (name, value, path) in view.keywords.iter().copied() {
            match (name, value) {
                ("description", _) => {}
                // An object of this format has the properties that it names.
                ("additionalProperties", Json::Bool(false)) => {}
                ("format", Json::String(format)) if is_format(only, format) => self.copy(name, value),
                ("enum" | "const" | "not", _) if is_root => self.report(path, Some(name)),
                _ => {
                    let rule = (self.rules.keyword)(name, only);
                    self.keyword(name, value, path, rule);
                }
            }
        }
        if nullable {
            self.raw_value("nullable", "true");
        }
        let listed = if is_root { None } else { values.and_then(|values| self.values(values, only)) };
        self.description(view, listed);
        if only == TypeSet::OBJECT {
            self.object_members(view, is_root);
        } else if only == TypeSet::ARRAY {
            self.key("items");
            self.items(view);
        }
        self.out.push('}');
    }

    fn object_members(&mut self, view: &SchemaView<'a>, is_root: bool) {
        let rules = self.rules;
        let is_kept = |property: &&ViewProperty<'a>| !is_root || (rules.is_argument_name)(property.name);
        let known: NameSet<'_> =
            view.properties.iter().filter(is_kept).map(|property| property.name).collect();
        if is_root {
            self.root_properties = known.len();
        }
        let mut seen = NameSet::new();
        let (required, unknown): (Vec<&str>, Vec<&str>) = view
            .required
            .iter()
            .copied()
            .filter(|name| seen.insert(name))
            .partition(|name| known.contains(name));
        if !unknown.is_empty() {
            self.report(view.path(), Some("required"));
        }
        if known.len() > 0 {
            self.properties(view.properties.iter().filter(is_kept), &required, false);
        }
    }

    fn items(&mut self, view: &SchemaView<'a>) {
        if let Some((name, value, path)) = view.keyword("items") {
            let path = self.paths.key(path, name);
            self.schema(&[SchemaPart::new(value, path)], SchemaPlace::default());
            return;
        }
        let Some((name, Json::Array(schemas), path)) = view.keyword("prefixItems") else {
            self.report(view.path(), Some("items"));
            self.out.push_str(r#"{"anyOf":"#);
            self.out.push_str(ANY_VALUE);
            self.out.push('}');
            return;
        };
        self.report(path, Some(name));
        let path = self.paths.key(path, name);
        let mut items = ViewProperty { name: "items", parts: Vec::new(), versions: Vec::new() };
        for (index, schema) in schemas.iter().enumerate() {
            items.add_version(SchemaPart::new(schema, self.paths.item(path, index)));
        }
        self.property(&items);
    }

    /// Writes the values that are allowed: as `enum` if they are strings, else returned for the description.
    fn values(&mut self, allowed: &AllowedValues<'a>, only: TypeSet) -> Option<String> {
        let (strings, others): (Vec<&Json>, Vec<&Json>) = allowed
            .values
            .iter()
            .filter(|value| !matches!(value, Json::Null))
            .partition(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        if only == TypeSet::STRING && !strings.is_empty() {
            self.key("enum");
            self.out.push('[');
            for value in strings {
                self.comma('[');
                value.write_compact(&mut self.out);
            }
            self.out.push(']');
            if !others.is_empty() {
                self.report(allowed.path, Some(allowed.keyword));
            }
            return None;
        }
        self.report(allowed.path, Some(allowed.keyword));
        let fits = |value: &&&Json| {
            let kind = TypeSet::of_value(value);
            kind == only || (only == TypeSet::NUMBER && kind == TypeSet::INTEGER)
        };
        let listed = others.iter().filter(fits).map(|value| value.compact()).collect::<Vec<_>>().join(", ");
        (!listed.is_empty() && listed.chars().nth(MAX_LISTED_CHARS).is_none())
            .then(|| format!("One of: {listed}."))
    }

    fn texts(&mut self, view: &SchemaView<'a>) {
        for name in ["title", "description"] {
            if let Some((name, value, path)) = view.keyword(name) {
                let rule = (self.rules.keyword)(name, TypeSet::NONE);
                self.keyword(name, value, path, rule);
            }
        }
    }

    fn description(&mut self, view: &SchemaView<'a>, listed: Option<String>) {
        let Some((name, value, path)) = view.keyword("description") else {
            if let Some(listed) = listed {
                self.key("description");
                write_string(&mut self.out, &listed);
            }
            return;
        };
        match (value, listed) {
            (Json::String(text), Some(listed)) => {
                let text = format!("{} {listed}", text.trim_end());
                let (text, was_cut) = provider_text(&text);
                if was_cut {
                    self.report(path, Some(name));
                }
                self.key(name);
                write_string(&mut self.out, text.trim_start());
            }
            _ => {
                let rule = (self.rules.keyword)(name, TypeSet::NONE);
                self.keyword(name, value, path, rule);
            }
        }
    }
}

struct OneType<'v, 'a> {
    only: TypeSet,
    nullable: bool,
    is_root: bool,
    values: Option<&'v AllowedValues<'a>>,
}

/// The values of `enum` or `const`.
struct AllowedValues<'a> {
    values: Vec<&'a Json>,
    keyword: &'a str,
    path: PathId,
}

impl<'a> AllowedValues<'a> {
    fn of(view: &SchemaView<'a>) -> Option<Self> {
        if let Some((keyword, value, path)) = view.keyword("const") {
            return Some(Self { values: vec![value], keyword, path });
        }
        match view.keyword("enum")? {
            (keyword, Json::Array(values), path) => {
                Some(Self { values: values.iter().collect(), keyword, path })
            }
            _ => None,
        }
    }
}

/// The types of a schema that says none, by its other keywords.
fn inferred_types(view: &SchemaView<'_>, values: Option<&AllowedValues<'_>>) -> TypeSet {
    if let Some(values) = values {
        return values.values.iter().fold(TypeSet::NONE, |all, value| all.union(TypeSet::of_value(value)));
    }
    let has = |names: &[&str]| names.iter().any(|name| view.keyword(name).is_some());
    let is_object = view.has_properties
        || !view.required.is_empty()
        || has(&[
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
        ]);
    if is_object {
        TypeSet::OBJECT
    } else if has(&["items", "prefixItems", "minItems", "maxItems", "uniqueItems"]) {
        TypeSet::ARRAY
    } else if has(&["minLength", "maxLength", "pattern", "format"]) {
        TypeSet::STRING
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        TypeSet::NUMBER
    } else {
        TypeSet::NONE
    }
}

fn is_null_only(branch: &Json) -> bool {
    match branch.get("type") {
        Some(types) => TypeSet::of_keyword(types) == Some(TypeSet::NULL),
        None => branch.get("const") == Some(&Json::Null),
    }
}

fn is_format(only: TypeSet, format: &str) -> bool {
    match format {
        "enum" | "date-time" => only == TypeSet::STRING,
        "float" | "double" => only == TypeSet::NUMBER,
        "int32" | "int64" => only == TypeSet::INTEGER,
        _ => false,
    }
}
