//! Time limits of calls, as options take them.

use gatehouse_model::server::TimeLimit;

/// A number of seconds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) Option<u32>);

impl Seconds {
    pub(super) fn read(word: &str) -> Result<Self, String> {
        if word == "none" {
            return Ok(Self(None));
        }
        let secs = word.parse().ok().filter(|secs| *secs > 0);
        secs.map(|secs| Self(Some(secs))).ok_or_else(|| "a number of seconds from 1, or `none`".to_owned())
    }
}

/// Parses a time limit of one server.
pub(super) fn time_limit(word: &str) -> Result<TimeLimit, String> {
    if word == "default" {
        return Ok(TimeLimit::Default);
    }
    match Seconds::read(word) {
        Ok(Seconds(secs)) => Ok(secs.map_or(TimeLimit::Unlimited, TimeLimit::Secs)),
        Err(_) => {
            Err("a number of seconds from 1, `none`, or `default` for what is set for all servers".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_time_limits() {
        for (word, own, of_all) in [
            ("5", Some(TimeLimit::Secs(5)), Some(Seconds(Some(5)))),
            ("none", Some(TimeLimit::Unlimited), Some(Seconds(None))),
            ("default", Some(TimeLimit::Default), None),
            ("0", None, None),
            ("-1", None, None),
            ("", None, None),
        ] {
            assert_eq!((time_limit(word).ok(), Seconds::read(word).ok()), (own, of_all), "{word}");
        }
    }
}
