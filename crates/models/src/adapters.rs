//! The tool formats of model providers, both ways: definitions of MCP tools out ([`AdaptedTools`]), tool calls of models in
//! ([`read_call`], [`finish_call`]), results of tools back ([`render_result`]). A call is validated against the schema of
//! its server, whatever the model was shown of it ([`check_arguments`]).
//!
//! Nothing here sends anything, decides about a call, or changes a value: arguments reach the tool byte for byte, and a
//! repair only adds or removes what stands around values. What a format can't carry is listed, never dropped silently.
//!
//! Where the rules come from, by the names of the documents' sections:
//!
//! - OpenAI, guides "Function calling" ("Defining functions", "Strict mode", "Handling function calls") and "Structured
//!   outputs" ("Supported schemas": all fields are required, `additionalProperties: false` in objects, the root is an
//!   object and no `anyOf`, limits on nesting and size, the supported keywords of each type, definitions and recursion);
//!   the API reference of chat completions (`tools`, `tool_calls`, messages of the role `tool`, which have only text) and
//!   of responses (function tools, where `strict` is on unless it is turned off; `function_call`; `function_call_output`
//!   with text, images and files).
//! - Anthropic, "Define tools" and "Handle tool calls" (`input_schema` is JSON Schema 2020-12, an object without `anyOf`,
//!   `oneOf` and `allOf` at its root; names of arguments; `tool_result` with text, images and documents; `is_error`).
//! - Gemini, API reference of `FunctionDeclaration`, `Schema`, `FunctionCall`, `FunctionResponse` and
//!   `FunctionResponsePart`, and the guide "Function calling" ("Function declarations", "Multimodal function responses",
//!   "Thought signatures"). A `Schema` is a subset of OpenAPI 3.0: one type for each value, keywords only beside the type
//!   that they are for, `enum` only of strings, `nullable` in place of the type `null`, no references.
//!
//! For all of them: `type: object` and `properties` at the root; `additionalProperties: false` in objects that name their
//! properties and say nothing else, where the format has it; texts without invisible characters, and cut.

mod argument_check;
mod argument_repair;
mod json_numbers;
mod provider_names;
mod provider_texts;
mod result_parts;
mod results;
mod schema_reduction;
mod tool_calls;
mod tool_format;
mod tool_list;

pub use argument_check::check_arguments;
pub use results::{RenderedResult, render_result};
pub use tool_calls::{CallDefect, detect_format, finish_call, read_call, read_calls};
pub(crate) use tool_calls::{is_made_up_id, made_up_id};
pub use tool_format::ToolFormat;
pub use tool_list::{AdaptedTools, LeftOutTool};
