//! Errors of answers to approval requests.

use gatehouse_model::{ErrorCode, Message, UserError, message};

pub(super) fn stale_answer() -> UserError {
    UserError::new(ErrorCode::StaleAnswer, message!("error.tools.stale"))
        .with_hint(message!("error.tools.staleHint"))
}

pub(super) fn bad_request(what: Message) -> UserError {
    UserError::new(ErrorCode::BadRequest, what)
}
