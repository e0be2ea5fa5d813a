//! Stores tokens in the keychain for `bridge`. It is done by this program and not by the core, which may keep its
//! secrets elsewhere: the bridge is this program too, and runs in the session of the same user.

use gatehouse_app::{BridgeTokens, Owner};
use gatehouse_common::display_name;
use gatehouse_model::command::{ClientsIdentify, MintedClient, RequestSecret, Status};
use gatehouse_model::{ErrorCode, Secret, UserError, message};

use crate::bridge::tokens;
use crate::error::CliError;
use crate::session::ControlSession;

/// The keychain, opened before a token is made that could not be stored.
pub(super) struct BridgeKeychain(BridgeTokens);

impl BridgeKeychain {
    pub(super) fn open(session: &ControlSession) -> Result<Self, CliError> {
        Ok(Self(tokens::open(session.data_dir())?))
    }

    /// Stores the token of a client that was just added or got a new token.
    pub(super) async fn store_minted(
        &self,
        minted: &MintedClient,
        session: &mut ControlSession,
    ) -> Result<(), CliError> {
        let name = &minted.client.name;
        self.store(name, &Secret::new(minted.token.reveal()), session).await.map_err(|cause| {
            let cause = cause.text(false).unwrap_or_default();
            UserError::new(ErrorCode::SecretsUnavailable, message!("error.ctl.bridgeNotStored", name = name))
                .with_cause(cause)
                .with_hint(message!("error.ctl.bridgeNotStoredHint", name = name))
                .into()
        })
    }

    /// Deletes the token of a client of the running Gatehouse, if it was stored.
    pub(super) async fn delete(&self, name: &str, session: &mut ControlSession) -> Result<(), CliError> {
        let owner = owner(session).await?;
        Ok(self.0.delete(owner, name).map_err(UserError::from)?)
    }

    async fn store(&self, name: &str, token: &Secret, session: &mut ControlSession) -> Result<(), CliError> {
        let owner = owner(session).await?;
        Ok(self.0.set(owner, name, token).map_err(UserError::from)?)
    }
}

/// Whose clients those of the running Gatehouse are.
async fn owner(session: &mut ControlSession) -> Result<Owner, CliError> {
    let status = session.run(&Status {}).await?;
    Ok(if status.answered_by == "window" { Owner::Window } else { Owner::Serve })
}

/// Stores a token that the user has. The running Gatehouse must know it as this client's: else a program with a token of
/// its own could have the bridges of another client use that.
pub(super) async fn keep(session: &mut ControlSession, name: &str, token: Secret) -> Result<(), CliError> {
    session.use_client_token(token.clone());
    let client = session.run(&ClientsIdentify { token: RequestSecret::new(&token) }).await?;
    if !display_name::is_same(&client.name, name) {
        let what = message!("error.ctl.tokenOfAnother", name = name, owner = &client.name);
        return Err(UserError::new(ErrorCode::BadRequest, what).into());
    }
    BridgeKeychain::open(session)?.store(name, &token, session).await
}
