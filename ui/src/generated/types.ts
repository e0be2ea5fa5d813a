// Written by `cargo xtask codegen` from crates/model; changes here are lost.

export const EVENT_VERSION = 1;

/** Whether a tool only looks or also changes something. */
export type AccessClass = "read" | "write";

/** Access class of a tool with what led to it (PERM-2). */
export type AccessClassification = { class: AccessClass,
/** What decided. */
reason: ClassReason,
/**
 * It reaches a target that its arguments name (URL, host, recipient, open world); never part
 * of "all reads".
 */
reachesOutside: boolean, };

/** The user's own word on one tool's access class. */
export type AccessOverride = { server: ServerBinding,
/** Name of the tool on the server. */
tool: string, class: AccessClass, };

/** An AI application. The words are those of `gatehousectl`. */
export type App = "claude-desktop" | "claude-code" | "cursor" | "vscode" | "windsurf" | "zed" | "cline" | "codex" | "gemini" | "lm-studio" | "opencode" | "continue";

/** An AI application, and whether it is connected. */
export type AppView = { app: App, name: string,
/** Whether it was found on this computer: its settings folder or its program. */
isInstalled: boolean,
/** Its settings file, whether or not it exists. */
settingsFile: string, state: ConnectionState,
/** Whether its settings have an entry of Gatehouse's name that Gatehouse didn't write. */
hasForeignEntry: boolean,
/** The client of the connection. */
client: ClientView | null,
/** When the client last called a tool. */
lastCall: Timestamp | null,
/** Why its settings can't be read. */
problem: UserError | null, };

/** What a person answers. */
export type ApprovalAnswer = { "answer": "allow", choice: GrantChoice, } | { "answer": "deny",
/** As wide and as long as chosen. */
choice: GrantChoice,
/** What the model gets to read. */
reason: string | null, } | { "answer": "accept",
/** JSON text. */
content: string | null, } | { "answer": "decline" } | { "answer": "cancel" };

/** One approval request put to a person. */
export type ApprovalId = string;

/** A request to a person. */
export type ApprovalRequest = { "kind": "call" } & CallApprovalRequest | { "kind": "client" } & ClientAccessRequest | { "kind": "command" } & CommandRequest | { "kind": "config_change" } & ConfigChangeRequest | { "kind": "elicitation" } & ElicitationRequest | { "kind": "sampling" } & SamplingRequest | { "kind": "step_up" } & ScopeUpgradeRequest;

/** Answers approval requests. All answers of one request are for approval requests that were shown together. */
export type ApprovalsAnswer = { answers: Array<SubmittedAnswer>, };

/** Lets the model for sampling write an answer to a waiting sampling request. Nothing is sent to the server. */
export type ApprovalsGenerate = { id: ApprovalId,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/**
 * The approval requests that wait, with the whole arguments (secrets masked) and what is offered of as many as one
 * reply has room for, which is one at least. The others say that they are abridged; they come when the list
 * is asked for again.
 */
export type ApprovalsList = {
/** Approval requests that the reader has already; their arguments and what they offer are left out. */
known: Array<ApprovalId>, };

/** A model's opinion about a waiting call (PERM-17); none where that is off. It decides nothing. */
export type ApprovalsOpinion = { id: ApprovalId,
/** The hash that was shown. */
hash: CallHash, };

/** Makes a call of the built-in clock that needs approval, to show what a request looks like. Waits for the answer. */
export type ApprovalsPractice = Record<symbol, never>;

/** One argument of a waiting call without its mask, because the user asked to see it. */
export type ApprovalsReveal = { id: ApprovalId,
/** The hash that was shown. */
hash: CallHash,
/** Which argument, from 0, in the order in which they were shown. */
argument: number, };

/**
 * The definitions that an allow was given for, the latest approval last. Some servers write the same tool in another
 * order at each start, so a definition counts as long as a person approved it once.
 *
 * A single one is stored as a text, which is the form of allows from before several were remembered; the audit log
 * keeps entries in that form for ever.
 */
export type ApprovedVersions = Fingerprint | Array<Fingerprint>;

/**
 * Ceases to report in the status that the end of the audit was cut off. `audit.verify` goes on
 * naming the gap.
 */
export type AuditAcknowledge = Record<symbol, never>;

/** One entry of the audit as it is listed. */
export type AuditEntryView = {
/** 1 for the first entry. */
seq: number, at: Timestamp, event: AuditEvent,
/** SHA-256 over the entry before this one and this entry, lower-case hexadecimal. */
hash: string,
/**
 * The rule that was added, bound or revoked, in words, with the names that its server and client have now, or had last.
 * Absent where the entry that added it is not among those that are listed.
 */
rule: Message | null,
/** For a rule that was added: what is said of it where it is not certain to be a person's own. */
note: Message | null, };

/** Something that must never be lost (PERM-14). */
export type AuditEvent = { "audit": "decided", ask: ApprovalId,
/** Exactly which call. */
hash: CallHash, client: ClientId, server: ServerId,
/** What was asked about. */
subject: Subject, allowed: boolean,
/** Reason of a deny. */
reason: string | null,
/** Who answered: `operator` or `window`; absent in old entries. */
by: string | null, } | { "audit": "lapsed", ask: ApprovalId,
/** Exactly which call. */
hash: CallHash, } | { "audit": "granted", rule: Grant, } | { "audit": "revoked", rule: GrantId, } | { "audit": "grant_bound", rule: GrantId,
/** The program; absent where the binding could not be written, and the grant waits as before. */
program: string | null, } | { "audit": "auto_approve_set", server: ServerId,
/** For which client; for every client where absent. */
client: ClientId | null, to: AutoApprove, } | { "audit": "class_set",
/** The override; absent class means cleared. */
server: ServerId,
/** Tool on the server. */
tool: string,
/** The override that now holds. */
now: AccessOverride | null, } | { "audit": "labels_trusted", server: ServerId,
/** Whether they are trusted now. */
trusted: boolean,
/**
 * Who did it: `operator` or `window`; absent in old entries, and where suspended permissions were
 * confirmed.
 */
by: string | null, } | { "audit": "server_changed", server: ServerId, name: string,
/** What was done: `added`, `edited`, `renamed`, `removed`, `enabled`, `disabled`. */
what: string, } | { "audit": "settings_changed",
/** What was done. A plain text in older entries. */
what: UserText, } | { "audit": "hand_edit", file: string, server: string, confirmed: boolean, } | { "audit": "client_changed", client: ClientId, name: string,
/** What was done: `added`, `rotated`, `revoked`. */
what: string, } | { "audit": "profile_changed", profile: ProfileId, name: string,
/** What it says now; absent where it was removed. */
now: ProfileSettings | null, } | { "audit": "profile_assigned", client: ClientId,
/** Name of the profile; absent where it has none now. */
profile: string | null, } | { "audit": "sign_in", server: ServerId,
/** What happened. */
what: SignInOutcome,
/** Authorization server, where it is known. */
issuer: string | null,
/** The account, as far as the authorization server says so. */
account: string | null,
/** Why it failed. */
reason: ErrorCode | null, } | { "audit": "server_request_answered",
/** The pending request. */
ask: ApprovalId, request: ServerRequestKind, server: ServerId,
/** The client whose call it belongs to, where that is certain. */
client: ClientId | null, answer: ServerRequestAnswer,
/** Who answered: `operator` or `window`; absent where nobody did. */
by: string | null, } | { "audit": "client_access_answered",
/** The pending request. */
ask: ApprovalId,
/** The name that the client gives itself. */
name: string,
/** Its OAuth client id. */
clientId: string, answer: ServerRequestAnswer,
/** Who answered: `operator` or `window`; absent where nobody did. */
by: string | null, } | { "audit": "command_answered",
/** The pending request. */
ask: ApprovalId,
/** Name of the command. */
command: string,
/** What it does, with names in place of ids. */
what: Message,
/** The program that proposed it, never verified; absent where none was seen. */
program: string | null, answer: ServerRequestAnswer,
/** Who answered: `operator` or `window`; absent where nobody did. */
by: string | null, } | { "audit": "model_provider_changed", provider: ProviderId, name: string,
/** Where it is reached now, or was reached. */
baseUrl: string, change: ModelProviderChange,
/** Whether a key is stored for it now. */
hasKey: boolean, } | { "audit": "models_assigned",
/** Name of the provider and id of the model; absent where there is none now. */
sampling: string | null,
/** The same for opinions. */
opinion: string | null, } | { "audit": "sampling_generated",
/** The pending request. */
ask: ApprovalId, server: ServerId,
/** Name of the provider and id of the model. */
model: string, } | { "audit": "paused",
/** Whether it is paused now. */
paused: boolean, } | { "audit": "rights_rejected", reason: string, } | { "audit": "lifecycle",
/** What: `started`, `stopped`. */
what: string, };

/** The whole audit as text. */
export type AuditExport = {
/** In which form. */
format: ExportFormat,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Entries of the audit, newest first. */
export type AuditLatest = {
/** Before this entry; from the last where absent. */
before: number | null,
/** At most so many; 1,000 where absent. */
limit: number | null, };

/** Entries of the audit, oldest first. */
export type AuditList = {
/** After this entry; from the first where absent. */
after: number | null,
/** At most so many; 1,000 where absent. */
limit: number | null, };

/** What a check of the audit found. */
export type AuditVerdict = { "result": "whole", entries: number, } | { "result": "broken",
/** First entry that does not fit. */
seq: number, reason: Message, };

/** Checks the audit chain. */
export type AuditVerify = {
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** The ways in which a server's page says what runs without asking (PERM-3). */
export type AutoApprove = "ask" | "reads" | "writes" | "all";

/** What a setting of what runs without asking covers (PERM-3). */
export type AutoApproveCoverage = {
/** The servers that it was set on. */
servers: Array<CoveredTools>,
/**
 * Names of the servers that it was not set on, because their tools are not known: they have not
 * been connected since Gatehouse started.
 */
unknown: Array<string>, };

/** What is set to run without asking on a server (PERM-3). */
export type AutoApproveView = { server: ServerId,
/** For this client; every client where absent. */
client: ClientId | null,
/** What is set. */
setting: AutoApprove,
/**
 * Tools that run without asking by all rules for these clients, once those that wait for their first use are
 * bound.
 */
allowed: number,
/**
 * Whether what is set waits for its first use: a person is asked about it once, and it is bound to the program
 * that the client is seen from then.
 */
waitsForFirstUse: boolean,
/** Tools that would run too if the setting were given again. */
late: UncoveredToolCounts, };

/** Binds a bridge to the folder that it works in, as the operating system says, and to a profile if it names one. */
export type BridgeBind = {
/** The client's token. */
token: RequestSecret,
/** Id or name of a profile that narrows what the client sees further. */
profile: string | null, };

/** What narrows the requests of one bridge. */
export type BridgeBinding = {
/** What the bridge sends with each request in the header `Gatehouse-Binding`: 256 random bits in base64url. */
credential: RequestSecret,
/** Seconds until it counts no more. */
expiresIn: number,
/** The folder that it is bound to, if the system tells in which folder the bridge works. */
folder: string | null, };

/** The built-in servers (SRV-17). */
export type Builtin = { "kind": "time" } | { "kind": "notes" } | { "kind": "files",
/** Absolute path of the folder; nothing outside it is ever touched. */
folder: string, } | { "kind": "fetch",
/** Whether addresses of private networks and of this machine may be fetched too. */
allowPrivate: boolean, };

/** A bundle that was read. Nothing of it runs, and no server is added yet. */
export type BundlePreview = {
/** Stands for its content in `bundles.configure`. */
bundle: string,
/** Its name for people. */
name: string, version: string, description: string,
/** Longer text about it, in Markdown, which is shown as it is written. */
longDescription: string | null, author: string | null,
/** The program that runs, with its arguments. `${user_config.KEY}` stands for an option's value. */
command: Array<string>,
/** Variables of the program, as in `command`. */
env: { [key in string]: string },
/** Where it was unpacked. */
folder: string,
/** The tools that it says it has. */
tools: Array<BundleTool>,
/** Whether it says that it can have more. */
moreTools: boolean,
/** JSON schema of the options that are no secrets, as JSON text. */
options: string,
/** The options that are secrets. */
secrets: Array<BundleSecretOption>, signature: BundleSignature,
/** Number of files in it. */
files: number,
/** Their size, in bytes. */
bytes: number,
/** What keeps it from working here, or should be known. */
warnings: Array<Message>,
/** Why it can't be added at all. */
refused: Message | null, };

/** An option of a bundle whose value is a secret. */
export type BundleSecretOption = { key: string, title: string, description: string | null, required: boolean, };

/** The server of a bundle with its options filled in, for the form. Nothing was added. */
export type BundleServer = {
/** Secrets are references in it: `${secret:NAME}`. */
draft: ServerDraft,
/** What each of those secrets is made of. */
secrets: Array<ComposedSecret>, };

/** What is known of a bundle's signature. That its signer is who the name says is never known. */
export type BundleSignature = { "state": "none" } | { "state": "valid", signer: string, } | { "state": "mismatch" } | { "state": "unreadable" };

/** A tool that a bundle says it has. */
export type BundleTool = { name: string, description: string | null, };

/** Makes the settings of a server from a bundle that was read and the values of its options. No server is added. */
export type BundlesConfigure = {
/** As in the preview. */
bundle: string,
/** Values of the options that are no secrets, as a JSON object. */
values: string,
/** Keys of the options that a secret is given for. */
secrets: Array<string>, };

/**
 * Reads a bundle and unpacks it into Gatehouse's folder, so that it can be shown. Nothing of it runs, and no
 * server is added; what no server uses is deleted again.
 */
export type BundlesRead = {
/** Full path of the `.mcpb` or `.dxt` file. */
file: string,
/** SHA-256 that the file must have, in hexadecimal; any where absent. */
sha256: string | null,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Calls a tool as the client that the token belongs to, with that client's permissions. */
export type Call = {
/** The client's token. */
token: RequestSecret,
/** Exposed name. */
tool: string,
/** Arguments as JSON text. */
arguments: string, };

/** May this call run? Carries all that the prompt shows and the choices that it may offer. */
export type CallApprovalRequest = { client: ClientSummary, server: ServerSummary,
/** What is to be used. */
subject: Subject,
/** Display title of the tool, cleaned of hidden characters. */
title: string,
/** The name that the client used. */
exposedName: string,
/** Access class with its reason. */
class: AccessClassification,
/**
 * The whole arguments, top-level member by member, in their order. They can be large, so they are absent
 * in events, for readers who said that they have them, and where a reply has no room for them.
 */
arguments: Array<ShownArgument> | null,
/** Bytes of the arguments as they are shown. */
argumentBytes: number,
/**
 * Whether the arguments and what is offered are absent because the reply had no room for them. They come when
 * the list is asked for again and those that came are named as known.
 */
isAbridged: boolean,
/** Hash that the answer has to repeat (PERM-7, PERM-9). */
hash: CallHash,
/** What the user should know before answering. */
warnings: Array<Warning>,
/** What changed since the tool was allowed; empty unless the definition did. */
changes: Array<FieldChange>,
/** The ways to allow it that are offered, in the order of the menu. Left out where the arguments are. */
choices: Array<OfferedChoice>,
/** The ways to deny it that are offered, in the order of the menu. Left out where the arguments are. */
denials: Array<OfferedChoice>,
/**
 * Conditions that are proposed for a choice of the width `tool`; each of them holds for this call. Those about
 * one argument follow each other, the most fitting one first. Left out where the arguments are.
 */
conditions: Array<OfferedCondition>,
/** When the client is told to call again (PERM-11); `None` once that has happened. */
clientWaitsUntil: Timestamp | null, };

/** How many calls ended how. */
export type CallCounts = { ok: number, errors: number,
/** Refused and never sent. */
denied: number,
/** Cancelled, or the client was told to call again. */
unfinished: number, };

/** The place of a call in the list of calls: both values are those of its record. */
export type CallCursor = {
/** When it came in. */
at: Timestamp, id: CallId, };

/** Form of an export of calls. */
export type CallExportFormat = "json_lines" | "csv" | "har";

/** What to list of the calls. */
export type CallFilter = {
/** Only from this client. */
client: ClientId | null,
/** Only to this server. */
server: ServerId | null,
/**
 * Only of this tool (name on the server), or of this prompt as `prompt:` and its name; `resource:`,
 * `completion:` and `request:` are all of their kind.
 */
tool: string | null,
/** Only what was decided so. */
decision: Decision | null,
/** Only what ended so. */
outcome: OutcomeClass | null,
/** Only where tool, arguments or result hold these words. */
text: string | null,
/** Only those that the user made in Gatehouse's own window. */
byUser: boolean,
/** Only this call. */
call: CallCursor | null,
/** Only what came in then or later. */
since: Timestamp | null,
/** Only what came in before then. */
until: Timestamp | null,
/** Only what comes after this call in the list; for reading on from the last one of a page. */
olderThan: CallCursor | null,
/** At most so many, newest first; 100 where absent. */
limit: number | null, };

/**
 * SHA-256 (lower-case hexadecimal) over everything an approval is for: client, server id and
 * generation, tool definition and argument bytes.
 */
export type CallHash = string;

/** One call, from the moment it enters `tools` to its record. */
export type CallId = string;

/** How long a call may take (SRV-8). Time in which a person is waited for does not count. */
export type CallLimits = {
/** Seconds without progress, 1 or more; no limit where absent. */
silentSecs: number | null,
/** Seconds in all, 1 or more, whatever progress there is; no limit where absent. */
capSecs: number | null, };

/** How a call ended. */
export type CallOutcome = { "outcome": "ok" } | { "outcome": "unfit",
/** What does not fit. */
problem: string, } | { "outcome": "tool_error" } | { "outcome": "rpc_error", code: number, message: string, } | { "outcome": "refused" } | { "outcome": "still_waiting" } | { "outcome": "repeated",
/** The call that ran. */
call: CallId, } | { "outcome": "cancelled" } | { "outcome": "failed",
/** What happened. */
message: string, };

/** How far a call is, as its server says. */
export type CallProgress = { progress: number, total: number | null,
/** `message`, without hidden characters, on one line, at most 200 characters. */
message: string | null, };

/** One call as it is kept. */
export type CallRecord = { id: CallId,
/** When it came in. */
at: Timestamp, client: ClientId,
/** Name of the client at that time. */
clientName: string, server: ServerId,
/** Name of the server at that time. */
serverName: string, subject: Subject,
/** Name that the client used. */
exposedName: string,
/** The program that the client was seen from; absent where it is not known. */
program: string | null,
/** Whether the user made it in Gatehouse's own window: as the user, or as this client. */
byUser: boolean,
/** What decided. */
verdict: Verdict,
/** How it was judged, check by check; absent where that was not recorded. */
judged: Array<JudgedCheck> | null,
/** How it ended. */
outcome: CallOutcome,
/** Time spent waiting for a person, in milliseconds. */
waitedMs: number,
/** Time in all, in milliseconds. */
durationMs: number,
/** Bytes of the arguments. */
bytesIn: number,
/** Bytes of the result. */
bytesOut: number,
/** Arguments as JSON text, secrets masked, capped; absent where the server's `recordBodies` was off. */
arguments: string | null,
/** Result as JSON text, secrets masked, capped; absent where the server's `recordBodies` was off. */
result: string | null, };

/** What a call answered. */
export type CallReply = {
/** The result or the error, as JSON text, byte for byte. */
body: string,
/** Whether `body` is a JSON-RPC error. */
isRpcError: boolean,
/** Whether `body` is a result with `isError`. */
isToolError: boolean, };

/** Figures about calls. */
export type CallStatistics = {
/** Since when figures are kept; before that nothing is known. */
recordedSince: Timestamp,
/** All calls of the time that was asked for. */
totals: CallCounts,
/** The intervals in which there were calls, oldest first. */
points: Array<StatisticsPoint>,
/** The tools with the most calls, most first. */
mostUsed: Array<ToolStatistics>,
/** The tools that take longest on average, slowest first. */
slowest: Array<ToolStatistics>, };

/** Which calls are counted, and how. */
export type CallStatisticsQuery = {
/** Calls that came in since then, from the start of that interval on. */
since: Timestamp,
/** Calls that came in before then; until now where absent. */
until: Timestamp | null,
/** How long each interval is. */
interval: StatisticsInterval,
/** What is counted separately. */
group: StatisticsGroup,
/** Only from this client. */
client: ClientId | null,
/** Only to this server. */
server: ServerId | null,
/** Minutes that the reader's clock is ahead of UTC: days begin at its midnight, in whole hours. */
utcOffset: number, };

/** The state of a task, as its server says. */
export type CallTaskState = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** Cancels a call that is with its server, as its client could. */
export type CallsCancel = { call: CallId, };

/** Writes the calls that match to a file in the user's folder of downloads. */
export type CallsExport = {
/** Its `limit` and `olderThan` do not count. */
filter: CallFilter, format: CallExportFormat,
/** What `servers.stopRun` is to call it; it is not stopped by itself where absent. */
run: string | null, };

/** The last calls, newest first. */
export type CallsList = { filter: CallFilter, };

/** Calls that have begun and not ended, oldest first. */
export type CallsRunning = Record<symbol, never>;

/** Figures about calls over time, by client or server, and about tools. */
export type CallsStatistics = { query: CallStatisticsQuery, };

/** A part of a message. */
export type ChatBlock = { "kind": "text", text: string, } | { "kind": "reasoning", text: string, } | { "kind": "image", mimeType: string,
/** Base64 (RFC 4648). */
data: string, } | { "kind": "tool_call" } & ToolCallBlock;

export type ChatCreate = { settings: ConversationSettings, };

/** A conversation as Markdown. */
export type ChatExport = { conversation: ConversationId,
/** Whether it is also written to a file in the user's folder of downloads. */
save: boolean, };

/** An image that the user sends. */
export type ChatImage = {
/** `image/png`, `image/jpeg`, `image/webp` or `image/gif`. */
mimeType: string,
/** Base64 (RFC 4648). */
data: string, };

/** The conversations, newest first; with a query, those that have its words. */
export type ChatList = { query: string | null, };

/** One message. All that a model writes up to its last word in a turn is one message, with its tool calls in between. */
export type ChatMessage = { id: MessageId, role: ChatRole, at: Timestamp,
/** In the order in which they came. */
blocks: Array<ChatBlock>, state: ChatMessageState,
/** Why it failed. */
error: UserError | null,
/** Who wrote it: name of the provider and id of the model. */
model: string | null, usage: TokenUsage | null, };

export type ChatMessageState = "running" | "done" | "stopped" | "failed" | "round_limit";

export type ChatRemove = { conversation: ConversationId, };

/**
 * Deletes what the model wrote last, and lets it write again. A reply that ended at the limit of rounds is
 * continued instead.
 */
export type ChatRetry = { conversation: ConversationId, };

export type ChatRole = "user" | "assistant";

/** Sends a message and begins the model's turn; its reply comes as events. */
export type ChatSend = { conversation: ConversationId, text: string, images: Array<ChatImage>,
/** The user's message that this one takes the place of; it and all after it are deleted. */
replaces: MessageId | null, };

/** Changes the settings of a conversation; they count from the next turn on. */
export type ChatSet = { conversation: ConversationId, settings: ConversationSettings, };

export type ChatShow = { conversation: ConversationId, };

/** Stops the turn that is under way, with its tool calls, and waits until it has stopped. */
export type ChatStop = { conversation: ConversationId, };

/** How long a choice lasts. */
export type ChoiceLifetime = "once" | "quarter_hour" | "session" | "until_quit" | "always";

/** How wide a choice is. */
export type ChoiceScope = "call" | "tool" | "reads" | "server" | "client";

/** What decided an access class. */
export type ClassReason = { "by": "override" } | { "by": "annotation",
/** Name of the annotation. */
hint: string, } | { "by": "name", word: string, } | { "by": "description", word: string, } | { "by": "trusted_label" } | { "by": "untrusted_label" } | { "by": "not_a_tool" } | { "by": "default" };

/** How a client shows who it is. */
export type ClientAccess = { "by": "token" } | { "by": "oauth",
/**
 * The id by which it asks for tokens: the address of its Client ID Metadata Document, or the id that it got
 * when it registered.
 */
clientId: string, };

/** An unknown client wants access. */
export type ClientAccessRequest = {
/** The name that it gives itself, never verified. */
says: string,
/** Its OAuth client id: the address of its Client ID Metadata Document, or the id that it got when it registered. */
clientId: string,
/** Where its answer would go, in full. */
redirectUri: string,
/** Name of the only server that it asks for; all servers where absent. */
server: string | null,
/** Name of the client in the list that has this id already, whose permissions it would have. */
knownAs: string | null,
/** Name of another client in the list that people could take it for by its name. */
resembles: string | null,
/** The program that the connection was seen from, never verified: usually the browser. */
seenFrom: PeerProcess | null,
/** The program that listens where the answer would go, never verified. */
receiver: PeerProcess | null, };

/** One AI client that was given a token. */
export type ClientId = string;

/** Which clients a rule is for. */
export type ClientScope = { "clients": "one",
/** Which one. */
client: ClientId, } | { "clients": "every" };

/** The client of an approval request. */
export type ClientSummary = { id: ClientId,
/** The name that the user gave it. */
name: string,
/** What it says of itself (`clientInfo`), to be shown smaller. */
says: string | null,
/** The program that the connection was seen from, never verified. */
seenFrom: PeerProcess | null,
/** Its session, for clients of the stateful revisions. */
session: SessionId | null,
/** Whether the user makes the call in Gatehouse's own window, in the name of this client. */
byUser: boolean, };

/** One client as it is shown. */
export type ClientView = { id: ClientId,
/** The name that the user gave it. */
name: string,
/** When its token was made, or when its access by OAuth was allowed. */
created: Timestamp,
/** How it shows who it is. */
access: ClientAccess,
/** What it last said of itself. */
says: string | null,
/** When it was last seen since Gatehouse started. */
lastSeen: Timestamp | null,
/** Open sessions of the stateful revisions. */
sessions: number,
/**
 * Whether it works with an old tool list: it was told that the list changed, did not list its tools
 * again, and called one (GATE-7).
 */
hasStaleList: boolean,
/** Its profile; it sees all servers where absent. */
profile: ProfileId | null,
/** What its list of tools costs a model. */
toolList: ToolListCost, };

/** Adds a client; its token is in the reply and nowhere else. */
export type ClientsAdd = {
/** Name for it; unique. */
name: string, };

/** The AI applications that Gatehouse can connect, and whether they are. */
export type ClientsApps = Record<symbol, never>;

/** Adds a client for an application, and an entry for it to the application's settings. */
export type ClientsConnect = { app: App,
/** Whether the application's own rule for Gatehouse is added. */
allowRule: boolean,
/** That of the preview. Absent only where the window shows the change before it confirms the command. */
fingerprint: string | null, };

/** What connecting an application would change. Nothing is written. */
export type ClientsConnectPreview = { app: App,
/** Whether the application's own rule for Gatehouse is added. */
allowRule: boolean, };

/** Takes Gatehouse out of an application's settings, and revokes its client. */
export type ClientsDisconnect = { app: App, };

/** The client that a token belongs to. */
export type ClientsIdentify = {
/** The client's token. */
token: RequestSecret, };

/** Stores a client's token in the user's keychain, for `gatehousectl bridge`. */
export type ClientsKeepToken = {
/** The client's token. */
token: RequestSecret, };

/** All clients. */
export type ClientsList = Record<symbol, never>;

/** Ends a client's access. */
export type ClientsRevoke = {
/** Id or name. */
client: string, };

/** Gives a client a new token; the old one ends. */
export type ClientsRotate = {
/** Id or name. */
client: string, };

/** Gives a client a profile, or takes its profile away. */
export type ClientsSet = {
/** Id or name. */
client: string,
/** Id or name of the profile; none where absent. */
profile: string | null, };

/** A program that has no operator key proposes a command to the window (CTL-1). Accepted, exactly what is shown is run. */
export type CommandRequest = {
/** Name of the command, such as `servers.add`. */
command: string,
/** What it does, with names in place of ids. */
what: Message,
/** What else the user should know before answering, each a sentence. */
notes: Array<Message>,
/** What it sets, field by field and whole; secrets masked, unless they could be executed. */
changes: Array<FieldChange>,
/** What it writes to files of other applications. */
files: Array<FileChange>,
/** The program that proposes it, never verified. */
seenFrom: PeerProcess | null, };

/** Values that an argument can have. */
export type Completion = {
/** At most 100. */
values: Array<string>,
/** How many there are in all, where the server says so. */
total: number | null, hasMore: boolean, };

/** What is completed. */
export type CompletionTarget = { "kind": "prompt",
/** Name on the server. */
name: string, } | { "kind": "template", uriTemplate: string, };

/** A secret of settings that were filled in, and how it is put together of what is entered. */
export type ComposedSecret = {
/** The field as in `FieldSecret`: `env/NAME` or `headers/NAME`. */
field: string,
/** One after the other. */
parts: Array<SecretPart>, };

/** A condition on one argument (PERM-5). */
export type Condition = {
/** JSON Pointer (RFC 6901) to the argument. */
pointer: string,
/** What must hold for it. */
test: ConditionTest, };

/** What must hold for an argument. Everything but `Equals` and `OneOf` is about text. */
export type ConditionTest = { "test": "equals",
/** JSON text. */
value: string, } | { "test": "one_of",
/** JSON texts. */
values: Array<string>, } | { "test": "starts_with",
/** The start. */
text: string, } | { "test": "inside",
/** Absolute path of the folder. */
folder: string, } | { "test": "host_is",
/** Host in ASCII form. */
host: string,
/** Port; the usual one of the URL's scheme where absent. */
port: number | null, } | { "test": "glob",
/** The pattern; `*` does not cross `/`. */
pattern: string, };

/** What changed the configuration. */
export type ConfigCause = "added" | "edited" | "renamed" | "removed" | "restored" | "enabled" | "disabled" | "settings" | "file";

/** What happened to an entry. */
export type ConfigChangeKind = "added" | "changed" | "removed";

/** A settings file was changed by hand in a way that matters (PERM-16), or a project asks for a server (GATE-4). */
export type ConfigChangeRequest = {
/** File name without its folder, or the path of a project's file. */
file: string,
/** Name of the server that the change is about. */
server: string,
/** What changed, field by field; secrets masked. */
changes: Array<FieldChange>,
/** Whether the entry is new, changed or gone. */
action: ConfigChangeKind,
/** The name of the profile for whose clients alone the server is, if a project asks for it. */
profile: string | null, };

/** What is to become of one part of a configuration. Those that are not chosen are left alone. */
export type ConfigurationChoice = {
/** Its place in the configuration. */
index: number,
/** Permissions are added, and settings overwritten. */
action: ImportAction,
/** Values of the secrets that its fields refer to. Those that are not given can be entered later. */
secrets: Array<FieldSecret>, };

/** Something here that a part of a configuration would stand beside or replace. */
export type ConfigurationConflict = {
/** Whether it is the same, so that there is nothing to import. */
isSame: boolean,
/** A name under which both can be kept; absent where only one can be. */
freeName: string | null,
/** Fields whose secret is stored here already, and stays if this is replaced. */
keptSecrets: Array<string>, };

/** What a configuration has to import. */
export type ConfigurationContent = {
/** SHA-256 of the content, for `configuration.import`. */
fingerprint: string,
/** Path of the file; absent for a text. */
file: string | null,
/** Servers first, then profiles, clients, permissions, settings and model providers: each may name what comes before it. */
items: Array<ConfigurationItem>, };

/**
 * Everything that is set, as a document without secrets: servers, clients without their tokens, profiles, permanent
 * permissions and settings.
 */
export type ConfigurationExport = {
/** Whether it is also written to a file in the user's folder of downloads. */
save: boolean, };

/** Imports the chosen parts of a configuration. All of them are validated first; if one is not valid, nothing changes. */
export type ConfigurationImport = { from: ConfigurationOrigin,
/** The fingerprint of the content that the choices were made for. */
fingerprint: string, items: Array<ConfigurationChoice>,
/** Values of the inputs of the chosen servers. */
inputs: Array<ImportInputValue>, };

/** One part of a configuration that can be imported by itself. */
export type ConfigurationItem = {
/** Its place in the configuration, from 0. */
index: number, kind: ConfigurationItemKind,
/** Name of a server, a profile, a client or a model provider; empty for all others. */
name: string,
/** What it is or does, in words. */
summary: Message | null,
/** Everything else that it says. */
details: Array<ImportedSetting>,
/**
 * Whether it lets something run without asking, or count as a read, or whether a model provider would have another
 * address than here. It is imported only if it is chosen by itself.
 */
widens: boolean,
/** Values that are asked for. */
inputs: Array<ImportInput>,
/**
 * Fields that refer to a stored secret: `env/NAME`, `headers/NAME`, `signIn/secret` and the like, and `key` of a model
 * provider. A server without one of them is imported switched off.
 */
secrets: Array<string>,
/** What has its name here. */
conflict: ConfigurationConflict | null,
/** Why it can't be imported; empty if it can. */
problems: Array<Message>, };

/** What a part of a configuration is. */
export type ConfigurationItemKind = "server" | "profile" | "client" | "permission" | "settings" | "modelProvider";

/** Where a configuration is read from. */
export type ConfigurationOrigin = { "file": string } | { "text": RequestSecret };

/** What came of an import. */
export type ConfigurationOutcome = {
/** How many parts were imported. */
imported: number,
/** Names of the servers that are switched off because a secret wasn't given. */
withoutSecrets: Array<string>,
/** Names of the clients that are new. Nobody has their tokens: each needs a new one. */
newClients: Array<string>,
/** What could not be imported although it was valid, because of the disk or the keychain. */
problems: Array<UserError>, };

/** What a configuration has, and what of it is here already. Nothing changes. */
export type ConfigurationPreview = { from: ConfigurationOrigin, };

/** What connecting an application would change. */
export type ConnectPreview = { app: App, name: string,
/** Name of the client that is added. */
client: string, files: Array<FileChange>,
/** Whether an entry of Gatehouse's name is replaced. */
replacesEntry: boolean,
/** Whether the application has a rule by which it doesn't ask about Gatehouse's tools itself. */
hasAllowRule: boolean,
/** Stands for exactly this change; `clients.connect` refuses another one. */
fingerprint: string, };

/** An application that was connected. */
export type ConnectResult = { app: App, name: string, client: ClientView,
/** The files that were written. */
files: Array<string>, reload: SettingsReload, };

/** How an application is connected. */
export type ConnectionState = "not_connected" | "connected" | "changed_by_hand" | "revoked";

export type Conversation = { id: ConversationId,
/** The title that the user gave, else the beginning of the first message. */
title: string, settings: ConversationSettings, created: Timestamp, updated: Timestamp,
/** Oldest first. */
messages: Array<ChatMessage>,
/** Whether a turn is under way. */
isRunning: boolean, tools: ConversationToolCost,
/** The sum of what the provider reported for all messages. */
usage: TokenUsage, };

/** One conversation with a model. */
export type ConversationId = string;

/** What the user chooses for a conversation. */
export type ConversationSettings = {
/** Absent: the beginning of the first message. */
title: string | null, model: ModelChoice | null,
/** Ids of the servers whose tools the model gets; all that are on where absent. */
servers: Array<ServerId> | null,
/** Whether the model searches for tools instead of getting all of their definitions (TOOL-7). */
toolSearch: boolean,
/** The user's own instructions for the model. */
instructions: string | null, };

/** A conversation in the list. */
export type ConversationSummary = { id: ConversationId,
/** The title that the user gave, else the beginning of the first message. */
title: string, updated: Timestamp, model: ModelChoice | null,
/** Whether a turn is under way. */
isRunning: boolean,
/** A piece of text around what was searched for. */
excerpt: string | null, };

/** What the list of tools costs a model in each request. */
export type ConversationToolCost = { tools: number,
/** Estimated as a quarter of the bytes of the definitions. */
tokens: number,
/** Names of tools whose schemas were simplified for the provider, each with what was left out. */
simplified: Array<SimplifiedTool>, };

/** The tools of one server that a setting covers. */
export type CoveredTools = { server: ServerId, name: string,
/** Names of the tools on the server. */
tools: Array<string>, };

/** What is to happen with a call. */
export type Decision = "allow" | "ask" | "deny";

/** How many calls come to which decision. */
export type DecisionCounts = {
/** They would run. */
allowed: number,
/** The user would be asked. */
asked: number,
/** They would be refused. */
denied: number, };

/** What a server declared that it can do (SRV-13). */
export type DeclaredCapabilities = { tools: boolean, resources: boolean,
/** `resources.subscribe` */
subscribe: boolean, prompts: boolean, completions: boolean, logging: boolean, };

/** Tools that a permanent rule without conditions blocks for the client. */
export type DeniedTools = "listed" | "hidden";

/** One line of a change. Values that Gatehouse neither wrote nor writes are masked in it. */
export type DiffLine = { kind: DiffLineKind, text: string,
/** Its number before the change, from 1. */
old: number | null,
/** Its number after the change, from 1. */
new: number | null, };

/** What happened to a line of a file. */
export type DiffLineKind = "kept" | "added" | "removed" | "gap";

/** An application that was disconnected. */
export type DisconnectResult = { app: App, name: string, files: Array<RestoredFile>, reload: SettingsReload, };

/** What would run without asking. */
export type DraftAutoApprove = {
/** Id or name of the server; every server that there is now where absent. */
server: string | null,
/** For this client (id or name); every client where absent. */
client: string | null, to: AutoApprove, };

/** A rule that would be added. */
export type DraftRule = {
/** Allow or deny. */
effect: RuleEffect,
/** Id or name of the server; every server where absent, which only a deny may be for. */
server: string | null,
/** Tool on the server; needed for the width `tool`. */
tool: string | null,
/** For this client (id or name); every client where absent. */
client: string | null,
/** How long and how wide. */
choice: GrantChoice, };

/** What a server wants from the user. */
export type ElicitationMode = { "mode": "form",
/** JSON Schema of the form: an object of primitive fields. */
schema: string, } | { "mode": "url",
/** Its address, in full. */
url: string,
/** The host in it, to be marked. */
host: string,
/**
 * Whether the call goes on only when the user is done there; else accepting means to open
 * the page.
 */
untilDone: boolean, };

/**
 * A server wants input (SRV-15). An accepted form carries its fields as a JSON object; they are
 * checked against the schema, with its defaults applied, before the server gets them.
 */
export type ElicitationRequest = { server: ServerSummary,
/** Whose call it asks about, where that is certain. */
client: ClientSummary | null,
/** What it says, cleaned of hidden characters. */
message: string, want: ElicitationMode, };

/** What the UI and the command line switch on. A variant is added when somebody uses it. */
export type ErrorCode = "bad_request" | "not_found" | "name_taken" | "not_permitted" | "stale_answer" | "paused" | "server_unavailable" | "needs_client_registration" | "refused" | "cancelled" | "bad_config" | "newer_version" | "data_folder_in_use" | "port_in_use" | "secrets_unavailable" | "storage" | "not_running" | "model_failed" | "timed_out" | "internal";

/** What happened. */
export type Event = { "event": "server_added", server: ServerId, name: string, } | { "event": "server_removed", server: ServerId, name: string, } | { "event": "server_started", server: ServerId, } | { "event": "server_stopped", server: ServerId, } | { "event": "status_changed", server: ServerId,
/** The new status. */
status: ServerStatus, cause: StatusCause, } | { "event": "running_servers",
/** All that run now. */
servers: Array<ServerId>, } | { "event": "tools_changed", server: ServerId, } | { "event": "prompts_changed", server: ServerId, } | { "event": "resources_changed", server: ServerId,
/** The one resource, where it is one. */
uri: string | null, } | { "event": "config_changed",
/** What changed it. */
cause: ConfigCause, server: ServerId | null,
/** Its name by now. */
name: string | null,
/** Whether a hand edit waits for confirmation. */
unconfirmed: boolean,
/** What is wrong with the file, if something is. */
problem: UserError | null, } | { "event": "call_started", call: CallId, client: ClientId, server: ServerId,
/** Which tool (name on the server). */
tool: string,
/** Its input on one line, secrets masked (TOOL-11). */
input: string, } | { "event": "call_progress", call: CallId, progress: number, total: number | null, message: string | null, } | { "event": "call_task_changed", call: CallId, state: CallTaskState, } | { "event": "call_finished", call: CallId,
/** What decided. */
verdict: Verdict,
/** How it ended. */
outcome: CallOutcome,
/** How long it took in all, waiting included, in milliseconds. */
durationMs: number, } | { "event": "approval_requested", pending: PendingApproval, } | { "event": "approval_changed",
/** The request as it is now. */
pending: PendingApproval, } | { "event": "approval_resolved", approval: ApprovalId, allowed: boolean, } | { "event": "approval_expired", approval: ApprovalId, } | { "event": "approval_withdrawn", approval: ApprovalId, } | { "event": "sign_in_needed", server: ServerId,
/** Authorization server, where it is known. */
issuer: string | null, } | { "event": "sign_in_changed", server: ServerId,
/** As it stands. */
signIn: SignInState, } | { "event": "client_connected", client: ClientId,
/** What it says of itself. */
says: string | null, } | { "event": "client_gone", client: ClientId, } | { "event": "client_tool_list", client: ClientId, isStale: boolean, } | { "event": "log_line", server: ServerId, line: LogLine, } | { "event": "pause_changed",
/** Whether it is paused now. */
paused: boolean, } | { "event": "switch_changed",
/** Whether it is on now. */
on: boolean, } | { "event": "profiles_changed" } | { "event": "models_changed" } | { "event": "conversation_changed", conversation: ConversationId, } | { "event": "conversation_delta", conversation: ConversationId, message: MessageId,
/** Which of its blocks, from 0. */
block: number,
/** Bytes (UTF-8) of the block's text before this. */
offset: number,
/** What is added at its end: to the text, or to the arguments of a tool call. */
text: string, } | { "event": "permissions_changed", verified: boolean, };

/** An event with its place in the order of things. */
export type EventEnvelope = {
/** [`EVENT_VERSION`] */
version: number,
/**
 * Rises by one with each event since Gatehouse started; a gap means that the listener lagged
 * and has to read the snapshot again.
 */
seq: number, at: Timestamp, event: Event, };

/**
 * What happened since Gatehouse started, oldest first: the last 5,000 events, lines of logs and
 * progress left out. Approval requests are in it with their whole arguments.
 */
export type EventsList = Record<symbol, never>;

/** Form of an export. */
export type ExportFormat = "json_lines" | "csv";

/** Calls that were written to a file. */
export type ExportedCalls = { path: string,
/** How many. */
calls: number, };

/** The configuration as a text that can be kept and imported elsewhere. */
export type ExportedConfiguration = {
/** A JSON document. Secrets are not in it. */
text: string,
/** Path of the file that it was written to; absent if it was only to be read. */
file: string | null,
/** What is not in it, apart from secrets. */
leftOut: Array<Message>, };

/** A conversation as Markdown. */
export type ExportedConversation = { markdown: string,
/** Where it was written, if it was. */
path: string | null, };

export type ExportedText = { text: string, };

/** Classes of failure (SRV-4); they decide whether a retry makes sense. */
export type FailureKind = "temporary_network" | "permanent_network" | "configuration" | "authorization" | "protocol" | "unknown";

/** One difference between two definitions of a tool (PERM-8). */
export type FieldChange = {
/** JSON Pointer within the definition. */
pointer: string,
/** Which sort of field it is. */
concern: FieldConcern,
/** JSON text before; absent when the field is new. */
before: string | null,
/** JSON text after; absent when the field is gone. */
after: string | null, };

/** What a changed field of a definition is about. */
export type FieldConcern = "words" | "shape" | "safety";

/** A secret for one field of one server, on its way into the store of secrets. */
export type FieldSecret = {
/**
 * The field that it may serve and no other: `env/NAME`, `headers/NAME`, `signIn/secret`,
 * `signIn/companySecret` or `signIn/key`.
 */
field: string, value: RequestSecret, };

/** How one settings file would change. */
export type FileChange = {
/** The file itself, after symbolic links were followed. */
path: string,
/** Whether the file is created. */
isNew: boolean, lines: Array<DiffLine>, };

/** What there is to say of an allow. */
export type FindingKind = { "finding": "unused",
/** When it last did; absent where it never did. */
lastUsed: Timestamp | null, } | { "finding": "too_wide",
/** Names of those that were, on the server. */
used: Array<string>,
/** Names of those that were not. */
unused: Array<string>, };

/** What is said of the permissions and servers. Nothing is said before calls were counted for 30 days. */
export type FindingsReport = {
/** Since when calls are counted. */
recordedSince: Timestamp,
/** Allows that last until they are revoked. */
rules: Array<RuleFinding>,
/** Servers that are on and that nobody called for 30 days. */
servers: Array<UnusedServer>, };

/** SHA-256 (lower-case hexadecimal) over a tool's definition in canonical form. */
export type Fingerprint = string;

/**
 * Counts every edit of a server that changes what it is (command, URL, environment, …). A grant
 * or a credential given for one generation is worth nothing for another.
 */
export type Generation = number;

/** One rule: an allow (grant) or a deny. */
export type Grant = { id: GrantId,
/** Allow or deny. */
effect: RuleEffect,
/** The server; `None` means every server and is legal for a deny only. */
server: ServerBinding | null,
/** What it covers. */
width: Scope, clients: ClientScope,
/** How long it lasts. */
lifetime: Lifetime,
/** Conditions on the arguments; all must hold. */
conditions: Array<Condition>,
/**
 * Tools and definitions that existed when an allow was given; others ask (PERM-8). Keyed by
 * the tool's name on the server. Has several definitions of a tool if each was approved.
 */
pins: { [key in string]: ApprovedVersions },
/**
 * The program that an allow for one client is bound to (PERM-9): the one that it was given to, or that used it
 * first with a person's leave. Before that it covers nothing.
 */
program: string | null,
/** When it was given. */
created: Timestamp, author: RuleAuthor,
/** For a deny: what the model gets to read. */
reason: string | null, };

/** How long and how wide an allow or a deny is. */
export type GrantChoice = {
/** How long. */
lifetime: ChoiceLifetime,
/** How wide. */
width: ChoiceScope,
/** For every client instead of this one. */
everyClient: boolean,
/** Only when these hold. */
conditions: Array<Condition>, };

/** One grant or deny rule. */
export type GrantId = string;

/** A program that prints headers: one JSON object of texts, or one `Name: value` a line. */
export type HeaderProgram = {
/** Program to run, looked up in the user's login-shell PATH. */
command: string,
/** Its arguments. */
args: Array<string>, };

/** SHA-256 (lower-case hexadecimal) over the non-secret identity of a server. */
export type IdentityHash = string;

/** How a server is imported. */
export type ImportAction = "add" | "overwrite" | { "rename": string };

/** One server that can be imported. */
export type ImportCandidate = {
/** Its place in the content, from 0. */
index: number,
/** Name that it would get, which is one that Gatehouse takes. */
name: string,
/** Folder of the project that it is for. */
project: string | null,
/** Command line or address, without what looks like a secret. */
summary: string,
/** Everything else that decides what runs or what is reached: variables, headers, the folder. Without secrets. */
settings: Array<ImportedSetting>,
/** Whether it would be on. */
enabled: boolean,
/** Fields with values that look like secrets and can go to the keychain: `env/NAME`, `headers/NAME`. */
secrets: Array<string>,
/** Whether a secret is in its arguments or its address, where it has to stay in plain text. */
hasPlainSecret: boolean,
/** Values that are asked for. */
inputs: Array<ImportInput>,
/** What runs there without asking. */
autoApprove: ImportedApprovals | null,
/** Settings that are not carried over. */
leftOut: Array<LeftOutSetting>,
/** The server that has the name already. */
conflict: ImportConflict | null,
/** Why it can't be imported; empty if it can. */
problems: Array<Message>, };

/** What is to become of one candidate. Those that are not chosen are left alone. */
export type ImportChoice = {
/** Its place in the content. */
index: number, action: ImportAction,
/** Whether values that look like secrets stay in plain text instead of going to the keychain. */
keepPlain: boolean,
/** Whether what runs there without asking also does here. */
autoApprove: boolean,
/** Values of its inputs. */
inputs: Array<ImportInputValue>, };

/** A server of Gatehouse that has the name of a candidate. */
export type ImportConflict = { server: ServerId,
/** Whether it is reached in the same way, so that there is nothing to import. */
isSame: boolean,
/** A name that no server has. */
freeName: string, };

/** A value that is asked for before a server is imported. */
export type ImportInput = {
/** Its id. Servers of the same content that have an input with the same id share its value. */
id: string,
/** What to enter, in the words of the settings. */
description: string | null,
/** Whether it goes to the keychain. */
isSecret: boolean,
/** Used where no value is given. That of a secret is shown to nobody. */
default: string | null,
/** Whether there is a value that is used where none is given, shown or not. */
hasDefault: boolean,
/** The values to choose from; empty for any. */
options: Array<string>, };

/** The value of one input. */
export type ImportInputValue = { id: string, value: RequestSecret, };

/** Where servers are imported from. */
export type ImportOrigin = { "app": App } | { "file": string } | { "text": RequestSecret };

/** What came of importing one server. */
export type ImportOutcome = {
/** Its place in the content. */
index: number, name: string,
/** The server, if it was imported. */
server: ServerId | null,
/** Why it was not imported; or, with a server, why what is to run without asking was not set. */
problem: UserError | null, };

/** What a settings file or a text has to import. */
export type ImportPreview = {
/** SHA-256 of the content, for `imports.run`. */
fingerprint: string,
/** The application that wrote it, if that is known. */
app: App | null,
/** Path of the file; absent for a text. */
file: string | null, candidates: Array<ImportCandidate>, };

/** A settings file of an application on this computer. */
export type ImportSource = { app: App,
/** Name of the application. */
name: string,
/** Path of the file. */
file: string,
/** How many servers are in it, without Gatehouse itself. */
servers: number,
/** How many of them have a name that no server of Gatehouse has. */
newServers: number,
/** Why it could not be read. */
problem: UserError | null, };

/** What another application runs without asking. */
export type ImportedApprovals = "all" | { "tools": Array<string> };

/** A setting that is carried over, as people see it. */
export type ImportedSetting = {
/** As `env.NAME`. */
name: string, value: string, };

/** The servers in another application's settings, as they would be imported. Nothing changes. */
export type ImportsPreview = { from: ImportOrigin, };

/** Imports servers, each by itself: one that fails leaves the others. The other application's file stays as it is. */
export type ImportsRun = { from: ImportOrigin,
/** The fingerprint of the content that the choices were made for. */
fingerprint: string, servers: Array<ImportChoice>,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Imports servers by their names, without a preview: those that are here with the same settings are left out. */
export type ImportsRunByName = { from: ImportOrigin,
/** Names of the servers; all of them where empty. */
only: Array<string>,
/** What is done where another server has the name. */
onConflict: NameConflict,
/** Whether values that look like secrets stay in plain text instead of going to the keychain. */
keepPlain: boolean,
/** Whether what runs there without asking also does here. */
autoApprove: boolean,
/** Values of inputs. */
inputs: Array<ImportInputValue>, };

/** The settings files of other applications on this computer, with the number of servers in each. */
export type ImportsSources = Record<symbol, never>;

/** One check of a call. The checks stand in the order in which they are made, and the last one decided. */
export type JudgedCheck = { check: PolicyCheck,
/** The user's rules that were looked at, at most [`MAX_JUDGED_RULES`]. */
rules: Array<JudgedRule>,
/** How many more there were. */
more: number, };

/** One of the user's rules that was looked at. */
export type JudgedRule = { rule: GrantId, finding: RuleFit, };

/** A setting that is not carried over. */
export type LeftOutSetting = {
/** Its name in the other application's settings. */
name: string, reason: Message, };

/** How long a rule lasts (PERM-4). Only `Always` is ever written to disk. */
export type Lifetime = { "lifetime": "once" } | { "lifetime": "until",
/** That moment. */
at: Timestamp, } | { "lifetime": "session", session: SessionId, } | { "lifetime": "until_quit" } | { "lifetime": "always" };

/** What a `gatehouse://` link says. It is only ever filled into the form. */
export type LinkContent = { "kind": "server", draft: ServerDraft,
/** The fields whose secrets a person has to enter, as in `FieldSecret`. A link never brings the secret itself. */
secrets: Array<string>,
/** Whether the link had values for them, which are left out. */
hadSecrets: boolean, } | { "kind": "registry", name: string, version: string | null, };

/** Reads a `gatehouse://` link. Nothing is added or looked up. */
export type LinksRead = { link: string, };

/** How much a line matters (RFC 5424, as in `logging/setLevel`), least first. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** One line of a server's log. */
export type LogLine = {
/** When it was read. */
at: Timestamp,
/** Who wrote it. */
source: LogSource,
/** How much it matters, where that is said. */
level: LogLevel | null,
/** The line, without its end. */
text: string, };

/** Who wrote a line of a server's log. */
export type LogSource = "stderr" | "server" | "gatehouse";

/** A text for people: the key of a template of the catalogs, and what stands in its places. */
export type Message = {
/** Key of the template, as in `rule.allow.always`. */
key: string,
/** What stands in each place of the template, by the place's name. */
params: { [key in string]: MessageParam }, };

/** One message of a conversation. */
export type MessageId = string;

/** What stands in one place of a template. */
export type MessageParam = { "text": string } | { "number": number } | { "time": Timestamp } | { "message": Message } | { "list": Array<Message> } | { "sentences": Array<Message> };

/** A client with its token, which is shown this once. */
export type MintedClient = { client: ClientView,
/** Its token: 256 random bits in base64url. */
token: RequestSecret,
/** Whether the bridge finds it in the keychain already: the client is that of an application that is connected. */
isKept: boolean,
/** Address of the gateway, for all servers. */
endpoint: string,
/** Address for one server by itself: `NAME` stands for the server's name, percent-encoded. */
serverEndpoint: string,
/** Address for clients that speak only the older HTTP+SSE. */
sseEndpoint: string, };

/** A model of a provider. */
export type ModelChoice = { provider: ProviderId,
/** Its id at the provider. */
model: string, };

/** A model that a provider lists. */
export type ModelInfo = {
/** Its id at the provider. */
id: string,
/** Its name for people, where the provider has one. */
name: string | null, };

/** What happened to a model provider. */
export type ModelProviderChange = "added" | "edited" | "removed";

/** Adds a provider. A key goes to the secret store, bound to the provider and its address. */
export type ModelsAddProvider = { draft: ProviderDraft, key: RequestSecret | null, };

/** Sets what models are used for beside conversations. */
export type ModelsAssign = {
/** For sampling requests; none where absent. */
sampling: ModelChoice | null,
/** For opinions about calls; none where absent. */
opinion: ModelChoice | null, };

/** The models that a provider lists. */
export type ModelsList = { provider: ProviderId,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Removes a provider with its key. Conversations with its models stay and can go on with another model. */
export type ModelsRemoveProvider = { provider: ProviderId, };

/** Changes a provider. The key is deleted if its address changes and no new key is given. */
export type ModelsSetProvider = { provider: ProviderId, draft: ProviderDraft,
/** A new key; empty to delete it, as before where absent. */
key: RequestSecret | null, };

/** The model providers, and what their models are used for. */
export type ModelsShow = Record<symbol, never>;

/** The providers, and what their models are used for. */
export type ModelsView = { providers: Array<ProviderView>,
/** The model that can write answers to servers' sampling requests, for the user to check and send. */
sampling: ModelChoice | null,
/** The model that gives an opinion about the risk of calls (PERM-17); none is asked where absent. */
opinion: ModelChoice | null, };

/** What is done with a server whose name another one has. */
export type NameConflict = "skip" | "overwrite" | "rename";

/** A choice that an approval request offers. One of the width `tool` can be narrowed by conditions. */
export type OfferedChoice = {
/** How long. */
lifetime: ChoiceLifetime,
/** How wide. */
width: ChoiceScope,
/** For every client instead of this one. */
everyClient: boolean,
/** What the answer comes to. Its parameter `what` is a message: what the choice covers. */
sentence: Message, };

/** A condition that an approval request proposes. */
export type OfferedCondition = { condition: Condition,
/** The same in words. */
sentence: Message, };

/** A tool that a server lists and that clients do not get. */
export type OmittedTool = { server: ServerId,
/** The server's name. */
serverName: string,
/** Name on the server, as far as it has one; hidden characters are shown by their numbers. */
name: string,
/** Why, in one sentence. */
reason: string, };

/** Makes another operator key; the one before it counts no more. */
export type OperatorKeyRotate = Record<symbol, never>;

/** Servers that a profile doesn't name. */
export type OtherServers = "shown" | "hidden";

/** How a call ended, roughly. */
export type OutcomeClass = "ok" | "error" | "denied" | "unfinished";

export type PackageSource = { "from": "fastest" } | { "from": "usual" } | { "from": "custom",
/** Address of the registry. */
url: string, };

/** Where servers get their packages from (SRV-10). */
export type PackageSources = {
/** For `npx` and its like. */
npm: PackageSource,
/** For `uvx` and its like. */
pypi: PackageSource, };

/** Refuses everything until resumed; cancels what is in flight (PERM-13). */
export type Pause = Record<symbol, never>;

/**
 * Where a connection was seen from (PERM-9): what the operating system said of its other end when it was
 * made. Any program of the user can stand there, so it is shown and compared and never trusted.
 */
export type PeerProcess = { program: Program,
/** The programs that started it, nearest first. */
parents: Array<Program>, };

/** An approval request that waits for its answer. */
export type PendingApproval = { id: ApprovalId,
/** When it was made. */
requestedAt: Timestamp,
/** When it turns into a deny. */
expiresAt: Timestamp, request: ApprovalRequest,
/**
 * Whether somebody still waits. When the client gave up or was told to call again, an answer
 * becomes a ticket for the next identical call (PERM-11).
 */
waiting: boolean,
/**
 * Name of the provider and id of the model that can be asked about it: to write the answer to a sampling request, or
 * for its opinion about a call (PERM-17). None where the user chose none; only `approvals.list` fills it in.
 */
model: string | null, };

/**
 * Sets what runs without asking, on one server or on every server that there is now, for every
 * client or for one.
 */
export type PolicyAutoApprove = {
/** Id or name of the server; every server that there is now where absent. */
server: string | null,
/** For this client (id or name); every client where absent. */
client: string | null, to: AutoApprove, };

/** The checks of the policy, in the order in which they are made (PERM-6). */
export type PolicyCheck = "managed_policy" | "pause" | "denies" | "late_approval" | "verification" | "allows" | "default" | "profile";

/** Lets suspended rules count again, and forgets the others. */
export type PolicyConfirm = {
/** Which; where absent all of them, with the classes and labels that were set. */
rules: Array<GrantId> | null, };

/** Blocks a tool or more. */
export type PolicyDeny = {
/** Id or name of the server; every server where absent. */
server: string | null,
/** Tool on the server; needed for the width `tool`. */
tool: string | null,
/** For this client (id or name); every client where absent. */
client: string | null,
/** How long and how wide. */
choice: GrantChoice,
/** What the model gets to read. */
reason: string | null, };

/** Other rules than those that hold: what would be taken back, set and added, in this order. */
export type PolicyDraft = {
/** Rules that would be taken back. */
without: Array<GrantId>,
/** What would run without asking, by server and client. */
autoApprove: Array<DraftAutoApprove>,
/** Rules that would be added. */
rules: Array<DraftRule>, };

/** Says which allows and servers nobody needs any more, and which allows are wider than they were ever needed. */
export type PolicyFindings = Record<symbol, never>;

/** Allows a tool or more, without approval. */
export type PolicyGrant = {
/** Id or name of the server. */
server: string,
/** Tool on the server; needed for the width `tool`. */
tool: string | null,
/** For this client (id or name); every client where absent. */
client: string | null,
/** How long and how wide. */
choice: GrantChoice, };

/** Replaces an allow that is wider than it was ever needed by one for the tools that were used. */
export type PolicyNarrow = { rule: GrantId, };

/** Takes back an allow. */
export type PolicyRevoke = { rule: GrantId, };

/** All rules. */
export type PolicyShow = Record<symbol, never>;

/**
 * Judges calls that were made by the present rules and by a draft of others, and says where they
 * differ. Nothing changes (PERM-15).
 */
export type PolicySimulate = {
/** Calls since then. */
since: Timestamp,
/** The other rules. */
draft: PolicyDraft,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** What was allowed under an operator key that was made anew since; it counts for nothing. */
export type PolicySuspended = Record<symbol, never>;

/** Takes back a deny. */
export type PolicyUnblock = { rule: GrantId, };

/** Permissions as they are shown. */
export type PolicyView = {
/** Whether the stored permissions could be verified; if not, everything asks. */
verified: boolean,
/** Why not. */
problem: UserError | null,
/** Whether everything is paused. */
paused: boolean,
/** Every rule, also those that last only for a while. */
rules: Array<RuleView>,
/** What is set to run without asking, for each server that there is, for every client and for each one. */
autoApprove: Array<AutoApproveView>,
/** The user's access classes. */
overrides: Array<AccessOverride>,
/** Servers whose read-only labels the user trusts. */
trustedLabels: Array<ServerBinding>, };

/** How a practice request ended. */
export type PracticeResult = {
/** Whether the call was allowed and ran. */
isAllowed: boolean, };

/** A profile with the id that clients are assigned by. */
export type Profile = { id: ProfileId, settings: ProfileSettings, };

/** One profile of clients (GATE-4). */
export type ProfileId = string;

/** What a profile shows of one server. */
export type ProfileServer = {
/** Id of the server; commands also take its name. */
server: ServerId,
/** What is shown of it. */
tools: ToolSelection, };

/** What the user sets in a profile. */
export type ProfileSettings = {
/** Unique among profiles. */
name: string,
/** The servers that it says something about, each once. */
servers: Array<ProfileServer>,
/** What becomes of all others, also of servers that are added later: `shown`, or `hidden`, which is strict mode. */
otherServers: OtherServers,
/** Tools that a permanent rule without conditions blocks for the client: `listed`, or `hidden`. */
deniedTools: DeniedTools,
/** How tools and prompts are named; as in the settings where absent. Prefixes of URIs are the same for every client. */
naming: ToolNaming | null,
/** How a client gets to know its tools: `full` lists all of them, with `search` it looks for them. */
toolList: ToolListMode,
/**
 * The most requests to servers that each client may make in 60 seconds, 1 to [`MAX_CALLS_PER_MINUTE`]; no limit
 * where absent.
 */
callsPerMinute: number | null,
/**
 * Project folders, as absolute paths without links. A bridge that works in one of them, or below it, sees only what
 * this profile shows too. A strict profile with folders shows its clients nothing outside of them.
 */
folders: Array<string>, };

/** A profile as it is shown. */
export type ProfileView = { profile: Profile,
/** The clients that use it. */
clients: Array<ClientId>,
/**
 * What it makes of the tools that are known now; of denied tools only those that are blocked for every client are
 * left out.
 */
toolList: ToolListCost, };

/** Adds a profile. No client uses it until it is assigned. */
export type ProfilesAdd = {
/** Servers by id or name. */
settings: ProfileSettings, };

/** Reads `.mcp.json` in each folder of a profile, and asks the user about servers that were not added. */
export type ProfilesAddServers = {
/** Id or name. */
profile: string, };

/** All profiles, with their clients and what their lists of tools cost. */
export type ProfilesList = Record<symbol, never>;

/** Removes a profile that no client uses, with the servers of its projects. */
export type ProfilesRemove = {
/** Id or name. */
profile: string, };

/** Changes a profile, for all clients that use it at once. */
export type ProfilesSet = {
/** Id or name. */
profile: string,
/** All of its settings; servers by id or name. Servers that are gone are left out. */
settings: ProfileSettings, };

/** A program that runs. */
export type Program = {
/** Its name, as people know it: `claude`, `node cli.js`. */
name: string,
/** Path of its file; where an interpreter runs a script, both with a blank between. */
path: string,
/**
 * Whether this says what runs: not where options of an interpreter may load other code, or nothing tells
 * what it runs. A rule that is bound to a program never counts for such a one.
 */
isKnown: boolean, };

/** What became of a project's `.mcp.json`. */
export type ProjectFileReport = {
/** Path of the file. */
file: string,
/** Names of the servers that the user is asked about. */
asked: Array<string>,
/** What is wrong with the file, or with some of its servers. */
problems: Array<UserError>, };

export type PromptArgument = { name: string,
/** Its title, else its name. */
title: string, description: string | null,
/** Whether it has to be given. */
required: boolean, };

export type PromptView = {
/** Name on the server. */
name: string,
/** Its title, else its name. */
title: string, description: string | null,
/** Its arguments, in its order. */
arguments: Array<PromptArgument>, };

/**
 * Which revision of the protocol is spoken with a server (SRV-2). `2025-11-25` stands for all revisions with a
 * handshake: the server may negotiate an older one.
 */
export type ProtocolVersionSetting = "auto" | "2026-07-28" | "2025-11-25";

/** The wire format that a provider speaks. */
export type ProviderApi = "open_ai_chat" | "open_ai_responses" | "anthropic" | "gemini";

/** A provider as the user enters it. */
export type ProviderDraft = {
/** Unique without regard to case. */
name: string, api: ProviderApi,
/** Address before the path of the API: `https`, or `http` on this computer or in a private network. */
baseUrl: string,
/** The model that new conversations use. */
defaultModel: string | null, };

/** One model provider that the user added. */
export type ProviderId = string;

export type ProviderView = { id: ProviderId, name: string, api: ProviderApi, baseUrl: string, defaultModel: string | null,
/** Whether a key is stored for this address. */
hasKey: boolean, };

/** A client that is registered with the authorization server. */
export type RegisteredClient = {
/** `client_id` */
id: string,
/** `client_secret`, as `${secret:NAME}`; absent for a public client. */
secret: string | null,
/** How it proves itself at the token endpoint; found out where absent. */
method: TokenEndpointAuthMethod | null, };

/** What the registry says now about the entry that a server came from. Nothing changes. */
export type RegistryCheck = {
/** Id or name. */
server: string, };

/** Settings that were made of an option. Nothing is added yet. */
export type RegistryDraft = { draft: ServerDraft,
/** The secrets that the draft refers to. */
secrets: Array<ComposedSecret>, };

/** One version of an entry. */
export type RegistryEntry = {
/** Its name, as in `io.github.user/weather`. */
name: string, title: string | null, description: string, version: string, isLatest: boolean, status: RegistryStatus,
/** What the publisher says about the status. */
statusMessage: string | null,
/** When it was published, in RFC 3339. */
publishedAt: string | null,
/** Address of its source code; https. */
repository: string | null,
/** Address of its home page; https. */
website: string | null,
/** The ways to run it or to reach it. */
options: Array<RegistryOption>, };

/** Makes settings of an option of an entry. Nothing is added. */
export type RegistryFill = {
/** Name of the entry. */
name: string, version: string,
/** Id of the option. */
option: string,
/** What was entered, by the ids of inputs. Secrets are not in it: the reply says where they belong. */
values: { [key in string]: string },
/** Ids of the secrets that there is a value for. */
secrets: Array<string>,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** One thing that is entered for an option. */
export type RegistryInput = {
/** Unique among the inputs of the option; the name that people know it by, as far as possible. */
id: string, description: string | null, required: boolean,
/** A secret. Its value doesn't go into the settings, but into the store of secrets. */
secret: boolean,
/** A secret that becomes part of the command or of the address, where it stands in plain text. */
plainSecret: boolean, format: RegistryInputFormat, default: string | null,
/** An example. */
placeholder: string | null,
/** The only values that it may have; any where empty. */
choices: Array<string>,
/** It may have several values, one a line. */
repeated: boolean, };

/** What the value of an input is. */
export type RegistryInputFormat = "string" | "number" | "boolean" | "filepath";

/** One way to run the server of an entry, or to reach it. */
export type RegistryOption = {
/** Unique among the options of the entry. */
id: string, kind: RegistryOptionKind,
/** The package or the address. */
label: string,
/** What is entered for it. */
inputs: Array<RegistryInput>,
/** Why Gatehouse makes no settings of it. */
unusable: Message | null,
/** SHA-256 of the bundle's file in hexadecimal, as the entry says; absent for all others. */
fileSha256: string | null, };

/** What a [`RegistryOption`] is. */
export type RegistryOptionKind = "npm" | "pypi" | "oci" | "nuget" | "mcpb" | "http" | "sse" | "other";

/** A page of entries, or all versions of one entry. */
export type RegistryPage = {
/** In the order of the registry; versions newest first. */
entries: Array<RegistryEntry>,
/** Where the next page begins; absent on the last one. */
nextCursor: string | null,
/** Entries that are left out because they can't be read. */
omitted: number,
/** When the registry answered this. */
fetchedAt: Timestamp,
/** Why this is an earlier answer of the registry; absent if it is a present one. */
offline: UserError | null, };

/** What the registry says about a server that came from it. */
export type RegistryReport = {
/** Status of the version that the server has; absent if the registry doesn't have the version. */
status: RegistryStatus | null, statusMessage: string | null,
/** A newer version; absent if the server has the newest one. */
update: RegistryUpdate | null, };

/** Looks for servers in the MCP registry: the newest versions of entries. */
export type RegistrySearch = {
/** Part of the name; all entries where empty. */
text: string,
/** Where the page begins, as the page before it says; the first one where absent. */
cursor: string | null,
/** Whether the registry is asked even if it was a moment ago. */
refresh: boolean,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** An entry of the MCP registry in one of its versions. */
export type RegistrySource = {
/** Name of the entry, as in `io.github.user/weather`. */
name: string,
/** Version of the entry, which needn't be that of a package. */
version: string, };

/** Status of an entry. */
export type RegistryStatus = "active" | "deprecated" | "deleted";

/** A version that a server can change to. */
export type RegistryUpdate = { version: string,
/** Whether it is known to be newer; versions that are no semantic ones can only differ. */
isNewer: boolean,
/** The server's settings with that version; absent if they name no package or address of the entry any more. */
draft: ServerDraft | null, };

/** All versions of an entry of the MCP registry. */
export type RegistryVersions = {
/** Name of the entry. */
name: string,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Where a remote server is and what is sent with each request to it (SRV-11). */
export type Remote = {
/** Its address. */
url: string,
/** Static headers. */
headers: { [key in string]: string },
/** A program that prints more headers each time a connection is made, and after a 401. */
headersFrom: HeaderProgram | null,
/** How it is signed in to. Part of what the server is: tokens of other settings are never used. */
signIn: SignInSettings, };

/** A removal that `removals.undo` can still undo. */
export type Removal = { id: RemovalId,
/** Seconds for which it can be undone. */
seconds: number, };

/** One removal that can still be undone. */
export type RemovalId = string;

/**
 * Brings back what was removed last, or by the removal of this id: a server with its secrets and permissions, a
 * profile with the servers of its projects, or a rule.
 */
export type RemovalsUndo = { removal: RemovalId | null, };

/** A secret inside a request: unlike [`Secret`] it is written out, since it has to reach the core. */
export type RequestSecret = string;

export type ResourceView = { uri: string,
/** Its title, else its name. */
title: string, description: string | null,
/** Its media type. */
mimeType: string | null,
/** Its size in bytes, where the server says so. */
size: number | null, };

/** One settings file of an application that was disconnected. */
export type RestoredFile = { path: string, how: RestoredHow, };

/** What was done to a settings file when its application was disconnected. */
export type RestoredHow = "restored" | "deleted" | "entry_removed" | "unchanged";

/** What a part is. */
export type ResultContent = { "kind": "text", text: TruncatedText,
/** The resource that it is, where it is one. */
uri: string | null,
/** Its media type, where it is said. */
mimeType: string | null, } | { "kind": "binary",
/** Its media type. */
mimeType: string,
/** Its bytes in base64 (RFC 4648); absent where there are too many to show. */
data: string | null,
/** How many bytes it has. */
bytes: number,
/** The resource that it is, where it is one. */
uri: string | null, } | { "kind": "link", uri: string,
/** Its title, else its name. */
title: string,
/** Its media type. */
mimeType: string | null, } | { "kind": "other",
/** As JSON text. */
json: TruncatedText, };

/** One part of what a server gave. */
export type ResultPart = {
/** `user` or `assistant`, for the messages of a prompt. */
role: string | null, content: ResultContent, };

/** How a request for the user ended. */
export type ResultStatus = { "end": "ok" } | { "end": "tool_error" } | { "end": "error", code: number, message: string, };

/** What a server gave, as it is shown. The whole of it is kept for a while and can be saved. */
export type ResultView = {
/** By what `results.save` finds it. */
id: string,
/** How the request ended. */
end: ResultStatus,
/** Its parts, in their order. */
parts: Array<ResultPart>,
/** `structuredContent` as JSON text, cut like a text. */
structured: TruncatedText | null,
/** What does not fit the tool's `outputSchema`; such a result counts as failed here. */
unfit: string | null,
/** `_meta` as JSON text, where there is one. */
meta: string | null,
/** Bytes of the result. */
bytes: number,
/** How long it took without the time spent waiting for a person, in milliseconds. */
tookMs: number,
/** Time spent waiting for a person, in milliseconds. */
waitedMs: number,
/** The call that it was, where it came to one. */
call: CallId | null,
/** What decided, where it came to a call. */
verdict: Verdict | null,
/** The messages to and from the server, oldest first. There are none of a built-in server. */
messages: Array<WireMessage>, };

/** Writes a part of a shown result to the user's folder of downloads. */
export type ResultsSave = { result: string,
/** Which part, from 0; the whole result as JSON where absent. */
part: number | null, };

/** Ends a pause. */
export type Resume = Record<symbol, never>;

/** One argument with nothing masked, for the eyes of whoever asked to see it. */
export type RevealedArgument = {
/** Its JSON text with hidden characters made visible as `⟦U+202E⟧`. */
text: string, };

/** How much a call can do harm, in a model's opinion. */
export type RiskLevel = "low" | "medium" | "high";

/** A model's opinion about a call (PERM-17). It decides nothing. */
export type RiskOpinion = { level: RiskLevel,
/** One sentence of at most 18 words, cleaned of hidden characters. */
sentence: string,
/** Name of the provider and id of the model. */
model: string, };

/** A new operator key, which is shown this once. */
export type RotatedKey = {
/** 256 random bits in base64url. */
key: RequestSecret, };

/**
 * The rules in the order in which they are tried (PERM-6), but for one: a late ticket is looked for
 * before a changed definition. Its hash holds the definition as it is now, so it was given for just
 * that, and a grant that is suspended for the definition's sake does not take it back.
 */
export type Rule = { "rule": "policy_file",
/** Reason that the file gives. */
reason: string, } | { "rule": "paused" } | { "rule": "switched_off" } | { "rule": "hidden_by_profile",
/** Name of the profile. */
profile: string, } | { "rule": "rate_limited", perMinute: number, } | { "rule": "explicit_deny", grant: GrantId,
/** What the user said, if anything. */
reason: string | null, } | { "rule": "rights_unverified" } | { "rule": "changed_definition", grant: GrantId, } | { "rule": "unbound_grant", grant: GrantId, } | { "rule": "late_ticket",
/** The approval request that was answered. */
ask: ApprovalId, } | { "rule": "conditioned_grant", grant: GrantId, } | { "rule": "timed_grant", grant: GrantId, } | { "rule": "always_grant", grant: GrantId, } | { "rule": "answered", ask: ApprovalId, } | { "rule": "unanswered", ask: ApprovalId, } | { "rule": "by_user" } | { "rule": "default_ask" };

/** Who made a rule. It decides no call, only which rules another one may replace. */
export type RuleAuthor = { "author": "person" } | { "author": "unprivileged" } | { "author": "confirmed",
/** When it was confirmed. */
at: Timestamp, };

/** What an allow comes to for the tools that are known now. */
export type RuleCoverage = {
/** Tools that it is for. */
covered: number,
/** Tools that it was given for, in a definition that nobody approved for it: they ask (PERM-8). */
changed: Array<string>,
/** Tools that came later, and ask. */
later: number,
/** Whether it waits for its first use: it is for one client, and bound to no program yet. */
waitsForFirstUse: boolean, };

/** What a rule does with a call. */
export type RuleEffect = "allow" | "deny";

/** What is said of one allow. */
export type RuleFinding = { rule: GrantId,
/** The rule in words. */
sentence: Message, finding: FindingKind, };

/** Why a rule decided a call, or why it did not. */
export type RuleFit = "decided" | "outranked" | "not_covered" | "added_later" | "changed_definition" | "not_in_force" | "other_program" | "unbound" | "conditions_failed";

/** A rule and its sentence in words. */
export type RuleView = { rule: Grant,
/** The rule in words, as in "Always allow files: write_file, for Claude Code". */
sentence: Message,
/** What is said of it where it is not certain to be a person's own, as in "added without the operator key". */
note: Message | null,
/** When it last decided a call, as far as calls are kept. */
lastUsed: Timestamp | null,
/** What it comes to; `None` for a deny, for a rule for one exact call, and for one that is suspended. */
reach: RuleCoverage | null, };

/** A call that has begun and not ended. */
export type RunningCall = { call: CallId,
/** When it came in. */
at: Timestamp, client: ClientId, server: ServerId,
/** Which tool (name on the server); also a resource or prompt. */
tool: string,
/** Whether it is with its server, and can be cancelled; before that it waits for a decision. */
sent: boolean,
/** How far it is, where its server says so. */
progress: CallProgress | null,
/** The state of the task that it became, where it became one (TOOL-10). */
task: CallTaskState | null,
/** What the user calls this run, where it is one of the user's own. */
run: string | null, };

/** An answer to a sampling request that a model wrote. Nothing is sent before the user does it. */
export type SamplingDraft = {
/** The result of `sampling/createMessage` as JSON text. */
content: string,
/** The text in it. */
text: string,
/** Name of the provider and id of the model. */
model: string,
/** Whether the server offered tools, which the model was not given: Gatehouse does not declare `sampling.tools`. */
toolsLeftOut: boolean, };

/** A server wants a model's answer. Without a client that can give one the user may write it. */
export type SamplingRequest = { server: ServerSummary,
/** Whose call it asks about, where that is certain. */
client: ClientSummary | null,
/** The system prompt, where it wants one: whole, secrets masked, hidden characters made visible. */
system: string | null,
/** The messages, oldest first, as `role: text`; what is no text is named in brackets. Shown as `system`. */
messages: Array<string>,
/** The request's params as JSON text, with secrets masked. */
request: string, };

/** Where something was written. */
export type SavedFile = { path: string, };

/** What a rule covers (PERM-4). */
export type Scope = { "width": "call",
/** Which one. */
hash: CallHash, } | { "width": "tool",
/** Name as the server gives it. */
tool: string, } | { "width": "reads" } | { "width": "writes" } | { "width": "everything" };

/** A server wants more OAuth scopes. */
export type ScopeUpgradeRequest = { server: ServerSummary,
/** The scopes that are missing. */
scopes: Array<string>, };

/** A part of a secret. */
export type SecretPart = { "text": string } | { "input": string };

/** What only people see; editing it never reconnects and needs no confirmation. */
export type ServerAppearance = {
/** One sentence on what the server is for. */
description: string | null,
/**
 * Name of one of the icons that are in the program, or an emoji. Where absent or `auto`, lists show the server's own
 * icon if it has one, else the usual one of its kind.
 */
icon: string | null,
/** Group that the card is shown in. */
group: string | null, };

/** The server that a rule is bound to; an edited or replaced server is another one (SRV-16). */
export type ServerBinding = {
/** Immutable id. */
server: ServerId,
/** Generation at the time of the rule. */
generation: Generation,
/** Hash of what the server was. Empty in records of older versions, which no server matches. */
identity: IdentityHash, };

/** What a server offers beside its tools. */
export type ServerCatalog = { declared: DeclaredCapabilities,
/** Its instructions for the model. */
instructions: string | null,
/** Its resources, in its order. */
resources: Array<ResourceView>,
/** Its resource templates, in its order. */
templates: Array<TemplateView>,
/** Its prompts, in its order. */
prompts: Array<PromptView>,
/** URIs that the user watches. */
watched: Array<string>,
/**
 * Why its resources and templates are an error: only in strict mode, and when it did not declare
 * them (SRV-13).
 */
resourcesProblem: UserError | null,
/** Why its prompts are an error: only in strict mode, and when it did not declare them (SRV-13). */
promptsProblem: UserError | null, };

/** One configured upstream server (SRV-1, SRV-3, SRV-16). */
export type ServerConfig = {
/** Immutable id. */
id: ServerId,
/** Counts identity-bearing edits. */
generation: Generation,
/** Unique display name, also the prefix of exposed tool names. */
name: string,
/** How it is reached. */
transport: Transport,
/** The revision of the protocol that is spoken with it. Not part of its identity; an edit reconnects. */
protocolVersion: ProtocolVersionSetting,
/** Whether it may run at all. While it may not, its tools are not listed and no call starts it. */
enabled: boolean,
/**
 * Whether it starts by itself with Gatehouse. If it does not, it starts when it is needed: for a call
 * or by hand. Without effect while it is not enabled.
 */
autostart: boolean,
/**
 * Whether arguments and results of its calls are stored with the records of the calls. An edit does not reconnect;
 * records that are stored already stay as they are.
 */
recordBodies: boolean,
/** Everything that does not touch the connection. */
look: ServerAppearance,
/** How long things may take. */
limits: ServerLimits,
/** How the entry came to be. */
origin: ServerOrigin,
/** The entry of the MCP registry that its settings were made of. Only what its updates are looked up by. */
registry: RegistrySource | null, };

/** How many of each a server offers. */
export type ServerCounts = { tools: number, resources: number, prompts: number, };

/** What a person (or a command) supplies to add or edit a server; the rest is Gatehouse's. */
export type ServerDraft = {
/** Unique display name. */
name: string,
/** How it is reached. */
transport: Transport,
/** The revision of the protocol that is spoken with it. */
protocolVersion: ProtocolVersionSetting,
/** Whether it may run at all. */
enabled: boolean,
/** Whether it starts by itself with Gatehouse. */
autostart: boolean,
/** Whether arguments and results of its calls are stored with the records of the calls. */
recordBodies: boolean,
/** What only people see. */
look: ServerAppearance,
/** How long things may take. */
limits: ServerLimits,
/** The entry of the MCP registry that the settings were made of. */
registry: RegistrySource | null, };

/**
 * One configured upstream server. Immutable for the life of the entry: a rename keeps it, a
 * duplicate gets a new one.
 */
export type ServerId = string;

/** The image that a server names as its icon. */
export type ServerImage = {
/** A `data:` address of a PNG of 64 × 64 pixels that Gatehouse encoded; `None` if there is none to show. */
image: string | null, };

/** How a server names itself (`serverInfo`), with its instructions. */
export type ServerInfo = { name: string, title: string | null, version: string,
/** `instructions` of the handshake. */
instructions: string | null, };

/**
 * What one server is held to: how long things may take (SRV-7, SRV-8), what it may be told and
 * asked. Editing it never reconnects.
 */
export type ServerLimits = {
/** Connecting, in seconds. */
connectSecs: number,
/** One tool call without progress. Progress resets it. */
callSecs: number | null | "default",
/** One tool call in all, whatever progress it makes. */
callCapSecs: number | null | "default",
/** Time between health checks, in seconds; 0 switches them off. */
healthEverySecs: number,
/** How long a health check may take, in seconds. */
healthTimeoutSecs: number,
/** Failed checks in a row after which the connection is given up. */
healthFailures: number,
/** Whether a list that the server did not declare is an error instead of empty (SRV-13). */
strict: boolean,
/**
 * Absolute folders that the server is told of when it asks for roots and no client that can
 * answer is calling it (SRV-15).
 */
roots: Array<string>, };

/** How an entry came to be. */
export type ServerOrigin = "user" | "project";

/** One thing that is wrong with the settings of a server. */
export type ServerProblem = {
/**
 * JSON pointer to the field within the server's entry in servers.json; `/name` for its name. The
 * field may be absent.
 */
pointer: string,
/** What is wrong with it. */
message: Message,
/** Its place in the text that was validated; absent for a draft. */
span: TextSpan | null, };

/** The user's answer to a request of a server. */
export type ServerRequestAnswer = "accepted" | "declined" | "cancelled" | "unanswered";

/** Kinds of requests that a server makes to the user. */
export type ServerRequestKind = "form" | "url" | "sampling" | "step_up";

/** State of one server. Derived from the actor's private state; never stored. */
export type ServerStatus = { "state": "disabled" } | { "state": "stopped" } | { "state": "connecting",
/** 1 for the first attempt. */
attempt: number, } | { "state": "connected", since: Timestamp,
/** Negotiated protocol revision. */
protocol: string,
/** How the server names itself. */
server: ServerInfo, } | { "state": "needs_auth",
/** Authorization server, where it is known. */
issuer: string | null, } | { "state": "needs_client_registration", reason: UserText, } | { "state": "failed", error: FailureKind,
/** What happened, why, and what to do, in plain words. */
message: UserText,
/** Attempts so far in this row. */
attempts: number,
/** When the next try comes, if one does. */
nextRetry: Timestamp | null, };

/** The server of an approval request. */
export type ServerSummary = { id: ServerId, generation: Generation, name: string, description: string | null,
/**
 * Name of its icon, one of those that are in the program, or an emoji that the user chose. Never an image of the
 * server's: with that of another one it could pass for it where a person decides.
 */
icon: string, };

/** One server as the UI and the command line see it. */
export type ServerView = {
/** Its configuration; secret references stay references. */
config: ServerConfig,
/** Name of the icon that it is shown with. */
icon: string,
/** Its state. */
status: ServerStatus,
/** What it offers, counted. */
counts: ServerCounts,
/** What it declared on the present or last connection. */
declared: DeclaredCapabilities,
/** Whether the user trusts its read-only labels (PERM-2). */
trustedLabels: boolean,
/** What may run without asking: the always-grants of this server, in words (PERM-3). */
autoApprove: Array<string>,
/** Its sign-in; `None` where there is nothing to sign in to. */
signIn: SignInState | null,
/** The very last lines of its standard error or log, oldest first; `servers.log` has more. */
logTail: Array<LogLine>,
/** Errors within the last hour: lines of its log, failed connections and failed calls. */
errorsLastHour: number, };

/** Adds a server and starts it if it is to run. */
export type ServersAdd = { draft: ServerDraft,
/** The answer to "Trust this server's read-only labels and allow reads?" */
trustLabels: boolean,
/** Secrets that the draft refers to as `${secret:NAME}`. */
secrets: Array<FieldSecret>,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/**
 * Calls a tool for the user, who has seen its arguments. As a client, the call is judged as one of that client
 * and asked about where one of that client is; its record names both. A tool that runs only as a task runs as one.
 */
export type ServersCallTool = {
/** Id or name. */
server: string,
/** Name on the server. */
tool: string,
/** Arguments as JSON text. */
arguments: string,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null,
/** As this client (id or name), by its profile and permissions; as the user where absent. */
client: string | null, };

/** Gives up a sign-in that waits. */
export type ServersCancelSignIn = {
/** Id or name. */
server: string, };

/** What a server offers beside its tools. */
export type ServersCatalog = {
/** Id or name. */
server: string, };

/** Completes one argument of a prompt or of a resource template. */
export type ServersComplete = {
/** Id or name. */
server: string, of: CompletionTarget,
/** Name of the argument. */
argument: string,
/** What there is of it. */
value: string,
/** The arguments that are settled already. */
others: { [key in string]: string }, };

/** Copies a server under a new name, with an id of its own and no permissions. */
export type ServersDuplicate = {
/** Id or name. */
server: string,
/** Name of the copy. */
name: string, };

/** Changes a server; reconnects only when the connection is another one. */
export type ServersEdit = {
/** Id or name. */
server: string,
/** All of its settings. */
draft: ServerDraft,
/** Secrets that are new or have a new value; those not named here stay as they are. */
secrets: Array<FieldSecret>, };

/** Gets a prompt for the user. */
export type ServersGetPrompt = {
/** Id or name. */
server: string,
/** Name on the server. */
prompt: string, arguments: { [key in string]: string },
/** As this client (id or name), by its profile and permissions; as the user where absent. */
client: string | null,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/**
 * The image that a server names as its icon, unless the user chose another icon. It is fetched at most once a day, and
 * only while the server is connected.
 */
export type ServersIcon = {
/** Id or name. */
server: string, };

/** All servers with their states. */
export type ServersList = Record<symbol, never>;

/** The last 200 lines of a server's standard error or log, oldest first. */
export type ServersLog = {
/** Id or name. */
server: string, };

/** Takes the address that the browser ended at, where it could not reach Gatehouse by itself. */
export type ServersPasteAddress = {
/** Id or name. */
server: string,
/** The whole address. */
address: RequestSecret, };

/** Reads a resource for the user. */
export type ServersReadResource = {
/** Id or name. */
server: string, uri: string,
/** As this client (id or name), by its profile and permissions; as the user where absent. */
client: string | null,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Closes the connection and makes a new one. */
export type ServersReconnect = {
/** Id or name. */
server: string, };

/** Removes a server and every right that it had. */
export type ServersRemove = {
/** Id or name. */
server: string,
/** Whether its secrets and permissions are kept until it is too late for `removals.undo`. */
undoable: boolean, };

/** Goes back to the servers of a first start; all others go with their permissions and secrets. */
export type ServersReset = Record<symbol, never>;

/**
 * Changes some settings of a server and leaves the others, as `servers.edit` does: for callers that don't see
 * all of them. A secret in plain text stays only with the program or the address that has it.
 */
export type ServersSet = {
/** Id or name. */
server: string,
/** The settings that change; of several changes of one setting the last one counts. */
changes: Array<SettingChange>,
/** Secrets that are new or have a new value; those not named here stay as they are. */
secrets: Array<FieldSecret>, };

/** Tells a server how much to log. */
export type ServersSetLogLevel = {
/** Id or name. */
server: string,
/** The least that is logged. */
level: LogLevel, };

/**
 * The settings of a server as JSON text for an editor: an object with its name and its entry in
 * servers.json. Placeholders stand for secrets that are written there in plain text.
 */
export type ServersSettingsText = {
/** Id or name. */
server: string, };

/** Begins to sign in to a server. The click on it is what opens the browser. */
export type ServersSignIn = {
/** Id or name. */
server: string,
/** Whether the browser is opened here; else the caller shows the address to the user. */
open: boolean, };

/** Signs out: the tokens are forgotten, and taken back where the authorization server offers it. */
export type ServersSignOut = {
/** Id or name. */
server: string,
/**
 * What `servers.stopRun` is to call this run. Stopped, it no longer waits for the authorization server,
 * and the tokens are forgotten all the same. It is not stopped by itself where absent.
 */
run: string | null, };

/** Starts a server; enables a disabled one. */
export type ServersStart = {
/** Id or name. */
server: string, };

export type ServersStop = {
/** Id or name. */
server: string,
/** Also keep it from starting by itself or for a call. */
disable: boolean, };

/**
 * Cancels what was given a name: a call, a read or a prompt, also at the server; the test of a connection, whose
 * process then ends; adding a server, which is removed again; an import, which goes no further; reading a bundle or the
 * registry; or an export, which leaves no file. Nothing happens when it has ended.
 */
export type ServersStopRun = {
/** The name that the run was given. */
run: string, };

/**
 * Switches MCP off: every server stops, none starts, and every call is refused. Lasts until it
 * is switched on.
 */
export type ServersSwitchOff = Record<symbol, never>;

/** Switches MCP on: the servers that start by themselves start. */
export type ServersSwitchOn = Record<symbol, never>;

/** Connects to a draft without keeping it. */
export type ServersTest = { draft: ServerDraft,
/** Secrets that the draft refers to; forgotten when the test is over. */
secrets: Array<FieldSecret>,
/** What `servers.stopRun` is to call this run; it is not stopped by itself where absent. */
run: string | null, };

/** Trusts a server's read-only labels, or ceases to. */
export type ServersTrustLabels = {
/** Id or name. */
server: string, trusted: boolean,
/** Only while the server is this generation, which the user saw; whatever it is where absent. */
generation: Generation | null, };

/**
 * Says everything that is wrong with settings of a server. Nothing changes. Without the operator key, the server
 * is taken as `servers.list` shows it, and whether a folder exists is not looked up.
 */
export type ServersValidate = {
/** Id or name of the server that is edited; absent for a new one. */
server: string | null,
/** Its settings. */
settings: SettingsInput,
/** The fields that a secret is given for with them, as in `FieldSecret`. */
secrets: Array<string>, };

/** Watches a resource for the user, or ceases to; changes come as `resources_changed`. */
export type ServersWatchResource = {
/** Id or name. */
server: string, uri: string,
/** Whether it is watched from now on. */
on: boolean, };

/** One connection of a client: an MCP session of the stateful revisions, or a bridge. */
export type SessionId = string;

/** One setting of a server with its new value. */
export type SettingChange = {
/** JSON pointer to the setting within the server's entry in servers.json, as `/env/MODE`; `/name` for its name. */
pointer: string,
/** The value as JSON; absent where it becomes what it is by default, or is removed. */
value: string | null, };

/** What the user sets for Gatehouse as a whole. */
export type Settings = {
/** Days that the audit is kept, [`MIN_AUDIT_DAYS`] or more; for ever where absent. */
auditDays: number | null,
/** Days that calls are kept. */
activityDays: number,
/** Calls that are kept at most. */
activityCalls: number,
/** Whether MCP is on; while it is off no server runs and every call is refused. */
mcpOn: boolean,
/** Where servers get their packages from (SRV-10). */
packages: PackageSources,
/**
 * Public address of Gatehouse's Client ID Metadata Document (AUTH-2); it is used as client id where
 * an authorization server takes such documents. Nothing is offered where absent.
 */
clientDocument: string | null,
/** How long a call may take, on servers that have no limit of their own (SRV-8). */
calls: CallLimits,
/**
 * How clients see the names of tools and prompts (TOOL-2): `onConflict` is the own name, with the server in front only
 * where the name is taken; `server` is `server__tool`; `mcpServer` is `mcp__server__tool`.
 */
toolNames: ToolNaming,
/**
 * Further names under which clients reach the gateway, as `host` or `host:port`: those of a container's host, or of
 * a forwarded port (GATE-3).
 */
allowedHosts: Array<string>,
/** Address of the MCP registry that servers are looked for in (UI-2). */
registry: string, };

/** Settings of a server that are to be validated. */
export type SettingsInput = { "draft": ServerDraft } | { "json": string } | { "changes": Array<SettingChange> };

/** What makes an application read its settings again. */
export type SettingsReload = "automatic" | "restart" | "next_session";

/**
 * Sets how long things are kept, how long calls may take and how tools are named, and lets go of
 * what is older at once. MCP as a whole has its own switch.
 */
export type SettingsSet = {
/** Days that the audit is kept, 7 or more; for ever where absent. */
auditDays: number | null,
/** Days that calls are kept, 1 or more. */
activityDays: number,
/** Calls that are kept at most, 1 or more. */
activityCalls: number,
/** Where servers get their packages from; as before where absent. */
packages: PackageSources | null,
/** Address of the Client ID Metadata Document; empty for none, as before where absent. */
clientDocument: string | null,
/** How long calls may take; as before where absent. */
calls: CallLimits | null,
/** How clients see the names of tools and prompts; as before where absent. */
toolNames: ToolNaming | null,
/** Further names under which clients reach the gateway; as before where absent. */
allowedHosts: Array<string> | null,
/** Address of the MCP registry; empty for the official one, as before where absent. */
registry: string | null, };

/** What is set for Gatehouse as a whole. */
export type SettingsShow = Record<symbol, never>;

/** One argument as the prompt shows it: the whole value, never cut. */
export type ShownArgument = {
/** Name of the member. */
name: string,
/** Its JSON text with secrets masked and hidden characters made visible as `⟦U+202E⟧`. */
text: string,
/** Whether something in it was masked. */
masked: boolean,
/** Whether it is no argument but goes with them: `task`, `_meta`, the input of a next round. */
extra: boolean, };

/** Endpoints as the user knows them. */
export type SignInEndpoints = {
/** Authorization endpoint. */
authorize: string,
/** Token endpoint. */
token: string,
/** Revocation endpoint (RFC 7009). */
revoke: string | null, };

export type SignInMethod = { "with": "browser" } | { "with": "client_secret" } | { "with": "client_key",
/** Private key in PEM, as `${secret:NAME}`. */
key: string,
/** `RS256`, `ES256` and their like. */
algorithm: string, } | { "with": "enterprise",
/** Issuer of the identity provider. */
issuer: string,
/** `client_id` at the identity provider. */
client: string,
/** `client_secret` there, as `${secret:NAME}`. */
secret: string | null, };

/** What happened to the sign-in of a server. */
export type SignInOutcome = "signed_in" | "failed" | "signed_out" | "tokens_revoked" | "expired";

/** How a server is signed in to. The default finds everything out by itself. */
export type SignInSettings = {
/** Whether Gatehouse never signs in here; a 401 is then a failure like any other. */
off: boolean,
/** A client that is registered already (AUTH-2); registered or described by a document where absent. */
client: RegisteredClient | null,
/** Scopes to ask for in the place of those that the server names. */
scopes: Array<string>,
/**
 * The redirect URI that the registration demands: `http` on this machine, with a port. An
 * ephemeral port of 127.0.0.1 where absent.
 */
redirect: string | null,
/** Endpoints of an authorization server that cannot be discovered (AUTH-3). */
endpoints: SignInEndpoints | null,
/** What proves who signs in. */
with: SignInMethod, };

/** A sign-in that began. */
export type SignInStart = {
/** The address that the user has to visit; `None` when no browser is needed and all is done. */
address: string | null, };

/** The sign-in of one server as it stands. */
export type SignInState = { "is": "out",
/** Why the last attempt came to nothing, if there was one. */
problem: UserError | null, } | { "is": "waiting",
/** Host of the authorization server, for the user to compare. */
host: string,
/** When the attempt ends by itself. */
until: Timestamp, } | { "is": "in",
/** Who, as far as the authorization server says so. */
account: string | null,
/** Authorization server. */
issuer: string,
/** What was granted. */
scopes: Array<string>,
/** When the present token expires; `None` means that it does not say. */
expires: Timestamp | null,
/** Whether it is renewed without the user. */
renews: boolean, };

export type SignOutResult = {
/** Whether the authorization server took the tokens back too. */
revoked: boolean, };

/** A tool whose schema the provider's format can't carry whole. Calls are validated against the whole schema. */
export type SimplifiedTool = {
/** The name that the model uses. */
tool: string,
/** JSON pointers into the schema with the keyword that was left out or changed, such as `/properties/a/pattern`. */
changes: Array<string>, };

/** Calls of one kind that the draft decides in another way. */
export type SimulatedChange = { client: ClientId, server: ServerId,
/** What was used. */
subject: Subject,
/** By the rules that hold. */
now: Decision, draft: Decision,
/** The draft's rule for the newest of them. */
rule: Rule,
/** How many calls. */
calls: number,
/** The newest of them. */
last: CallId, at: Timestamp, };

/** What a simulation found. Calls are judged as if they came now, with the tools as they are now. */
export type SimulationReport = {
/** Calls that were judged. */
calls: number,
/** Calls that could not be judged: their server or tool is gone. */
gone: number,
/** Calls whose arguments are not kept whole; a rule with conditions counts for them only if it denies. */
incomplete: number,
/** Whether there were more calls than are looked at; then these are the newest. */
cut: boolean,
/** By the rules that hold. */
now: DecisionCounts, draft: DecisionCounts,
/** Where the two differ, most calls first. */
changes: Array<SimulatedChange>, };

/** What the statistics count separately. */
export type StatisticsGroup = "all" | "client" | "server";

/** How long each interval of the statistics is. */
export type StatisticsInterval = "minute" | "hour" | "day";

/** The calls of one interval. */
export type StatisticsPoint = {
/** When the interval begins. */
at: Timestamp,
/** Id of the client or server that is counted separately; absent where nothing is. */
of: string | null, counts: CallCounts, };

/** What runs, what waits, what is wrong. */
export type Status = Record<symbol, never>;

/** Why a status changed. Goes with every change (SRV-2). */
export type StatusCause = { "cause": "launch" } | { "cause": "user" } | { "cause": "call" } | { "cause": "edited" } | { "cause": "retry" } | { "cause": "handshake" } | { "cause": "attempt_failed" } | { "cause": "unexpected_close",
/** Exit code or signal and the last words. */
reason: UserText, } | { "cause": "unresponsive" } | { "cause": "session_lost" } | { "cause": "challenge" } | { "cause": "shutdown" };

/** What runs, what waits, what is wrong. */
export type StatusReport = {
/** Version of Gatehouse. */
version: string,
/** Address of the gateway. */
endpoint: string,
/** Folder that everything is kept in. */
dataDir: string,
/** Process id. */
pid: number,
/** Who answers approval requests: `window` or `operator`. */
answeredBy: string,
/** Where secrets are kept: `keychain`, `vault` or `memory`. */
secrets: string,
/** Whether everything is paused. */
paused: boolean,
/** Whether MCP is on; while it is off no server runs and every call is refused. */
switchedOn: boolean,
/** Servers that run. */
running: number,
/** Servers in all. */
servers: number,
/** Tools in the catalogue. */
tools: number,
/** Clients that have a token. */
clients: number,
/** Approval requests that wait. */
waiting: number,
/** Sequence number of the last event. */
lastEvent: number,
/** What is wrong, in words. */
problems: Array<UserError>, };

/** What connects the standard streams of a server's process to Gatehouse. */
export type StdioStreams = "sockets" | "pipes";

/** What a call is about (PERM-18). */
export type Subject = { "kind": "tool",
/** Name on the server. */
name: string, } | { "kind": "resource", uri: string, } | { "kind": "prompt",
/** Name on the server. */
name: string, } | { "kind": "completion",
/** The prompt's name or the resource template's URI. */
reference: string, } | { "kind": "request",
/** Its JSON-RPC method. */
method: string, };

/** An answer to one approval request; refused when the hash is not that of the approval request as it stands. */
export type SubmittedAnswer = { id: ApprovalId,
/** For calls: the hash that was shown. */
hash: CallHash | null, answer: ApprovalAnswer, };

/** A resource template (RFC 6570). */
export type TemplateView = { uriTemplate: string,
/** The variables in it, in its order. */
variables: Array<string>,
/** Its title, else its name. */
title: string, description: string | null,
/** Its media type. */
mimeType: string | null, };

/** What **Test connection** found. */
export type TestReport = {
/** How the server names itself. */
server: ServerInfo,
/** Its tools, in its order. */
tools: Array<TestedTool>,
/** How many resources it has. */
resources: number,
/** How many prompts it has. */
prompts: number, };

/** A tool of a server that is not kept yet. */
export type TestedTool = {
/** Name on the server. */
name: string,
/** Title, cleaned (TOOL-4). */
title: string | null,
/** Description, cleaned (TOOL-4). */
description: string | null,
/** Whether it counts as a read once the server's read-only labels are trusted (PERM-2). */
readOnly: boolean, };

/** A part of a text. */
export type TextSpan = {
/** Where it begins, in UTF-16 code units from the start of the text. */
from: number,
/** Where it ends. */
to: number, };

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Timestamp = number;

/** `token_endpoint_auth_method` */
export type TokenEndpointAuthMethod = "client_secret_basic" | "client_secret_post" | "none";

/** Tokens as a provider reports them. */
export type TokenUsage = { input: number, output: number, };

/** A tool call of the model. Once it has ended it stays as it is. */
export type ToolCallBlock = {
/** The provider's id of the call, unique in the conversation. */
id: string,
/** The name that the model used. */
tool: string,
/** Display title; the name where the tool is unknown. */
title: string,
/** Name of its server; absent for an unknown tool and for tool search. */
server: string | null, class: AccessClass | null,
/** The arguments as JSON text, secrets masked. */
arguments: string,
/** What the model wrote, where it was no JSON and was repaired. */
repairedFrom: string | null, state: ToolCallState,
/** The approval request that it waits for, or that was answered. */
approval: ApprovalId | null,
/** The record of the call. */
call: CallId | null,
/** What decided. */
verdict: Verdict | null, started: Timestamp,
/** Milliseconds without the time spent waiting for the user. */
tookMs: number | null,
/** Milliseconds spent waiting for the user. */
waitedMs: number | null, result: ResultView | null, };

export type ToolCallState = "writing" | "waiting" | "running" | "done" | "failed" | "denied" | "cancelled";

/** What the list of tools costs a model that gets it. */
export type ToolListCost = {
/** Tools that can be called. */
tools: number,
/** Tools in the list; in search mode fewer than can be called. */
listed: number,
/** Bytes of the definitions in the list. */
bytes: number,
/** Tokens of the list, estimated as a quarter of its bytes. */
tokens: number, };

/** How a client gets to know its tools (TOOL-7). */
export type ToolListMode = "full" | "search";

/** How clients see the names of tools and prompts (TOOL-2). */
export type ToolNaming = "onConflict" | "server" | "mcpServer";

/**
 * What happens with calls of a tool, whoever makes them, by the rules that hold until they are taken back and
 * whatever the arguments are.
 */
export type ToolPermission = {
/** Allow, ask or deny. */
decision: Decision,
/** Rules for this tool alone, on its server, for every client. */
ownRules: Array<GrantId>,
/** A wider rule that holds for it as well. */
widerRule: GrantId | null,
/** It was allowed, and its definition is another one since: it asks (PERM-8). */
changed: boolean, };

/** What is shown of a server. Tools are named as on the server. */
export type ToolSelection = { "shows": "all" } | { "shows": "only",
/** Their names on the server. */
tools: Array<string>, } | { "shows": "except",
/** Their names on the server. */
tools: Array<string>, } | { "shows": "nothing" };

/** The calls of one tool. */
export type ToolStatistics = { server: ServerId,
/**
 * Name on the server; `prompt:` and its name for a prompt, and only the kind and a colon for resources,
 * completions and other requests.
 */
tool: string, counts: CallCounts,
/** Milliseconds that the calls took which were sent, on average, without the time that a person was waited for. */
averageMs: number,
/** The same of the slowest. */
slowestMs: number, };

/** One tool of the catalogue. */
export type ToolView = {
/** Name that clients use: `^[a-zA-Z0-9_-]{1,64}$`, unique, stable (TOOL-2). */
exposedName: string, server: ServerId,
/** The server's generation. */
generation: Generation,
/** The server's name. */
serverName: string,
/** Name on the server. */
name: string,
/** Title, cleaned (TOOL-4). */
title: string | null,
/** Description, cleaned (TOOL-4). */
description: string | null,
/** Input schema as JSON text, byte for byte as the server gave it. */
inputSchema: string,
/** Access class with its reason. */
class: AccessClassification,
/** What happens with calls of it, whoever makes them. */
permission: ToolPermission,
/** Fingerprint of the definition. */
fingerprint: Fingerprint,
/**
 * How many definitions of it the allows that are in force were given for, each approved by a person; 0 if it
 * isn't allowed at all.
 */
approvedVersions: number,
/** Hidden characters in names, keys, enum, const or default values: where. */
flags: Array<string>, };

/** Sets the user's own access class of a tool, or clears it. */
export type ToolsClassify = {
/** Id or name of the server. */
server: string,
/** Name of the tool on the server. */
tool: string,
/** The class; absent clears it. */
class: AccessClass | null, };

/** All tools of all connected servers. */
export type ToolsList = {
/** Only of this server (id or name). */
server: string | null, };

/** The tools that servers list and that clients do not get, with the reason. */
export type ToolsOmitted = {
/** Only of this server (id or name). */
server: string | null, };

/**
 * How an upstream server is reached (SRV-1).
 *
 * Values of `env` and `headers` may hold `${secret:NAME}` and `${env:NAME}`; they are resolved
 * only when the connection is made, and a secret only for the server and field it was bound to.
 */
export type Transport = { "type": "stdio",
/** Program to run, looked up in the user's login-shell PATH. */
command: string,
/** Its arguments. */
args: Array<string>,
/** Environment beyond what every server gets. */
env: { [key in string]: string },
/** Working folder; the user's home where absent. */
cwd: string | null,
/**
 * What its standard streams are: `sockets`, or `pipes` for a program that opens `/dev/stdin` by name. On Linux any
 * program of the same user can write into a pipe.
 */
streams: StdioStreams, } | { "type": "auto" } & Remote | { "type": "http" } & Remote | { "type": "sse" } & Remote | { "type": "ws" } & Remote | { "type": "builtin",
/** Which one, with its settings. */
builtin: Builtin, };

/** A text that may be only the beginning of one. */
export type TruncatedText = {
/** The text, or its beginning. */
text: string,
/** Bytes of the whole, where this is only the beginning. */
wholeBytes: number | null, };

/** Tools that each setting is meant for and that still ask: they came later, or changed. */
export type UncoveredToolCounts = {
/** Of all reads. */
reads: number,
/** Of all writes. */
writes: number,
/** Of everything. */
all: number, };

/** A server that is on and that nobody called for 30 days. */
export type UnusedServer = { server: ServerId, name: string,
/** When it was last called; absent where it never was. */
lastCall: Timestamp | null, };

/** One error in words. `Display` is English. */
export type UserError = {
/** What to switch on. */
code: ErrorCode,
/** What happened: one sentence. */
message: UserText,
/** Why: one sentence. */
cause: UserText | null,
/** What to do: one sentence. */
hint: UserText | null, };

/**
 * A text for people. On the wire a plain text is a string and a message an object.
 *
 * `Display` is the English text, for logs and for what programs read.
 */
export type UserText = string | Message;

/** What came of validating the settings of a server. */
export type ValidationReport = {
/** The settings; absent where a text could not be read. */
draft: ServerDraft | null,
/** Everything that is wrong with them; empty if they may be saved. */
problems: Array<ServerProblem>,
/** What they change of the server that is edited, field by field, with secrets masked. */
changes: Array<FieldChange>, };

/** Decision with the rule that made it (PERM-6). */
export type Verdict = {
/** Allow, ask or deny. */
decision: Decision, rule: Rule, };

/** Something that the user should know before answering. */
export type Warning = { "warning": "first_use" } | { "warning": "definition_changed" } | { "warning": "hidden_characters",
/** Where: in the tool's name, title or description, or in an argument. */
place: Message, } | { "warning": "look_alikes",
/** Where: in the tool's name or title. */
place: Message, } | { "warning": "unknown_program" } | { "warning": "other_program",
/** Seen before. */
before: string, } | { "warning": "unbound_grant", grant: GrantId,
/** What it allows. */
what: Message,
/** The program that it will be bound to. */
program: string, };

/** A message as it stood on the wire, without the server's secrets. */
export type WireMessage = {
/** Whether it went to the server. */
sent: boolean, text: TruncatedText, };
