//! Frame times of the windows with 64 pending approvals, one of them of five megabytes: while requests
//! arrive, and while the user goes through them, scrolls and answers, compared with the same page at
//! rest; and of Activity with 100,000 calls in its list. Drives the real window by WebDriver, so it is the
//! development build; its pages are those that are shipped. `cargo xtask bench frames [approvals|activity]`
//! builds and runs it.

use anyhow::{Result, bail};

#[cfg(not(target_os = "linux"))]
fn main() -> Result<()> {
    bail!("the windows are driven on Linux alone")
}

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => linux::approvals().and_then(|()| linux::activity()),
        ["approvals"] => linux::approvals(),
        ["activity"] => linux::activity(),
        _ => bail!("there is `approvals` and `activity`"),
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::thread::JoinHandle;
    use std::time::Duration;

    use anyhow::{Context, Result, ensure};
    use gatehouse_tests::http;
    use gatehouse_tests::stored_calls;
    use gatehouse_tests::window::{AppWindow, Desktop, WebPage};
    use serde_json::{Value, json};

    const REQUESTS: usize = 64;
    const HUGE: usize = 5 * 1024 * 1024;
    /// Calls in the list of Activity.
    const CALLS: u64 = 100_000;
    /// The list of Activity.
    const LIST: &str = "document.querySelector('[role=list][aria-label=Calls]')";
    /// Longest frame time in milliseconds that is not perceived as late.
    const LATE: f64 = 50.0;

    pub(super) fn approvals() -> Result<()> {
        let mut desktop = Desktop::start()?;
        desktop.draw_as_for_users();
        let window = AppWindow::start(&desktop)?;
        let (main, prompt) = (window.main(), window.prompt());
        let minted = main.invoke("command", &json!({"name": "clients.add", "args": {"name": "Bench"}}))?;
        let endpoint = minted["endpoint"].as_str().context("no endpoint")?.to_owned();
        let token = minted["token"].as_str().context("no token")?.to_owned();
        let call = |number: usize, size: usize| -> JoinHandle<Result<http::RawHttpResponse>> {
            let (endpoint, token) = (endpoint.clone(), token.clone());
            let line = format!("line {number} of some text that somebody has to read\\n");
            let text = line.repeat(size / line.len() + 1);
            let params = format!(r#""name":"add_note","arguments":{{"text":"{text}"}}"#);
            std::thread::spawn(move || http::stateless_request(&endpoint, &token, "tools/call", &params))
        };

        // A hidden page has no frames, so one request is pending before the measurement starts.
        let mut calls = vec![call(0, 2048)];
        desktop.until_visible("Gatehouse asks", true)?;
        prompt.wait_for_text("line 0")?;
        settle();
        record(prompt)?;
        calls.extend((1..REQUESTS).map(|number| call(number, 2048)));
        prompt.wait_until(&format!("return document.body.innerText.includes('of {REQUESTS}')"))?;
        settle();
        report("prompt, 63 more come", prompt)?;

        record(prompt)?;
        prompt.wait_for(&format!(
            "{EACH_FRAME} let step = 0; await eachFrame(400, () => {{ if (step++ % 4 === 0) \
             window.dispatchEvent(new KeyboardEvent('keydown', {{ key: step < 260 ? 'ArrowRight' : 'ArrowLeft', bubbles: true }})) }})"
        ))?;
        report("prompt, through all of them and back", prompt)?;

        // The cost of scrolling itself: a page without approval requests.
        main.click("a[href*=settings]")?;
        settle();
        record(main)?;
        main.wait_for(&scroll_script())?;
        report("main window, another page scrolled", main)?;

        record(main)?;
        main.click("a[href*=approvals]")?;
        main.wait_until(&format!(
            "return document.querySelectorAll('article[aria-labelledby]').length === {REQUESTS}"
        ))?;
        settle();
        report("main window, the page with all of them opens", main)?;

        record(main)?;
        main.wait_for(&scroll_script())?;
        report("main window, all of them scrolled", main)?;

        record(main)?;
        main.invoke("command", &json!({"name": "pause", "args": {}}))?;
        desktop.until_visible("Gatehouse asks", false)?;
        settle();
        report("main window, all of them end at once", main)?;
        main.invoke("command", &json!({"name": "resume", "args": {}}))?;

        calls.push(call(REQUESTS, 2048));
        desktop.until_visible("Gatehouse asks", true)?;
        settle();
        record(main)?;
        record(prompt)?;
        calls.push(call(REQUESTS + 1, HUGE));
        prompt.wait_for_text("of 2")?;
        prompt.run("window.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true })); return null")?;
        prompt.wait_for_text("line 65")?;
        settle();
        report("prompt, five megabytes come", prompt)?;
        report("main window, five megabytes come", main)?;

        record(prompt)?;
        prompt.wait_for(&format!(
            "const area = document.querySelector('article [role=group]'); {EACH_FRAME} \
             await eachFrame(120, () => {{ area.scrollTop += 900 }}); return area.scrollTop"
        ))?;
        report("prompt, five megabytes scrolled", prompt)?;

        main.invoke("command", &json!({"name": "pause", "args": {}}))?;
        for call in calls {
            call.join().map_err(|_| anyhow::anyhow!("a call broke off"))??;
        }
        window.quit()
    }

    /// Activity with all its calls in the list: while they are read, and while the list is scrolled.
    pub(super) fn activity() -> Result<()> {
        let mut desktop = Desktop::start()?;
        desktop.draw_as_for_users();
        stored_calls::fill(&desktop.data_dir(), CALLS)?;
        let window = AppWindow::start(&desktop)?;
        let main = window.main();
        record(main)?;
        main.click("a[href*=activity]")?;
        main.wait_until(&format!("return {LIST}?.querySelector('button') != null"))?;
        settle();
        report("main window, Activity opens", main)?;

        record(main)?;
        read_all_calls(main)?;
        report(&format!("main window, {CALLS} calls are read page by page"), main)?;

        // From the first call on, then from place to place all over the list.
        record(main)?;
        main.wait_for(&format!(
            "{EACH_FRAME} const area = {LIST}; area.scrollTop = 0; \
             await eachFrame(600, () => {{ area.scrollTop += 300 }}); return area.scrollTop"
        ))?;
        report(&format!("main window, {CALLS} calls scrolled by the wheel"), main)?;
        record(main)?;
        main.wait_for(&format!(
            "{EACH_FRAME} const area = {LIST}; let step = 0; const height = area.scrollHeight; \
             await eachFrame(600, () => {{ area.scrollTop = height * ((step++ * 7) % 100) / 100 }}); return area.scrollTop"
        ))?;
        report(&format!("main window, {CALLS} calls scrolled by the scroll bar"), main)?;

        record(main)?;
        main.fill("Search tools, arguments and results", "letter")?;
        settle();
        report("main window, a search while all calls are in the list", main)?;
        window.quit()
    }

    /// Scrolls up until every call is in the list.
    fn read_all_calls(main: WebPage<'_>) -> Result<()> {
        const ROW_HEIGHT: u64 = 36;
        // A script may take 30 seconds at most.
        let read = format!(
            "const area = {LIST}; const until = performance.now() + 10000; \
             await new Promise((done) => {{ const next = () => {{ \
             if (area.scrollHeight >= {} || performance.now() > until) return done(); \
             area.scrollTop = 0; requestAnimationFrame(next) }}; requestAnimationFrame(next) }}); \
             return area.scrollHeight",
            CALLS * ROW_HEIGHT
        );
        let mut before = 0;
        loop {
            let height = main.wait_for(&read)?.as_u64().context("no height")?;
            if height >= CALLS * ROW_HEIGHT {
                return Ok(());
            }
            ensure!(height > before, "only {} calls are in the list", height / ROW_HEIGHT);
            before = height;
        }
    }

    /// Runs a function in each of a number of frames.
    const EACH_FRAME: &str = "const eachFrame = (frames, work) => new Promise((done) => { \
         const next = () => { if (frames-- <= 0) return done(); work(); requestAnimationFrame(next) }; \
         requestAnimationFrame(next) });";

    /// Scrolls the page; up and down if it is short.
    fn scroll_script() -> String {
        format!(
            "{EACH_FRAME} const area = document.querySelector('[data-testid=page-body]'); let by = 120; \
             await eachFrame(240, () => {{ const before = area.scrollTop; area.scrollTop += by; \
             if (area.scrollTop === before) by = -by }}); return area.scrollTop"
        )
    }

    /// Starts recording frame times.
    fn record(page: WebPage<'_>) -> Result<()> {
        page.run(
            "window.benchFrames = []; const run = (window.benchRun ?? 0) + 1; window.benchRun = run; \
             let last = performance.now(); \
             const next = () => { if (window.benchRun !== run) return; const now = performance.now(); \
             window.benchFrames.push(now - last); last = now; requestAnimationFrame(next) }; \
             requestAnimationFrame(next); return null",
        )
        .map(drop)
    }

    fn report(what: &str, page: WebPage<'_>) -> Result<()> {
        let frames: Vec<f64> = page
            .run("window.benchRun += 1; return window.benchFrames")?
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        let mut sorted = frames.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted.get(sorted.len() * part / 100).copied().unwrap_or(f64::NAN);
        let late = frames.iter().filter(|time| **time > LATE).count();
        println!(
            "{what}: {} frames, half of them within {:.0} ms, 99 of 100 within {:.0} ms, longest {:.0} ms, {late} over {LATE:.0} ms",
            frames.len(),
            at(50),
            at(99),
            sorted.last().copied().unwrap_or(f64::NAN)
        );
        Ok(())
    }

    fn settle() {
        std::thread::sleep(Duration::from_secs(2));
    }
}
