//! The least that the toolkit can do: one window with one word in it. The figures of Gatehouse's own
//! start stand beside those of this one. It prints a line when the word was painted.

use tauri::webview::WebviewWindowBuilder;
use tauri::{Url, WebviewUrl, http};

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>empty</title><p>Gatehouse<script>\
    requestAnimationFrame(() => requestAnimationFrame(() => { document.title = 'painted'; }));</script>";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address: Url = "empty://localhost/".parse()?;
    tauri::Builder::default()
        .register_uri_scheme_protocol("empty", |_, _| {
            let mut page = http::Response::new(PAGE.as_bytes().to_vec());
            page.headers_mut()
                .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/html"));
            page
        })
        .setup(|app| {
            WebviewWindowBuilder::new(app, "empty", WebviewUrl::CustomProtocol(address))
                .inner_size(1120.0, 720.0)
                .on_document_title_changed(|_, title| {
                    if title == "painted" {
                        println!("painted");
                    }
                })
                .build()?;
            Ok(())
        })
        .run(tauri::generate_context!())?;
    Ok(())
}
