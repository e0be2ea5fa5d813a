//! Signing in, against a small authorization server with switches.

mod alone;
mod company;
mod discovery;
mod flow;
mod identity;
mod issuer;
mod leaks;
mod out;
mod refusals;
mod step_up;
mod tokens;
mod world;
