//! The built-in server `Time`: the current time in a time zone, and conversion between zones. The
//! time zone database is bundled with the program, so that answers don't depend on the machine's
//! database.

use gatehouse_model::Timestamp;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Moment, Zoned};
use serde_json::{Map, Value, json};

use crate::tool::{
    ToolAccess, ToolError, ToolOutput, optional_text, reject_unknown, schema, text_argument, tool,
};

pub(super) fn tools() -> Vec<Value> {
    let zone = |what: &str| json!({ "type": "string", "description": format!("{what} An IANA name such as \"Europe/Paris\" or \"UTC\".") });
    vec![
        tool(
            "current_time",
            "Current time",
            "Tells the date and time, in one time zone.",
            ToolAccess::Reads,
            schema(json!({ "timezone": zone("Where. The machine's own zone if left out.") }), &[]),
        ),
        tool(
            "convert_time",
            "Convert a time",
            "Tells what a date and time of one time zone is in another.",
            ToolAccess::Reads,
            schema(
                json!({
                    "time": {
                        "type": "string",
                        "description": "\"HH:MM\" (today), or \"YYYY-MM-DDTHH:MM\", both with seconds if need be.",
                    },
                    "from": zone("The zone of the time."),
                    "to": zone("The zone that is asked for."),
                }),
                &["time", "from", "to"],
            ),
        ),
    ]
}

pub(super) fn run(
    tool: &str,
    arguments: &Map<String, Value>,
    now: Timestamp,
) -> Result<ToolOutput, ToolError> {
    let now = Moment::from_millisecond(now.0)
        .map_err(|_| ToolError::message("The clock of this machine is wrong."))?;
    match tool {
        "current_time" => {
            reject_unknown(arguments, &["timezone"])?;
            let zone = match optional_text(arguments, "timezone")? {
                Some(name) => zone_named(name)?,
                None => TimeZone::system(),
            };
            let there = now.to_zoned(zone);
            Ok(ToolOutput { text: describe(&there), structured: Some(data(&there)) })
        }
        "convert_time" => {
            reject_unknown(arguments, &["time", "from", "to"])?;
            let (from, to) = (text_argument(arguments, "from")?, text_argument(arguments, "to")?);
            let (from, to) = (zone_named(from)?, zone_named(to)?);
            let civil = civil_time(text_argument(arguments, "time")?, &now.to_zoned(from.clone()))?;
            let here = civil
                .to_zoned(from)
                .map_err(|_| ToolError::message("This date and time is out of range."))?;
            let there = here.with_time_zone(to);
            Ok(ToolOutput {
                text: format!("{} is {}.", describe(&here), describe(&there)),
                structured: Some(json!({ "from": data(&here), "to": data(&there) })),
            })
        }
        _ => Err(ToolError::NoSuchTool),
    }
}

fn zone_named(name: &str) -> Result<TimeZone, ToolError> {
    TimeZone::get(name).map_err(|_| {
        ToolError::message(format!(
            "There is no time zone named \"{name}\". Use an IANA name such as \"Europe/Paris\"."
        ))
    })
}

fn civil_time(text: &str, today: &Zoned) -> Result<DateTime, ToolError> {
    if let Ok(date_time) = text.parse::<DateTime>() {
        // A date alone would also be parsed, as midnight.
        if text.contains(':') {
            return Ok(date_time);
        }
    }
    match text.parse::<Time>() {
        Ok(time) => Ok(today.date().to_datetime(time)),
        Err(_) => Err(ToolError::message(format!(
            "\"{text}\" is no time such as \"14:30\" or \"2026-01-31T14:30\"."
        ))),
    }
}

fn describe(moment: &Zoned) -> String {
    moment.strftime("%A, %Y-%m-%d %H:%M:%S %:z (%Q)").to_string()
}

fn data(moment: &Zoned) -> Value {
    json!({
        "timezone": moment.time_zone().iana_name().unwrap_or("unknown"),
        "datetime": moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        "weekday": moment.strftime("%A").to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2026-07-28T12:00:00Z
    const NOW: Timestamp = Timestamp(1_785_240_000_000);

    fn ask(tool: &str, arguments: Value) -> Result<Value, String> {
        let Value::Object(arguments) = arguments else { panic!("no object") };
        run(tool, &arguments, NOW)
            .map(|outcome| outcome.structured.unwrap())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn converts_now_to_time_zones() {
        let table = [
            ("UTC", "2026-07-28T12:00:00+00:00"),
            ("Europe/Paris", "2026-07-28T14:00:00+02:00"),
            ("Asia/Shanghai", "2026-07-28T20:00:00+08:00"),
            ("America/St_Johns", "2026-07-28T09:30:00-02:30"),
        ];
        for (zone, expected) in table {
            let answer = ask("current_time", json!({ "timezone": zone })).unwrap();
            assert_eq!(answer["datetime"], expected, "{zone}");
            assert_eq!(answer["weekday"], "Tuesday");
        }
        ask("current_time", json!({})).unwrap();
    }

    #[test]
    fn converts_across_daylight_saving_time() {
        let table = [
            ("14:30", "Europe/Paris", "America/New_York", "2026-07-28T08:30:00-04:00"),
            ("2026-01-15T14:30", "Europe/Paris", "UTC", "2026-01-15T13:30:00+00:00"),
            ("2026-07-15T14:30:15", "Europe/Paris", "UTC", "2026-07-15T12:30:15+00:00"),
            ("23:00", "UTC", "Asia/Tokyo", "2026-07-29T08:00:00+09:00"),
        ];
        for (time, from, to, expected) in table {
            let answer = ask("convert_time", json!({ "time": time, "from": from, "to": to })).unwrap();
            assert_eq!(answer["to"]["datetime"], expected, "{time} {from} {to}");
        }
    }

    #[test]
    fn rejects_invalid_arguments() {
        let table = [
            (
                ask("current_time", json!({ "timezone": "Mars/Olympus" })),
                "no time zone named \"Mars/Olympus\"",
            ),
            (ask("current_time", json!({ "timezone": 5 })), "has to be a text"),
            (ask("current_time", json!({ "zone": "UTC" })), "no argument \"zone\""),
            (
                ask("convert_time", json!({ "time": "noonish", "from": "UTC", "to": "UTC" })),
                "no time such as",
            ),
            (
                ask("convert_time", json!({ "time": "2026-01-15", "from": "UTC", "to": "UTC" })),
                "no time such as",
            ),
            (ask("convert_time", json!({ "from": "UTC", "to": "UTC" })), "\"time\" is missing"),
            (ask("tomorrow", json!({})), "no such tool"),
        ];
        for (answer, expected) in table {
            let said = answer.unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }
}
