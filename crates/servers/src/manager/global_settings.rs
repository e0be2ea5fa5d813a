//! Settings that apply to all servers: whether MCP is on, package sources, the clients' log level, time limits
//! of calls. None of them is persisted here.

use std::sync::atomic::Ordering;

use gatehouse_model::CallLimits;
use gatehouse_model::server::LogLevel;
use gatehouse_model::settings::{PackageSource, PackageSources};
use tokio::sync::oneshot;

use super::{STOP_TIMEOUT, ServerManager, send};
use crate::environment::mirrors::{self, MirrorChoice};
use crate::shared::ActorMessage;

impl ServerManager {
    /// Switches all of MCP on or off. Off: every server stops, none can be started, and calls fail
    /// with [`UpstreamErrorKind::SwitchedOff`](crate::UpstreamErrorKind); returns when nothing runs any more, or
    /// after 10 s. On: the servers with autostart start. The state is not persisted.
    pub async fn set_mcp_enabled(&self, on: bool) {
        let _turn = self.shared.switch_lock.lock().await;
        let handles = {
            let entries = self.shared.entries.write();
            if self.shared.common.on.swap(on, Ordering::SeqCst) == on {
                return;
            }
            entries.handles()
        };
        if !on {
            std::mem::take(&mut *self.shared.test_cancel.lock()).cancel();
        }
        tracing::info!(on, "MCP was switched");
        let mut gone = Vec::new();
        for handle in handles {
            let (reply, settled) = oneshot::channel();
            if let Err(problem) = send(&handle, ActorMessage::Switched { on, reply }).await {
                tracing::debug!(%problem, "a server was gone when MCP was switched");
            }
            gone.push(settled);
        }
        let all = async {
            for settled in gone {
                // An actor that drops the sender has ended.
                settled.await.unwrap_or(());
            }
        };
        if tokio::time::timeout(STOP_TIMEOUT, all).await.is_err() {
            tracing::warn!("some servers take long to stop");
        }
    }

    /// Whether MCP is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.shared.common.on.load(Ordering::SeqCst)
    }

    /// Sets the package sources of servers. Takes effect at the next start of each server.
    pub fn set_packages(&self, sources: &PackageSources) {
        let Some(connections) = &self.shared.connections else { return };
        for (kind, source) in
            [(mirrors::PackageEcosystem::Npm, &sources.npm), (mirrors::PackageEcosystem::Pypi, &sources.pypi)]
        {
            let choice = match source {
                PackageSource::Fastest => MirrorChoice::Auto,
                PackageSource::Usual => MirrorChoice::Default,
                PackageSource::Custom { url } => MirrorChoice::Custom(url.clone()),
            };
            connections.host.mirrors.set_choice(kind, choice);
        }
    }

    /// Sets the most verbose log level that any client wants. With `None`, servers log at the level
    /// that the user set, or at their default.
    pub fn set_clients_log_level(&self, level: Option<LogLevel>) {
        let handles = {
            let entries = self.shared.entries.write();
            if std::mem::replace(&mut *self.shared.common.clients_log_level.lock(), level) == level {
                return;
            }
            entries.handles()
        };
        for handle in handles {
            self.shared.tracker.spawn(async move { handle.apply_clients_log_level().await });
        }
    }

    /// Sets the time limits of calls to servers that set none themselves. Takes effect with the
    /// next call.
    pub fn set_call_limits(&self, limits: CallLimits) {
        *self.shared.common.call_limits.lock() = limits;
    }
}
