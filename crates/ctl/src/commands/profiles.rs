//! `profiles …`: which servers and tools the clients that use a profile see.

use std::collections::HashMap;
use std::path::Path;

use gatehouse_model::command::{
    ClientsList, ProfilesAdd, ProfilesAddServers, ProfilesList, ProfilesRemove, ProfilesSet, ServersList,
};
use gatehouse_model::profile::{
    DeniedTools, OtherServers, ProfileServer, ProjectFileReport, ToolListCost, ToolListMode, ToolSelection,
};
use gatehouse_model::{
    ErrorCode, Message, ProfileSettings, ProfileView, ServerId, ToolNaming, UserError, message,
};

use crate::cli::ProfilesVerb;
use crate::cli::profiles::{CallsPerMinute, ProfileArgs, ToolsOfServer};
use crate::commands::undo;
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: ProfilesVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        ProfilesVerb::List => {
            let profiles = session.run(&ProfilesList {}).await?;
            if output.is_json() {
                return output.json(&profiles);
            }
            let names = ProfileNames::load(session).await?;
            list(&profiles, &names).iter().try_for_each(|line| output.line(line))
        }
        ProfilesVerb::Show { profile } => {
            let view = find(session, &profile).await?;
            show(&view, session, output).await
        }
        ProfilesVerb::Add { name, change } => {
            let names = ProfileNames::load(session).await?;
            let settings = ProfileSettings { name, ..ProfileSettings::default() };
            let settings = changed(settings, *change, &names);
            let view = session.run(&ProfilesAdd { settings }).await?;
            show(&view, session, output).await
        }
        ProfilesVerb::Set { profile, name, change } => {
            let now = find(session, &profile).await?.profile;
            let names = ProfileNames::load(session).await?;
            let mut settings = changed(now.settings, *change, &names);
            if let Some(name) = name {
                settings.name = name;
            }
            let set = ProfilesSet { profile: now.id.to_string(), settings };
            let view = session.run(&set).await?;
            show(&view, session, output).await
        }
        ProfilesVerb::AddServers { profile } => {
            let reports = session.run(&ProfilesAddServers { profile }).await?;
            if output.is_json() {
                return output.json(&reports);
            }
            for ProjectFileReport { file, asked, problems } in &reports {
                let said = if asked.is_empty() {
                    message!("ctl.profiles.noNewServers", file = file)
                } else {
                    message!("ctl.profiles.askedServers", file = file, servers = asked.join(", "))
                };
                output.line(&terminal_text::message(&said))?;
                for problem in problems {
                    output.line(&terminal_text::error(problem))?;
                }
            }
            Ok(())
        }
        ProfilesVerb::Remove { profile } => match session.run(&ProfilesRemove { profile }).await? {
            None => output.done(&message!("ctl.profiles.removed")),
            Some(removal) => undo::removed(&removal, output),
        },
    }
}

/// Names of servers and clients by id.
struct ProfileNames {
    servers: Vec<(ServerId, String)>,
    clients: HashMap<String, String>,
}

impl ProfileNames {
    async fn load(session: &mut ControlSession) -> Result<Self, CliError> {
        let servers = session.run(&ServersList {}).await?;
        let clients = session.run(&ClientsList {}).await?;
        Ok(Self {
            servers: servers.into_iter().map(|view| (view.config.id, view.config.name)).collect(),
            clients: clients.into_iter().map(|view| (view.id.to_string(), view.name)).collect(),
        })
    }

    /// The id of a server that is named by id or name; the word itself if there is none, which the core then refuses.
    fn server_id(&self, wanted: &str) -> ServerId {
        let by_id = self.servers.iter().find(|(id, _)| id.as_str() == wanted);
        let found = by_id
            .or_else(|| self.servers.iter().find(|(_, name)| name.to_lowercase() == wanted.to_lowercase()));
        found.map_or_else(|| ServerId::new(wanted), |(id, _)| id.clone())
    }

    fn server<'a>(&'a self, id: &'a ServerId) -> &'a str {
        self.servers.iter().find(|(known, _)| known == id).map_or(id.as_str(), |(_, name)| name)
    }
}

async fn find(session: &mut ControlSession, wanted: &str) -> Result<ProfileView, CliError> {
    let all = session.run(&ProfilesList {}).await?;
    let by_id = all.iter().position(|view| view.profile.id.as_str() == wanted);
    let at = by_id.or_else(|| {
        let wanted = wanted.trim().to_lowercase();
        all.iter().position(|view| view.profile.settings.name.to_lowercase() == wanted)
    });
    at.and_then(|at| all.into_iter().nth(at)).ok_or_else(|| {
        let what = message!("error.tools.noProfile", name = wanted);
        let error = UserError::new(ErrorCode::NotFound, what);
        error.with_hint(message!("error.tools.noProfileHint")).into()
    })
}

/// The settings with what the options say.
fn changed(mut settings: ProfileSettings, change: ProfileArgs, names: &ProfileNames) -> ProfileSettings {
    let ProfileArgs {
        show,
        hide,
        only,
        except,
        unset,
        others,
        denied,
        names: mode,
        tool_list,
        calls_per_minute,
        folder,
        no_folder,
    } = change;
    let mut set = |server: &str, tools: Option<ToolSelection>| {
        let server = names.server_id(server);
        settings.servers.retain(|shown| shown.server != server);
        settings.servers.extend(tools.map(|tools| ProfileServer { server, tools }));
    };
    unset.iter().for_each(|server| set(server, None));
    show.iter().for_each(|server| set(server, Some(ToolSelection::All)));
    hide.iter().for_each(|server| set(server, Some(ToolSelection::Nothing)));
    for ToolsOfServer { server, tools } in only {
        set(&server, Some(ToolSelection::Only { tools }));
    }
    for ToolsOfServer { server, tools } in except {
        set(&server, Some(ToolSelection::Except { tools }));
    }
    settings.other_servers = others.map_or(settings.other_servers, Into::into);
    settings.denied_tools = denied.map_or(settings.denied_tools, Into::into);
    settings.tool_list = tool_list.map_or(settings.tool_list, Into::into);
    if let Some(mode) = mode {
        settings.naming = mode.mode().map(ToolNaming::from);
    }
    if let Some(CallsPerMinute(limit)) = calls_per_minute {
        settings.calls_per_minute = limit;
    }
    let gone: Vec<String> = no_folder.iter().map(|folder| absolute(folder)).collect();
    settings.folders.retain(|folder| !gone.contains(folder));
    settings.folders.extend(folder.iter().map(|folder| absolute(folder)));
    settings
}

/// A folder as an absolute path, without links if it exists.
fn absolute(folder: &Path) -> String {
    let real = folder.canonicalize().or_else(|_| std::path::absolute(folder));
    real.unwrap_or_else(|_| folder.to_owned()).to_string_lossy().into_owned()
}

/// What a list of tools costs, in words.
pub(crate) fn cost(cost: &ToolListCost) -> String {
    terminal_text::message(&message!(
        "ctl.profiles.cost",
        listed = cost.listed,
        tools = cost.tools,
        tokens = cost.tokens
    ))
}

fn list(profiles: &[ProfileView], names: &ProfileNames) -> Vec<String> {
    let rows: Vec<Vec<String>> = profiles
        .iter()
        .map(|view| {
            let settings = &view.profile.settings;
            let clients: Vec<&str> = view
                .clients
                .iter()
                .map(|client| names.clients.get(client.as_str()).map_or(client.as_str(), String::as_str))
                .collect();
            vec![
                settings.name.clone(),
                view.profile.id.to_string(),
                cost(&view.tool_list),
                settings.calls_per_minute.map_or_else(|| "-".to_owned(), |limit| limit.to_string()),
                if clients.is_empty() { "-".to_owned() } else { clients.join(", ") },
            ]
        })
        .collect();
    table(
        &[
            message!("ctl.column.name"),
            message!("ctl.column.id"),
            message!("ctl.column.toolCost"),
            message!("ctl.column.callsPerMinute"),
            message!("ctl.column.clients"),
        ],
        &rows,
        &message!("ctl.profiles.none"),
    )
}

async fn show(view: &ProfileView, session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    if output.is_json() {
        return output.json(view);
    }
    let names = ProfileNames::load(session).await?;
    let lines = describe(view, &names);
    lines.iter().try_for_each(|line| output.line(&terminal_text::message(line)))
}

fn describe(view: &ProfileView, names: &ProfileNames) -> Vec<Message> {
    let ProfileSettings {
        name,
        servers,
        other_servers,
        denied_tools,
        naming,
        tool_list,
        calls_per_minute,
        folders,
    } = &view.profile.settings;
    let mut lines = vec![message!("ctl.profiles.profile", name = name, id = view.profile.id.as_str())];
    for shown in servers {
        let server = names.server(&shown.server);
        lines.push(match &shown.tools {
            ToolSelection::All => message!("ctl.profiles.all", server = server),
            ToolSelection::Nothing => message!("ctl.profiles.nothing", server = server),
            ToolSelection::Only { tools } => {
                message!("ctl.profiles.only", server = server, tools = tools.join(", "))
            }
            ToolSelection::Except { tools } => {
                message!("ctl.profiles.except", server = server, tools = tools.join(", "))
            }
        });
    }
    lines.push(match other_servers {
        OtherServers::Shown => message!("ctl.profiles.othersShown"),
        OtherServers::Hidden => message!("ctl.profiles.othersHidden"),
    });
    if *denied_tools == DeniedTools::Hidden {
        lines.push(message!("ctl.profiles.deniedHidden"));
    }
    if let Some(naming) = naming {
        lines.push(match naming {
            ToolNaming::OnConflict => message!("ctl.profiles.namesOnConflict"),
            ToolNaming::Server => message!("ctl.profiles.namesServer"),
            ToolNaming::McpServer => message!("ctl.profiles.namesMcpServer"),
        });
    }
    if *tool_list == ToolListMode::Search {
        lines.push(message!("ctl.profiles.search"));
    }
    if let Some(limit) = calls_per_minute {
        lines.push(message!("ctl.profiles.rate", limit = *limit));
    }
    lines.extend(folders.iter().map(|folder| message!("ctl.profiles.folder", folder = folder)));
    lines.push(message!("ctl.profiles.toolList", cost = cost(&view.tool_list)));
    lines
}
