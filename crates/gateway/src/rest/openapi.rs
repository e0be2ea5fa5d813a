//! `GET /v1/openapi.json`: the description of the API (OpenAPI 3.1). Like everything else here it needs a token, so that
//! nothing can be learned of a gateway without one.

use hyper::StatusCode;

use crate::rest::exchange::RestResponse;
use crate::rest::problem::ProblemDetails;
use crate::rest::query;

/// The description, in which [`VERSION`] stands for the version of Gatehouse.
const DESCRIPTION: &str = include_str!("openapi.json");
const VERSION: &str = "VERSION";

/// Serves the description.
pub(crate) fn serve(query: Option<&str>) -> Result<RestResponse, ProblemDetails> {
    query::none(query)?;
    let description = DESCRIPTION.replacen(VERSION, env!("CARGO_PKG_VERSION"), 1);
    Ok(RestResponse::json(StatusCode::OK, description))
}

#[cfg(test)]
mod tests {
    use gatehouse_models::adapters::ToolFormat;
    use serde_json::Value;

    use super::*;
    use crate::rest::endpoint::RestEndpoint;

    #[test]
    fn describes_each_path_and_format() {
        let response = serve(None).unwrap();
        let description: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(description["info"]["version"], env!("CARGO_PKG_VERSION"));
        let paths = description["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 3);
        for (path, methods) in paths {
            let endpoint = RestEndpoint::at(path.trim_start_matches('/')).unwrap();
            let method = endpoint.method().as_str().to_lowercase();
            assert_eq!(methods.as_object().unwrap().keys().collect::<Vec<_>>(), [&method], "{path}");
        }
        let formats = description["components"]["schemas"]["Format"]["enum"].as_array().unwrap();
        assert_eq!(formats.len(), ToolFormat::ALL.len());
        for format in ToolFormat::ALL {
            assert!(formats.contains(&query::format_name(format).into()), "{format:?}");
        }
    }
}
