//! What holds for every policy, every call and every text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub, reason = "tests")]

#[path = "policy_table/syntax.rs"]
mod syntax;

use gatehouse_model::ServerBinding;
use gatehouse_model::grant::{ClientScope, Decision, Grant, Lifetime, Rule, RuleEffect, Scope};
use gatehouse_model::subject::Subject;
use gatehouse_policy::call_hash::{CallHashInput, call_hash};
use gatehouse_policy::definition::{DefinitionKind, diff, fingerprint};
use gatehouse_policy::display;
use gatehouse_policy::json::{Json, JsonDefect, read};
use gatehouse_policy::verdict::RuleSet;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use syntax::{Call, KnownDefinition, rule};

/// Words of the table's language, so that every rule and call can be read when a case fails.
fn any_call() -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec!["read_file", "write_file", "read_other", "resource:a", "prompt:a"]),
        prop::sample::select(vec!["", " by c2", " by c3"]),
        prop::sample::select(vec!["", "", "", " on s2"]),
        prop::sample::select(vec!["", "", "", " gen 2"]),
        prop::sample::select(vec!["", "", " session x", " session y"]),
        prop::sample::select(vec!["", r#" args {"a":1}"#, r#" args {"a":"x"}"#]),
        prop::sample::select(vec!["", " at 50", " at 500"]),
        prop::sample::select(vec!["", "", " outside", " unverified", " seen cursor", " seen sh"]),
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| [a, b, c, d, e, f, g, h].concat())
}

fn rules_of(effect: &'static str) -> impl Strategy<Value = String> {
    (
        prop::sample::select(vec![
            " tool read_file",
            " tool write_file",
            " tool read_other",
            " tool resource:a pins -",
            " reads",
            " writes",
            " everything",
            " this-call",
            " other-call",
        ]),
        prop::sample::select(vec!["", "", " for c1", " for c2"]),
        prop::sample::select(vec!["", "", "", "", " on s2", " gen 2", " anywhere"]),
        prop::sample::select(vec!["", " once", " until 100", " session x", " until-quit"]),
        prop::sample::select(vec!["", "", "", "", " if /a equals 1", " if /a starts x", " if /a glob ["]),
        prop::sample::select(vec!["", "", "", " seen cursor"]),
        prop::sample::select(vec![
            "",
            "",
            " pins read_file=2,write_file=1",
            " pins read_file=1,read_other=1",
            " pins read_file=2/1",
        ]),
    )
        .prop_map(move |(a, b, c, d, e, f, g)| [effect, a, b, c, d, e, f, g].concat())
}

fn any_rule() -> impl Strategy<Value = String> {
    prop_oneof![3 => rules_of("allow"), 1 => rules_of("deny")]
}

/// A call with rules of which many are about it, and about little else.
fn any_case() -> impl Strategy<Value = (Vec<String>, String)> {
    any_call().prop_flat_map(|call| {
        let rules = prop::collection::vec(prop_oneof![2 => near(&call, "allow"), 1 => any_rule()], 1..6);
        (rules, Just(call))
    })
}

/// The same with a deny that is about the call, but for a word or two, and a place for it.
fn any_case_with_a_deny() -> impl Strategy<Value = (Vec<String>, String, String, usize)> {
    any_case().prop_flat_map(|(rules, call)| {
        let deny = prop_oneof![2 => near(&call, "deny"), 1 => Just("deny everything anywhere".to_owned())];
        (Just(rules), Just(call), deny, 0usize..9)
    })
}

/// One allow that is about a call, but for a word or two.
fn allow_for_a_call() -> impl Strategy<Value = (String, String)> {
    any_call().prop_flat_map(|call| (near(&call, "allow"), Just(call)))
}

fn near(call: &str, effect: &'static str) -> impl Strategy<Value = String> + use<> {
    let after = |word: &str| call.split(' ').skip_while(|known| *known != word).nth(1).map(str::to_owned);
    let subject = call.split(' ').next().unwrap().to_owned();
    let print = if subject.contains(':') { "p1" } else { "1" };
    let pins = format!(" pins {subject}={print}");
    let widths = vec![
        format!(" tool {subject}"),
        " reads".to_owned(),
        " writes".to_owned(),
        " everything".to_owned(),
        " this-call".to_owned(),
    ];
    let place = format!(
        " on {} gen {}",
        after("on").unwrap_or("s1".to_owned()),
        after("gen").unwrap_or("1".to_owned())
    );
    let program = after("seen").unwrap_or("app".to_owned());
    let client = format!(" for {} seen {program}", after("by").unwrap_or("c1".to_owned()));
    let session = format!(" session {}", after("session").unwrap_or("z".to_owned()));
    let select = |words: &[&str]| {
        prop::sample::select(words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>())
    };
    (
        prop::sample::select(widths),
        select(&[&place, &place, &place, &place, " on s1", " on s2 gen 2"]),
        select(&["", &client, &client, " for c1"]),
        select(&["", "", &session, " until-quit", " until 1000", " once"]),
        select(&["", "", "", "", " if /a equals 1", " if /a starts x"]),
        select(&[&pins, &pins, &pins, " pins read_file=2", " pins read_file=2/1"]),
    )
        .prop_map(move |(a, b, c, d, e, f)| [effect, &a, &b, &c, &d, &e, &f].concat())
}

/// Resources: what stands before their steps, first as people write it and then in ways that some server reads alike,
/// and their steps.
const RESOURCES: &[(&[&str], &[&str])] = &[
    (
        &[
            "file:///",
            "FILE:///",
            " file:///",
            "file:/",
            "file:////",
            "file:///./",
            "file:///../",
            "file://localhost/",
            "file://LocalHost:80/",
            "file://nas.example/",
            "file:\\\\localhost\\",
        ],
        &["home", "a", "secret.txt"],
    ),
    (
        &[
            "https://host.example/",
            "HTTPS://Host.Example/",
            "https://host.example:443/",
            "https://host.example./",
            "https://host.example.:443/",
            "https://host.example:8443/",
            "https://me:x@host.example/",
            "https:\\\\host.example\\",
            "https:host.example/",
            "https://%68ost.example/",
            "https://\u{ff48}ost.example/",
        ],
        &["a", "secret"],
    ),
    (
        &["http://127.0.0.1/", "http://127.1/", "http://2130706433:80/", "http://[::ffff:127.0.0.1]/"],
        &["secret"],
    ),
    (
        &[
            "notes://work/",
            "NOTES://Work/",
            "notes:///work/",
            "notes:/work/",
            "notes:work/",
            "notes://%77ork/",
            "notes://x/../work/",
            "notes://work:1/",
        ],
        &["all", "7"],
    ),
];

/// What stands between two steps.
const BETWEEN: &[&str] = &[
    "/",
    "//",
    "/./",
    "/x/../",
    "\\",
    "%2F",
    "%5c",
    "/%2e/",
    "/x/%2E%2e/",
    "/x/%252e%252e/",
    "/x/..;v/",
    "\u{ff0f}",
];

/// What stands behind the last step.
const ENDS: &[&str] = &[
    "", "/", "/.", "/x/..", "#f", "?", "?v=1", "?v=1#f", "%3Fv", "%23v", "%00.txt", ";v=1", ".", " ", "%20",
    "%20.",
];

/// The ways to write a letter of a step.
fn forms(c: char) -> Vec<String> {
    let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
    let plain = c.to_string();
    let wide = char::from_u32(u32::from(c) + 0xfee0).unwrap().to_string();
    let once = escaped(&plain);
    vec![
        plain.clone(),
        plain.to_uppercase(),
        once.to_uppercase(),
        once.replace('%', "%25"),
        once.replace('%', "%2525"),
        once.replace('%', "\u{ff05}"),
        escaped(&once),
        escaped(&wide),
        wide,
        format!("{plain}\u{200b}"),
        format!("{plain}%e2%80%8b"),
        format!("{plain}\t"),
        once,
    ]
}

/// A resource as people write it, and in another way that some server reads alike.
fn any_spelling() -> impl Strategy<Value = (String, String)> {
    let spelled = |step: &&str| {
        let letters: Vec<_> = step.chars().map(|c| prop::sample::select(forms(c))).collect();
        prop_oneof![Just((*step).to_owned()), letters.prop_map(|letters| letters.concat())]
    };
    prop::sample::select(RESOURCES).prop_flat_map(move |(starts, steps)| {
        let plain = format!("{}{}", starts[0], steps.join("/"));
        let written: Vec<_> = steps.iter().map(spelled).collect();
        let between = prop::collection::vec(prop::sample::select(BETWEEN), steps.len());
        let around = (prop::sample::select(starts), prop::sample::select(ENDS));
        (Just(plain), around, written, between).prop_map(|(plain, (start, end), written, between)| {
            let mut spelled = start.to_owned();
            for (at, step) in written.iter().enumerate() {
                spelled.push_str(if at > 0 { between[at] } else { "" });
                spelled.push_str(step);
            }
            (plain, spelled + end)
        })
    })
}

fn grants(rules: &[String], call: &Call) -> Vec<Grant> {
    rules.iter().enumerate().map(|(at, text)| rule(text, at + 1, call)).collect()
}

fn decision(rules: &[String], call: &Call) -> Decision {
    call.decide(&RuleSet::new(grants(rules, call))).decision
}

fn any_json() -> impl Strategy<Value = Json> {
    let number =
        prop::sample::select(vec!["0", "-0", "1", "1.0", "1e0", "10", "12345678901234567890", "-2.50E-3"]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number.prop_map(|text| Json::Number(text.into())),
        any::<String>().prop_map(|text| Json::String(text.into())),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::btree_map("[a-c\u{e9}/~\"]{0,3}", inner, 0..6).prop_map(|map| Json::Object(
                map.into_iter().map(|(name, value)| (name.into(), value)).collect()
            )),
        ]
    })
}

/// The same value with members in the opposite order and white space between everything.
fn rewritten(json: &Json, out: &mut String) {
    match json {
        Json::Array(items) => {
            out.push_str("[ ");
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "\n,\t" } else { "" });
                rewritten(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push_str("{\r\n");
            for (at, (name, value)) in members.iter().rev().enumerate() {
                out.push_str(if at > 0 { " , " } else { "" });
                escaped(name, out);
                out.push_str(" : ");
                rewritten(value, out);
            }
            out.push_str(" }");
        }
        Json::String(text) => escaped(text, out),
        other => out.push_str(&other.compact()),
    }
}

/// Every character as an escape.
fn escaped(text: &str, out: &mut String) {
    out.push('"');
    for unit in text.encode_utf16() {
        out.push_str(&format!("\\u{unit:04X}"));
    }
    out.push('"');
}

/// The properties would say little if hardly any case were allowed.
#[test]
fn generates_enough_allowed_cases() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let one = allow_for_a_call().prop_map(|(allow, call)| (vec![allow], call));
    let strategy = prop_oneof![one, any_case()];
    let allowed = (0..2000).filter(|_| {
        let (rules, call) = strategy.new_tree(&mut runner).unwrap().current();
        decision(&rules, &Call::parse(&call)) == Decision::Allow
    });
    let allowed = allowed.count();
    assert!(allowed > 400, "{allowed} of 2000");
}

// What Gatehouse exists for.
proptest! {
    #![proptest_config(ProptestConfig { cases: 100_000, max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn deny_always_beats_allow((rules, call, deny, at) in any_case_with_a_deny()) {
        let call = Call::parse(&call);
        let denies = decision(std::slice::from_ref(&deny), &call) == Decision::Deny;
        prop_assume!(denies);
        let mut all = rules;
        all.insert(at.min(all.len()), deny);
        prop_assert_eq!(decision(&all, &call), Decision::Deny);
    }

    #[test]
    fn nothing_is_allowed_without_an_allow(rules in prop::collection::vec(rules_of("deny"), 0..8), call in any_call()) {
        prop_assert_ne!(decision(&rules, &Call::parse(&call)), Decision::Allow);
    }

    #[test]
    fn every_allow_comes_from_a_single_rule((rules, call) in any_case()) {
        let call = Call::parse(&call);
        if decision(&rules, &call) == Decision::Allow {
            prop_assert!(rules.iter().any(|one| one.starts_with("allow") && decision(std::slice::from_ref(one), &call) == Decision::Allow));
        }
    }

    #[test]
    fn adding_a_deny_never_widens_access((rules, call) in any_case(), deny in rules_of("deny"), at in 0usize..9) {
        let call = Call::parse(&call);
        let before = decision(&rules, &call);
        let mut more = rules;
        more.insert(at.min(more.len()), deny);
        let after = decision(&more, &call);
        prop_assert!(after == before || after == Decision::Deny);
    }

    #[test]
    fn an_allow_never_applies_outside_its_scope((allow, call) in allow_for_a_call()) {
        let call = Call::parse(&call);
        let grant = rule(&allow, 1, &call);
        prop_assume!(call.decide(&RuleSet::new(vec![grant.clone()])).decision == Decision::Allow);
        let bound = grant.server.as_ref().unwrap();
        prop_assert_eq!(&bound.server, &call.server);
        prop_assert_eq!(bound.generation, call.generation);
        prop_assert!(call.verified);
        prop_assert_eq!(grant.effect, RuleEffect::Allow);
        match &grant.width {
            Scope::Tool { tool } => prop_assert_eq!(tool.rule_name(), call.subject.as_str()),
            Scope::Call { hash } => prop_assert_eq!(hash, &call.hash()),
            Scope::Reads => prop_assert!(!call.class.reaches_outside),
            Scope::Writes | Scope::Everything => {}
        }
        let this_call = matches!(grant.width, Scope::Call { .. });
        let is_pinned = match &call.definition {
            KnownDefinition::Pinned(pin, fingerprint) => grant.pins.get(pin).is_some_and(|approved| approved.contains(fingerprint)),
            KnownDefinition::Listed => true,
            KnownDefinition::Nothing => false,
        };
        prop_assert!(this_call || is_pinned);
        // Another client, server, generation or definition: no more.
        let other = |change: &dyn Fn(&mut Call)| {
            let mut other = Call::parse("read_file");
            other.subject.clone_from(&call.subject);
            other.client = call.client.clone();
            other.session.clone_from(&call.session);
            other.program.clone_from(&call.program);
            other.server = call.server.clone();
            other.generation = call.generation;
            other.identity = call.identity.clone();
            other.class = call.class.clone();
            other.definition.clone_from(&call.definition);
            other.arguments = call.arguments.clone();
            other.text.clone_from(&call.text);
            other.now = call.now;
            change(&mut other);
            other.decide(&RuleSet::new(vec![grant.clone()])).decision
        };
        prop_assert_eq!(other(&|_| {}), Decision::Allow);
        prop_assert_eq!(other(&|call| call.server = "s9".into()), Decision::Ask);
        prop_assert_eq!(other(&|call| call.generation = call.generation.next()), Decision::Ask);
        prop_assert_eq!(other(&|call| call.identity = "i9".into()), Decision::Ask);
        prop_assert_eq!(other(&|call| call.verified = false), Decision::Ask);
        prop_assert_eq!(other(&|call| call.definition = KnownDefinition::Nothing), if this_call && call.definition == KnownDefinition::Listed { Decision::Allow } else { Decision::Ask });
        if let KnownDefinition::Pinned(pin, _) = &call.definition {
            let changed = KnownDefinition::Pinned(pin.clone(), "9".into());
            prop_assert_eq!(other(&|call: &mut Call| call.definition = changed.clone()), Decision::Ask);
            // The hash of a call holds its subject and fingerprint, and so needs no pin.
            let unpinned = |call: &mut Call| call.definition = KnownDefinition::Pinned("new".to_owned(), "1".into());
            let same_call = this_call && call.definition == KnownDefinition::Pinned(pin.clone(), "1".into());
            prop_assert_eq!(other(&unpinned), if same_call { Decision::Allow } else { Decision::Ask });
        }
        if allow.contains(" for ") {
            prop_assert_eq!(other(&|call| call.client = "c9".into()), Decision::Ask);
        }
        if grant.program.is_some() {
            prop_assert_eq!(other(&|call| call.program = Some("other".to_owned())), Decision::Ask);
            prop_assert_eq!(other(&|call| call.program = None), Decision::Ask);
        }
    }

    #[test]
    fn an_unbound_client_allow_covers_nothing((allow, call) in allow_for_a_call()) {
        let mut call = Call::parse(&call);
        let mut grant = rule(&allow, 1, &call);
        let is_bound_to_session = matches!(grant.lifetime, Lifetime::Once | Lifetime::Session { .. });
        prop_assume!(matches!(grant.clients, ClientScope::One { .. }) && !is_bound_to_session);
        grant.program = None;
        let book = RuleSet::new(vec![grant]);
        prop_assert_eq!(call.decide(&book).decision, Decision::Ask);
        call.program = None;
        let verdict = call.decide(&book);
        prop_assert_eq!(verdict.decision, Decision::Ask);
        let binds = matches!(verdict.rule, Rule::UnboundGrant { .. });
        prop_assert!(!binds, "an unknown program binds a grant");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn a_deny_of_a_resource_is_for_all_its_spellings((plain, spelled) in any_spelling(), is_completion in any::<bool>()) {
        let kind = if is_completion { "completion" } else { "resource" };
        let mut call = Call::parse("resource:a");
        call.subject = format!("{kind}:{spelled}");
        let decision = |effect: &str, place: &str| {
            let mut grant = rule(&format!("{effect} tool x pins - {place}"), 1, &call);
            grant.width = Scope::Tool { tool: Subject::from_rule_name(&format!("{kind}:{plain}")) };
            call.decide(&RuleSet::new(vec![grant])).decision
        };
        prop_assert_eq!(decision("deny", ""), Decision::Deny, "{:?}", spelled);
        prop_assert_eq!(decision("deny", "anywhere"), Decision::Deny, "{:?}", spelled);
        let allowed = if spelled == plain { Decision::Allow } else { Decision::Ask };
        prop_assert_eq!(decision("allow", ""), allowed, "{:?}", spelled);
    }
}

proptest! {
    #[test]
    fn rule_order_does_not_change_decisions((rules, call) in any_case()) {
        let call = Call::parse(&call);
        let backwards: Vec<String> = rules.iter().rev().cloned().collect();
        prop_assert_eq!(decision(&rules, &call), decision(&backwards, &call));
    }

    #[test]
    fn canonical_form_ignores_order_whitespace_and_escapes(json in any_json()) {
        let mut text = String::new();
        rewritten(&json, &mut text);
        let again = read(&text).unwrap();
        prop_assert_eq!(again.canonical(), json.canonical());
        prop_assert_eq!(read(&json.compact()).unwrap(), json.clone());
        prop_assert_eq!(read(&json.canonical()).unwrap().canonical(), json.canonical());
    }

    #[test]
    fn canonical_form_keeps_number_text(a in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?", b in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?") {
        let canonical = |number: &str| read(&format!("{{\"n\":{number}}}")).unwrap().canonical();
        prop_assert_eq!(a == b, canonical(&a) == canonical(&b));
    }

    #[test]
    fn parser_agrees_with_serde_json(text in "[\\[\\]{},:\"0-9a-etrufalsn\\\\ .\\-]{0,24}") {
        let strict = read(&text);
        let other = serde_json::from_str::<serde_json::Value>(&text);
        match (&strict, &other) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(&serde_json::from_str::<serde_json::Value>(&ours.compact()).unwrap(), theirs),
            // A number may be out of range for the other; keys may occur twice for it.
            (Ok(_), Err(error)) => prop_assert!(error.to_string().contains("out of range"), "{error}"),
            (Err(JsonDefect::Malformed { .. }), Ok(_)) => prop_assert!(false, "the other takes {text}"),
            (Err(_), _) => {}
        }
    }

    #[test]
    fn rejects_duplicate_keys_at_any_depth(json in any_json(), depth in 0usize..20, key in "[a-z\u{e9}]{1,4}") {
        let mut twice = String::new();
        escaped(&key, &mut twice);
        let inner = format!("{{\"x\":{},\"{key}\":1,\"y\":[],{twice}:1}}", json.compact());
        let text = format!("{}{inner}{}", "{\"d\":[".repeat(depth), "]}".repeat(depth));
        let refused = matches!(read(&text), Err(JsonDefect::DuplicateKey { .. }));
        prop_assert!(refused, "{text}");
    }

    #[test]
    fn parser_never_panics(text in any::<String>()) {
        if let Ok(json) = read(&text) {
            prop_assert_eq!(read(&json.compact()).unwrap(), json);
        }
    }

    #[test]
    fn diff_is_empty_exactly_when_fingerprints_match(a in any_json(), b in any_json()) {
        let definition = |json: &Json| format!("{{\"name\":\"t\",\"inputSchema\":{}}}", json.compact());
        let (a, b) = (definition(&a), definition(&b));
        prop_assert_eq!(fingerprint(DefinitionKind::Tool, &a) == fingerprint(DefinitionKind::Tool, &b), diff(&a, &b).is_empty());
        prop_assert!(diff(&a, &a).is_empty());
    }

    #[test]
    fn different_arguments_hash_differently(a in any::<String>(), b in any::<String>(), subject in any::<String>()) {
        let hash = |arguments: &str| call_hash(&CallHashInput {
            client: &"c".into(),
            server: &ServerBinding { server: "s".into(), generation: Default::default(), identity: "i".into() },
            subject: &subject,
            fingerprint: None,
            arguments,
        });
        prop_assert_eq!(a == b, hash(&a) == hash(&b));
    }

    #[test]
    fn cleaning_removes_hidden_characters_and_is_idempotent(text in "([a-c ]|\\PC|\u{1b}\\[[0-9;]{0,3}m|\u{1b}\\]|\u{7}|[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{fe0f}\u{e0020}\r\n\t]){0,40}") {
        let clean = display::clean_text(&text).into_owned();
        prop_assert!(!display::has_hidden(&clean));
        prop_assert_eq!(display::clean_text(&clean), clean.as_str());
        prop_assert!(!display::has_hidden(&display::reveal(&text)));
        if !display::has_hidden(&text) {
            prop_assert_eq!(text.replace('\r', ""), clean);
        }
    }

    #[test]
    fn rendered_arguments_have_no_hidden_characters(json in any_json()) {
        for argument in display::render_arguments(&json) {
            prop_assert!(!display::has_hidden(&argument.text), "{}", argument.text);
            prop_assert!(!display::has_hidden(&argument.name));
            prop_assert!(read(&argument.text).is_ok());
        }
        prop_assert!(display::one_line(&json).chars().count() <= display::LINE_LENGTH);
        prop_assert!(!display::has_hidden(&display::one_line(&json)));
        prop_assert!(read(&display::masked_json(&json)).is_ok());
    }
}
