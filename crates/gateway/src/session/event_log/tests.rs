//! Which events a stream sends again, and what it drops to stay within its limits.

use std::future::poll_fn;

use gatehouse_tools::ByteLimits;

use super::*;

fn one(text: &str) -> impl Iterator<Item = &[u8]> + Clone {
    std::iter::once(text.as_bytes())
}

fn budget() -> Arc<ByteBudget> {
    ByteBudget::new(ByteLimits { client: 1000, all: 1000 })
}

fn numbered(budget: &Arc<ByteBudget>) -> Arc<EventLog> {
    EventLog::numbered(1, budget, &"client".into())
}

async fn next(reader: &mut EventReader) -> Option<String> {
    let mut reader = Pin::new(reader);
    poll_fn(|cx| reader.as_mut().poll_next(cx)).await.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

#[test]
fn prefixes_every_data_line() {
    for (pieces, written) in [
        (vec!["{}"], "data: {}\n\n"),
        (vec!["{\n\"a\":", "1}"], "data: {\ndata: \"a\":1}\n\n"),
        (vec!["{\r\n}"], "data: {\ndata: \ndata: }\n\n"),
        (vec![""], "data: \n\n"),
    ] {
        assert_eq!(encode(None, pieces.iter().map(|piece| piece.as_bytes())), written);
    }
    assert_eq!(encode(Some((26, 3)), one("1")), "id: 1a-3\ndata: 1\n\n");
    assert_eq!(parse_id("1a-3"), Some((26, 3)));
    assert_eq!(parse_id("0"), None);
}

#[tokio::test(start_paused = true)]
async fn second_reader_resumes_and_ends_first() {
    let log = numbered(&budget());
    let mut first = log.read();
    log.push(one("a"));
    log.push(one("b"));
    assert_eq!(next(&mut first).await.unwrap(), "id: 1-1\ndata: a\n\n");
    let mut second = log.resume(1).unwrap();
    assert_eq!(next(&mut first).await, None);
    assert_eq!(next(&mut second).await.unwrap(), "id: 1-2\ndata: b\n\n");
    log.finish(one("c"));
    assert_eq!(next(&mut second).await.unwrap(), "id: 1-3\ndata: c\n\n");
    assert_eq!(next(&mut second).await, None);
    // The response is kept for a resuming reader.
    assert_eq!(next(&mut log.resume(2).unwrap()).await.unwrap(), "id: 1-3\ndata: c\n\n");
}

#[tokio::test(start_paused = true)]
async fn sends_keep_alive_comments() {
    let log = EventLog::transient();
    let mut reader = log.read();
    let started = Instant::now();
    assert_eq!(next(&mut reader).await.unwrap(), ": waiting\n\n");
    assert_eq!(started.elapsed().as_secs(), 15);
    assert_eq!(next(&mut reader).await.unwrap(), ": waiting\n\n");
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn bounds_unread_events_and_keeps_response() {
    let log = EventLog::transient();
    for n in 0..10_000 {
        log.push(one(&n.to_string()));
    }
    log.finish(one("response"));
    log.push(one("too late"));
    let mut reader = log.read();
    let mut read = Vec::new();
    while let Some(event) = next(&mut reader).await {
        read.push(event);
    }
    assert_eq!(read.len(), MAX_EVENTS);
    assert_eq!(read.last().unwrap(), "data: response\n\n");
    assert_eq!(log.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn bounds_unread_bytes_and_keeps_response() {
    let log = EventLog::transient();
    let large = "x".repeat(MAX_BYTES / 8);
    for _ in 0..100 {
        log.push(one(&large));
        assert!(log.bytes() <= MAX_BYTES);
    }
    let response = "y".repeat(MAX_BYTES + 1);
    log.finish(one(&response));
    let mut reader = log.read();
    assert_eq!(next(&mut reader).await.unwrap().len(), "data: ".len() + response.len() + 2);
    assert_eq!(next(&mut reader).await, None);
}

#[tokio::test]
async fn reports_reader_lost_before_end() {
    for finished in [true, false] {
        let disconnected = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let log = EventLog::transient();
        let flag = Arc::clone(&disconnected);
        let mut reader =
            log.read().on_disconnect(move || flag.store(true, std::sync::atomic::Ordering::SeqCst));
        assert!(log.has_reader());
        if finished {
            log.end();
            assert_eq!(next(&mut reader).await, None);
        }
        drop(reader);
        assert!(!log.has_reader());
        assert_eq!(disconnected.load(std::sync::atomic::Ordering::SeqCst), !finished);
    }
}

#[tokio::test(start_paused = true)]
async fn counts_unread_events_until_dropped() {
    let budget = budget();
    let log = numbered(&budget);
    let mut reader = log.read();
    log.push(one("a"));
    log.finish(one("b"));
    assert_eq!(budget.bytes(), 0, "it is being read");
    while next(&mut reader).await.is_some() {}
    assert_eq!(budget.bytes(), 0, "its reader is still there");
    drop(reader);
    assert_eq!(budget.bytes(), log.bytes());
    drop(log.resume(0).unwrap());
    assert_eq!(budget.bytes(), log.bytes());
    drop(log);
    assert_eq!(budget.bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn evicts_oldest_finished_log_over_budget_and_none_being_read() {
    let budget = budget();
    let large = "x".repeat(400);
    let logs: Vec<Arc<EventLog>> = (0..4).map(|_| numbered(&budget)).collect();
    let mut live = logs[0].read();
    logs[0].finish(one(&large));
    let running = &logs[1];
    drop(running.read());
    running.push(one(&large));
    for finished in &logs[2..] {
        finished.finish(one(&large));
        drop(finished.read());
    }
    // Three unread logs of 400 bytes, and room for two.
    assert_eq!(logs.iter().map(|log| log.is_discarded()).collect::<Vec<_>>(), [false, false, true, false]);
    assert!(logs[2].resume(0).is_none() && logs[2].bytes() == 0);
    assert!(next(&mut live).await.unwrap().contains(&large));
    assert_eq!(next(&mut live).await, None);
    assert!(budget.bytes() <= 1000);

    // An unfinished log is evicted last. It loses its events so far, but its response is still delivered.
    let other = numbered(&budget);
    drop(other.read());
    other.push(one(&"y".repeat(900)));
    assert!(logs[3].is_discarded() && other.bytes() > 900);
    assert_eq!((running.bytes(), running.is_discarded()), (0, false));
    running.finish(one("response"));
    assert!(next(&mut running.resume(0).unwrap()).await.unwrap().contains("response"));

    // An event larger than the whole budget isn't kept, and nothing is evicted for it.
    let before = budget.bytes();
    let largest = numbered(&budget);
    drop(largest.read());
    largest.finish(one(&"z".repeat(1001)));
    assert!(largest.is_discarded() && budget.bytes() == before);
}

#[tokio::test]
async fn responses_that_wait_share_the_budget_of_their_client() {
    async fn is_waiting(mut delivery: Pin<&mut impl Future<Output = ()>>) -> bool {
        poll_fn(|cx| Poll::Ready(delivery.as_mut().poll(cx).is_pending())).await
    }
    let budget = budget();
    let full = async || {
        let log = EventLog::shared(endpoint_event("/messages"), &budget, &"client".into());
        log.deliver(one(&"x".repeat(MAX_BYTES))).await;
        log
    };
    let (older, newer) = (full().await, full().await);
    assert_eq!(budget.bytes(), 0, "what is being read isn't counted");
    let text = "y".repeat(600);
    let mut first = Box::pin(older.deliver(one(&text)));
    assert!(is_waiting(first.as_mut()).await);
    assert_eq!(budget.bytes(), 600);
    let mut second = Box::pin(newer.deliver(one(&text)));
    assert!(is_waiting(second.as_mut()).await);
    // There is room for one: the connection that has waited longer ends.
    assert!(older.ended_at().is_some() && newer.ended_at().is_none());
    first.await;
    assert_eq!(budget.bytes(), 600);
    let mut reader = newer.read();
    next(&mut reader).await;
    next(&mut reader).await;
    second.await;
    assert_eq!(budget.bytes(), 0);
    assert!(next(&mut reader).await.unwrap().contains(&text));
}

#[tokio::test(start_paused = true)]
async fn discarded_logs_hold_nothing() {
    let budget = budget();
    let abandoned = numbered(&budget);
    abandoned.push(one("a"));
    abandoned.abandon();
    abandoned.push(one("b"));
    assert_eq!((abandoned.bytes(), budget.bytes()), (0, 0));
    let discarded = numbered(&budget);
    let mut reader = discarded.read();
    discarded.discard();
    discarded.finish(one("response"));
    assert!(next(&mut reader).await.unwrap().contains("response"), "the current reader reads on");
    drop(reader);
    assert_eq!((discarded.bytes(), budget.bytes()), (0, 0));
    assert!(discarded.resume(0).is_none());
}
