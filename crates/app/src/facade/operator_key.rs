//! Rotation of the operator key.

use std::sync::Arc;

use gatehouse_model::command::{RequestSecret, RotatedKey};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, Problem};
use gatehouse_store::ControlKey;

use super::Parts;
use crate::operator::new_operator_key;

/// Creates a new operator key. Proofs made with the previous key are no longer valid, including those of
/// open connections.
pub(super) async fn rotate(parts: &Arc<Parts>) -> Result<RotatedKey, Problem> {
    let Some((proved, _)) = parts.operator.key() else {
        return Err(Problem::new(ErrorCode::BadRequest, "This Gatehouse has no operator key.")
            .why("Its own windows answer questions, or it was started where no key could be handed over."));
    };
    // Held until the end, so that the key stored last is the one in force.
    let _alone = parts.operator.alone().await;
    if parts.operator.authority(proved).is_none() {
        return Err(Problem::new(ErrorCode::NotPermitted, "The operator key was replaced meanwhile.")
            .todo("Use the new one."));
    }
    let key = new_operator_key()?;
    let control = ControlKey::of_operator_key(&key);
    parts.audit(AuditEvent::SettingsChanged { what: "the operator key was rotated".to_owned() }).await?;
    let kept = control.clone();
    parts.on_store(move |store| Ok(store.control_keys().keep_operator(&kept)?)).await?;
    parts.operator.replace(control);
    Ok(RotatedKey { key: RequestSecret::new(&key) })
}
