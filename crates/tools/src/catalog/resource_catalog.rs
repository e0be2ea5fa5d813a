//! The catalog of resources, resource templates and prompts (TOOL-2), with the server of each. An immutable
//! value beside the tool catalog. It doesn't decide whether something may be read, and changes no bytes except
//! a prompt's name or a URI that two servers have.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use gatehouse_mcp_wire::json::read;
use gatehouse_mcp_wire::raw::{Members, place, quoted, raw, splice};
use gatehouse_mcp_wire::uri_template::UriTemplate;
use gatehouse_model::{ServerId, ToolNaming};
use gatehouse_servers::ServerLists;
use serde_json::value::RawValue;

use crate::catalog::definition_source::DefinitionIndex;
use crate::catalog::exposed_names::ExposedNames;
use crate::catalog::last_known;
use crate::catalog::resource_owners::UriOwners;

/// Scheme of Gatehouse's own URIs: `gatehouse://<server>/<the server's URI>`.
const SCHEME: &str = "gatehouse://";

/// One of the lists that clients get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CatalogList {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    Templates,
    /// `prompts/list`
    Prompts,
}

/// The server of a resource, template or prompt, and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTarget {
    pub server: ServerId,
    pub server_name: String,
    /// The URI or name on the server.
    pub target: String,
    /// Whether the server supports completion of arguments.
    pub has_completions: bool,
}

/// The parsed resources, templates and prompts of one server.
#[derive(Debug, Default)]
pub(crate) struct ServerListing {
    resources: Vec<NamedItem>,
    templates: Vec<NamedItem>,
    prompts: Vec<NamedItem>,
    has_completions: bool,
    /// The definitions of these.
    pub(crate) definitions: DefinitionIndex,
}

/// One of them, with the name or URI that its server gave it.
#[derive(Debug)]
struct NamedItem {
    name: Box<str>,
    /// Byte range of the name in `raw`.
    name_range: Range<usize>,
    raw: Box<RawValue>,
}

#[derive(Clone)]
pub(crate) struct ListedServer {
    pub(crate) server: ServerId,
    pub(crate) name: String,
    /// Whether the lists are what the server has now.
    pub(crate) is_connected: bool,
    pub(crate) listing: Arc<ServerListing>,
}

impl ServerListing {
    fn items(&self, of: CatalogList) -> &[NamedItem] {
        match of {
            CatalogList::Tools => &[],
            CatalogList::Resources => &self.resources,
            CatalogList::Templates => &self.templates,
            CatalogList::Prompts => &self.prompts,
        }
    }

    /// Whether a list has the same items, byte for byte.
    pub(crate) fn has_same(&self, other: &Self, list: CatalogList) -> bool {
        let (own, others) = (self.items(list), other.items(list));
        own.len() == others.len() && own.iter().zip(others).all(|(one, two)| one.raw.get() == two.raw.get())
    }
}

/// The resources, templates and prompts of all servers.
#[derive(Default)]
pub(crate) struct ResourceCatalog {
    resources: ExposedList,
    templates: ExposedList,
    prompts: ExposedList,
    patterns: Vec<TemplateRoute>,
    listed_servers: Vec<ListedServer>,
}

#[derive(Default)]
struct ExposedList {
    listed: Vec<Box<RawValue>>,
    /// Those of `listed` that are marked as last known, without the mark.
    unmarked: HashMap<usize, Box<RawValue>>,
    entries: Vec<ExposedItem>,
    by_exposed: HashMap<Box<str>, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ExposedItem {
    exposed: Box<str>,
    name: Box<str>,
    server: ServerId,
}

struct TemplateRoute {
    template: UriTemplate,
    server: ServerId,
    /// Whether its exposed URI is the server's own.
    is_unprefixed: bool,
}

impl ServerListing {
    /// Parses the lists of a server. What can't be parsed safely is left out.
    pub(crate) fn read(server: &ServerId, lists: &ServerLists) -> Self {
        let named = |what: &str, member: &str, items: &[Box<RawValue>]| {
            let mut seen = HashSet::new();
            let mut all = Vec::with_capacity(items.len());
            for item in items {
                match NamedItem::read(member, item).filter(|named| seen.insert(named.name.clone())) {
                    Some(named) => all.push(named),
                    None => {
                        tracing::warn!(%server, what, "something without a name of its own is not offered")
                    }
                }
            }
            all
        };
        let resources = named("resource", "uri", &lists.resources);
        let templates = named("resource template", "uriTemplate", &lists.resource_templates);
        let prompts = named("prompt", "name", &lists.prompts);
        let mut definitions = DefinitionIndex::default();
        resources.iter().for_each(|resource| definitions.list(&resource.name));
        templates.iter().for_each(|template| definitions.template(&template.name, &template.raw));
        prompts.iter().for_each(|prompt| definitions.prompt(&prompt.name, &prompt.raw));
        Self {
            resources,
            templates,
            prompts,
            definitions,
            has_completions: Members::of(&lists.capabilities)
                .ok()
                .and_then(|declared| declared.get("completions"))
                .is_some_and(|completions| completions.get().starts_with('{')),
        }
    }
}

impl NamedItem {
    fn read(member: &str, item: &RawValue) -> Option<Self> {
        let text = item.get();
        // After strict parsing no member occurs twice, so no parser can read a different name.
        read(text).ok()?;
        let value = Members::read(text).ok()?.get(member)?;
        let name: Box<str> = serde_json::from_str(value.get()).ok()?;
        (!name.is_empty()).then(|| Self { name, name_range: place(text, value.get()), raw: item.to_owned() })
    }

    fn exposed(&self, exposed: &str) -> Box<RawValue> {
        if *self.name == *exposed {
            return self.raw.clone();
        }
        raw(splice(self.raw.get(), vec![(self.name_range.clone(), quoted(exposed))]))
    }
}

impl ExposedList {
    fn push(&mut self, listed_server: &ListedServer, named: &NamedItem, exposed: Box<str>) {
        let index = self.entries.len();
        self.by_exposed.insert(exposed.clone(), index);
        let item = named.exposed(&exposed);
        if listed_server.is_connected {
            self.listed.push(item);
        } else {
            self.listed.push(last_known::with_mark(&item).into_owned());
            self.unmarked.insert(index, item);
        }
        let server = listed_server.server.clone();
        self.entries.push(ExposedItem { exposed, name: named.name.clone(), server });
    }

    /// An item without a mark.
    fn item(&self, index: usize) -> Option<&RawValue> {
        self.unmarked.get(&index).or_else(|| self.listed.get(index)).map(|item| &**item)
    }

    fn get(&self, exposed: &str) -> Option<&ExposedItem> {
        self.entries.get(*self.by_exposed.get(exposed)?)
    }

    fn has(&self, server: &ServerId, name: &str) -> bool {
        self.entries.iter().any(|entry| *entry.name == *name && entry.server == *server)
    }

    /// URIs aren't changed. If several servers have the same one, it stays with its owner, and the others get a
    /// prefix.
    fn of_uris(
        listed_servers: &[ListedServer],
        owners: &mut UriOwners,
        list: impl Fn(&ServerListing) -> &[NamedItem] + Copy,
    ) -> Self {
        // Only a connected server is known to list a URI no longer.
        let connected = listed_servers.iter().filter(|listed_server| listed_server.is_connected);
        let present = connected.map(|listed_server| &listed_server.server).collect();
        let listed = listed_servers.iter().flat_map(|ListedServer { server, listing, .. }| {
            list(listing).iter().map(move |named| (server, &*named.name))
        });
        owners.assign(&present, listed);
        let mut group = Self::default();
        for listed_server in listed_servers {
            let server = &listed_server.server;
            for named in list(&listed_server.listing) {
                let is_unprefixed = owners.is_owner(server, &named.name) && !is_gatehouse_uri(&named.name);
                let exposed = if is_unprefixed {
                    named.name.clone()
                } else {
                    format!("{}{}", prefix(server), named.name).into()
                };
                group.push(listed_server, named, exposed);
            }
        }
        group
    }

    /// Whether the items are the same, marked as last known or not.
    fn same(&self, other: &Self) -> bool {
        self.entries == other.entries
            && (0..self.entries.len())
                .all(|index| self.item(index).map(RawValue::get) == other.item(index).map(RawValue::get))
    }

    /// Whether the same items are marked as last known.
    fn same_marks(&self, other: &Self) -> bool {
        self.unmarked.len() == other.unmarked.len()
            && self.unmarked.keys().all(|index| other.unmarked.contains_key(index))
    }
}

impl ResourceCatalog {
    /// The catalog of these servers. Names and URIs stay with the servers that had them before.
    pub(crate) fn build(
        listed_servers: Vec<ListedServer>,
        naming: ToolNaming,
        names: &mut ExposedNames,
    ) -> Self {
        let resources =
            ExposedList::of_uris(&listed_servers, &mut names.resources, |listing| &listing.resources);
        let templates =
            ExposedList::of_uris(&listed_servers, &mut names.templates, |listing| &listing.templates);
        let mut prompts = ExposedList::default();
        for listed_server in &listed_servers {
            let ListedServer { server, name, listing, .. } = listed_server;
            for named in &listing.prompts {
                let exposed = names.prompts.name(naming, server, name, &named.name);
                prompts.push(listed_server, named, exposed);
            }
        }
        let patterns = templates
            .entries
            .iter()
            .filter_map(|entry| {
                Some(TemplateRoute {
                    template: UriTemplate::read(&entry.name)?,
                    server: entry.server.clone(),
                    is_unprefixed: entry.exposed == entry.name,
                })
            })
            .collect();
        Self { resources, templates, prompts, patterns, listed_servers }
    }

    /// The same catalog with the names that prompts have in another mode.
    pub(crate) fn renamed(&self, naming: ToolNaming, names: &mut ExposedNames) -> Self {
        Self::build(self.listed_servers.clone(), naming, names)
    }

    /// The items of one of the lists for clients that come from `visible` servers.
    pub(crate) fn visible_items(
        &self,
        of: CatalogList,
        visible: &dyn Fn(&ServerId) -> bool,
    ) -> Vec<&RawValue> {
        let list = match of {
            CatalogList::Tools => return Vec::new(),
            CatalogList::Resources => &self.resources,
            CatalogList::Templates => &self.templates,
            CatalogList::Prompts => &self.prompts,
        };
        let all = list.entries.iter().zip(&list.listed);
        all.filter(|(entry, _)| visible(&entry.server)).map(|(_, item)| &**item).collect()
    }

    /// One of the lists for clients.
    pub(crate) fn list(&self, of: CatalogList) -> &[Box<RawValue>] {
        match of {
            CatalogList::Tools => &[],
            CatalogList::Resources => &self.resources.listed,
            CatalogList::Templates => &self.templates.listed,
            CatalogList::Prompts => &self.prompts.listed,
        }
    }

    /// Whether clients see the same resources and templates.
    pub(crate) fn same_resources(&self, other: &Self) -> bool {
        self.resources.same(&other.resources) && self.templates.same(&other.templates)
    }

    /// Whether clients see the same prompts.
    pub(crate) fn same_prompts(&self, other: &Self) -> bool {
        self.prompts.same(&other.prompts)
    }

    /// Whether the same items are marked as last known.
    pub(crate) fn same_marks(&self, other: &Self) -> bool {
        self.resources.same_marks(&other.resources)
            && self.templates.same_marks(&other.templates)
            && self.prompts.same_marks(&other.prompts)
    }

    /// The server of a resource: the one that lists it, otherwise the one with the closest matching template. Of the
    /// servers that are `visible`.
    pub(crate) fn resource(&self, uri: &str, visible: &dyn Fn(&ServerId) -> bool) -> Option<ResolvedTarget> {
        if let Some(entry) = self.resources.get(uri).filter(|entry| visible(&entry.server)) {
            return self.on_server(&entry.server, &entry.name);
        }
        if !is_gatehouse_uri(uri) {
            let fits = self
                .patterns
                .iter()
                .filter(|pattern| visible(&pattern.server) && pattern.template.matches(uri));
            // Of equally close ones the first wins, as in the list.
            let closest = fits
                .rev()
                .max_by_key(|pattern| (pattern.template.literal_prefix(), pattern.is_unprefixed))?;
            return self.on_server(&closest.server, uri);
        }
        let (listed_server, name) = self.listed_servers.iter().find_map(|listed_server| {
            uri.strip_prefix(prefix(&listed_server.server).as_str()).map(|name| (listed_server, name))
        })?;
        let server = &listed_server.server;
        if !visible(server) {
            return None;
        }
        let comes_from =
            |pattern: &TemplateRoute| pattern.server == *server && pattern.template.matches(name);
        if self.resources.has(server, name) || self.patterns.iter().any(comes_from) {
            self.on_server(server, name)
        } else {
            None
        }
    }

    /// The server of a resource template or of a resource, for completing arguments. Of the servers that are `visible`.
    pub(crate) fn template(&self, uri: &str, visible: &dyn Fn(&ServerId) -> bool) -> Option<ResolvedTarget> {
        match self.templates.get(uri).filter(|entry| visible(&entry.server)) {
            Some(entry) => self.on_server(&entry.server, &entry.name),
            None => self.resource(uri, visible),
        }
    }

    /// The server of a prompt, by its exposed name, if that is `visible`.
    pub(crate) fn prompt(
        &self,
        exposed: &str,
        visible: &dyn Fn(&ServerId) -> bool,
    ) -> Option<ResolvedTarget> {
        let entry = self.prompts.get(exposed).filter(|entry| visible(&entry.server))?;
        self.on_server(&entry.server, &entry.name)
    }

    /// One of the lists of one server, byte for byte.
    pub(crate) fn own_list(&self, server: &ServerId, of: CatalogList) -> Vec<Box<RawValue>> {
        let listed = self.listed_servers.iter().find(|listed| listed.server == *server);
        let items = listed.map_or(&[][..], |listed| listed.listing.items(of));
        items.iter().map(|item| item.raw.clone()).collect()
    }

    /// The names of one server's prompts, as it wrote them.
    pub(crate) fn own_prompts<'a>(&'a self, server: &'a ServerId) -> impl Iterator<Item = &'a str> {
        let listed = self.listed_servers.iter().filter(move |listed| listed.server == *server);
        listed.flat_map(|listed| listed.listing.prompts.iter().map(|prompt| &*prompt.name))
    }

    /// The servers with their names, in the order in which they were added.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&ServerId, &str)> {
        self.listed_servers.iter().map(|listed| (&listed.server, listed.name.as_str()))
    }

    /// Something of one server, by the name or URI that the server knows it by.
    pub(crate) fn on_server(&self, server: &ServerId, target: &str) -> Option<ResolvedTarget> {
        let listed_server =
            self.listed_servers.iter().find(|listed_server| listed_server.server == *server)?;
        Some(ResolvedTarget {
            server: server.clone(),
            server_name: listed_server.name.clone(),
            target: target.to_owned(),
            has_completions: listed_server.listing.has_completions,
        })
    }
}

fn is_gatehouse_uri(uri: &str) -> bool {
    uri.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME))
}

/// The prefix of a URI of this server that another server has too.
fn prefix(server: &ServerId) -> String {
    let mut out = String::from(SCHEME);
    for byte in server.as_str().bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out.push('/');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everywhere(_: &ServerId) -> bool {
        true
    }

    fn json(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn listed_server(name: &str, resources: &[&str], templates: &[&str], prompts: &[&str]) -> ListedServer {
        let all = |items: &[&str]| items.iter().map(|item| json(item)).collect();
        let lists = ServerLists {
            resources: all(resources),
            resource_templates: all(templates),
            prompts: all(prompts),
            capabilities: json(if prompts.is_empty() { "{}" } else { r#"{"completions":{}}"# }),
            ..ServerLists::default()
        };
        let server: ServerId = format!("srv-{name}").as_str().into();
        let listing = Arc::new(ServerListing::read(&server, &lists));
        ListedServer { server, name: name.to_owned(), is_connected: true, listing }
    }

    fn catalog(listed_servers: Vec<ListedServer>) -> ResourceCatalog {
        catalog_with(&mut ExposedNames::open(None), listed_servers)
    }

    fn catalog_with(names: &mut ExposedNames, listed_servers: Vec<ListedServer>) -> ResourceCatalog {
        ResourceCatalog::build(listed_servers, ToolNaming::OnConflict, names)
    }

    fn texts(catalog: &ResourceCatalog, of: CatalogList) -> Vec<&str> {
        catalog.list(of).iter().map(|item| item.get()).collect()
    }

    fn owner(place: Option<ResolvedTarget>) -> Option<(String, String)> {
        place.map(|place| (place.server_name, place.target))
    }

    fn at(server: &str, target: &str) -> Option<(String, String)> {
        Some((server.to_owned(), target.to_owned()))
    }

    #[test]
    fn prefixes_later_duplicate_uri() {
        let odd = r#"{ "name":"A", "uri" : "x:\/\/1","n":1.00}"#;
        let made = catalog(vec![
            listed_server("a", &[odd], &[], &[]),
            listed_server("b", &[odd, r#"{"uri":"x://2"}"#], &[], &[]),
        ]);
        assert_eq!(
            texts(&made, CatalogList::Resources),
            [odd, r#"{ "name":"A", "uri" : "gatehouse://srv-b/x://1","n":1.00}"#, r#"{"uri":"x://2"}"#]
        );
        assert_eq!(owner(made.resource("x://1", &everywhere)), at("a", "x://1"));
        assert_eq!(owner(made.resource("gatehouse://srv-b/x://1", &everywhere)), at("b", "x://1"));
        assert_eq!(
            owner(made.resource("gatehouse://srv-a/x://1", &everywhere)),
            at("a", "x://1"),
            "always reversible"
        );
        assert_eq!(owner(made.resource("gatehouse://srv-b/x://3", &everywhere)), None);
        assert_eq!(owner(made.resource("gatehouse://srv-c/x://1", &everywhere)), None);
        assert_eq!(owner(made.resource("x://3", &everywhere)), None);
    }

    #[test]
    fn uri_stays_with_first_server() {
        let item = [r#"{"uri":"x://1"}"#];
        let mut names = ExposedNames::open(None);
        let first = catalog_with(&mut names, vec![listed_server("b", &item, &[], &[])]);
        let both = || vec![listed_server("a", &item, &[], &[]), listed_server("b", &item, &[], &[])];
        let second = catalog_with(&mut names, both());
        assert_eq!(owner(second.resource("x://1", &everywhere)), at("b", "x://1"));
        assert!(!first.same_resources(&second) && first.same_prompts(&second));
        assert!(second.same_resources(&catalog_with(&mut names, both())));
    }

    #[test]
    fn marks_items_of_unconnected_servers_without_changing_the_list() {
        let item = [r#"{"uri":"x://1"}"#];
        let server = || listed_server("a", &item, &item.map(|_| r#"{"uriTemplate":"x://{id}"}"#), &[]);
        let connected = catalog(vec![server()]);
        let last_known = catalog(vec![ListedServer { is_connected: false, ..server() }]);
        for (list, text) in [
            (CatalogList::Resources, r#"{"_meta":{"app.gatehouse/lastKnown":true},"uri":"x://1"}"#),
            (
                CatalogList::Templates,
                r#"{"_meta":{"app.gatehouse/lastKnown":true},"uriTemplate":"x://{id}"}"#,
            ),
        ] {
            assert_eq!(texts(&last_known, list), [text]);
        }
        assert_eq!(texts(&connected, CatalogList::Resources), item);
        assert!(connected.same_resources(&last_known) && !connected.same_marks(&last_known));
        assert_eq!(owner(last_known.resource("x://1", &everywhere)), at("a", "x://1"));
    }

    #[test]
    fn rejects_forged_gatehouse_uris() {
        let forged = [r#"{"uri":"GateHouse://srv-b/x://1"}"#, r#"{"uri":"gatehouse://srv-b/x://1"}"#];
        let made = catalog(vec![
            listed_server("a", &forged, &[r#"{"uriTemplate":"{+all}"}"#], &[]),
            listed_server("b", &[r#"{"uri":"x://1"}"#], &[], &[]),
        ]);
        assert_eq!(owner(made.resource("gatehouse://srv-b/x://1", &everywhere)), at("b", "x://1"));
        assert_eq!(owner(made.resource("gatehouse://srv-b/x://2", &everywhere)), None);
        let exposed = "gatehouse://srv-a/gatehouse://srv-b/x://1";
        assert_eq!(owner(made.resource(exposed, &everywhere)), at("a", forged[1].split('"').nth(3).unwrap()));
    }

    #[test]
    fn closest_template_wins() {
        let made = catalog(vec![
            listed_server("a", &[r#"{"uri":"d://text/7"}"#], &[r#"{"uriTemplate":"d://{+all}"}"#], &[]),
            listed_server("b", &[], &[r#"{"uriTemplate":"d://text/{id}"}"#], &[]),
            listed_server("c", &[], &[r#"{"uriTemplate":"d://text/{id}","x":1.0}"#], &[]),
        ]);
        for (uri, server) in [("d://text/7", "a"), ("d://text/8", "b"), ("d://text/8/9", "a"), ("d://x", "a")]
        {
            assert_eq!(owner(made.resource(uri, &everywhere)), at(server, uri), "{uri}");
        }
        assert_eq!(
            texts(&made, CatalogList::Templates)[2],
            r#"{"uriTemplate":"gatehouse://srv-c/d://text/{id}","x":1.0}"#
        );
        assert_eq!(owner(made.resource("gatehouse://srv-c/d://text/8", &everywhere)), at("c", "d://text/8"));
        assert_eq!(
            owner(made.template("gatehouse://srv-c/d://text/{id}", &everywhere)),
            at("c", "d://text/{id}"),
            "a template is found by the form that was listed"
        );
    }

    #[test]
    fn names_prompts_like_tools() {
        let made = catalog(vec![
            listed_server("a", &[], &[], &[r#"{"title":"T", "name":"go"}"#]),
            listed_server("b", &[], &[], &[r#"{"name":"go","arguments":[ ]}"#, r#"{"name":"a b"}"#]),
        ]);
        assert_eq!(
            texts(&made, CatalogList::Prompts),
            [r#"{"title":"T", "name":"go"}"#, r#"{"name":"b__go","arguments":[ ]}"#, r#"{"name":"a_b"}"#]
        );
        assert_eq!(owner(made.prompt("go", &everywhere)), at("a", "go"));
        assert_eq!(owner(made.prompt("b__go", &everywhere)), at("b", "go"));
        assert_eq!(owner(made.prompt("a_b", &everywhere)), at("b", "a b"));
        assert_eq!(owner(made.prompt("a b", &everywhere)), None);
        assert!(made.prompt("go", &everywhere).unwrap().has_completions);
    }

    #[test]
    fn omits_unsafe_items() {
        let made = catalog(vec![listed_server(
            "a",
            &[
                r#"{"uri":"x://1","uri":"x://2"}"#,
                r#"{"uri":7}"#,
                "7",
                r#"{"uri":""}"#,
                r#"{"uri":"x://3"}"#,
                r#"{"uri":"x://3","n":2}"#,
            ],
            &[],
            &[],
        )]);
        assert_eq!(texts(&made, CatalogList::Resources), [r#"{"uri":"x://3"}"#]);
    }
}
