//! Translates what applications say about signing in to a remote server: a registered client, scopes, and the redirect.

use gatehouse_model::message;
use serde_json::{Map, Value, json};

use super::{Resolution, Translator};

/// The members of `oauth` and `auth`. `false` says that the server is never signed in to.
pub(super) fn settings(translator: &mut Translator<'_>, name: &str, value: &Value) {
    let members = match value {
        Value::Bool(true) => return,
        Value::Bool(false) => return set(translator, "off", json!(true)),
        Value::Object(members) => members,
        _ => return translator.leave_out(name, message!("import.leftOut.signIn")),
    };
    let text = |names: &[&str]| names.iter().find_map(|name| members.get(*name)).and_then(Value::as_str);
    let client = text(&["clientId", "client_id", "CLIENT_ID"]);
    let secret = text(&["clientSecret", "client_secret", "CLIENT_SECRET"]);
    if let Some(id) = client {
        let mut registered = Map::new();
        registered.insert("id".to_owned(), json!(translator.resolve(id, Resolution::Never)));
        if let Some(secret) = secret {
            registered.insert("secret".to_owned(), json!(translator.resolve(secret, Resolution::OnConnect)));
        }
        set(translator, "client", Value::Object(registered));
    }
    let endpoints = (text(&["authorizationUrl"]), text(&["tokenUrl"]));
    if let (Some(authorize), Some(token), Some(_)) = (endpoints.0, endpoints.1, client) {
        set(translator, "endpoints", json!({ "authorize": authorize, "token": token }));
    }
    for (member, value) in members {
        let is_taken = match member.as_str() {
            "clientId" | "client_id" | "CLIENT_ID" => value.is_string(),
            "clientSecret" | "client_secret" | "CLIENT_SECRET" => client.is_some() && value.is_string(),
            "authorizationUrl" | "tokenUrl" => translator_has(translator, "endpoints"),
            "scope" | "scopes" => {
                scopes(translator, member, value);
                true
            }
            "redirectUri" | "redirect_uri" => {
                value.as_str().inspect(|uri| set(translator, "redirect", json!(uri))).is_some()
            }
            "callbackPort" => {
                let address = value.as_u64().map(|port| format!("http://localhost:{port}/callback"));
                address.inspect(|address| set(translator, "redirect", json!(address))).is_some()
            }
            "enabled" => {
                if value.as_bool() == Some(false) {
                    set(translator, "off", json!(true));
                }
                value.is_boolean()
            }
            _ => false,
        };
        if !is_taken {
            translator.leave_out(&format!("{name}.{member}"), message!("import.leftOut.signIn"));
        }
    }
}

/// Scopes: a list, or words in a text.
pub(super) fn scopes(translator: &mut Translator<'_>, name: &str, value: &Value) {
    let words: Option<Vec<String>> = match value {
        Value::String(text) => Some(text.split_whitespace().map(str::to_owned).collect()),
        Value::Array(list) => list.iter().map(|scope| scope.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    match words {
        Some(words) => set(translator, "scopes", json!(words)),
        None => translator.leave_out_invalid(name),
    }
}

fn set(translator: &mut Translator<'_>, name: &str, value: Value) {
    let settings = translator.entry.entry("signIn").or_insert_with(|| json!({}));
    if let Value::Object(settings) = settings {
        settings.insert(name.to_owned(), value);
    }
}

fn translator_has(translator: &Translator<'_>, name: &str) -> bool {
    translator.entry.get("signIn").is_some_and(|settings| settings.get(name).is_some())
}
