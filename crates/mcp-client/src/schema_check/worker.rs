//! The schema worker process: reads validations from standard input and writes their outcomes to
//! standard output. It exits if a validation takes too long.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};

use jsonschema::PatternOptions;
use serde_json::Value;

use super::{CheckHeader, SchemaError, TIME};
use crate::worker_process::Watchdog;
#[cfg(unix)]
use crate::worker_process::limit_memory;

/// Number of compiled validators that are cached.
const MAX_VALIDATORS: usize = 32;

/// Backtracking steps for one match of a `pattern` with look-around or back references; all other
/// patterns match in linear time.
const MAX_BACKTRACK_STEPS: usize = 100_000;

/// Size of one compiled `pattern`, in bytes.
const PATTERN_SIZE: usize = 1024 * 1024;

/// Memory of a worker, in bytes: enough for the largest value after parsing.
#[cfg(unix)]
const MEMORY: u64 = 512 * 1024 * 1024;

/// Longest error message, in characters.
const MAX_REASON_CHARS: usize = 300;

/// One validation as it was received.
pub(super) struct CheckTask<'a> {
    pub(super) schema: &'a str,
    pub(super) value: Option<&'a str>,
    pub(super) formats: bool,
}

/// Cached validators by schema and `formats`.
#[derive(Default)]
pub(super) struct ValidatorCache(HashMap<(Box<str>, bool), jsonschema::Validator>);

impl ValidatorCache {
    pub(super) fn check(&mut self, task: &CheckTask<'_>) -> Result<(), SchemaError> {
        let key = (task.schema.into(), task.formats);
        if !self.0.contains_key(&key) {
            let validator =
                compile(task.schema, task.formats).map_err(|why| SchemaError::Unusable(cut(&why)))?;
            if self.0.len() >= MAX_VALIDATORS {
                self.0.clear();
            }
            self.0.insert(key.clone(), validator);
        }
        let Some((validator, value)) = self.0.get(&key).zip(task.value) else { return Ok(()) };
        let value: Value = serde_json::from_str(value)
            .map_err(|why| SchemaError::Unchecked(cut(&format!("the value cannot be read: {why}"))))?;
        validator.validate(&value).map_err(|why| SchemaError::Misfit {
            why: cut(&why.to_string()),
            at: cut(why.instance_path().as_str()),
        })
    }
}

fn compile(schema: &str, formats: bool) -> Result<jsonschema::Validator, String> {
    let schema: Value = serde_json::from_str(schema).map_err(|why| why.to_string())?;
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(MAX_BACKTRACK_STEPS)
        .size_limit(PATTERN_SIZE)
        .dfa_size_limit(PATTERN_SIZE);
    let options = jsonschema::options().with_pattern_options(patterns);
    let options = if formats { options.should_validate_formats(true) } else { options };
    options.build(&schema).map_err(|why| why.to_string())
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_REASON_CHARS).collect()
}

/// Serves until standard input ends.
pub fn serve() {
    #[cfg(unix)]
    limit_memory(MEMORY);
    let watchdog = Watchdog::start(TIME);
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = io::stdout().lock();
    let mut validators = ValidatorCache::default();
    while let Ok(Some((head, text))) = read(&mut input) {
        let Some((schema, value)) = text.split_at_checked(head.schema) else { return };
        let task = CheckTask { schema, value: head.value.map(|_| value), formats: head.formats };
        watchdog.begin();
        let outcome = validators.check(&task);
        watchdog.end();
        let Ok(mut line) = serde_json::to_vec(&outcome) else { return };
        line.push(b'\n');
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// Reads the next validation, with schema and value as one text; `None` at the end.
fn read(input: &mut impl BufRead) -> io::Result<Option<(CheckHeader, String)>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let head: CheckHeader = serde_json::from_str(&line)?;
    let mut bytes = vec![0; head.schema.saturating_add(head.value.unwrap_or(0))];
    input.read_exact(&mut bytes)?;
    Ok(Some((head, String::from_utf8(bytes).map_err(io::Error::other)?)))
}
