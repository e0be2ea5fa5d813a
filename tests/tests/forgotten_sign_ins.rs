//! Stored sign-ins are deleted with the server that they belong to: when it is removed, when its
//! identity changes, when the operator key is created anew, and also later if the deletion failed at
//! that time.

use anyhow::{Context, Result, ensure};
use gatehouse_auth::secret_keys;
use gatehouse_model::{Secret, ServerConfig};
use gatehouse_store::SecretKey;
use gatehouse_tests::gatehouse::Gatehouse;
use gatehouse_tests::sign_in::SignInTestbed;
use serde_json::{Value, json};

/// A scene with a signed-in server, and the keys under which the sign-in is stored.
fn signed_in() -> Result<(SignInTestbed, Vec<SecretKey>)> {
    let scene = SignInTestbed::start(&[])?;
    scene.add("diary")?;
    scene.sign_in("diary", "ann")?;
    let keys = secret_keys(&serde_json::from_value::<ServerConfig>(config(&scene.gatehouse)?)?);
    Ok((scene, keys.into()))
}

/// The configuration of the server.
fn config(gatehouse: &Gatehouse) -> Result<Value> {
    let servers = gatehouse.ask(&["servers", "list"])?;
    let found = servers.as_array().into_iter().flatten().find(|view| view["config"]["name"] == "diary");
    Ok(found.context("no server")?["config"].clone())
}

/// Stops Gatehouse and counts how many of these keys are stored.
fn kept(gatehouse: &mut Gatehouse, keys: &[SecretKey]) -> Result<usize> {
    gatehouse.stop()?;
    let store = gatehouse.open_store()?;
    let secrets = store.secrets();
    let mut count = 0;
    for key in keys {
        count += usize::from(secrets.get(key)?.is_some());
    }
    store.close();
    Ok(count)
}

#[test]
fn it_goes_with_a_server_that_is_removed() -> Result<()> {
    let (mut scene, keys) = signed_in()?;
    let gatehouse = &mut scene.gatehouse;
    // The tokens and the registration.
    ensure!(kept(gatehouse, &keys)? == 2, "it is kept under other names");
    gatehouse.launch()?;
    ensure!(config(gatehouse)?["name"] == "diary");
    gatehouse.ask(&["servers", "remove", "diary"])?;
    ensure!(kept(gatehouse, &keys)? == 0, "it outlives its server");
    Ok(())
}

#[test]
fn it_goes_with_a_server_that_becomes_another_one_and_stays_with_one_that_is_renamed() -> Result<()> {
    let (mut scene, keys) = signed_in()?;
    let gatehouse = &mut scene.gatehouse;
    let before = config(gatehouse)?;
    let draft = |name: &str, headers: Value| {
        let mut draft = json!({ "name": name, "transport": before["transport"] });
        draft["transport"]["headers"] = headers;
        json!({ "server": before["id"], "draft": draft })
    };
    gatehouse.command("servers.edit", &draft("renamed", before["transport"]["headers"].clone()))?;
    ensure!(kept(gatehouse, &keys)? == 2, "a rename forgets the sign-in");
    gatehouse.launch()?;
    gatehouse.command("servers.edit", &draft("diary", json!({ "X-Team": "1" })))?;
    ensure!(config(gatehouse)?["generation"] != before["generation"], "it is the same server still");
    ensure!(kept(gatehouse, &keys)? == 0, "another server has the sign-in of the one before");
    Ok(())
}

#[test]
fn it_goes_when_an_operator_key_is_made_anew() -> Result<()> {
    let (mut scene, keys) = signed_in()?;
    let gatehouse = &mut scene.gatehouse;
    gatehouse.stop()?;
    gatehouse.take_operator_key()?;
    gatehouse.launch_with(&["--new-operator-key"])?;
    ensure!(kept(gatehouse, &keys)? == 0, "it is there, and serves nothing");
    Ok(())
}

/// As if the keychain was locked or Gatehouse was killed while the server was removed, or a browser
/// returned late.
#[test]
fn what_was_left_of_a_server_goes_at_the_next_start() -> Result<()> {
    let (mut scene, keys) = signed_in()?;
    let gatehouse = &mut scene.gatehouse;
    gatehouse.ask(&["servers", "remove", "diary"])?;
    gatehouse.stop()?;
    {
        let store = gatehouse.open_store()?;
        for key in &keys {
            store.secrets().set(key, &Secret::new("{}"))?;
        }
        store.close();
    }
    gatehouse.launch()?;
    ensure!(kept(gatehouse, &keys)? == 0, "it outlives its server");
    Ok(())
}
