//! The small language of the policy table: rules, a call, and what comes of it, as text.

use std::collections::BTreeMap;

use gatehouse_model::grant::{
    AccessClass, AccessClassification, ClassReason, ClientScope, Condition, ConditionTest, Grant, Lifetime,
    RuleAuthor, RuleEffect, Scope, Verdict,
};
use gatehouse_model::id::{
    ApprovalId, CallHash, ClientId, Fingerprint, Generation, IdentityHash, ServerId, SessionId,
};
use gatehouse_model::subject::{Subject, SubjectRef};
use gatehouse_model::time::Timestamp;
use gatehouse_model::{ApprovedVersions, ServerBinding};
use gatehouse_policy::call_hash::{CallHashInput, call_hash};
use gatehouse_policy::coverage::DefinitionRef;
use gatehouse_policy::json::{self, Json};
use gatehouse_policy::verdict::{CallFacts, PolicyContext, RuleSet};

/// The program where nothing is said.
const APP: &str = "app";

/// A call with everything that is known of it.
pub struct Call {
    pub client: ClientId,
    pub session: Option<SessionId>,
    pub program: Option<String>,
    pub server: ServerId,
    pub generation: Generation,
    pub identity: IdentityHash,
    pub subject: String,
    /// Whether it is a tool, whatever its name says.
    pub is_tool: bool,
    pub class: AccessClassification,
    pub definition: KnownDefinition,
    pub arguments: Json,
    pub text: String,
    pub now: Timestamp,
    pub blocked: bool,
    pub paused: bool,
    pub verified: bool,
    pub ticket: bool,
}

/// What defines what is called.
#[derive(Clone, PartialEq)]
pub enum KnownDefinition {
    /// A definition, with the name of its pin.
    Pinned(String, Fingerprint),
    Listed,
    Nothing,
}

impl Call {
    /// `write_file by c2 on s1 gen 1 identity i1 def 1 args {"a":1} at 50 session x seen cursor`, then any of
    /// `outside read write paused unverified ticket blocked`. A call is seen from the program `app`, unless it is
    /// `unseen`. Tools are defined by definition 1, prompts and their
    /// completions by `p1`, and resources are in the list, unless it is `unlisted` or comes `from` a template, whose
    /// definition is `t1`. `as-tool` is a tool that is called like a prompt.
    pub fn parse(text: &str) -> Self {
        let mut words = text.split_whitespace();
        let subject = unescape(words.next().unwrap());
        let is_tool = !["resource:", "prompt:", "completion:"].iter().any(|kind| subject.starts_with(kind));
        let reads = !is_tool || subject.starts_with("read_");
        let class = if reads { AccessClass::Read } else { AccessClass::Write };
        let mut call = Self {
            client: "c1".into(),
            session: None,
            program: Some(APP.to_owned()),
            server: "s1".into(),
            generation: Generation(1),
            identity: "i1".into(),
            class: AccessClassification { class, reason: ClassReason::Default, reaches_outside: false },
            definition: match subject.split_once(':').filter(|_| !is_tool) {
                None => KnownDefinition::Pinned(subject.clone(), "1".into()),
                Some(("resource", _)) => KnownDefinition::Listed,
                Some((_, name)) => KnownDefinition::Pinned(format!("prompt:{name}"), "p1".into()),
            },
            arguments: json::read("{}").unwrap(),
            text: "{}".to_owned(),
            subject,
            is_tool,
            now: Timestamp(100),
            blocked: false,
            paused: false,
            verified: true,
            ticket: false,
        };
        while let Some(word) = words.next() {
            let mut next = || words.next().unwrap();
            match word {
                "by" => call.client = next().into(),
                "on" => call.server = next().into(),
                "gen" => call.generation = Generation(next().parse().unwrap()),
                "identity" => call.identity = next().into(),
                "def" => {
                    let def = next();
                    call.definition = match call.definition {
                        KnownDefinition::Pinned(pin, _) if def != "none" => {
                            KnownDefinition::Pinned(pin, def.into())
                        }
                        _ => KnownDefinition::Nothing,
                    };
                }
                "args" => {
                    call.text = next().to_owned();
                    call.arguments = json::read(&call.text).unwrap();
                }
                "at" => call.now = Timestamp(next().parse().unwrap()),
                "session" => call.session = Some(next().into()),
                "seen" => call.program = Some(next().to_owned()),
                "unseen" => call.program = None,
                "from" => {
                    call.definition = KnownDefinition::Pinned(format!("template:{}", next()), "t1".into())
                }
                "unlisted" => call.definition = KnownDefinition::Nothing,
                "as-tool" => {
                    call.definition = KnownDefinition::Pinned(call.subject.clone(), "1".into());
                    call.is_tool = true;
                }
                "outside" => call.class.reaches_outside = true,
                "read" => call.class.class = AccessClass::Read,
                "write" => call.class.class = AccessClass::Write,
                "paused" => call.paused = true,
                "unverified" => call.verified = false,
                "ticket" => call.ticket = true,
                "blocked" => call.blocked = true,
                other => panic!("no such word of a call: {other}"),
            }
        }
        call
    }

    fn binding(&self) -> ServerBinding {
        ServerBinding {
            server: self.server.clone(),
            generation: self.generation,
            identity: self.identity.clone(),
        }
    }

    pub fn hash(&self) -> CallHash {
        call_hash(&CallHashInput {
            client: &self.client,
            server: &self.binding(),
            subject: &self.subject,
            fingerprint: match &self.definition {
                KnownDefinition::Pinned(_, fingerprint) => Some(fingerprint),
                KnownDefinition::Listed | KnownDefinition::Nothing => None,
            },
            arguments: &self.text,
        })
    }

    pub fn decide(&self, book: &RuleSet) -> Verdict {
        self.with_facts(|facts| book.decide(facts))
    }

    pub fn with_facts<T>(&self, then: impl FnOnce(&CallFacts<'_>) -> T) -> T {
        let hash = self.hash();
        let ticket = ApprovalId::from("ask");
        then(&CallFacts {
            client: &self.client,
            session: self.session.as_ref(),
            program: self.program.as_deref(),
            server: &self.binding(),
            subject: if self.is_tool {
                SubjectRef::Tool(&self.subject)
            } else {
                SubjectRef::from_rule_name(&self.subject)
            },
            class: &self.class,
            definition: match &self.definition {
                KnownDefinition::Pinned(pin, fingerprint) => DefinitionRef::Pinned { pin, fingerprint },
                KnownDefinition::Listed => DefinitionRef::Listed,
                KnownDefinition::Nothing => DefinitionRef::Unknown,
            },
            arguments: &self.arguments,
            hash: &hash,
            now: self.now,
            resolve_path: &resolve,
            context: PolicyContext {
                blocked_by_file: self.blocked.then_some("not here"),
                paused: self.paused,
                verified: self.verified,
                ticket: self.ticket.then_some(&ticket),
            },
        })
    }
}

/// `allow tool read_file` and what is to be otherwise than: server s1 in generation 1 with identity i1, every client,
/// always, no conditions, pinned to definition 1 of `read_file`, `read_more` and `write_file`, to the prompt `review` and
/// the template `notes://all/{id}`. A rule for one client is bound to the program `app`, unless it is `unbound`.
pub fn rule(text: &str, number: usize, call: &Call) -> Grant {
    let mut words = text.split_whitespace();
    let effect = match words.next().unwrap() {
        "allow" => RuleEffect::Allow,
        "deny" => RuleEffect::Deny,
        other => panic!("no such effect: {other}"),
    };
    let width = match words.next().unwrap() {
        "tool" => Scope::Tool { tool: Subject::from_rule_name(&unescape(words.next().unwrap())) },
        "reads" => Scope::Reads,
        "writes" => Scope::Writes,
        "everything" => Scope::Everything,
        "this-call" => Scope::Call { hash: call.hash() },
        "other-call" => Scope::Call { hash: "another".into() },
        other => panic!("no such width: {other}"),
    };
    let mut grant = Grant {
        id: number.to_string().as_str().into(),
        effect,
        server: Some(ServerBinding { server: "s1".into(), generation: Generation(1), identity: "i1".into() }),
        width,
        clients: ClientScope::Every,
        lifetime: Lifetime::Always,
        conditions: Vec::new(),
        pins: pins("read_file=1,read_more=1,write_file=1,prompt:review=p1,template:notes://all/{id}=t1"),
        program: None,
        created: Timestamp(0),
        author: RuleAuthor::Person,
        reason: None,
    };
    let mut is_unbound = false;
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap().to_owned();
        match word {
            "for" => grant.clients = ClientScope::One { client: next().as_str().into() },
            "on" => grant.server.as_mut().unwrap().server = next().as_str().into(),
            "identity" => grant.server.as_mut().unwrap().identity = next().as_str().into(),
            "gen" => grant.server.as_mut().unwrap().generation = Generation(next().parse().unwrap()),
            "anywhere" => grant.server = None,
            "once" => grant.lifetime = Lifetime::Once,
            "until" => grant.lifetime = Lifetime::Until { at: Timestamp(next().parse().unwrap()) },
            "session" => grant.lifetime = Lifetime::Session { session: next().as_str().into() },
            "until-quit" => grant.lifetime = Lifetime::UntilQuit,
            "pins" => grant.pins = pins(&next()),
            "seen" => grant.program = Some(next()),
            "unbound" => is_unbound = true,
            "if" => grant.conditions.push(condition(&next(), &next(), &next())),
            other => panic!("no such word of a rule: {other}"),
        }
    }
    if !is_unbound && grant.program.is_none() && matches!(grant.clients, ClientScope::One { .. }) {
        grant.program = Some(APP.to_owned());
    }
    grant
}

/// `tool=definition`, or `tool=definition/definition` if several were approved.
fn pins(text: &str) -> BTreeMap<String, ApprovedVersions> {
    let approved = |definitions: &str| {
        let mut definitions = definitions.split('/').map(Fingerprint::from).map(ApprovedVersions::from);
        let first = definitions.next().unwrap();
        definitions.fold(first, |earlier, mut latest| {
            latest.add_earlier(&earlier);
            latest
        })
    };
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(tool, definitions)| (unescape(tool), approved(definitions))).collect()
}

fn condition(pointer: &str, test: &str, value: &str) -> Condition {
    let json = || value.to_owned();
    let test = match test {
        "equals" => ConditionTest::Equals { value: json() },
        "one-of" => ConditionTest::OneOf { values: json().split('|').map(str::to_owned).collect() },
        "starts" => ConditionTest::StartsWith { text: unescape(value) },
        "inside" => ConditionTest::Inside { folder: unescape(value) },
        "host" => host(value),
        "glob" => ConditionTest::Glob { pattern: unescape(value) },
        other => panic!("no such test: {other}"),
    };
    Condition { pointer: unescape(pointer), test }
}

/// `good.example` or `good.example:8443`, `[::1]` or `[::1]:9`.
fn host(value: &str) -> ConditionTest {
    let split = value.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match split.filter(|_| !value.ends_with(']')) {
        Some((host, port)) => ConditionTest::HostIs { host: unescape(host), port: Some(port) },
        None => ConditionTest::HostIs { host: unescape(value), port: None },
    }
}

/// A word with its escapes undone: `caf\u00e9`.
fn unescape(word: &str) -> String {
    if !word.contains("\\u") {
        return word.to_owned();
    }
    json::read(&format!("\"{word}\"")).unwrap().as_str().unwrap().to_owned()
}

/// A file system with links: see `policy_table/conditions.md`.
pub fn resolve(path: &str) -> Option<String> {
    if !path.starts_with('/') || path.contains("/unreadable") {
        return None;
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
        match steps.as_slice() {
            ["home", "me", "link"] | ["home", "me", "work", "\u{e9}"] => steps = vec!["etc"],
            ["home", "me", "work", "out"] => steps = vec!["home", "me"],
            ["home", "you", "short"] => steps = vec!["home", "me", "work", "sub"],
            ["tmp"] => steps = vec!["private", "tmp"],
            _ => {}
        }
    }
    Some(format!("/{}", steps.join("/")))
}
