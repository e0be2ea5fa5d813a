//! The documents of clients that ask for access, fetched by the rules of `auth` for addresses that others choose.

use gatehouse_gateway::ClientDocuments;
use gatehouse_model::{BoxFuture, UserText};
use serde_json::Value;

pub(crate) struct PublicClientDocuments;

impl ClientDocuments for PublicClientDocuments {
    fn fetch(&self, address: String) -> BoxFuture<'static, Result<Value, UserText>> {
        Box::pin(gatehouse_auth::fetch_client_document(address))
    }
}
