//! Rotation of the operator key.

use std::sync::Arc;

use gatehouse_model::command::{RequestSecret, RotatedKey};
use gatehouse_model::record::AuditEvent;
use gatehouse_model::{ErrorCode, UserError, message};
use gatehouse_store::ControlKey;

use super::AppState;
use crate::authority::operator_key::new_operator_key;

/// Creates a new operator key. Proofs made with the previous key are no longer valid, including those of
/// open connections.
pub(super) async fn rotate(state: &Arc<AppState>) -> Result<RotatedKey, UserError> {
    let Some((credential, _)) = state.operator.key() else {
        return Err(UserError::new(ErrorCode::BadRequest, message!("error.app.noOperatorKey"))
            .with_cause(message!("error.app.noOperatorKeyCause")));
    };
    // Held until the end, so that the key stored last is the one in force.
    let _alone = state.operator.lock_rotation().await;
    if state.operator.authority(credential).is_none() {
        return Err(UserError::new(ErrorCode::NotPermitted, message!("error.app.operatorKeyReplaced"))
            .with_hint(message!("error.app.operatorKeyReplacedHint")));
    }
    let key = new_operator_key()?;
    let control = ControlKey::of_operator_key(&key);
    let what = message!("audit.settings.keyRotated").into();
    state.audit(AuditEvent::SettingsChanged { what }).await?;
    let control_key = control.clone();
    state.with_store(move |store| Ok(store.control_keys().keep_operator(&control_key)?)).await?;
    state.operator.replace(control);
    Ok(RotatedKey { key: RequestSecret::new(&key) })
}
