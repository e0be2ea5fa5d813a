//! Cost of the policy per call: strict parsing of the arguments, hashing, and the decision with many
//! rules and many tools. Without servers, clients or I/O.
//!
//! `cargo xtask bench policy` builds it with optimisation and runs it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use gatehouse_model::grant::{AccessClass, AccessClassification, ClassReason, ClientScope, Rule};
use gatehouse_model::subject::{Subject, SubjectRef};
use gatehouse_model::{
    CallHash, ClientId, Fingerprint, Generation, Grant, Lifetime, RuleAuthor, RuleEffect, Scope,
    ServerBinding, Timestamp,
};
use gatehouse_policy::call_hash::{CallHashInput, call_hash};
use gatehouse_policy::coverage::DefinitionRef;
use gatehouse_policy::json::{Json, read};
use gatehouse_policy::verdict::{CallFacts, PolicyContext, RuleSet};

const SERVERS: usize = 20;
const TOOLS: usize = 10_000;
const GRANTS: usize = 1_000;
const OF_SERVER: usize = TOOLS / SERVERS;
const NOW: Timestamp = Timestamp(1_800_000_000_000);
/// Number of operations per measurement, since a single one is shorter than the clock's resolution.
const BATCH: usize = 100;
const BATCHES: usize = 5_000;
/// 200 bytes.
const ARGUMENTS: &str = r#"{"path":"/home/ana/projects/gatehouse/notes/2026/november/shopping.md","content":"milk, bread, 12 kg of potatoes, \u00e9clairs","append":true,"limit":1200,"tags":["home","shopping","weekly"],"x":null}"#;

fn main() -> Result<()> {
    ensure!(ARGUMENTS.len() == 200, "the arguments are {} bytes", ARGUMENTS.len());
    let bench = PolicyBench::new();
    let arguments = read(ARGUMENTS).context("the arguments cannot be read")?;
    println!("{GRANTS} grants, {TOOLS} tools, p50 of {BATCHES} batches of {BATCH}");
    println!("{:<52}{:>10}", "", "ns");
    for (name, pick, expect) in bench.cases() {
        let calls: Vec<BenchCall> = (0..BATCH).map(|turn| bench.call(pick(turn))).collect();
        for call in &calls {
            let decided = bench.book.decide(&call.facts(&arguments)).rule;
            ensure!(expect(&decided), "{name}: {decided:?}");
        }
        let cost = p50(|turn| {
            if let Some(call) = calls.get(turn) {
                black_box(bench.book.decide(black_box(&call.facts(&arguments))));
            }
        });
        row(&format!("decide: {name}"), cost);
    }
    let book = blocked_resources();
    for (name, uri) in [
        ("a blocked resource", "file:///home/ana/notes/17.md"),
        ("a blocked resource, spelled otherwise", "FILE://localhost/home/ana/x/../notes/%31%37.md"),
        ("a resource beside blocked ones", "file:///home/ana/notes/other.md"),
    ] {
        let read = BenchCall { tool: format!("resource:{uri}"), ..bench.call(0) };
        let decided = book.decide(&read.facts(&arguments)).rule;
        ensure!(
            matches!(decided, Rule::ExplicitDeny { .. }) == name.starts_with("a blocked"),
            "{name}: {decided:?}"
        );
        let cost = p50(|_| drop(black_box(book.decide(black_box(&read.facts(&arguments))))));
        row(&format!("decide: {name}"), cost);
    }
    row("json::read of 200 bytes", p50(|_| drop(black_box(read(black_box(ARGUMENTS))))));
    let call = bench.call(0);
    let exact = CallHashInput {
        client: &call.client,
        server: &call.server,
        subject: &call.tool,
        fingerprint: Some(&call.fingerprint),
        arguments: ARGUMENTS,
    };
    row("call_hash of 200 bytes", p50(|_| drop(black_box(call_hash(black_box(&exact))))));
    let whole = p50(|_| {
        let Ok(arguments) = read(black_box(ARGUMENTS)) else { return };
        let mut call = call.facts(&arguments);
        let hash = call_hash(black_box(&exact));
        call.hash = &hash;
        black_box(bench.book.decide(&call));
    });
    row("read, hash and decide", whole);
    Ok(())
}

fn row(name: &str, cost: Duration) {
    println!("{name:<52}{:>10}", cost.as_nanos());
}

/// Median duration of one operation.
fn p50(mut one: impl FnMut(usize)) -> Duration {
    let mut took: Vec<Duration> = (0..BATCHES + BATCHES / 10)
        .map(|_| {
            let began = Instant::now();
            (0..BATCH).for_each(&mut one);
            began.elapsed()
        })
        // The first batches warm up.
        .skip(BATCHES / 10)
        .collect();
    took.sort_unstable();
    took.get(BATCHES / 2).copied().unwrap_or_default() / BATCH as u32
}

/// A call with everything that the decision depends on.
struct BenchCall {
    client: ClientId,
    server: ServerBinding,
    tool: String,
    fingerprint: Fingerprint,
    class: AccessClassification,
    hash: CallHash,
}

impl BenchCall {
    fn facts<'a>(&'a self, arguments: &'a Json) -> CallFacts<'a> {
        CallFacts {
            client: &self.client,
            session: None,
            program: Some("/usr/bin/agent"),
            server: &self.server,
            subject: SubjectRef::from_rule_name(&self.tool),
            class: &self.class,
            definition: DefinitionRef::Pinned { pin: &self.tool, fingerprint: &self.fingerprint },
            arguments,
            hash: &self.hash,
            now: NOW,
            resolve_path: &|path| Some(path.to_owned()),
            context: PolicyContext { blocked_by_file: None, paused: false, verified: true, ticket: None },
        }
    }
}

type BenchCase = (&'static str, fn(usize) -> usize, fn(&Rule) -> bool);

struct PolicyBench {
    book: RuleSet,
}

impl PolicyBench {
    /// Half of the servers allow all their reads, one tool in ten has its own grant, and the other rules
    /// block single tools.
    fn new() -> Self {
        let mut rules = Vec::with_capacity(GRANTS);
        for server in 0..SERVERS / 2 {
            let tools = (server * OF_SERVER..(server + 1) * OF_SERVER).collect::<Vec<_>>();
            rules.push(grant(rules.len(), RuleEffect::Allow, server, Scope::Reads, &tools));
        }
        for tool in (OF_SERVER * SERVERS / 2..TOOLS).step_by(10) {
            let width = Scope::Tool { tool: SubjectRef::Tool(&tool_name(tool)).to_subject() };
            rules.push(grant(rules.len(), RuleEffect::Allow, tool / OF_SERVER, width, &[tool]));
        }
        let left = GRANTS - rules.len();
        for tool in (0..left).map(|turn| turn * 20 + 5) {
            let width = Scope::Tool { tool: SubjectRef::Tool(&tool_name(tool)).to_subject() };
            rules.push(grant(rules.len(), RuleEffect::Deny, tool / OF_SERVER, width, &[]));
        }
        Self { book: RuleSet::new(rules) }
    }

    fn cases(&self) -> [BenchCase; 4] {
        let half = |turn: usize| TOOLS / 2 + turn * 10;
        [
            ("all reads of the server", |turn| turn * 20, |rule| matches!(rule, Rule::AlwaysGrant { .. })),
            ("a grant of its own", half, |rule| matches!(rule, Rule::AlwaysGrant { .. })),
            ("nothing, so ask", |turn| TOOLS / 2 + turn * 10 + 1, |rule| *rule == Rule::DefaultAsk),
            ("blocked", |turn| turn * 20 + 5, |rule| matches!(rule, Rule::ExplicitDeny { .. })),
        ]
    }

    fn call(&self, tool: usize) -> BenchCall {
        let (client, server) = (ClientId::from("client-0123456789ab"), server(tool / OF_SERVER));
        let (name, fingerprint) = (tool_name(tool), fingerprint(tool));
        let hash = call_hash(&CallHashInput {
            client: &client,
            server: &server,
            subject: &name,
            fingerprint: Some(&fingerprint),
            arguments: ARGUMENTS,
        });
        let class = AccessClassification {
            class: AccessClass::Read,
            reason: ClassReason::Override,
            reaches_outside: false,
        };
        BenchCall { client, server, tool: name, fingerprint, class, hash }
    }
}

/// The same number of denies of single resources of one server.
fn blocked_resources() -> RuleSet {
    let rule = |number: usize| {
        let tool = Subject::Resource { uri: format!("file:///home/ana/notes/{number}.md") };
        grant(number, RuleEffect::Deny, 0, Scope::Tool { tool }, &[])
    };
    RuleSet::new((0..GRANTS).map(rule).collect())
}

fn tool_name(tool: usize) -> String {
    format!("read_something_{tool}")
}

fn server(server: usize) -> ServerBinding {
    ServerBinding {
        server: format!("server-0123456789ab-{server}").as_str().into(),
        generation: Generation(1),
        identity: format!("{server:064x}").as_str().into(),
    }
}

fn fingerprint(tool: usize) -> Fingerprint {
    format!("{tool:064x}").as_str().into()
}

fn grant(number: usize, effect: RuleEffect, server: usize, width: Scope, pinned: &[usize]) -> Grant {
    Grant {
        id: format!("grant-{number}").as_str().into(),
        effect,
        server: Some(self::server(server)),
        width,
        clients: ClientScope::Every,
        lifetime: Lifetime::Always,
        conditions: Vec::new(),
        pins: pinned.iter().map(|tool| (tool_name(*tool), fingerprint(*tool).into())).collect(),
        program: None,
        created: NOW,
        author: RuleAuthor::Person,
        reason: None,
    }
}
