//! `servers …`: the servers that Gatehouse connects to.

mod bundle;
mod import;
mod log;
mod registry;
mod setting_changes;
mod settings;

use std::collections::BTreeMap;

use gatehouse_model::command::{
    FieldSecret, LinksRead, RequestSecret, ServersAdd, ServersDuplicate, ServersList, ServersReconnect,
    ServersRemove, ServersReset, ServersSet, ServersSignOut, ServersStart, ServersStop, ServersSwitchOff,
    ServersSwitchOn, ServersTest, ServersTrustLabels,
};
use gatehouse_model::composed_secret::ComposedSecret;
use gatehouse_model::server::{
    Builtin, HeaderProgram, Remote, ServerAppearance, ServerDraft, ServerView, StdioStreams,
};
use gatehouse_model::server_problem::SettingChange;
use gatehouse_model::sign_in::SignInSettings;
use gatehouse_model::{ErrorCode, Message, Secret, ServerStatus, Transport, UserError, message};

use self::setting_changes::setting;
use crate::cli::{AddServerArgs, BuiltinKind, OnOffArg, ServersVerb};
use crate::commands::sign_in::{self, SignInBrowser};
use crate::commands::undo;
use crate::error::CliError;
use crate::output::{Printer, table};
use crate::secret_input;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    verb: ServersVerb,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    match verb {
        ServersVerb::List => {
            let servers = session.run(&ServersList {}).await?;
            output.show(&servers, |servers| list(servers))
        }
        ServersVerb::Add(wanted) => match &wanted.from_registry.registry {
            Some(entry) => registry::add(entry, &wanted, session, output).await,
            None => add(&wanted, session, output).await,
        },
        ServersVerb::Registry { verb } => registry::run(verb, session, output).await,
        ServersVerb::Link { link } => {
            let content = session.run(&LinksRead { link }).await?;
            output.show(&content, registry::describe_link)
        }
        ServersVerb::AddBundle(wanted) => bundle::add(wanted, session, output).await,
        ServersVerb::Import(wanted) => import::run(&wanted, session, output).await,
        ServersVerb::Test(wanted) => {
            let (draft, secrets) = match &wanted.from_registry.registry {
                Some(entry) => registry::draft(entry, &wanted, session, output).await?,
                None => draft(&wanted)?,
            };
            let report = session.run(&ServersTest { draft, secrets, run: None }).await?;
            output.show(&report, |report| {
                let reads = terminal_text::message(&message!("ctl.servers.testReads"));
                let tools = report.tools.iter().map(|tool| {
                    let mark = if tool.read_only { format!(" {reads}") } else { String::new() };
                    format!("  {}{mark}", terminal_text::line(&tool.name))
                });
                let first = terminal_text::message(&message!(
                    "ctl.servers.tested",
                    server = format!("{} {}", report.server.name, report.server.version),
                    count = u32::try_from(report.tools.len()).unwrap_or(u32::MAX),
                ));
                std::iter::once(first).chain(tools).collect()
            })
        }
        ServersVerb::Log { server, follow: false } => log::show(server.as_deref(), session, output).await,
        ServersVerb::Log { server, follow: true } => log::follow(server.as_deref(), session, output).await,
        ServersVerb::Edit(wanted) => {
            let view = settings::edit(&wanted, session, output).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::Set(wanted) => {
            let view = settings::set(&wanted, session, output).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::Enable { server } => {
            let view = set(server, vec![setting("/enabled", &true)?], session).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::Disable { server } => stop(server, StopKind::Disable, session, output).await,
        ServersVerb::Rename { server, name } => {
            let view = set(server, vec![setting("/name", &name)?], session).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::Autostart { server, switch } => {
            let on = switch == OnOffArg::On;
            let view = set(server, vec![setting("/autostart", &on)?], session).await?;
            output.show(&view, |view| {
                let name = &view.config.name;
                vec![terminal_text::message(&if on {
                    message!("ctl.servers.autostart", server = name)
                } else {
                    message!("ctl.servers.autostartOff", server = name)
                })]
            })
        }
        ServersVerb::SignIn { server, print, paste } => {
            let browser = match (print, paste) {
                (_, true) => SignInBrowser::OtherComputer,
                (true, false) => SignInBrowser::Printed,
                (false, false) => SignInBrowser::Opened,
            };
            let view = sign_in::run(&server, browser, session).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::SignOut { server } => {
            let out = session.run(&ServersSignOut { server, run: None }).await?;
            output.show(&out, |out| {
                vec![terminal_text::message(&if out.revoked {
                    message!("ctl.servers.signedOutRevoked")
                } else {
                    message!("ctl.servers.signedOut")
                })]
            })
        }
        ServersVerb::Off => {
            session.run(&ServersSwitchOff {}).await?;
            output.done(&message!("ctl.servers.mcpOff"))
        }
        ServersVerb::On => {
            session.run(&ServersSwitchOn {}).await?;
            output.done(&message!("ctl.servers.mcpOn"))
        }
        ServersVerb::Limits { server, call_limit, call_cap, strict } => {
            let strict = strict.map(|switch| switch == OnOffArg::On);
            let changes = [
                call_limit.map(|limit| setting("/limits/callSecs", &limit)),
                call_cap.map(|limit| setting("/limits/callCapSecs", &limit)),
                strict.map(|strict| setting("/limits/strict", &strict)),
            ];
            let changes: Vec<_> = changes.into_iter().flatten().collect::<Result<_, _>>()?;
            if changes.is_empty() {
                return Err(CliError::usage(message!("error.ctl.noLimit")));
            }
            let view = set(server, changes, session).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::Reset { yes } => {
            if !yes {
                return Err(CliError::usage(message!("error.ctl.resetUnconfirmed")));
            }
            let servers = session.run(&ServersReset {}).await?;
            output.show(&servers, |servers| list(servers))
        }
        ServersVerb::Duplicate { server, name } => {
            let view = session.run(&ServersDuplicate { server, name }).await?;
            output.show(&view, |view| vec![summary(view)])
        }
        ServersVerb::Remove { server, undoable } => {
            match session.run(&ServersRemove { server, undoable }).await? {
                None => output.done(&message!("ctl.servers.removed")),
                Some(removal) => undo::removed(&removal, output),
            }
        }
        ServersVerb::Start { server } => {
            session.run(&ServersStart { server }).await?;
            output.done(&message!("ctl.servers.starting"))
        }
        ServersVerb::Stop { server, disable: false } => stop(server, StopKind::Stop, session, output).await,
        ServersVerb::Stop { server, disable: true } => stop(server, StopKind::Disable, session, output).await,
        ServersVerb::Reconnect { server } => {
            session.run(&ServersReconnect { server }).await?;
            output.done(&message!("ctl.servers.reconnecting"))
        }
        ServersVerb::TrustLabels { server, off } => {
            session.run(&ServersTrustLabels { server, trusted: !off, generation: None }).await?;
            output.done(&if off {
                message!("ctl.servers.labelsUntrusted")
            } else {
                message!("ctl.servers.labelsTrusted")
            })
        }
    }
}

async fn add(wanted: &AddServerArgs, session: &mut ControlSession, output: &Printer) -> Result<(), CliError> {
    let (draft, secrets) = draft(wanted)?;
    add_draft(ServersAdd { draft, trust_labels: wanted.trust_labels, secrets, run: None }, session, output)
        .await
}

/// Adds a server and prints it.
async fn add_draft(
    wanted: ServersAdd,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    let view = session.run(&wanted).await?;
    output.show(&view, |view| vec![summary(view)])?;
    if wanted.trust_labels && view.auto_approve.is_empty() {
        output.note(&terminal_text::message(&message!("ctl.servers.labelsLate")));
    }
    Ok(())
}

/// How long a server that is stopped stays so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopKind {
    /// Until it is started, or Gatehouse starts again.
    Stop,
    /// Until it is enabled.
    Disable,
}

async fn stop(
    server: String,
    kind: StopKind,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    session.run(&ServersStop { server, disable: kind == StopKind::Disable }).await?;
    output.done(&match kind {
        StopKind::Stop => message!("ctl.servers.stopped"),
        StopKind::Disable => message!("ctl.servers.stoppedOff"),
    })
}

/// Finds a server by id or name.
async fn find(server: &str, session: &mut ControlSession) -> Result<ServerView, CliError> {
    let servers = session.run(&ServersList {}).await?;
    let found =
        servers.into_iter().find(|view| view.config.id.as_str() == server || view.config.name == server);
    Ok(found
        .ok_or_else(|| UserError::new(ErrorCode::NotFound, message!("error.app.noServer", name = server)))?)
}

/// Changes some of a server's settings and leaves the others.
async fn set(
    server: String,
    changes: Vec<SettingChange>,
    session: &mut ControlSession,
) -> Result<ServerView, CliError> {
    session.run(&ServersSet { server, changes, secrets: Vec::new() }).await
}

fn summary(view: &ServerView) -> String {
    terminal_text::message(&message!(
        "ctl.servers.summary",
        server = &view.config.name,
        id = view.config.id.as_str(),
        state = state(view),
    ))
}

fn list(servers: &[ServerView]) -> Vec<String> {
    let rows: Vec<Vec<String>> = servers
        .iter()
        .map(|view| {
            vec![
                view.config.name.clone(),
                view.config.transport.kind().to_owned(),
                terminal_text::truncate(&terminal_text::message(&state(view)), 70),
                view.counts.tools.to_string(),
                if view.auto_approve.is_empty() {
                    terminal_text::message(&message!("ctl.servers.asks"))
                } else {
                    terminal_text::truncate(&view.auto_approve.join("; "), 60)
                },
                view.config.id.to_string(),
            ]
        })
        .collect();
    table(
        &[
            message!("ctl.column.name"),
            message!("ctl.column.kind"),
            message!("ctl.column.state"),
            message!("ctl.column.tools"),
            message!("ctl.column.withoutAsking"),
            message!("ctl.column.id"),
        ],
        &rows,
        &message!("ctl.servers.none"),
    )
}

/// The state of a server in words.
fn state(view: &ServerView) -> Message {
    match &view.status {
        ServerStatus::Disabled => message!("ctl.servers.state.disabled"),
        ServerStatus::Stopped if !view.config.autostart => message!("ctl.servers.state.whenNeeded"),
        ServerStatus::Stopped => message!("ctl.servers.state.stopped"),
        ServerStatus::Connecting { attempt: 1 } => message!("ctl.servers.state.connecting"),
        ServerStatus::Connecting { attempt } => {
            message!("ctl.servers.state.connectingAgain", attempt = *attempt)
        }
        ServerStatus::Connected { protocol, .. } => {
            message!("ctl.servers.state.connected", protocol = protocol)
        }
        ServerStatus::NeedsAuth { issuer: None } => message!("ctl.servers.state.needsSignIn"),
        ServerStatus::NeedsAuth { issuer: Some(issuer) } => {
            message!("ctl.servers.state.needsSignInAt", issuer = issuer)
        }
        ServerStatus::NeedsClientRegistration { reason } => {
            message!("ctl.servers.state.needsClient", reason = reason.clone())
        }
        ServerStatus::Failed { message, next_retry: Some(_), .. } => {
            message!("ctl.servers.state.failedRetry", reason = message.clone())
        }
        ServerStatus::Failed { message, next_retry: None, .. } => {
            message!("ctl.servers.state.failed", reason = message.clone())
        }
    }
}

fn draft(wanted: &AddServerArgs) -> Result<(ServerDraft, Vec<FieldSecret>), CliError> {
    let mut env = parse_pairs(&wanted.env, "--env")?;
    let mut headers = parse_pairs(&wanted.header, "--header")?;
    let remote = wanted.url.is_some();
    let place = if remote { "headers" } else { "env" };
    for name in &wanted.secret {
        let values = if remote { &mut headers } else { &mut env };
        // A value that was given may contain the place of the secret already.
        let given = values.get(name).is_some_and(|value| value.contains("${secret:"));
        if !given {
            values.insert(name.clone(), format!("${{secret:{name}}}"));
        }
    }
    let misplaced = if remote { !env.is_empty() } else { !headers.is_empty() };
    if misplaced {
        return Err(CliError::usage(if remote {
            message!("error.ctl.envForPrograms")
        } else {
            message!("error.ctl.headerForRemote")
        }));
    }
    if wanted.pipes && wanted.command.is_empty() {
        return Err(CliError::usage(message!("error.ctl.pipesForPrograms")));
    }
    let transport = transport(wanted, env, headers)?;
    if matches!(transport, Transport::Builtin { .. }) && (!wanted.secret.is_empty() || !wanted.env.is_empty())
    {
        return Err(CliError::usage(message!("error.ctl.builtinTakesNothing")));
    }
    let draft = ServerDraft {
        protocol_version: wanted.protocol_version,
        enabled: !wanted.disabled,
        autostart: !wanted.no_autostart,
        look: ServerAppearance { description: wanted.description.clone(), ..ServerAppearance::default() },
        ..ServerDraft::new(wanted.name.clone().unwrap_or_default(), transport)
    };
    let secrets = read_secrets(&wanted.secret, wanted.secret_fd)?
        .into_iter()
        .map(|(name, value)| FieldSecret {
            field: format!("{place}/{name}"),
            value: RequestSecret::new(&value),
        })
        .collect();
    Ok((draft, secrets))
}

fn transport(
    wanted: &AddServerArgs,
    env: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
) -> Result<Transport, CliError> {
    if let Some(url) = wanted.url.clone() {
        let lower = url.to_ascii_lowercase();
        let program = |command| HeaderProgram { command, args: Vec::new() };
        let headers_from = wanted.headers_from.clone().map(program);
        let remote = Remote { url, headers, headers_from, sign_in: SignInSettings::default() };
        return Ok(match (wanted.sse, lower.starts_with("ws:") || lower.starts_with("wss:")) {
            (true, _) => Transport::Sse(remote),
            (false, true) => Transport::Ws(remote),
            (false, false) => Transport::Auto(remote),
        });
    }
    match (wanted.builtin, &wanted.folder) {
        (Some(BuiltinKind::Time), None) => return Ok(Transport::Builtin { builtin: Builtin::Time }),
        (Some(BuiltinKind::Fetch), None) => {
            return Ok(Transport::Builtin { builtin: Builtin::Fetch { allow_private: false } });
        }
        (Some(BuiltinKind::Notes), None) => return Ok(Transport::Builtin { builtin: Builtin::Notes }),
        (Some(BuiltinKind::Files), Some(folder)) => {
            let folder = std::path::absolute(folder)?.display().to_string();
            return Ok(Transport::Builtin { builtin: Builtin::Files { folder } });
        }
        (Some(BuiltinKind::Files), None) => {
            return Err(CliError::usage(message!("error.ctl.noFolder")));
        }
        (Some(BuiltinKind::Time | BuiltinKind::Notes | BuiltinKind::Fetch), Some(_)) => {
            return Err(CliError::usage(message!("error.ctl.folderForFiles")));
        }
        (None, _) => {}
    }
    match wanted.command.split_first() {
        Some((command, args)) => Ok(Transport::Stdio {
            command: command.clone(),
            args: args.to_vec(),
            env,
            cwd: wanted.cwd.clone(),
            streams: if wanted.pipes { StdioStreams::Pipes } else { StdioStreams::default() },
        }),
        None => Err(CliError::usage(message!("error.ctl.noServerKind"))),
    }
}

pub(super) fn parse_pairs(given: &[String], flag: &str) -> Result<BTreeMap<String, String>, CliError> {
    given
        .iter()
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            // The value is not repeated: it may be a secret.
            _ => Err(CliError::usage(message!("error.ctl.pairExpected", option = flag))),
        })
        .collect()
}

/// The secrets with these names, from a descriptor or the terminal.
fn read_secrets(names: &[String], descriptor: Option<i32>) -> Result<Vec<(String, Secret)>, CliError> {
    let mut lines = match descriptor {
        Some(descriptor) => {
            Some(secret_input::read_lines(descriptor, message!("ctl.secret.secrets"))?.into_iter())
        }
        None => None,
    };
    names
        .iter()
        .map(|name| {
            let value = match &mut lines {
                Some(lines) => lines.next().filter(|line| !line.is_empty()).map(Secret::new),
                None => secret_input::prompt_for_secret(&message!("ctl.prompt.secret", name = name)),
            };
            let value = value.ok_or_else(|| CliError::usage(message!("error.ctl.noSecret", name = name)))?;
            Ok((name.clone(), value))
        })
        .collect()
}

/// The secrets of settings that were filled in, put together of those that were given.
fn field_secrets(composed: &[ComposedSecret], given: &BTreeMap<String, Secret>) -> Vec<FieldSecret> {
    composed
        .iter()
        .map(|secret| FieldSecret {
            field: secret.field.clone(),
            value: RequestSecret::new(&secret.compose(given)),
        })
        .collect()
}
