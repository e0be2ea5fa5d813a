//! The call door from the outside: a real store, real servers, and a person who is the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub, reason = "tests")]

mod asking;
mod house;
mod late;
mod paths;
mod patience;
mod presets;
mod rehearsal;
mod rights;
mod stop;
mod unbound;
mod upstream;
