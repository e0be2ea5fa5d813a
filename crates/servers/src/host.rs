//! What connections get from this machine: resolved settings, headers that programs print, and
//! processes. Resolved secrets are given to the connection of their own server only.

mod header_program;
mod references;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_mcp_client::{ConnectError, PreparedProcess, Redactor, ServerHost, StartedProcess};
use gatehouse_model::server::HeaderProgram;
use gatehouse_model::{BoxFuture, Clock, Secret, ServerConfig, Transport};
use gatehouse_store::SecretStore;

use self::references::{FieldGroup, ReferenceSources};
use crate::environment::UserEnvironment;
use crate::environment::mirrors::{self, MirrorRequest, PackageMirrors};
use crate::managed_policy;
use crate::processes::child::{self, ChildSpec, StartedChild};
use crate::processes::guard::ChildRun;

/// This machine, as connections see it; one instance per `ServerManager`.
pub(crate) struct LocalHost {
    /// Resolves `${secret:NAME}`.
    secrets: Arc<dyn SecretStore>,
    /// Provides the time of measurements of mirrors.
    clock: Arc<dyn Clock>,
    /// The child processes of this run of Gatehouse, and the child guard.
    run: Arc<ChildRun>,
    /// The environment of the user's login shell.
    pub(crate) environment: UserEnvironment,
    /// Package mirrors for servers that download packages.
    pub(crate) mirrors: PackageMirrors,
}

impl LocalHost {
    /// Without a guard program, children are still stopped on a clean exit, but not when Gatehouse
    /// is killed.
    pub(crate) fn new(
        secrets: Arc<dyn SecretStore>,
        clock: Arc<dyn Clock>,
        data_dir: &Path,
        guard_program: Option<PathBuf>,
    ) -> Self {
        Self {
            secrets,
            clock,
            run: Arc::new(ChildRun::new(guard_program)),
            environment: UserEnvironment::default(),
            mirrors: PackageMirrors::new(data_dir, &managed_policy::folder()),
        }
    }

    /// Shuts the child guard down. Close the connections before.
    pub(crate) async fn shutdown(&self) {
        self.run.shutdown().await;
    }

    async fn resolve_headers(
        &self,
        config: &Arc<ServerConfig>,
        redactor: &Redactor,
    ) -> Result<Vec<(String, Secret)>, ConnectError> {
        let Some(remote) = config.transport.remote() else {
            return Err(ConnectError::Unsupported { kind: config.transport.kind() });
        };
        let fields = remote.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let sources = ReferenceSources { config, secrets: &self.secrets, redactor };
        references::resolve(sources, FieldGroup::Headers, fields).await
    }

    async fn prepare(
        &self,
        config: &Arc<ServerConfig>,
        redactor: &Redactor,
    ) -> Result<PreparedChild, ConnectError> {
        let Transport::Stdio { command, args, env, cwd, streams } = &config.transport else {
            return Err(ConnectError::Unsupported { kind: config.transport.kind() });
        };
        let process_env = self.environment.get().await;
        let fields = env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let sources = ReferenceSources { config, secrets: &self.secrets, redactor };
        let own = references::resolve(sources, FieldGroup::Env, fields).await?;
        let own_path = own.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.reveal());
        let folder = process_env.working_folder(cwd.as_deref())?;
        let program = process_env.resolve_program(command, &folder, own_path)?;
        let mut mirror_variables = Vec::new();
        if let Some(kind) = mirrors::package_manager_for(command, args) {
            let given = |name: &str| {
                let own = own.iter().find(|(field, _)| field == name);
                own.map(|(_, value)| value.reveal().to_owned()).or_else(|| process_env.get(name))
            };
            let request = MirrorRequest { kind, user: &given, folder: &folder, now: self.clock.now() };
            mirror_variables = self.mirrors.env(request).await;
        }
        let own_values = own.iter().map(|(name, value)| (name.as_str(), value.reveal()));
        let more = mirror_variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let spec = ChildSpec {
            program,
            args: args.clone(),
            env: process_env.with_variables(more.chain(own_values)),
            cwd: folder,
            marker: String::new(),
            streams: *streams,
        };
        Ok(PreparedChild { config: Arc::clone(config), run: Arc::clone(&self.run), spec })
    }
}

impl ServerHost for LocalHost {
    fn headers<'a>(
        &'a self,
        config: &'a Arc<ServerConfig>,
        redactor: &'a Redactor,
    ) -> BoxFuture<'a, Result<Vec<(String, Secret)>, ConnectError>> {
        Box::pin(self.resolve_headers(config, redactor))
    }

    fn run_header_program<'a>(
        &'a self,
        program: &'a HeaderProgram,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, ConnectError>> {
        Box::pin(async move {
            let process_env = self.environment.get().await;
            header_program::run(program, &process_env).await
        })
    }

    fn prepare_process<'a>(
        &'a self,
        config: &'a Arc<ServerConfig>,
        redactor: &'a Redactor,
    ) -> BoxFuture<'a, Result<Box<dyn PreparedProcess>, ConnectError>> {
        Box::pin(async move {
            let prepared = self.prepare(config, redactor).await?;
            Ok(Box::new(prepared) as Box<dyn PreparedProcess>)
        })
    }
}

/// The process of a stdio server, ready to be started.
struct PreparedChild {
    config: Arc<ServerConfig>,
    run: Arc<ChildRun>,
    /// Without a marker: each start gets its own.
    spec: ChildSpec,
}

impl PreparedProcess for PreparedChild {
    fn start(&self) -> BoxFuture<'_, Result<StartedProcess, ConnectError>> {
        Box::pin(async move {
            let spec = ChildSpec { marker: self.run.marker(&self.config.id), ..self.spec.clone() };
            let started = child::start(&spec, &self.run).await;
            let StartedChild { child, stdin, stdout, stderr } =
                started.map_err(|error| ConnectError::CannotStart {
                    command: spec.program.display().to_string(),
                    why: error.to_string(),
                })?;
            Ok(StartedProcess { process: Box::new(child), stdin, stdout, stderr })
        })
    }
}

#[cfg(test)]
mod tests;
