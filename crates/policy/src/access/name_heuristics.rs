//! Words in names that indicate whether a tool makes changes (PERM-2).
//!
//! A server chooses its own words, so they are evidence in one direction only: a word of change makes a tool
//! `write`, but a word of reading doesn't make it `read` without a label that the user trusts. Mistakes must
//! always be on the side of `write`.

use gatehouse_common::name_words::split;

/// Indicates a change if contained in any word of a name.
const CHANGE_STEMS: &[&str] = &[
    "append",
    "creat",
    "delet",
    "destroy",
    "erase",
    "execut",
    "insert",
    "invok",
    "modif",
    "mutat",
    "overwrit",
    "purge",
    "remov",
    "renam",
    "replac",
    "spawn",
    "submit",
    "terminat",
    "truncat",
    "uninstall",
    "updat",
    "upload",
    "upsert",
    "write",
    "writing",
    "written",
];

/// Indicates a change if it is a whole word of a name, in any position.
pub(crate) const CHANGE_WORDS: &[&str] = &[
    "activate",
    "add",
    "adds",
    "apply",
    "approve",
    "assign",
    "attach",
    "ban",
    "bash",
    "buy",
    "cancel",
    "chmod",
    "chown",
    "cleanup",
    "clear",
    "click",
    "cmd",
    "configure",
    "cp",
    "deactivate",
    "decrement",
    "deploy",
    "deposit",
    "detach",
    "disable",
    "dispatch",
    "drag",
    "drop",
    "edit",
    "edits",
    "enable",
    "enqueue",
    "eval",
    "evaluate",
    "exec",
    "fill",
    "forget",
    "grant",
    "increment",
    "init",
    "initialize",
    "install",
    "invite",
    "join",
    "kick",
    "kill",
    "launch",
    "merge",
    "migrate",
    "mkdir",
    "mount",
    "move",
    "moves",
    "mute",
    "mv",
    "navigate",
    "pay",
    "powershell",
    "press",
    "provision",
    "publish",
    "purchase",
    "put",
    "reboot",
    "rebase",
    "refund",
    "register",
    "reject",
    "remember",
    "reply",
    "reset",
    "restart",
    "restore",
    "revert",
    "revoke",
    "rm",
    "rmdir",
    "rollback",
    "save",
    "send",
    "sends",
    "setup",
    "sh",
    "shell",
    "shutdown",
    "stash",
    "subscribe",
    "sudo",
    "suspend",
    "swap",
    "sync",
    "toggle",
    "touch",
    "transfer",
    "trash",
    "tweet",
    "undo",
    "unlink",
    "unlock",
    "unmount",
    "unsubscribe",
    "wipe",
    "withdraw",
];

/// Words that are as often nouns as verbs, such as `commit` in `get_commit`. They count unless a verb of
/// reading comes before them.
pub(crate) const AMBIGUOUS_CHANGE_WORDS: &[&str] = &[
    "archive", "backup", "block", "book", "branch", "build", "call", "change", "clone", "close", "comment",
    "commit", "copy", "do", "download", "email", "export", "follow", "fork", "format", "import", "like",
    "link", "lock", "log", "mail", "make", "message", "notify", "open", "order", "patch", "pause", "perform",
    "play", "post", "process", "pull", "push", "queue", "query", "react", "record", "release", "resume",
    "run", "schedule", "script", "set", "share", "sign", "sql", "start", "stop", "store", "switch", "tag",
    "trigger", "turn", "type", "use", "vote",
];

/// Verbs of reading.
const READ_VERBS: &[&str] = &[
    "analyze",
    "browse",
    "check",
    "compare",
    "count",
    "describe",
    "discover",
    "display",
    "enumerate",
    "explain",
    "explore",
    "fetch",
    "find",
    "get",
    "grep",
    "inspect",
    "is",
    "list",
    "lookup",
    "ls",
    "measure",
    "peek",
    "preview",
    "read",
    "recall",
    "resolve",
    "retrieve",
    "scan",
    "search",
    "show",
    "stat",
    "summarize",
    "validate",
    "verify",
    "view",
];

/// Nouns of things that are read. They are consistent with a read-only label but don't excuse any other word.
const READ_NOUNS: &[&str] = &[
    "cat",
    "details",
    "diff",
    "docs",
    "glob",
    "head",
    "health",
    "help",
    "history",
    "info",
    "logs",
    "overview",
    "ping",
    "schema",
    "screenshot",
    "snapshot",
    "stats",
    "status",
    "summary",
    "tail",
    "time",
    "tree",
    "version",
    "weather",
    "whoami",
];

/// After one of these a second verb may follow, so a verb of reading before them no longer excuses anything.
const CONJUNCTIONS: &[&str] = &["after", "also", "and", "n", "or", "plus", "then"];

/// Words of change in Chinese, which has no spaces to split at; matched as substrings.
pub(crate) const CHANGE_CHINESE: &[&str] = &[
    "创建",
    "删除",
    "写入",
    "修改",
    "更新",
    "执行",
    "运行",
    "发送",
    "添加",
    "移除",
    "上传",
    "移动",
    "重命名",
    "安装",
    "发布",
    "覆盖",
    "清空",
];

/// Words in a tool's name that indicate that it contacts a location given by its arguments.
const OUTSIDE_NAMES: &[&str] = &[
    "browse", "browser", "crawl", "curl", "download", "email", "fetch", "http", "https", "internet", "mail",
    "navigate", "online", "scrape", "sms", "url", "web", "webhook", "website", "wget",
];

/// Words in an argument's name that indicate that it is a location or a recipient.
const OUTSIDE_ARGUMENTS: &[&str] = &[
    "address",
    "addresses",
    "addr",
    "bcc",
    "callback",
    "cc",
    "domain",
    "domains",
    "email",
    "emails",
    "endpoint",
    "endpoints",
    "host",
    "hostname",
    "hostnames",
    "hosts",
    "href",
    "ip",
    "link",
    "links",
    "mailto",
    "phone",
    "proxy",
    "recipient",
    "recipients",
    "site",
    "uri",
    "uris",
    "url",
    "urls",
    "webhook",
    "webhooks",
    "website",
];

/// Returns the first word of a name that indicates that the tool changes or runs something.
pub(crate) fn change_word_in_name(words: &[String]) -> Option<&str> {
    let mut is_excused = false;
    for word in words {
        let word = word.as_str();
        if CONJUNCTIONS.contains(&word) {
            is_excused = false;
        } else if READ_VERBS.contains(&word) {
            is_excused = true;
        } else if is_change_word(word) || (!is_excused && AMBIGUOUS_CHANGE_WORDS.contains(&word)) {
            return Some(word);
        }
    }
    None
}

fn is_change_word(word: &str) -> bool {
    CHANGE_STEMS.iter().any(|stem| word.contains(stem))
        || CHANGE_WORDS.contains(&word)
        || CHANGE_CHINESE.iter().any(|deed| word.contains(deed))
}

/// Whether a name is consistent with a read-only label: ASCII only, and contains a word of reading.
pub(crate) fn is_read_name(name: &str, words: &[String]) -> bool {
    name.is_ascii()
        && words.iter().any(|word| READ_VERBS.contains(&word.as_str()) || READ_NOUNS.contains(&word.as_str()))
}

/// Whether a tool's name indicates that it reaches outside.
pub(crate) fn name_reaches_outside(words: &[String]) -> bool {
    words.iter().any(|word| OUTSIDE_NAMES.contains(&word.as_str()))
}

/// Whether an argument's name indicates a location or a recipient.
pub(crate) fn argument_reaches_outside(argument: &str) -> bool {
    let whole = argument.to_lowercase();
    whole == "to"
        || OUTSIDE_ARGUMENTS.contains(&whole.as_str())
        || split(argument).iter().any(|word| OUTSIDE_ARGUMENTS.contains(&word.as_str()))
}
