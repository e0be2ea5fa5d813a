//! Writes schemas as JSON Schema: references stay, but the root is one object.

use gatehouse_mcp_wire::json::{Json, write_string};

use crate::adapters::schema_reduction::name_set::NameSet;
use crate::adapters::schema_reduction::type_set::TypeSet;
use crate::adapters::schema_reduction::view::{SchemaView, ViewProperty};
use crate::adapters::schema_reduction::{SchemaPlace, SchemaReducer};

/// Longest name in a reason, in characters.
const MAX_NAME_CHARS: usize = 64;

/// With one of these beside it, `additionalProperties: false` would say something else than that there are no other
/// properties, or something is said already.
const OPEN: [&str; 12] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "minProperties",
];

impl<'a> SchemaReducer<'a> {
    pub(super) fn json_schema(&mut self, view: &SchemaView<'a>, place: SchemaPlace) {
        if place.is_root {
            self.check_root(view);
        } else if view.is_never {
            self.out.push_str(r#"{"not":{}}"#);
            return;
        }
        let types = place.only.or(view.types);
        self.out.push('{');
        if let Some(types) = types {
            self.types(types);
        }
        for (name, value, path) in view.keywords.iter().copied() {
            if place.is_root && self.rules.refused_at_root.contains(&name) {
                self.report(path, Some(name));
            } else {
                let rule = (self.rules.keyword)(name, types.unwrap_or_default());
                self.keyword(name, value, path, rule);
            }
        }
        let is_array = types.is_some_and(|types| types.has(TypeSet::ARRAY));
        if self.rules.needs_items
            && is_array
            && view.keyword("items").is_none()
            && view.keyword("prefixItems").is_none()
        {
            self.raw_value("items", "{}");
        }
        let mut seen = NameSet::new();
        let required: Vec<&str> = view.required.iter().copied().filter(|name| seen.insert(name)).collect();
        let rules = self.rules;
        let is_kept =
            |property: &&ViewProperty<'a>| !place.is_root || (rules.is_argument_name)(property.name);
        if place.is_root {
            self.root_properties = view.properties.iter().filter(is_kept).count();
        }
        if place.is_root || view.has_properties {
            self.properties(view.properties.iter().filter(is_kept), &required, self.is_strict);
        } else if !required.is_empty() {
            let names = required.iter().map(|name| Json::String((*name).into())).collect();
            self.copy("required", &Json::Array(names));
        }
        if (self.closes_objects || (place.is_root && rules.closes_objects))
            && !view.properties.is_empty()
            && OPEN.iter().all(|name| view.keyword(name).is_none())
            && names_all(view, &required)
        {
            self.raw_value("additionalProperties", "false");
        }
        self.out.push('}');
    }

    /// Reports arguments that the format doesn't allow.
    pub(super) fn check_root(&mut self, view: &SchemaView<'a>) {
        if view.types.is_some_and(|types| !types.has(TypeSet::OBJECT)) {
            self.refusal = Some("Its arguments are not an object.".to_owned());
        }
        for property in &view.properties {
            if (self.rules.is_argument_name)(property.name) {
                continue;
            }
            if let Some(part) = property.parts.first().or(property.versions.first()) {
                self.report(part.path, None);
            }
            if view.required.contains(&property.name) {
                let name: String = property.name.chars().take(MAX_NAME_CHARS).collect();
                self.refusal = Some(format!(
                    "It requires the argument {name:?}, a name that the provider doesn't allow."
                ));
            }
        }
    }

    fn types(&mut self, types: TypeSet) {
        let mut names = types.names();
        match (names.next(), names.next()) {
            (Some(one), None) => {
                self.key("type");
                write_string(&mut self.out, one);
            }
            _ => {
                let names = types.names().map(|name| Json::String(name.into())).collect();
                self.copy("type", &Json::Array(names));
            }
        }
    }
}

/// Whether each required property is described: another one may be required too.
fn names_all(view: &SchemaView<'_>, required: &[&str]) -> bool {
    let names: NameSet<'_> = match required {
        [] => return true,
        _ => view.properties.iter().map(|property| property.name).collect(),
    };
    required.iter().all(|name| names.contains(name))
}
