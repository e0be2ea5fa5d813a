//! Sets of catalog lists (tools, resources, prompts): which changed, and which a client subscribed to.

use gatehouse_tools::CatalogVersions;

/// A set of catalog lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangedLists {
    pub(crate) tools: bool,
    /// Resources and resource templates.
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

impl ChangedLists {
    /// All lists.
    pub(crate) const ALL: Self = Self { tools: true, resources: true, prompts: true };

    /// The lists whose version differs.
    pub(crate) fn between(before: CatalogVersions, now: CatalogVersions) -> Self {
        Self {
            tools: before.tools != now.tools,
            resources: before.resources != now.resources,
            prompts: before.prompts != now.prompts,
        }
    }

    /// Intersection.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            tools: self.tools && other.tools,
            resources: self.resources && other.resources,
            prompts: self.prompts && other.prompts,
        }
    }

    /// Union.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            resources: self.resources || other.resources,
            prompts: self.prompts || other.prompts,
        }
    }

    /// Difference: the lists in `self` that aren't in `other`.
    pub(crate) fn without(self, other: Self) -> Self {
        Self {
            tools: self.tools && !other.tools,
            resources: self.resources && !other.resources,
            prompts: self.prompts && !other.prompts,
        }
    }

    /// The `list_changed` notification methods of these lists.
    pub(crate) fn methods(self) -> impl Iterator<Item = &'static str> {
        [
            (self.tools, "notifications/tools/list_changed"),
            (self.resources, "notifications/resources/list_changed"),
            (self.prompts, "notifications/prompts/list_changed"),
        ]
        .into_iter()
        .filter_map(|(is, method)| is.then_some(method))
    }

    /// This set with the given resource URIs, as the JSON of the `subscriptions/listen` filter.
    pub(crate) fn as_filter(self, uris: &[String]) -> String {
        let uris = format!(r#""resourceSubscriptions":{}"#, serde_json::json!(uris));
        let members: Vec<&str> = [
            (self.tools, r#""toolsListChanged":true"#),
            (self.resources, r#""resourcesListChanged":true"#),
            (self.prompts, r#""promptsListChanged":true"#),
            (uris != r#""resourceSubscriptions":[]"#, uris.as_str()),
        ]
        .into_iter()
        .filter_map(|(is, member)| is.then_some(member))
        .collect();
        format!("{{{}}}", members.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_changed_lists() {
        let before = CatalogVersions { tools: 1, resources: 1, prompts: 1, marks: 1 };
        let changed = ChangedLists::between(before, CatalogVersions { prompts: 2, tools: 2, ..before });
        assert_eq!(changed, ChangedLists { tools: true, resources: false, prompts: true });
        let methods: Vec<&str> = changed.methods().collect();
        assert_eq!(methods, ["notifications/tools/list_changed", "notifications/prompts/list_changed"]);
        assert_eq!(changed.as_filter(&[]), r#"{"toolsListChanged":true,"promptsListChanged":true}"#);
        assert_eq!(ChangedLists::default().as_filter(&[]), "{}");
        let uris = ["a://b".to_owned()];
        assert_eq!(ChangedLists::default().as_filter(&uris), r#"{"resourceSubscriptions":["a://b"]}"#);
        let tools = ChangedLists { tools: true, ..ChangedLists::default() };
        assert_eq!(changed.and(tools), tools);
        assert_eq!(changed.without(tools).or(tools), changed);
    }
}
