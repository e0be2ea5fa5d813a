//! Requests of a server to its client (SRV-15): elicitation, sampling and roots. Requests and
//! responses are validated here; who answers is decided elsewhere, and nothing here ever invents an
//! answer on behalf of a person.

use std::fmt;
use std::sync::{Arc, OnceLock};

use gatehouse_model::server::LogLevel;
use gatehouse_model::{BoxFuture, ServerConfig, ServerId};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use url::Url;

use crate::json;
use crate::schema_check::{SchemaCheck, SchemaChecker};

/// `elicitation/create`
pub const ELICITATION_CREATE: &str = "elicitation/create";
/// `sampling/createMessage`
pub const SAMPLING_CREATE_MESSAGE: &str = "sampling/createMessage";
/// `roots/list`
pub const ROOTS_LIST: &str = "roots/list";

const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;

/// The capabilities that Gatehouse declares as its own: in a handshake, which holds for all clients that use the
/// connection later, and with requests that are no client's. It declares all of them, because the user can answer
/// when no client can.
pub(crate) fn client_capabilities() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
}

#[derive(Clone, Debug)]
pub struct ServerRequest {
    /// The server, with the settings of the connection that the request came on.
    pub server: Arc<ServerConfig>,
    /// [`ELICITATION_CREATE`], [`SAMPLING_CREATE_MESSAGE`] or [`ROOTS_LIST`].
    pub method: Box<str>,
    /// The params; `{}` if there are none.
    pub params: Box<RawValue>,
    /// Its key in `inputRequests`, if the server sent it as required input.
    pub key: Option<Box<str>>,
}

/// The `result`, or the whole `error` object.
pub type ServerRequestResult = Result<Box<RawValue>, Box<RawValue>>;

/// Answers requests of servers.
pub trait ServerRequestHandler: Send + Sync {
    /// Answers one validated request. Dropping the future withdraws the request.
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult>;

    /// Receives what the server logs meanwhile: the params of its `notifications/message`.
    fn logged(&self, _level: LogLevel, _params: &RawValue) {}

    /// Receives what the server says meanwhile in a notification that the protocol doesn't have: its method, and its
    /// params as JSON text.
    fn notified(&self, _method: &str, _params: &str) {}
}

/// Answers requests that a server makes while it processes one call.
#[derive(Clone)]
pub struct Responder {
    /// Identifies the client, including its session if it has one. Calls of different clients to
    /// the same server are told apart by it.
    pub client_key: Arc<str>,
    pub respond: Arc<dyn ServerRequestHandler>,
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("client_key", &self.client_key).finish_non_exhaustive()
    }
}

/// Answers requests that cannot be attributed to a client. Set once, when the approval queue
/// exists; until then such requests are answered with an error.
#[derive(Clone, Default)]
pub struct FallbackHandler(Arc<OnceLock<Arc<dyn ServerRequestHandler>>>);

impl FallbackHandler {
    /// Sets the responder; only the first call has an effect.
    pub fn set(&self, respond: Arc<dyn ServerRequestHandler>) {
        if self.0.set(respond).is_err() {
            tracing::error!("the fallback handler was set before");
        }
    }
}

impl ServerRequestHandler for FallbackHandler {
    fn respond(&self, request: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
        match self.0.get() {
            Some(respond) => respond.respond(request),
            None => Box::pin(async { Err(error(INTERNAL_ERROR, "There is nobody to ask yet.")) }),
        }
    }
}

/// Validates a request, has it answered, and validates the response.
pub async fn handle_server_request(
    respond: &dyn ServerRequestHandler,
    request: ServerRequest,
    schemas: &Arc<SchemaChecker>,
) -> ServerRequestResult {
    let checked = ExpectedAnswer::read(&request)?;
    if let ExpectedAnswer::Form { schema } = &checked {
        let check = SchemaCheck { value: None, ..form(&request.server.id, schema, &Map::new()) };
        schemas
            .check(check)
            .await
            .map_err(|why| invalid(format!("The schema of the form cannot be used: {why}.")))?;
    }
    let server = request.server.id.clone();
    let answer = respond.respond(request).await?;
    let (answer, content) = checked.validate(answer)?;
    if let (Some(content), ExpectedAnswer::Form { schema }) = (content, &checked) {
        schemas
            .check(form(&server, schema, &content))
            .await
            .map_err(|why| invalid_answer(&why.to_string()))?;
    }
    Ok(answer)
}

/// Builds the validation of form input. `schema` and `fields` are JSON objects as text; `server` is
/// the server that supplied the form.
///
/// # Errors
/// A message saying which of the two cannot be parsed.
pub fn form_schema_check(server: &ServerId, schema: &str, fields: &str) -> Result<SchemaCheck, &'static str> {
    let Ok(schema) = serde_json::from_str::<Map<String, Value>>(schema) else {
        return Err("The form cannot be read");
    };
    let Ok(given) = serde_json::from_str::<Map<String, Value>>(fields) else {
        return Err("The fields are no object");
    };
    let content = with_defaults(&schema, &given);
    Ok(form(server, &schema, &content))
}

fn form(server: &ServerId, schema: &Map<String, Value>, content: &Map<String, Value>) -> SchemaCheck {
    let text = |members: &Map<String, Value>| Value::Object(members.clone()).to_string().into_boxed_str();
    SchemaCheck { server: server.clone(), schema: text(schema), value: Some(text(content)), formats: true }
}

/// The response to [`ROOTS_LIST`] with the folders that the user set for a server.
#[must_use]
pub fn roots_result(config: &ServerConfig) -> Box<RawValue> {
    let roots: Vec<Value> = config
        .limits
        .roots
        .iter()
        .filter_map(|folder| {
            let path = std::path::Path::new(folder);
            let uri = Url::from_file_path(path).ok()?;
            let name =
                path.file_name().map_or_else(|| folder.clone(), |name| name.to_string_lossy().into_owned());
            Some(json!({ "uri": uri.as_str(), "name": name }))
        })
        .collect();
    json::raw(&json!({ "roots": roots }))
}

/// A JSON-RPC error object.
pub(crate) fn error(code: i32, message: &str) -> Box<RawValue> {
    json::raw(&json!({ "code": code, "message": message }))
}

fn invalid(message: impl AsRef<str>) -> Box<RawValue> {
    error(INVALID_PARAMS, message.as_ref())
}

/// A validated request: determines what the response must look like.
enum ExpectedAnswer {
    Form { schema: Map<String, Value> },
    Url,
    Sampling,
    Roots,
}

impl ExpectedAnswer {
    fn read(request: &ServerRequest) -> Result<Self, Box<RawValue>> {
        let Ok(params) = serde_json::from_str::<Map<String, Value>>(request.params.get()) else {
            return Err(invalid("The params have to be an object."));
        };
        match &*request.method {
            ELICITATION_CREATE => Self::elicitation(&params),
            SAMPLING_CREATE_MESSAGE => match params.get("messages").and_then(Value::as_array) {
                Some(messages) if !messages.is_empty() => Ok(Self::Sampling),
                _ => Err(invalid("The member `messages` has to be a list of messages.")),
            },
            ROOTS_LIST => Ok(Self::Roots),
            _ => Err(error(-32601, "Method not found")),
        }
    }

    fn elicitation(params: &Map<String, Value>) -> Result<Self, Box<RawValue>> {
        if !params.get("message").is_some_and(Value::is_string) {
            return Err(invalid("The member `message` has to be a text."));
        }
        match params.get("mode").map(|mode| mode.as_str()) {
            None | Some(Some("form")) => {
                let schema = params
                    .get("requestedSchema")
                    .and_then(Value::as_object)
                    .ok_or_else(|| invalid("The member `requestedSchema` has to be a JSON Schema."))?;
                if schema.get("type").is_some_and(|kind| kind != "object") {
                    return Err(invalid("A form has to be of the type object."));
                }
                let fields = schema.get("properties").and_then(Value::as_object);
                for (name, field) in fields.into_iter().flatten() {
                    if !is_primitive_field(field) {
                        return Err(invalid(format!(
                            "The field `{name}` of the form is neither a primitive nor a choice of texts."
                        )));
                    }
                }
                Ok(Self::Form { schema: schema.clone() })
            }
            Some(Some("url")) => {
                let url = params.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
                match url {
                    Some(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(Self::Url),
                    Some(_) | None => Err(invalid("The member `url` has to be a web address.")),
                }
            }
            Some(_) => Err(invalid("This mode of elicitation was not declared; `form` and `url` are.")),
        }
    }

    /// Validates a response. Returns it as it will be sent, and the fields of a form, which still
    /// have to be validated against the schema.
    fn validate(&self, answer: Box<RawValue>) -> Result<ValidatedAnswer, Box<RawValue>> {
        let Ok(members) = serde_json::from_str::<Map<String, Value>>(answer.get()) else {
            return Err(invalid_answer("it is no object"));
        };
        match self {
            Self::Form { schema } => {
                let Some(action) = action(&members) else { return Err(invalid_answer("it has no action")) };
                if action != "accept" {
                    return Ok((json::raw(&json!({ "action": action })), None));
                }
                let Some(Value::Object(given)) = members.get("content") else {
                    return Err(invalid_answer("its content is no object"));
                };
                let content = with_defaults(schema, given);
                if content == *given {
                    return Ok((answer, Some(content)));
                }
                let mut whole = members;
                whole.insert("content".to_owned(), Value::Object(content.clone()));
                Ok((json::raw(&Value::Object(whole)), Some(content)))
            }
            Self::Url => match action(&members) {
                Some(action) => Ok((json::raw(&json!({ "action": action })), None)),
                None => Err(invalid_answer("it has no action")),
            },
            Self::Sampling => {
                if is_model_message(&members) {
                    Ok((answer, None))
                } else {
                    Err(invalid_answer("it is no message of a model"))
                }
            }
            Self::Roots => {
                let is_root = |root: &Value| {
                    root.get("uri").and_then(Value::as_str).is_some_and(|uri| uri.starts_with("file://"))
                };
                let roots = members.get("roots").and_then(Value::as_array);
                if roots.is_some_and(|roots| roots.iter().all(is_root)) {
                    Ok((answer, None))
                } else {
                    Err(invalid_answer("it is no list of folders"))
                }
            }
        }
    }
}

/// Whether a text is a result of `sampling/createMessage`: a message of a model.
#[must_use]
pub fn is_sampling_result(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|members| is_model_message(&members))
}

fn is_model_message(members: &Map<String, Value>) -> bool {
    let texts = ["role", "model"].iter().all(|name| members.get(*name).is_some_and(Value::is_string));
    texts && members.get("content").is_some_and(|content| content.is_object() || content.is_array())
}

/// A response as it will be sent, and the fields of a form if it is one.
type ValidatedAnswer = (Box<RawValue>, Option<Map<String, Value>>);

fn invalid_answer(why: &str) -> Box<RawValue> {
    error(INTERNAL_ERROR, &format!("The answer cannot be used: {why}."))
}

fn action(answer: &Map<String, Value>) -> Option<&str> {
    answer
        .get("action")
        .and_then(Value::as_str)
        .filter(|action| matches!(*action, "accept" | "decline" | "cancel"))
}

/// A primitive, or a list of strings to choose from: the only field types that a form may have
/// (MCP, Elicitation).
fn is_primitive_field(field: &Value) -> bool {
    match field.get("type").and_then(Value::as_str) {
        Some("string" | "number" | "integer" | "boolean") => true,
        Some("array") => field.get("items").is_some_and(|items| {
            items.get("type").and_then(Value::as_str).is_none_or(|kind| kind == "string")
        }),
        Some(_) => false,
        None => ["enum", "oneOf", "const"].iter().any(|name| field.get(*name).is_some()),
    }
}

/// The content of a form, with the schema's defaults for missing fields.
fn with_defaults(schema: &Map<String, Value>, given: &Map<String, Value>) -> Map<String, Value> {
    let mut content = given.clone();
    let fields = schema.get("properties").and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if let Some(default) = field.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), default.clone());
        }
    }
    content
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Transport;
    use gatehouse_model::server::Remote;

    use super::*;

    fn request(method: &str, params: Value) -> ServerRequest {
        let config = ServerConfig::new("asks", "asks", Transport::Http(Remote::at("http://asks/mcp")));
        ServerRequest {
            server: Arc::new(config),
            method: method.into(),
            params: json::raw(&params),
            key: None,
        }
    }

    struct FixedAnswer(Value);

    impl ServerRequestHandler for FixedAnswer {
        fn respond(&self, _: ServerRequest) -> BoxFuture<'static, ServerRequestResult> {
            let answer = json::raw(&self.0);
            Box::pin(async { Ok(answer) })
        }
    }

    fn validate(method: &str, params: Value, answer: Value) -> Result<Value, Value> {
        let value = |raw: Box<RawValue>| serde_json::from_str::<Value>(raw.get()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let schemas = Arc::default();
        let says = FixedAnswer(answer);
        let answer = runtime.block_on(handle_server_request(&says, request(method, params), &schemas));
        answer.map(value).map_err(value)
    }

    fn form(fields: Value) -> Value {
        json!({ "message": "m", "requestedSchema": { "type": "object", "properties": fields } })
    }

    #[test]
    fn rejects_invalid_requests() {
        let table = [
            (ELICITATION_CREATE, json!({ "message": "m", "mode": "carrier-pigeon" })),
            (ELICITATION_CREATE, json!({ "message": "m" })),
            (ELICITATION_CREATE, json!({ "requestedSchema": { "type": "object" } })),
            (ELICITATION_CREATE, form(json!({ "deep": { "type": "object" } }))),
            (ELICITATION_CREATE, form(json!({ "rows": { "type": "array", "items": { "type": "object" } } }))),
            (ELICITATION_CREATE, json!({ "message": "m", "mode": "url", "url": "file:///etc/passwd" })),
            (ELICITATION_CREATE, json!({ "message": "m", "mode": "url", "url": "not an address" })),
            (SAMPLING_CREATE_MESSAGE, json!({ "messages": [] })),
        ];
        for (method, params) in table {
            let error = validate(method, params.clone(), json!({})).unwrap_err();
            assert_eq!(error["code"], -32602, "{params}");
        }
        assert_eq!(validate("other/method", json!({}), json!({})).unwrap_err()["code"], -32601);
    }

    #[test]
    fn fills_form_defaults() {
        let fields = json!({
            "name": { "type": "string", "default": "Ann" },
            "age": { "type": "integer", "default": 30 },
            "note": { "type": "string" },
        });
        let answer = json!({ "action": "accept", "content": { "age": 7 } });
        let fitted = validate(ELICITATION_CREATE, form(fields), answer).unwrap();
        assert_eq!(fitted, json!({ "action": "accept", "content": { "age": 7, "name": "Ann" } }));
    }

    #[test]
    fn rejects_answers_that_violate_form_schema() {
        let fields = json!({
            "age": { "type": "integer", "minimum": 0 },
            "mail": { "type": "string", "format": "email" },
            "colours": { "type": "array", "items": { "type": "string", "enum": ["red", "green"] } },
        });
        for content in
            [json!({ "age": -1 }), json!({ "mail": "nobody" }), json!({ "colours": ["blue"] }), json!([])]
        {
            let answer = json!({ "action": "accept", "content": content });
            assert_eq!(
                validate(ELICITATION_CREATE, form(fields.clone()), answer).unwrap_err()["code"],
                -32603,
                "{content}"
            );
        }
        let good = json!({ "action": "accept", "content": { "mail": "a@example.org", "colours": ["red"] } });
        assert_eq!(validate(ELICITATION_CREATE, form(fields.clone()), good.clone()).unwrap(), good);
        let declined = json!({ "action": "decline", "content": { "age": -1 } });
        assert_eq!(
            validate(ELICITATION_CREATE, form(fields), declined).unwrap(),
            json!({ "action": "decline" })
        );
    }

    #[test]
    fn validates_sampling_and_roots_answers() {
        let ask = json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "Hi" } }] });
        let good =
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Hello" } });
        assert_eq!(validate(SAMPLING_CREATE_MESSAGE, ask.clone(), good.clone()).unwrap(), good);
        assert!(validate(SAMPLING_CREATE_MESSAGE, ask, json!({ "role": "assistant" })).is_err());
        assert!(validate(ROOTS_LIST, json!({}), json!({ "roots": [{ "uri": "https://x" }] })).is_err());
        assert!(validate(ROOTS_LIST, json!({}), json!({ "roots": [] })).is_ok());
    }
}
