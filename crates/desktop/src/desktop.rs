//! The shell: builds its parts, starts the core, reacts to windows that are closed and to the tray, and
//! lets the application exit only after the core has stopped.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::UserError;
use gatehouse_model::command::{Pause, Resume};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::bundle_file::bundle_file_in;
use crate::event_forwarder::{EventReceivers, on_core_start};
use crate::host::{Host, HostOptions, StartPermit};
use crate::i18n::Locale;
use crate::links::Browser;
use crate::main_page::{MainPage, PageTarget};
use crate::notifications::{NotificationTag, Notifier, NotifierDriver};
use crate::page_state::PageState;
use crate::platform::Platform;
use crate::preferences::Preferences;
use crate::prompt::{Prompt, PromptDriver, PromptInput, PromptWindow};
use crate::secrets::KeychainUse;
use crate::server_link::is_server_link;
use crate::tray::{Tray, TrayAction};
use crate::updates::Updates;

/// How long the remaining start-up waits for the main window, so as not to slow it down.
const FIRST_PAINT_TIMEOUT: Duration = Duration::from_secs(3);

/// What the shell is built on.
pub struct DesktopOptions {
    pub data_dir: PathBuf,
    pub keychain: KeychainUse,
    pub platform: Arc<dyn Platform>,
    pub prompt_window: Box<dyn PromptWindow>,
    /// Runs the tasks of the shell.
    pub runtime: Handle,
}

/// The shell.
#[derive(Clone)]
pub struct Desktop {
    receivers: EventReceivers,
    browser: Browser,
    updates: Updates,
    page_state: Arc<PageState>,
    /// Whether the global shortcut works; `None` before that is known.
    has_pause_shortcut: Arc<Mutex<Option<bool>>>,
    platform: Arc<dyn Platform>,
}

/// Starts the core and the prompt's task. Commands wait until it was used.
pub struct DesktopStart {
    permit: StartPermit,
    driver: PromptDriver,
    notifier_driver: NotifierDriver,
}

impl Desktop {
    /// A shell whose core is about to be started.
    pub fn new(options: DesktopOptions) -> Result<(Self, DesktopStart), UserError> {
        let platform = options.platform;
        let browser = Browser::new(Arc::<dyn Platform>::clone(&platform));
        let (host, permit) = Host::new(HostOptions {
            data_dir: options.data_dir,
            keychain: options.keychain,
            browser: browser.clone(),
            runtime: options.runtime,
        })?;
        let (prompt, driver) = Prompt::new(options.prompt_window);
        let preferences = platform.load_preferences().unwrap_or_default();
        let tray =
            Tray::new(Locale::from_preference(preferences.language), Arc::<dyn Platform>::clone(&platform));
        let display = Arc::<dyn Platform>::clone(&platform);
        let (notifier, notifier_driver) = Notifier::new(host.clone(), prompt.clone(), display, &preferences);
        let receivers = EventReceivers { host, page: MainPage::default(), prompt, tray, notifier };
        let updates = Updates::new(Arc::<dyn Platform>::clone(&platform));
        let desktop = Self {
            receivers,
            browser,
            updates,
            page_state: Arc::default(),
            has_pause_shortcut: Arc::default(),
            platform,
        };
        Ok((desktop, DesktopStart { permit, driver, notifier_driver }))
    }

    /// Starts the core, or leaves it stopped where the vault is locked or the start fails; windows are
    /// told which. Quitting waits for the start.
    pub async fn start(&self, start: DesktopStart) {
        self.host().spawn(start.driver.run());
        self.host().spawn(start.notifier_driver.run());
        self.host().start(start.permit, |outcome| on_core_start(&self.receivers, outcome)).await;
    }

    /// URL of the running core's gateway.
    pub async fn endpoint(&self) -> Result<String, UserError> {
        self.host().endpoint().await
    }

    /// Runs a task until it ends or the application quits.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.host().spawn(task);
    }

    /// Stops the core and the tasks. A second call waits for the first one.
    pub async fn stop(&self) {
        self.host().stop().await;
    }

    /// Waits until the main page shows useful content, or for a few seconds. For a single waiter.
    pub async fn wait_for_first_paint(&self) {
        if tokio::time::timeout(FIRST_PAINT_TIMEOUT, self.page().wait_until_painted()).await.is_err() {
            tracing::debug!("the main window has not painted yet");
        }
    }

    /// Draws the tray, which has come up on the screen.
    pub fn draw_tray(&self) {
        self.receivers.tray.draw();
    }

    /// Whether the toolkit has the global shortcut that pauses everything, and the desktop lets it work.
    pub fn set_has_pause_shortcut(&self, has: bool) {
        *self.has_pause_shortcut.lock() = Some(has);
    }

    /// Whether the global shortcut that pauses everything works; `None` shortly after the start, before that is known.
    #[must_use]
    pub fn has_pause_shortcut(&self) -> Option<bool> {
        *self.has_pause_shortcut.lock()
    }

    /// Title of the prompt window.
    #[must_use]
    pub fn prompt_title(preferences: &Preferences) -> String {
        Locale::from_preference(preferences.language).prompt_title()
    }

    /// Stores the preferences and applies them to the prompt window, the tray and the notifications.
    ///
    /// # Errors
    /// If they cannot be stored; then nothing changes.
    pub fn set_preferences(&self, preferences: Preferences) -> Result<(), UserError> {
        self.platform.save_preferences(preferences)?;
        self.prompt().apply_preferences(Self::prompt_title(&preferences));
        self.receivers.tray.set_locale(Locale::from_preference(preferences.language));
        self.receivers.notifier.apply_preferences(&preferences);
        Ok(())
    }

    /// The user closed the main window, which does not quit Gatehouse. The first time the page explains
    /// that Gatehouse keeps running, and then closes the window itself.
    pub fn on_main_close_requested(&self) {
        let was_told = self.preferences().is_ok_and(|preferences| preferences.said_keeps_running);
        if was_told || !self.page().notify_closing() {
            self.close_main();
        }
    }

    /// The user closed the prompt window: it is put away, and nothing is answered.
    pub fn on_prompt_close_requested(&self) {
        self.prompt().input(PromptInput::Dismissed);
    }

    /// Shows what a link says in the form for a new server; nothing is added. What is no link is ignored.
    pub fn offer_server_link(&self, link: &str) {
        if !is_server_link(link) {
            tracing::warn!("what should be opened is no link to add a server");
            return;
        }
        self.page().offer_link(link.to_owned());
    }

    /// Shows what the first bundle among files would do, which were dropped on the main window; nothing is added. Other
    /// files are ignored.
    pub fn offer_bundle_file(&self, dropped: &[PathBuf]) {
        if let Some(file) = bundle_file_in(dropped) {
            self.page().offer_bundle(file);
        }
    }

    /// Handles the choice of a menu item of the tray.
    pub fn on_tray_action(&self, action: TrayAction) {
        match action {
            TrayAction::ShowMain => self.platform.raise_main(),
            TrayAction::ShowPrompt => self.prompt().input(PromptInput::Raise),
            TrayAction::ShowApproval(approval) => self.prompt().show_approval(approval),
            TrayAction::TogglePause if self.receivers.tray.is_paused() => {
                self.set_paused(PauseState::Running)
            }
            TrayAction::TogglePause => self.set_paused(PauseState::Paused),
            TrayAction::Quit => self.platform.exit(),
        }
    }

    /// Handles a click on a notification: it leads to what the notification is about, and decides nothing.
    pub fn on_notification_clicked(&self, tag: NotificationTag) {
        match tag {
            NotificationTag::Approvals => self.prompt().input(PromptInput::Raise),
            NotificationTag::Server(server) => self.open_main(PageTarget::Server(server)),
            NotificationTag::Servers => self.open_main(PageTarget::Servers),
        }
    }

    /// Brings the main window to the front, on a page.
    pub(crate) fn open_main(&self, page: PageTarget) {
        self.page().open(page);
        self.platform.raise_main();
    }

    /// Pauses all calls (PERM-13).
    pub fn pause(&self) {
        self.set_paused(PauseState::Paused);
    }

    fn set_paused(&self, wanted: PauseState) {
        let host = self.host().clone();
        self.spawn(async move {
            let done = match wanted {
                PauseState::Paused => host.run(&Pause {}).await,
                PauseState::Running => host.run(&Resume {}).await,
            };
            if let Err(error) = done {
                tracing::error!(%error, ?wanted, "calls could not be paused or resumed");
            }
        });
    }

    /// Whether the application may exit now. If not, the core is stopped, and then
    /// [`Platform::exit`] is called again.
    #[must_use]
    pub fn may_exit(&self) -> bool {
        if self.host().is_stopped() {
            return true;
        }
        let desktop = self.clone();
        // Not a task of the host, which waits for those before it stops the core.
        self.host().spawn_detached(async move {
            desktop.stop().await;
            desktop.platform.exit();
        });
        false
    }

    pub(crate) fn host(&self) -> &Host {
        &self.receivers.host
    }

    pub(crate) fn page(&self) -> &MainPage {
        &self.receivers.page
    }

    pub(crate) fn prompt(&self) -> &Prompt {
        &self.receivers.prompt
    }

    pub(crate) fn receivers(&self) -> &EventReceivers {
        &self.receivers
    }

    pub(crate) fn browser(&self) -> &Browser {
        &self.browser
    }

    pub(crate) fn updates(&self) -> &Updates {
        &self.updates
    }

    pub(crate) fn kept_page_state(&self) -> &PageState {
        &self.page_state
    }

    pub(crate) fn platform(&self) -> &Arc<dyn Platform> {
        &self.platform
    }
}

/// Whether calls are to pass.
#[derive(Clone, Copy, Debug)]
enum PauseState {
    Paused,
    Running,
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use gatehouse_model::{BoxFuture, ErrorCode};
    use tokio::sync::Notify;

    use crate::links::BrowserLauncher;
    use crate::main_page::MainPageSignal;
    use crate::notifications::{NotificationDisplay, SystemNotification};
    use crate::platform::LoginItem;
    use crate::preferences::PreferencesStore;
    use crate::prompt::PromptSight;
    use crate::tray::{TrayDisplay, TrayMenu};
    use crate::updates::{UpdateProgress, UpdateSource, UpdateStatus};

    /// A toolkit that records what it is told.
    #[derive(Default)]
    struct FakePlatform {
        actions: Mutex<Vec<String>>,
        preferences: Mutex<Preferences>,
        starts_at_login: Mutex<bool>,
        has_updates: Mutex<bool>,
        update_bytes: Mutex<u64>,
        exit: Notify,
    }

    impl FakePlatform {
        fn act(&self, action: impl Into<String>) {
            self.actions.lock().push(action.into());
        }
    }

    impl BrowserLauncher for FakePlatform {
        fn launch_browser(&self, url: &str) -> Result<(), String> {
            self.act(format!("browser {url}"));
            Ok(())
        }
    }

    impl PreferencesStore for FakePlatform {
        fn load_preferences(&self) -> Result<Preferences, UserError> {
            Ok(*self.preferences.lock())
        }

        fn save_preferences(&self, preferences: Preferences) -> Result<(), UserError> {
            *self.preferences.lock() = preferences;
            Ok(())
        }
    }

    impl TrayDisplay for FakePlatform {
        fn draw_tray(&self, menu: &TrayMenu) {
            self.act(format!("tray {}", menu.status));
        }
    }

    impl NotificationDisplay for FakePlatform {
        fn show_notification(&self, notification: SystemNotification) {
            self.act(format!("notify {}", notification.title));
        }

        fn close_notification(&self, tag: &NotificationTag) {
            self.act(format!("close {tag:?}"));
        }

        fn set_badge(&self, count: u32) {
            self.act(format!("badge {count}"));
        }

        fn is_main_focused(&self) -> bool {
            false
        }
    }

    impl LoginItem for FakePlatform {
        fn starts_at_login(&self) -> Result<bool, String> {
            Ok(*self.starts_at_login.lock())
        }

        fn set_starts_at_login(&self, starts: bool) -> Result<(), String> {
            *self.starts_at_login.lock() = starts;
            Ok(())
        }
    }

    impl UpdateSource for FakePlatform {
        fn has_updates(&self) -> bool {
            *self.has_updates.lock()
        }

        fn find_update(&self) -> BoxFuture<'_, Result<Option<String>, String>> {
            Box::pin(async { Ok(Some("9.0.0".to_owned())) })
        }

        fn install_update(&self, mut on_progress: UpdateProgress) -> BoxFuture<'_, Result<(), String>> {
            Box::pin(async move {
                on_progress(10, Some(*self.update_bytes.lock()));
                tokio::task::yield_now().await;
                Err("the signature is wrong".to_owned())
            })
        }
    }

    impl Platform for FakePlatform {
        fn raise_main(&self) {
            self.act("raise main");
        }

        fn close_main(&self) {
            self.act("hide main");
        }

        fn pick_file(&self, endings: Vec<String>) -> BoxFuture<'static, Option<PathBuf>> {
            self.act(format!("pick {}", endings.join(" ")));
            Box::pin(async { Some(PathBuf::from("/chosen.mcpb")) })
        }

        fn exit(&self) {
            self.exit.notify_one();
        }
    }

    struct NoWindow;

    impl PromptWindow for NoWindow {
        fn preload(&mut self) {}

        fn unload(&mut self) {}

        fn show(&mut self) -> bool {
            false
        }

        fn raise(&mut self) -> bool {
            false
        }

        fn hide(&mut self) {}

        fn fit(&mut self, _: f64) {}

        fn set_title(&mut self, _: &str) {}

        fn is_minimized(&self) -> bool {
            false
        }

        fn sight(&self) -> PromptSight {
            PromptSight::Hidden
        }
    }

    fn desktop(platform: &Arc<FakePlatform>) -> (Desktop, DesktopStart, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let (desktop, start) = Desktop::new(DesktopOptions {
            data_dir: folder.path().join("data"),
            keychain: KeychainUse::Never,
            platform: Arc::<FakePlatform>::clone(platform),
            prompt_window: Box::new(NoWindow),
            runtime: Handle::current(),
        })
        .unwrap();
        (desktop, start, folder)
    }

    #[tokio::test]
    async fn says_whether_shortcut_works_once_it_was_registered() {
        let (desktop, _start, _folder) = desktop(&Arc::new(FakePlatform::default()));
        assert_eq!(desktop.has_pause_shortcut(), None);
        desktop.clone().set_has_pause_shortcut(false);
        assert_eq!(desktop.has_pause_shortcut(), Some(false));
    }

    #[tokio::test]
    async fn exits_only_after_core_has_stopped() {
        let platform = Arc::new(FakePlatform::default());
        let (desktop, start, _folder) = desktop(&platform);
        // The core is not started yet, so it cannot stop: quitting again and again changes nothing.
        assert!(!desktop.may_exit());
        tokio::task::yield_now().await;
        assert!(!desktop.may_exit(), "quitting twice skips no shutdown");
        drop(start);
        platform.exit.notified().await;
        assert!(desktop.may_exit());
        let error = desktop.command("status", &serde_json::json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::NotRunning);
    }

    #[tokio::test]
    async fn closing_main_window_hides_it_and_explains_once() {
        let platform = Arc::new(FakePlatform::default());
        let (desktop, _start, _folder) = desktop(&platform);
        let hidden = || platform.actions.lock().iter().filter(|action| *action == "hide main").count();
        desktop.listen_to_main_signals(Arc::new(|_| true));
        desktop.on_main_close_requested();
        assert_eq!(hidden(), 0, "the page explains first");
        desktop.on_main_close_requested();
        assert_eq!(hidden(), 1);
        let preferences = Preferences { said_keeps_running: true, ..Preferences::default() };
        desktop.set_preferences(preferences).unwrap();
        desktop.on_main_close_requested();
        assert_eq!(hidden(), 2);
    }

    #[tokio::test]
    async fn clicked_notification_leads_to_its_page() {
        let platform = Arc::new(FakePlatform::default());
        let (desktop, _start, _folder) = desktop(&platform);
        let opened = Arc::new(Mutex::new(Vec::new()));
        let pages = Arc::clone(&opened);
        desktop.listen_to_main_signals(Arc::new(move |signal| {
            pages.lock().push(signal);
            true
        }));
        let server = NotificationTag::Server("srv-1".into());
        for tag in [server, NotificationTag::Servers, NotificationTag::Approvals] {
            desktop.on_notification_clicked(tag);
        }
        assert_eq!(
            *opened.lock(),
            [
                MainPageSignal::Open(PageTarget::Server("srv-1".into())),
                MainPageSignal::Open(PageTarget::Servers)
            ]
        );
        assert_eq!(platform.actions.lock().iter().filter(|action| *action == "raise main").count(), 2);
    }

    #[tokio::test]
    async fn installs_nothing_that_was_not_found_and_verified() {
        let platform = Arc::new(FakePlatform::default());
        let (without, _start, _folder) = desktop(&platform);
        assert_eq!(without.check_update().await, UpdateStatus::Unavailable);
        assert_eq!(without.install_update().await, UpdateStatus::Unavailable);

        *platform.has_updates.lock() = true;
        let (desktop, _start, _folder) = desktop(&platform);
        assert_eq!(desktop.update_status(), UpdateStatus::Idle);
        assert_eq!(desktop.install_update().await, UpdateStatus::Idle, "nothing was found");
        let available = UpdateStatus::Available { version: "9.0.0".to_owned() };
        assert_eq!(desktop.check_update().await, available);
        *platform.update_bytes.lock() = u64::MAX;
        assert_eq!(desktop.install_update().await, available, "it is too large");
        *platform.update_bytes.lock() = 20;
        let UpdateStatus::Failed { error } = desktop.install_update().await else {
            panic!("it was installed");
        };
        assert_eq!(error.cause, Some("the signature is wrong.".to_owned().into()));
    }
}
