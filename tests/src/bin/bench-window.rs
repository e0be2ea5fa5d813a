//! Cost of the windows in an optimised build and without WebDriver: start-up and memory compared with an empty
//! window of the same toolkit, processor time while nothing happens, time until an approval request is visible,
//! with the prompt kept ready and with none, and time from an answer until the call is sent. `cargo xtask bench
//! window` builds everything and runs it.

use anyhow::{Result, bail};

#[cfg(not(target_os = "linux"))]
fn main() -> Result<()> {
    bail!("the windows are driven on Linux alone")
}

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => linux::measure(),
        ["prepare", data_dir, log] => linux::prepare(data_dir.as_ref(), log.as_ref()),
        _ => bail!("there is no such bench"),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};

    use anyhow::{Context, Result, ensure};
    use gatehouse_app::{Authority, Core, CoreOptions, Owner, open_keychain};
    use gatehouse_model::command::{ClientsAdd, ServersAdd};
    use gatehouse_model::server::{ServerDraft, Transport};
    use gatehouse_tests::child_process::{ChildProcess, TEST_TIMEOUT};
    use gatehouse_tests::http::{self, BackgroundCall};
    use gatehouse_tests::paths;
    use gatehouse_tests::process_usage::{processor_share_of_family, pss_of_family};
    use gatehouse_tests::window::{Desktop, Pointer, ScreenPoint};
    use serde_json::{Value, json};

    const ROUNDS: usize = 7;
    /// How long the processor time of an idle Gatehouse is watched.
    const IDLE_FOR: Duration = Duration::from_secs(30);
    const PROMPT: &str = "Gatehouse asks";

    /// The colour of an enabled Allow button (`--mantine-color-teal-filled`).
    const ALLOW: [u8; 3] = [0x0f, 0x76, 0x6e];
    /// The colour of buttons that take no answer yet (`--gh-sunken`), which only a request has.
    const SLEEPING: [u8; 3] = [0xf4, 0xf4, 0xf1];
    /// A pointer position outside of all windows.
    const ASIDE: ScreenPoint = ScreenPoint { x: 5, y: 895 };

    pub(super) fn measure() -> Result<()> {
        starts()?;
        let prepared = PreparedDesktop::new()?;
        prepared.measure_warm()?;
        prepared.measure_cold("with the window closed again", &[])?;
        prepared.measure_cold("started at login", &["--hidden"])
    }

    /// Time from exec to first useful paint, alternately with the empty window.
    fn starts() -> Result<()> {
        let desktop = Desktop::start()?;
        let empty = paths::program("examples/empty-window")?;
        let gatehouse = paths::program("gatehouse")?;
        let (mut bare, mut own) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let one = until_line(&desktop, &empty, "painted")?;
            let other = until_line(&desktop, &gatehouse, "first useful paint")?;
            // The first round fills caches.
            if round > 0 {
                bare.push(one);
                own.push(other);
            }
        }
        let (bare, own) = (median(bare), median(own));
        println!("start: empty window {bare:.0} ms, Gatehouse {own:.0} ms, ratio {:.2}", own / bare);
        let mut running = start(&desktop, &empty, &[])?;
        running.wait_for_line(|line| line.contains("painted"))?;
        settle();
        println!("memory: empty window {:.0} MiB PSS", pss_of_family(running.pid())?);
        Ok(())
    }

    /// Starts a program with both of its output streams in one.
    fn start(desktop: &Desktop, program: &Path, arguments: &[&str]) -> Result<ChildProcess> {
        let mut command = desktop.command("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 2>&1"]).arg(program).args(arguments);
        ChildProcess::start("the program", &mut command)
    }

    fn until_line(desktop: &Desktop, program: &Path, wanted: &str) -> Result<f64> {
        let begun = Instant::now();
        let mut running = start(desktop, program, &[])?;
        running.wait_for_line(|line| line.contains(wanted))?;
        Ok(begun.elapsed().as_secs_f64() * 1000.0)
    }

    /// A data folder of a window with a client, and with a server that logs what it receives.
    pub(super) fn prepare(data_dir: &Path, log: &Path) -> Result<()> {
        let runtime = tokio::runtime::Runtime::new()?;
        let token = runtime.block_on(async {
            let secrets = open_keychain()?;
            let options = CoreOptions {
                owner: Owner::Window,
                ..CoreOptions::new(data_dir.to_owned(), ([127, 0, 0, 1], 0).into(), secrets)
            };
            let core = Core::start(options).await?;
            let minted = core.run(&ClientsAdd { name: "Bench".into() }, Authority::Operator).await?;
            let transport = Transport::Stdio {
                command: paths::program("fixture-server")?.to_string_lossy().into_owned(),
                args: vec!["--log".into(), log.to_string_lossy().into_owned()],
                env: Default::default(),
                cwd: None,
                streams: Default::default(),
            };
            let draft = ServerDraft::new("fixture", transport);
            core.run(
                &ServersAdd { draft, trust_labels: false, secrets: Vec::new(), run: None },
                Authority::Operator,
            )
            .await?;
            core.shutdown().await;
            anyhow::Ok(minted.token.reveal().to_owned())
        })?;
        println!("{token}");
        Ok(())
    }

    /// A desktop with the data folder of a Gatehouse that has a client and a server.
    struct PreparedDesktop {
        desktop: Desktop,
        /// What the server received.
        log: PathBuf,
        token: String,
        pointer: Pointer,
    }

    /// A running Gatehouse.
    struct RunningWindow {
        process: ChildProcess,
        endpoint: String,
    }

    /// A call whose approval request is on the screen, with the milliseconds until it was.
    struct ShownRequest {
        call: BackgroundCall,
        /// Until the prompt was a visible window.
        visible: f64,
        /// Until the buttons of the request were painted.
        painted: f64,
    }

    impl PreparedDesktop {
        fn new() -> Result<Self> {
            let desktop = Desktop::start()?;
            let log = desktop.folder("bench")?.join("log");
            let data_dir = desktop.data_dir();
            let mut prepare = desktop.command(std::env::current_exe()?);
            let token = String::from_utf8(prepare.arg("prepare").arg(&data_dir).arg(&log).output()?.stdout)?;
            let token = token.trim().to_owned();
            ensure!(!token.is_empty(), "nothing was prepared");
            let pointer = Pointer::connect(&desktop)?;
            Ok(Self { desktop, log, token, pointer })
        }

        /// Starts Gatehouse, and waits until its gateway serves.
        fn start(&self, arguments: &[&str]) -> Result<RunningWindow> {
            let mut process = start(&self.desktop, &paths::program("gatehouse")?, arguments)?;
            let ready = process.wait_for_line(|line| line.contains("Gatehouse is ready"))?;
            let endpoint = ready.split('"').nth(1).context("no endpoint")?.to_owned();
            Ok(RunningWindow { process, endpoint })
        }

        /// Waits for the main window of a start.
        fn wait_for_main(&self, running: &mut RunningWindow) -> Result<()> {
            running.process.wait_for_line(|line| line.contains("first useful paint"))?;
            wait_for(|| Ok(self.desktop.is_visible("Gatehouse")?.then_some(())))?;
            settle();
            Ok(())
        }

        /// Calls a tool, and waits until its approval request can be read.
        fn ask(&self, endpoint: &str, round: usize) -> Result<ShownRequest> {
            let arguments = json!({ "text": format!("round {round}") }).to_string();
            let begun = Instant::now();
            let millis = || begun.elapsed().as_secs_f64() * 1000.0;
            let call = BackgroundCall::call(endpoint, &self.token, "echo", &arguments);
            wait_for(|| Ok(self.desktop.is_visible(PROMPT)?.then_some(())))?;
            let visible = millis();
            wait_for(|| self.pointer.find(&[SLEEPING, ALLOW]))?;
            Ok(ShownRequest { call, visible, painted: millis() })
        }

        /// Memory and processor time, and how soon a prompt that is kept ready is visible and its answer sent.
        fn measure_warm(&self) -> Result<()> {
            let mut running = self.start(&[])?;
            self.wait_for_main(&mut running)?;
            let pid = running.process.pid();
            println!("memory: main window {:.0} MiB PSS", pss_of_family(pid)?);
            println!("idle: main window {:.2} % of a core", processor_share_of_family(pid, IDLE_FOR)?);

            // Only the prompt window is on the screen, so that the first Allow button is in it.
            to_tray(&self.desktop)?;
            settle();
            println!("memory: in the tray {:.0} MiB PSS", pss_of_family(pid)?);
            println!("idle: in the tray {:.2} % of a core", processor_share_of_family(pid, IDLE_FOR)?);
            // A client connects, for which the prompt is kept ready.
            http::stateless_request(&running.endpoint, &self.token, "tools/list", "")?;
            settle();
            println!("memory: in the tray with a client {:.0} MiB PSS", pss_of_family(pid)?);
            println!(
                "idle: in the tray with a client {:.2} % of a core",
                processor_share_of_family(pid, IDLE_FOR)?
            );
            let (mut visible, mut painted, mut sent) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                let shown = self.ask(&running.endpoint, round)?;
                visible.push(shown.visible);
                painted.push(shown.painted);
                sent.push(self.allow(shown.call)?);
            }
            print_ask("the prompt is kept ready", visible, painted);
            println!(
                "click to upstream dispatch: {:.1} ms (the server's log, looked at 5 times a millisecond)",
                median(sent)
            );
            println!("memory: in the tray, after prompts {:.0} MiB PSS", pss_of_family(pid)?);
            quit(running)
        }

        /// Allows a call by a click, and waits for its end. Returns the milliseconds until it was sent.
        fn allow(&self, call: BackgroundCall) -> Result<f64> {
            // The buttons are disabled for half a second after the window came up, and have their colour
            // after that.
            let button = wait_for(|| self.pointer.find(&[ALLOW]))?;
            self.pointer.move_to(button)?;
            settle();
            let before = size(&self.log);
            let pressed = Instant::now();
            self.pointer.click()?;
            wait_for(|| Ok((size(&self.log) > before).then_some(())))?;
            let sent = pressed.elapsed().as_secs_f64() * 1000.0;
            self.pointer.move_to(ASIDE)?;
            let answer = call.end()?;
            let body: Value = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
            ensure!(answer.status == 200 && body["error"].is_null(), "{}", answer.body);
            wait_for(|| Ok((!self.desktop.is_visible(PROMPT)?).then_some(())))?;
            Ok(sent)
        }

        /// How soon a prompt is visible for which no window is kept ready. So it is for a client that comes back after
        /// more than 12 hours, and for the first request of any client, which is measured here: each time in another
        /// Gatehouse that was started with these arguments and is in the tray.
        fn measure_cold(&self, how: &str, arguments: &[&str]) -> Result<()> {
            let (mut visible, mut painted) = (Vec::new(), Vec::new());
            for round in 0..=ROUNDS {
                let mut running = self.start(arguments)?;
                if arguments.is_empty() {
                    self.wait_for_main(&mut running)?;
                    to_tray(&self.desktop)?;
                }
                settle();
                let shown = self.ask(&running.endpoint, round)?;
                // The first round fills caches.
                if round > 0 {
                    visible.push(shown.visible);
                    painted.push(shown.painted);
                }
                quit(running)?;
                // It was refused, or its connection ended.
                shown.call.end().ok();
            }
            print_ask(&format!("no prompt is kept ready, {how}"), visible, painted);
            Ok(())
        }
    }

    fn print_ask(how: &str, visible: Vec<f64>, painted: Vec<f64>) {
        println!(
            "ask to visible prompt, {how}: {:.0} ms (polled by xdotool), painted {:.0} ms (polled by pictures)",
            median(visible),
            median(painted)
        );
    }

    fn quit(mut running: RunningWindow) -> Result<()> {
        running.process.signal("TERM")?;
        running.process.wait().map(drop)
    }

    /// Closes the main window twice: the first time it explains that Gatehouse keeps running.
    fn to_tray(desktop: &Desktop) -> Result<()> {
        for _ in 0..2 {
            desktop.xdotool(&[
                "search",
                "--onlyvisible",
                "--name",
                "^Gatehouse$",
                "windowactivate",
                "--sync",
            ])?;
            desktop.xdotool(&["key", "alt+F4"])?;
            settle();
            desktop.xdotool(&["key", "Return"])?;
            settle();
        }
        desktop.until_visible("Gatehouse", false)
    }

    fn size(file: &Path) -> u64 {
        fs::metadata(file).map_or(0, |found| found.len())
    }

    fn settle() {
        std::thread::sleep(Duration::from_millis(1_500));
    }

    fn wait_for<T>(ask: impl Fn() -> Result<Option<T>>) -> Result<T> {
        let deadline = Instant::now() + TEST_TIMEOUT;
        loop {
            if let Some(found) = ask()? {
                return Ok(found);
            }
            ensure!(Instant::now() < deadline, "it does not come");
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    fn median(mut values: Vec<f64>) -> f64 {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }
}
