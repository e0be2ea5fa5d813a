//! `call`: makes a call with a client's permissions.

use gatehouse_model::command::{Call, CallReply, RequestSecret, ServersCallTool, ToolsList};
use gatehouse_model::server_catalog::{ResultContent, ResultStatus, ResultView};
use gatehouse_model::{ErrorCode, UserError, message};
use serde_json::{Map, Value};

use crate::cli;
use crate::error::CliError;
use crate::output::Printer;
use crate::secret_input;
use crate::session::ControlSession;
use crate::terminal_text;

pub(crate) async fn run(
    wanted: cli::CallArgs,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    if let Some(client) = wanted.as_client.clone() {
        return run_as_client(wanted, client, session, output).await;
    }
    let token = secret_input::read_client_token(wanted.token_fd)?;
    // The process that holds the socket may not be Gatehouse: it sees nothing of the token before it
    // proved that it knows it.
    session.use_client_token(token.clone());
    let arguments = arguments(&wanted, session).await?;
    let call = Call { token: RequestSecret::new(&token), tool: wanted.tool, arguments };
    let reply = session.run(&call).await?;
    if output.is_json() {
        output.text(&reply.body)?;
    } else {
        output.text(&describe_reply(&reply))?;
    }
    if reply.is_rpc_error || reply.is_tool_error { Err(CliError::Call) } else { Ok(()) }
}

/// Calls a tool as the person who has the operator key, in the name of a client.
async fn run_as_client(
    wanted: cli::CallArgs,
    client: String,
    session: &mut ControlSession,
    output: &Printer,
) -> Result<(), CliError> {
    session.require_operator_key().await?;
    let arguments = arguments(&wanted, session).await?;
    let tools = session.run(&ToolsList { server: None }).await?;
    let tool = tools.into_iter().find(|tool| tool.exposed_name == wanted.tool).ok_or_else(|| {
        UserError::new(ErrorCode::NotFound, message!("error.ctl.unknownTool", tool = &wanted.tool))
    })?;
    let call = ServersCallTool {
        server: tool.server.to_string(),
        tool: tool.name,
        arguments,
        run: None,
        client: Some(client),
    };
    let view = session.run(&call).await?;
    output.show(&view, describe_view)?;
    if view.end == ResultStatus::Ok && view.unfit.is_none() { Ok(()) } else { Err(CliError::Call) }
}

/// The texts of a result, or why there is none.
fn describe_view(view: &ResultView) -> Vec<String> {
    let mut lines = Vec::new();
    if let ResultStatus::Error { message, .. } = &view.end {
        lines.push(format!("Error: {}", terminal_text::lines(message)));
    }
    if let Some(unfit) = &view.unfit {
        let why = message!("ctl.calls.unfitResult", problem = unfit);
        lines.push(terminal_text::message(&why));
    }
    for part in &view.parts {
        lines.push(match &part.content {
            ResultContent::Text { text, .. } => terminal_text::lines(&text.text),
            ResultContent::Binary { mime_type, .. } => {
                format!("[{}; --json shows it]", terminal_text::line(mime_type))
            }
            ResultContent::Link { uri, .. } => terminal_text::line(uri),
            ResultContent::Other { json } => terminal_text::lines(&json.text),
        });
    }
    if let Some(structured) = view.structured.as_ref().filter(|_| view.parts.is_empty()) {
        lines.push(terminal_text::lines(&structured.text));
    }
    lines
}

/// One JSON object as given, or pairs whose values are converted as the tool's schema requires.
async fn arguments(wanted: &cli::CallArgs, session: &mut ControlSession) -> Result<String, CliError> {
    match wanted.arguments.as_slice() {
        [] => return Ok("{}".into()),
        [one] if one.trim_start().starts_with('{') => return Ok(one.clone()),
        _ => {}
    }
    let tools = session.run(&ToolsList { server: None }).await?;
    let schema =
        tools.iter().find(|tool| tool.exposed_name == wanted.tool).map(|tool| tool.input_schema.as_str());
    let schema = schema.and_then(|text| serde_json::from_str::<Value>(text).ok()).unwrap_or(Value::Null);
    let mut object = Map::new();
    for pair in &wanted.arguments {
        let (name, text) = pair
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| CliError::usage(message!("error.ctl.badArguments")))?;
        if object
            .insert(name.to_owned(), value(text, schema.pointer("/properties").and_then(|p| p.get(name))))
            .is_some()
        {
            return Err(CliError::usage(message!("error.ctl.argumentTwice", name = name)));
        }
    }
    Ok(Value::Object(object).to_string())
}

/// A value stays text unless the schema has another type that it can be parsed as.
fn value(text: &str, schema: Option<&Value>) -> Value {
    let as_text = || Value::String(text.to_owned());
    let wanted = match schema.and_then(|schema| schema.get("type")) {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(some)) => some.iter().filter_map(Value::as_str).collect(),
        _ => return as_text(),
    };
    if wanted.contains(&"string") {
        return as_text();
    }
    serde_json::from_str(text).unwrap_or_else(|_| as_text())
}

/// The text of a result, or the error message.
fn describe_reply(reply: &CallReply) -> String {
    let body: Value = match serde_json::from_str(&reply.body) {
        Ok(body) => body,
        Err(_) => return terminal_text::lines(&reply.body),
    };
    if reply.is_rpc_error {
        let message = body.get("message").and_then(Value::as_str).unwrap_or(&reply.body);
        return format!("Error: {}", terminal_text::lines(message));
    }
    let content = body.get("content").and_then(Value::as_array);
    let Some(content) = content else { return terminal_text::lines(&reply.body) };
    let parts =
        content.iter().map(|part| match (part.get("text").and_then(Value::as_str), part.get("type")) {
            (Some(text), _) => terminal_text::lines(text),
            (None, Some(Value::String(kind))) => format!("[{}; --json shows it]", terminal_text::line(kind)),
            (None, _) => "[something without a kind; --json shows it]".into(),
        });
    let text = parts.collect::<Vec<_>>().join("\n");
    match body.get("structuredContent") {
        Some(structured) if text.is_empty() => structured.to_string(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_values_by_schema_type() {
        for (text, schema, wanted) in [
            ("3", json!({"type": "integer"}), json!(3)),
            ("3", json!({"type": "string"}), json!("3")),
            ("true", json!({"type": ["boolean", "null"]}), json!(true)),
            ("[1]", json!({"type": "array"}), json!([1])),
            ("three", json!({"type": "integer"}), json!("three")),
            ("3", json!({}), json!("3")),
        ] {
            assert_eq!(value(text, Some(&schema)), wanted, "{text} for {schema}");
        }
        assert_eq!(value("3", None), json!("3"));
    }

    #[test]
    fn escapes_control_characters_in_results() {
        let body =
            json!({"content": [{"type": "text", "text": "a\u{1b}[2J\nb"}, {"type": "image", "data": "x"}]});
        let reply = CallReply { body: body.to_string(), is_rpc_error: false, is_tool_error: false };
        assert_eq!(describe_reply(&reply), "a⟦U+001B⟧[2J\nb\n[image; --json shows it]");
    }
}
