//! The access class of tools, case by case (PERM-2).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub, reason = "tests")]

use gatehouse_model::grant::{AccessClass, ClassReason};
use gatehouse_policy::access::{ToolFacts, classify};

fn reason(reason: &ClassReason) -> String {
    match reason {
        ClassReason::Override => "override".to_owned(),
        ClassReason::Annotation { hint } => format!("hint {hint}"),
        ClassReason::Name { word } => format!("name {word}"),
        ClassReason::Description { word } => format!("says {word}"),
        ClassReason::TrustedLabel => "trusted label".to_owned(),
        ClassReason::UntrustedLabel => "untrusted label".to_owned(),
        ClassReason::NotATool => "no tool".to_owned(),
        ClassReason::Default => "nothing".to_owned(),
    }
}

fn outcome(tool: &ToolFacts<'_>, user: Option<AccessClass>, trusted: bool) -> String {
    let classified = classify(tool, user, trusted);
    let class = match classified.class {
        AccessClass::Read => "read",
        AccessClass::Write => "write",
    };
    format!("{class}: {}", reason(&classified.reason))
}

#[test]
fn classifies_names_with_trusted_read_only_labels() {
    for (name, expected) in [
        ("read_file", "read: trusted label"),
        ("read_text_file", "read: trusted label"),
        ("read_multiple_files", "read: trusted label"),
        ("list_directory", "read: trusted label"),
        ("list_directory_with_sizes", "read: trusted label"),
        ("directory_tree", "read: trusted label"),
        ("search_files", "read: trusted label"),
        ("get_file_info", "read: trusted label"),
        ("getFileInfo", "read: trusted label"),
        ("get-current-time", "read: trusted label"),
        ("convert_time", "read: trusted label"),
        ("browser_snapshot", "read: trusted label"),
        ("get_commit", "read: trusted label"),
        ("list_pull_requests", "read: trusted label"),
        ("get_workflow_run", "read: trusted label"),
        ("read_query", "read: trusted label"),
        ("describe_table", "read: trusted label"),
        ("git_status", "read: trusted label"),
        ("git_diff", "read: trusted label"),
        ("notes.search", "read: trusted label"),
        ("search", "read: trusted label"),
        ("write_file", "write: name write"),
        ("edit_file", "write: name edit"),
        ("create_directory", "write: name create"),
        ("move_file", "write: name move"),
        ("deleteFile", "write: name delete"),
        ("writefile", "write: name writefile"),
        ("run", "write: name run"),
        ("exec", "write: name exec"),
        ("execute_command", "write: name execute"),
        ("run_terminal_cmd", "write: name run"),
        ("query", "write: name query"),
        ("sql_query", "write: name sql"),
        ("send_message", "write: name send"),
        ("post_comment", "write: name post"),
        ("browser_click", "write: name click"),
        ("browser_type", "write: name type"),
        ("browser_navigate", "write: name navigate"),
        ("browser_evaluate", "write: name evaluate"),
        ("git_commit", "write: name commit"),
        ("git_push", "write: name push"),
        ("git_add", "write: name add"),
        ("set_value", "write: name set"),
        ("get_and_run", "write: name run"),
        ("getOrCreateUser", "write: name create"),
        ("find_and_replace", "write: name replace"),
        ("search_then_delete", "write: name delete"),
        ("commit_and_list", "write: name commit"),
        ("list_updates", "write: name updates"),
        ("get_deleted_items", "write: name deleted"),
        ("echo", "write: nothing"),
        ("sequentialthinking", "write: nothing"),
        ("do_thing", "write: name do"),
        ("", "write: nothing"),
        ("reаd_file", "write: nothing"),
        ("list\u{200b}_files", "write: nothing"),
        ("读取文件", "write: nothing"),
        ("删除文件", "write: name 删除文件"),
    ] {
        let tool = ToolFacts { name, read_only_hint: Some(true), ..ToolFacts::default() };
        assert_eq!(outcome(&tool, None, true), expected, "{name}");
    }
}

#[test]
fn applies_evidence_in_order() {
    let read = ToolFacts { name: "read_file", read_only_hint: Some(true), ..ToolFacts::default() };
    let write = ToolFacts { name: "write_file", destructive_hint: Some(true), ..ToolFacts::default() };
    let says = |description| ToolFacts { description: Some(description), ..read };
    for (name, tool, user, trusted, expected) in [
        ("the user's word is first", write, Some(AccessClass::Read), false, "read: override"),
        ("also when it is the stricter one", read, Some(AccessClass::Write), true, "write: override"),
        ("a label counts only when trusted", read, None, false, "write: untrusted label"),
        ("a trusted label", read, None, true, "read: trusted label"),
        (
            "an untrusted label that the name contradicts",
            ToolFacts { name: "echo", ..read },
            None,
            false,
            "write: nothing",
        ),
        ("no label", ToolFacts { read_only_hint: None, ..read }, None, true, "write: nothing"),
        (
            "not read-only",
            ToolFacts { read_only_hint: Some(false), ..read },
            None,
            true,
            "write: hint readOnlyHint",
        ),
        (
            "destructive and read-only",
            ToolFacts { destructive_hint: Some(true), ..read },
            None,
            true,
            "write: hint destructiveHint",
        ),
        (
            "not destructive says nothing",
            ToolFacts { destructive_hint: Some(false), ..read },
            None,
            true,
            "read: trusted label",
        ),
        ("the annotation before the name", write, None, true, "write: hint destructiveHint"),
        (
            "the name against the label",
            ToolFacts { name: "delete_file", ..read },
            None,
            true,
            "write: name delete",
        ),
        (
            "the title against the label",
            ToolFacts { title: Some("Delete File"), ..read },
            None,
            true,
            "write: name delete",
        ),
        (
            "the description against the label",
            says("Deletes what it reads."),
            None,
            true,
            "write: says deletes",
        ),
        (
            "a description of reading",
            says("Read the complete contents of a file. Only works within allowed directories."),
            None,
            true,
            "read: trusted label",
        ),
        ("a description that denies", says("Never writes anything."), None, true, "read: trusted label"),
    ] {
        assert_eq!(outcome(&tool, user, trusted), expected, "{name}");
    }
}

#[test]
fn accepts_ordinary_read_descriptions() {
    for description in [
        "Reads a file as text from the disk. Handles several encodings and reports an error when the file cannot be read. Takes 'head' to read only the first N lines and 'tail' to read only the last. Only works within allowed directories.",
        "Reads several files at once, which is faster than reading them one by one. A file that fails will not stop the operation.",
        "Get a detailed listing of all files and directories in a path, with [FILE] and [DIR] in front. Essential for understanding the structure.",
        "Get a recursive tree view as JSON, formatted with two spaces for readability.",
        "Recursively search for files that match a pattern. Great for finding files when you don't know their location.",
        "Retrieve metadata: size, creation time, last modified time, permissions and type, without reading the content.",
        "Returns the list of directories that this server is allowed to access. Use this to understand which paths are available before trying to access files.",
        "Get the current time in a time zone.",
        "Convert a time between zones.",
        "List commits of a branch.",
        "Search for issues and comments in a repository.",
        "Take a screenshot of the page. You can't perform actions based on it, use the snapshot for that.",
    ] {
        let tool = ToolFacts {
            name: "read_it",
            description: Some(description),
            read_only_hint: Some(true),
            ..ToolFacts::default()
        };
        assert_eq!(outcome(&tool, None, true), "read: trusted label", "{description}");
    }
}

#[test]
fn detects_tools_that_reach_outside() {
    let plain = ToolFacts { name: "read_it", ..ToolFacts::default() };
    for (tool, outside) in [
        (plain, false),
        (ToolFacts { open_world_hint: Some(true), ..plain }, true),
        (ToolFacts { open_world_hint: Some(false), ..plain }, false),
        (ToolFacts { open_world_hint: Some(false), argument_names: &["url"], ..plain }, true),
        (ToolFacts { argument_names: &["path", "baseUrl"], ..plain }, true),
        (ToolFacts { argument_names: &["to"], ..plain }, true),
        (ToolFacts { argument_names: &["recipientEmail"], ..plain }, true),
        (ToolFacts { argument_names: &["HOST"], ..plain }, true),
        (ToolFacts { argument_names: &["webhook_endpoint"], ..plain }, true),
        (
            ToolFacts {
                argument_names: &["path", "head", "tail", "pattern", "excludePatterns", "sortBy"],
                ..plain
            },
            false,
        ),
        (
            ToolFacts {
                argument_names: &["timezone", "time", "source_timezone", "upto", "curl_free"],
                ..plain
            },
            false,
        ),
        (ToolFacts { name: "fetch", ..plain }, true),
        (ToolFacts { name: "web_search", ..plain }, true),
    ] {
        assert_eq!(classify(&tool, None, true).reaches_outside, outside, "{tool:?}");
        assert_eq!(classify(&tool, Some(AccessClass::Read), false).reaches_outside, outside, "{tool:?}");
    }
}
