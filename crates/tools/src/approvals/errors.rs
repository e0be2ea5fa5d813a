//! Errors of answers to approval requests.

use gatehouse_model::{ErrorCode, UserError};

pub(super) fn stale_answer() -> UserError {
    UserError::new(ErrorCode::StaleAnswer, "The approval request is gone, or shows another call by now.")
        .with_hint("Look at the approval requests that wait and answer again.")
}

pub(super) fn bad_request(what: &str) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}
