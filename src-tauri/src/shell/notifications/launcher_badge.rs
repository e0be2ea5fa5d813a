//! The badge on the application's icon in a dock or task bar: the signal of Unity's launcher, which Plasma, Ubuntu's dock,
//! Dash to Dock and Plank read. The toolkit sends it through a library of Unity, and only where Unity runs.

use std::collections::HashMap;

use zbus::Connection;
use zbus::zvariant::Value;

/// Name of the application's desktop entry, as the packages install it.
pub(super) const DESKTOP_ENTRY: &str = "Gatehouse";

const INTERFACE: &str = "com.canonical.Unity.LauncherEntry";
/// Receivers take the signal from any object.
const PATH: &str = "/com/canonical/unity/launcherentry/gatehouse";

/// A dock removes the badge when the connection that set it ends.
#[derive(Default)]
pub(super) struct LauncherBadge(Option<Connection>);

impl LauncherBadge {
    /// Shows the number; none for zero.
    pub(super) async fn set(&mut self, count: u32) -> zbus::Result<()> {
        let connection = match &self.0 {
            Some(connection) => connection,
            None => self.0.insert(Connection::session().await?),
        };
        let properties = HashMap::from([
            ("count", Value::from(i64::from(count))),
            ("count-visible", Value::from(count > 0)),
        ]);
        let message = (format!("application://{DESKTOP_ENTRY}.desktop"), properties);
        let sent = connection.emit_signal(None::<&str>, PATH, INTERFACE, "Update", &message).await;
        if sent.is_err() {
            self.0 = None;
        }
        sent
    }
}
