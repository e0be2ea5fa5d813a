//! Streamed answers and requests of the four APIs, as the providers document them, without a connection.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod answers;
mod anthropic_streams;
mod cut_and_split;
mod gemini_streams;
mod openai_chat_streams;
mod openai_responses_streams;
mod requests;
mod stream_case;
