//! Cost of the windows in an optimised build and without WebDriver: start-up compared with an empty
//! window of the same toolkit, time until an approval request is visible, time from an answer until the
//! call is sent, and memory. `cargo xtask bench window` builds everything and runs it.

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
    use std::path::Path;
    use std::time::{Duration, Instant};

    use anyhow::{Context, Result, ensure};
    use gatehouse_app::{Authority, Core, CoreOptions, Owner, open_keychain};
    use gatehouse_model::command::{ClientsAdd, ServersAdd};
    use gatehouse_model::server::{ServerDraft, Transport};
    use gatehouse_tests::child_process::{ChildProcess, TEST_TIMEOUT};
    use gatehouse_tests::window::{Desktop, Pointer, ScreenPoint};
    use gatehouse_tests::{http, paths};
    use serde_json::Value;

    const ROUNDS: usize = 7;
    const PROMPT: &str = "Gatehouse asks";

    /// The colour of an enabled Allow button (`--mantine-color-teal-filled`).
    const ALLOW: [u8; 3] = [0x0f, 0x76, 0x6e];
    /// A pointer position outside of all windows.
    const ASIDE: ScreenPoint = ScreenPoint { x: 5, y: 895 };

    pub(super) fn measure() -> Result<()> {
        starts()?;
        windows()
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
        Ok(())
    }

    fn until_line(desktop: &Desktop, program: &Path, wanted: &str) -> Result<f64> {
        let mut command = desktop.command("sh");
        command.args(["-c", "exec \"$0\" 2>&1"]).arg(program);
        let begun = Instant::now();
        let mut running = ChildProcess::start("the program", &mut command)?;
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

    fn windows() -> Result<()> {
        let desktop = Desktop::start()?;
        let log = desktop.folder("bench")?.join("log");
        let data_dir = desktop.data_dir();
        let mut prepare = desktop.command(std::env::current_exe()?);
        let token = String::from_utf8(prepare.arg("prepare").arg(&data_dir).arg(&log).output()?.stdout)?;
        let token = token.trim().to_owned();
        ensure!(!token.is_empty(), "nothing was prepared");
        let mut command = desktop.command("sh");
        command.args(["-c", "exec \"$0\" 2>&1"]).arg(paths::program("gatehouse")?);
        let mut running = ChildProcess::start("gatehouse", &mut command)?;
        let ready = running.wait_for_line(|line| line.contains("Gatehouse is ready"))?;
        let endpoint = ready.split('"').nth(1).context("no endpoint")?.to_owned();
        running.wait_for_line(|line| line.contains("first useful paint"))?;
        wait_for(|| Ok(desktop.is_visible("Gatehouse")?.then_some(())))?;
        settle();
        println!("memory: main window {:.0} MiB PSS", pss(running.pid())?);

        // Only the prompt window is on the screen, so that the first Allow button is in it.
        to_tray(&desktop)?;
        settle();
        println!("memory: in the tray {:.0} MiB PSS", pss(running.pid())?);
        // A client connects, for which the prompt is kept ready.
        http::stateless_request(&endpoint, &token, "tools/list", "")?;
        settle();
        println!("memory: in the tray with a client {:.0} MiB PSS", pss(running.pid())?);
        let pointer = Pointer::connect(&desktop)?;
        let (mut shown, mut sent) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let arguments = format!(r#"{{"text":"round {round}"}}"#);
            let params = format!(r#""name":"echo","arguments":{arguments}"#);
            let (endpoint, token) = (endpoint.clone(), token.clone());
            let begun = Instant::now();
            let call =
                std::thread::spawn(move || http::stateless_request(&endpoint, &token, "tools/call", &params));
            wait_for(|| Ok(desktop.is_visible(PROMPT)?.then_some(())))?;
            shown.push(begun.elapsed().as_secs_f64() * 1000.0);
            // The buttons are disabled for half a second after the window came up, and have their colour
            // after that.
            let button = wait_for(|| pointer.find(ALLOW))?;
            pointer.move_to(button)?;
            settle();
            let before = size(&log);
            let pressed = Instant::now();
            pointer.click()?;
            wait_for(|| Ok((size(&log) > before).then_some(())))?;
            sent.push(pressed.elapsed().as_secs_f64() * 1000.0);
            pointer.move_to(ASIDE)?;
            let answer = call.join().map_err(|_| anyhow::anyhow!("the call broke off"))??;
            let body: Value = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
            ensure!(answer.status == 200 && body["error"].is_null(), "{}", answer.body);
            wait_for(|| Ok((!desktop.is_visible(PROMPT)?).then_some(())))?;
        }
        println!("ask to visible prompt: {:.0} ms (polled by xdotool)", median(shown));
        println!(
            "click to upstream dispatch: {:.1} ms (the server's log, looked at 5 times a millisecond)",
            median(sent)
        );
        println!("memory: in the tray, after prompts {:.0} MiB PSS", pss(running.pid())?);
        Ok(())
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

    /// Proportional set size of a process and all its descendants, in MiB.
    fn pss(root: u32) -> Result<f64> {
        let mut family = vec![root];
        let mut at = 0;
        while let Some(parent) = family.get(at).copied() {
            for task in fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                family.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
            }
            at += 1;
        }
        let mut sum = 0.0;
        for pid in family {
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
            let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
            sum += line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0);
        }
        ensure!(sum > 0.0, "the memory cannot be read");
        Ok(sum / 1024.0)
    }
}
