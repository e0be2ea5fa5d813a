//! Resources, templates and prompts of one server as the UI shows them (SRV-14): texts cleaned, URIs
//! unchanged. Entries that can't be parsed are left out. Doesn't contact the server.

use gatehouse_mcp_wire::uri_template;
use gatehouse_model::offer::{PromptArgument, PromptView, ResourceView, ServerOffer, TemplateView};
use gatehouse_policy::show::clean_text;
use gatehouse_servers::Lists;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
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
    arguments: Vec<Argument>,
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

/// The lists of a server except tools, for the UI.
#[must_use]
pub fn offer_of(lists: &Lists) -> ServerOffer {
    ServerOffer {
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

fn read<T>(items: &[Box<RawValue>], view: impl Fn(Item) -> Option<T>) -> Vec<T> {
    items.iter().filter_map(|raw| view(serde_json::from_str(raw.get()).ok()?)).collect()
}

fn clean(text: &str) -> String {
    clean_text(text).into_owned()
}

fn title(item: &Item) -> String {
    let name = if item.name.is_empty() { &item.uri } else { &item.name };
    clean(item.title.as_deref().filter(|title| !title.is_empty()).unwrap_or(name))
}

fn argument(argument: Argument) -> PromptArgument {
    let Argument { name, title, description, required } = argument;
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
    fn offers_are_read_and_cleaned() {
        let lists = Lists {
            resources: vec![raw(r#"{"uri":"a://b","name":"n\u202E","size":3}"#), raw("{}"), raw("7")],
            resource_templates: vec![raw(r#"{"uriTemplate":"a://{x}/{+y,z*}{?q:3,x}","name":"t"}"#)],
            prompts: vec![raw(r#"{"name":"p","arguments":[{"name":"a","required":true}]}"#)],
            ..Lists::default()
        };
        let offer = offer_of(&lists);
        assert_eq!(offer.resources.len(), 1);
        assert_eq!(offer.resources[0].title, "n");
        assert_eq!(offer.templates[0].variables, ["x", "y", "z", "q"]);
        assert!(offer.prompts[0].arguments[0].required);
    }
}
