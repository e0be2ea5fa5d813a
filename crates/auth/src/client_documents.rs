//! Client ID Metadata Documents of clients that want access to Gatehouse itself. The address comes from an unknown
//! client, so it must lead to the public internet, and no redirect is followed.

use gatehouse_model::UserText;
use serde_json::Value;
use url::Url;

use crate::http_client::AuthHttpClient;

/// Fetches the JSON document at an https address. The error says why there is none.
pub async fn fetch_client_document(address: String) -> Result<Value, UserText> {
    let address = Url::parse(&address).map_err(|error| UserText::from(format!("{error}.")))?;
    AuthHttpClient::of_public_documents().get(&address).await.map_err(|error| error.into_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fetches_nothing_from_this_computer_or_its_network() {
        for address in [
            "https://localhost/client.json",
            "https://127.0.0.1/client.json",
            "https://[::1]/client.json",
            "https://192.168.0.1/client.json",
            "https://169.254.169.254/latest/meta-data",
            "http://127.0.0.1/client.json",
            "http://app.example/client.json",
        ] {
            let found = fetch_client_document(address.to_owned()).await;
            let UserText::Message(why) = found.unwrap_err() else { panic!("{address}") };
            assert!(
                matches!(why.key.as_str(), "error.auth.cause.private" | "error.auth.cause.notHttps"),
                "{address}: {}",
                why.key
            );
        }
    }
}
