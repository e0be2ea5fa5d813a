//! A tray as desktops have it: it shows the items that programs register (StatusNotifierItem), and chooses from their menus
//! (`com.canonical.dbusmenu`).

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use zbus::blocking::{Connection, Proxy, connection, proxy};
use zbus::message::Header;
use zbus::proxy::CacheProperties;
use zbus::zvariant::{OwnedObjectPath, OwnedValue, Type, Value};

use super::desktop::Desktop;
use crate::eventually::eventually;

const WATCHER: &str = "org.kde.StatusNotifierWatcher";
const ITEM: &str = "org.kde.StatusNotifierItem";
const MENU: &str = "com.canonical.dbusmenu";

/// Bus name and object of an item.
type Address = (String, String);

#[derive(Debug)]
pub struct TrayHost {
    connection: Connection,
    item: Arc<Mutex<Option<Address>>>,
}

/// What a program registers its item with.
struct Watcher(Arc<Mutex<Option<Address>>>);

#[zbus::interface(name = "org.kde.StatusNotifierWatcher")]
impl Watcher {
    /// The item is given by its object or by its bus name.
    fn register_status_notifier_item(&self, item: &str, #[zbus(header)] header: Header<'_>) {
        let sender = header.sender().map(ToString::to_string).unwrap_or_default();
        let address = if item.starts_with('/') {
            (sender, item.to_owned())
        } else {
            (item.to_owned(), "/StatusNotifierItem".to_owned())
        };
        *self.0.lock() = Some(address);
    }

    #[zbus(property)]
    fn is_status_notifier_host_registered(&self) -> bool {
        true
    }

    #[zbus(property)]
    fn protocol_version(&self) -> i32 {
        0
    }
}

/// An entry of a menu with the entries below it.
#[derive(Debug, Serialize, Deserialize, Type, Value, OwnedValue)]
struct MenuLayout {
    id: i32,
    properties: HashMap<String, OwnedValue>,
    children: Vec<OwnedValue>,
}

/// An entry that a person reads.
#[derive(Debug)]
struct MenuEntry {
    id: i32,
    text: String,
    is_enabled: bool,
}

impl TrayHost {
    /// Puts a tray on the desktop.
    pub fn start(desktop: &Desktop) -> Result<Self> {
        let item = Arc::default();
        let connection = connection::Builder::address(desktop.bus())?
            .name(WATCHER)?
            .serve_at("/StatusNotifierWatcher", Watcher(Arc::clone(&item)))?
            .build()?;
        Ok(Self { connection, item })
    }

    /// The picture of the only item, as it is stored.
    pub fn icon(&self) -> Result<Vec<u8>> {
        let item = self.item()?;
        eventually("the picture in the tray", || {
            let (folder, name): (String, String) =
                (item.get_property("IconThemePath")?, item.get_property("IconName")?);
            // The file of the picture before is deleted.
            Ok(fs::read(Path::new(&folder).join(name)))
        })
    }

    /// Waits until the menu has an entry whose text fulfils this; its text.
    pub fn wait_for_entry(&self, wanted: impl Fn(&str) -> bool) -> Result<String> {
        eventually("an entry of the tray's menu", || {
            let texts: Vec<String> = self.entries()?.into_iter().map(|entry| entry.text).collect();
            Ok(texts.iter().find(|text| wanted(text)).cloned().ok_or_else(|| texts.join(", ")))
        })
    }

    /// Chooses the entry with this text.
    pub fn choose(&self, text: &str) -> Result<()> {
        let entry = self.entries()?.into_iter().find(|entry| entry.text == text);
        let entry = entry.with_context(|| format!("no entry {text}"))?;
        ensure!(entry.is_enabled, "{text} cannot be chosen");
        let event = (entry.id, "clicked", Value::from(0_i32), 0_u32);
        self.menu()?.call_method("Event", &event)?;
        Ok(())
    }

    fn entries(&self) -> Result<Vec<MenuEntry>> {
        let menu = self.menu()?;
        let (_, root): (u32, MenuLayout) = menu.call("GetLayout", &(0_i32, -1_i32, Vec::<String>::new()))?;
        root.children.into_iter().map(|child| MenuLayout::try_from(child)?.entry()).collect()
    }

    /// The item, once it is registered.
    fn item(&self) -> Result<Proxy<'_>> {
        let (name, object) =
            eventually("an item in the tray", || Ok(self.item.lock().clone().ok_or("none")))?;
        // Items tell of changes by signals of their own.
        let item = proxy::Builder::new(&self.connection).destination(name)?.path(object)?.interface(ITEM)?;
        Ok(item.cache_properties(CacheProperties::No).build()?)
    }

    fn menu(&self) -> Result<Proxy<'_>> {
        let item = self.item()?;
        let menu: OwnedObjectPath = item.get_property("Menu")?;
        Ok(Proxy::new(&self.connection, item.destination().to_owned(), menu, MENU)?)
    }
}

impl MenuLayout {
    fn entry(self) -> Result<MenuEntry> {
        let text = self.properties.get("label").map(|label| label.downcast_ref::<String>()).transpose()?;
        let is_enabled = self.properties.get("enabled").map(|on| on.downcast_ref::<bool>()).transpose()?;
        // A single underscore marks the next letter as a shortcut.
        let text = text.unwrap_or_default().replace("__", "\0").replace('_', "").replace('\0', "_");
        Ok(MenuEntry { id: self.id, text, is_enabled: is_enabled.unwrap_or(true) })
    }
}
