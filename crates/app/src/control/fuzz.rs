//! Fuzz target `control`: lines of the control socket in both directions. Lines that are accepted have
//! the same meaning for another JSON parser, and their raw parts are the bytes that were sent.

use gatehouse_fuzz::{fuzz, json, mutated};
use gatehouse_mcp_wire::raw::Members;
use gatehouse_model::command::Command;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::wire::{EventsArgs, RequestLine, ResponseLine};

fn texts(known: &'static [&'static str]) -> BoxedStrategy<String> {
    prop::sample::select(known).prop_map(str::to_owned).boxed()
}

fn request() -> impl Strategy<Value = String> {
    let args = json::object(vec![
        ("server", texts(&["\"Notes\"", "\"\\u004eotes\"", "7", "null"])),
        ("arguments", json::value().boxed()),
        ("known", texts(&["[]", "[\"a\"]", "{}"])),
        ("after", texts(&["null", "7", "-1", "1e400"])),
        ("answers", json::value().boxed()),
    ]);
    json::object(vec![
        ("id", texts(&["1", "0", "18446744073709551615", "-1", "\"1\"", "1.0"])),
        (
            "command",
            texts(&[
                "\"servers.list\"",
                "\"events\"",
                "\"approvals.answer\"",
                "\"servers.stop\"",
                "\"a.b\"",
                "7",
            ]),
        ),
        ("args", prop_oneof![3 => args, 1 => json::value()].boxed()),
        ("other", prop_oneof![8 => Just(String::new()), 1 => json::value()].boxed()),
    ])
    .prop_map(|text| text.replace("\"other\":,", "").replace(",\"other\":}", "}").replace("\"other\":}", "}"))
}

fn answer() -> impl Strategy<Value = String> {
    json::object(vec![
        ("id", texts(&["1", "null", "\"1\""])),
        ("reply", json::value().boxed()),
        ("missed", texts(&["true", "false", "1"])),
        ("later", json::value().boxed()),
    ])
}

#[test]
fn fuzz_control() {
    let cases = (mutated(request(), json::TOKENS), mutated(answer(), json::TOKENS));
    fuzz("control", &cases, |(request, answer)| {
        if let Ok(read) = serde_json::from_str::<RequestLine>(&request) {
            let raw = Members::read(&request).map_err(|e| TestCaseError::fail(e.to_string()))?;
            let id = read.id.to_string();
            prop_assert_eq!(raw.get("id").map(RawValue::get), Some(id.as_str()));
            prop_assert!(raw.text("command").as_deref() == Some(&*read.command));
            let args = raw.get("args").map(RawValue::get).filter(|args| *args != "null");
            prop_assert_eq!(read.args.as_deref().map(RawValue::get), args);
            prop_assert!(raw.names().all(|name| ["id", "command", "args"].contains(&name)));
            if let Some(args) = &read.args {
                if let Ok(command) = Command::parse(&read.command, args) {
                    prop_assert_eq!(command.name(), &read.command);
                }
                drop(serde_json::from_str::<EventsArgs>(args.get()));
            }
        }
        if let Ok(read) = serde_json::from_str::<ResponseLine>(&answer)
            && let Ok(raw) = Members::read(&answer)
        {
            prop_assert_eq!(read.reply.as_deref().map(RawValue::get), raw.get("reply").map(RawValue::get));
            prop_assert_eq!(read.missed, raw.flag("missed").unwrap_or_default());
        }
        Ok(())
    })
    .unwrap();
}
