//! Resources, templates and prompts of one server as the UI shows them (SRV-14): texts cleaned, URIs
//! unchanged. Entries that can't be parsed are left out. Doesn't contact the server.

use gatehouse_mcp_wire::uri_template;
use gatehouse_model::server_catalog::{
    PromptArgument, PromptView, ResourceView, ServerCatalog, TemplateView,
};
use gatehouse_policy::display::clean_text;
use gatehouse_servers::ServerLists;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawItem {
    #[serde(default)]
    uri: String,
    #[serde(default)]
    uri_template: String,
    #[serde(default)]
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    arguments: Vec<RawArgument>,
}

#[derive(Deserialize)]
struct RawArgument {
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

/// The lists of a server except tools, for the UI.
#[must_use]
pub fn server_catalog(lists: &ServerLists) -> ServerCatalog {
    ServerCatalog {
        declared: lists.declared(),
        instructions: lists.instructions.as_deref().map(clean),
        resources: read(&lists.resources, |item| {
            (!item.uri.is_empty()).then(|| ResourceView {
                title: title(&item),
                description: item.description.as_deref().map(clean),
                mime_type: item.mime_type,
                size: item.size,
                uri: item.uri,
            })
        }),
        templates: read(&lists.resource_templates, |item| {
            (!item.uri_template.is_empty()).then(|| TemplateView {
                title: title(&item),
                description: item.description.as_deref().map(clean),
                mime_type: item.mime_type,
                variables: uri_template::variables(&item.uri_template),
                uri_template: item.uri_template,
            })
        }),
        prompts: read(&lists.prompts, |item| {
            (!item.name.is_empty()).then(|| PromptView {
                title: title(&item),
                description: item.description.as_deref().map(clean),
                arguments: item.arguments.into_iter().map(argument).collect(),
                name: item.name,
            })
        }),
        watched: Vec::new(),
        resources_problem: None,
        prompts_problem: None,
    }
}

fn read<T>(items: &[Box<RawValue>], view: impl Fn(RawItem) -> Option<T>) -> Vec<T> {
    items.iter().filter_map(|raw| view(serde_json::from_str(raw.get()).ok()?)).collect()
}

fn clean(text: &str) -> String {
    clean_text(text).into_owned()
}

fn title(item: &RawItem) -> String {
    let name = if item.name.is_empty() { &item.uri } else { &item.name };
    clean(item.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(name))
}

fn argument(argument: RawArgument) -> PromptArgument {
    let RawArgument { name, title, description, required } = argument;
    PromptArgument {
        title: clean(title.as_deref().unwrap_or(&name)),
        description: description.as_deref().map(clean),
        required,
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn reads_and_cleans_server_catalog() {
        let lists = ServerLists {
            resources: vec![raw(r#"{"uri":"a://b","name":"n\u202E","size":3}"#), raw("{}"), raw("7")],
            resource_templates: vec![raw(r#"{"uriTemplate":"a://{x}/{+y,z*}{?q:3,x}","name":"t"}"#)],
            prompts: vec![raw(r#"{"name":"p","arguments":[{"name":"a","required":true}]}"#)],
            ..ServerLists::default()
        };
        let offer = server_catalog(&lists);
        assert_eq!(offer.resources.len(), 1);
        assert_eq!(offer.resources[0].title, "n");
        assert_eq!(offer.templates[0].variables, ["x", "y", "z", "q"]);
        assert!(offer.prompts[0].arguments[0].required);
    }
}
