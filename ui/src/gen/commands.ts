// Written by `cargo xtask codegen` from crates/model; changes here are lost.

import type {
  ApprovalsAnswer,
  ApprovalsList,
  ApprovalsReveal,
  AuditEntry,
  AuditExport,
  AuditList,
  AuditVerdict,
  AuditVerify,
  Call,
  CallRecord,
  CallReply,
  CallsList,
  ClientView,
  ClientsAdd,
  ClientsList,
  ClientsRevoke,
  ClientsRotate,
  Completion,
  Envelope,
  EventsList,
  Exported,
  LogLine,
  MintedClient,
  Pause,
  PendingAsk,
  PolicyAutoApprove,
  PolicyDeny,
  PolicyGrant,
  PolicyRehearse,
  PolicyRevoke,
  PolicyShow,
  PolicyUnblock,
  PolicyView,
  Rehearsal,
  ResultsSave,
  Resume,
  RevealedArgument,
  Saved,
  ServerOffer,
  ServerView,
  ServersAdd,
  ServersCallTool,
  ServersCancelSignIn,
  ServersComplete,
  ServersDuplicate,
  ServersEdit,
  ServersGetPrompt,
  ServersList,
  ServersLog,
  ServersOffer,
  ServersPasteAddress,
  ServersReadResource,
  ServersReconnect,
  ServersRemove,
  ServersReset,
  ServersSetLogLevel,
  ServersSignIn,
  ServersSignOut,
  ServersStart,
  ServersStop,
  ServersStopTool,
  ServersSwitchOff,
  ServersSwitchOn,
  ServersTest,
  ServersTrustLabels,
  ServersWatchResource,
  Settings,
  SettingsSet,
  SettingsShow,
  Shown,
  SignInBegun,
  SignedOut,
  Status,
  StatusReport,
  TestReport,
  ToolView,
  ToolsClassify,
  ToolsList,
} from "./types";

/** Arguments and reply of every command by its name. */
export type Commands = {
  "status": { args: Status; reply: StatusReport };
  "servers.list": { args: ServersList; reply: Array<ServerView> };
  "servers.add": { args: ServersAdd; reply: ServerView };
  "servers.edit": { args: ServersEdit; reply: ServerView };
  "servers.duplicate": { args: ServersDuplicate; reply: ServerView };
  "servers.test": { args: ServersTest; reply: TestReport };
  "servers.remove": { args: ServersRemove; reply: null };
  "servers.start": { args: ServersStart; reply: null };
  "servers.stop": { args: ServersStop; reply: null };
  "servers.reconnect": { args: ServersReconnect; reply: null };
  "servers.log": { args: ServersLog; reply: Array<LogLine> };
  "servers.offer": { args: ServersOffer; reply: ServerOffer };
  "servers.readResource": { args: ServersReadResource; reply: Shown };
  "servers.watchResource": { args: ServersWatchResource; reply: null };
  "servers.getPrompt": { args: ServersGetPrompt; reply: Shown };
  "servers.complete": { args: ServersComplete; reply: Completion };
  "servers.callTool": { args: ServersCallTool; reply: Shown };
  "servers.stopTool": { args: ServersStopTool; reply: null };
  "servers.setLogLevel": { args: ServersSetLogLevel; reply: null };
  "servers.signIn": { args: ServersSignIn; reply: SignInBegun };
  "servers.pasteAddress": { args: ServersPasteAddress; reply: null };
  "servers.cancelSignIn": { args: ServersCancelSignIn; reply: null };
  "servers.signOut": { args: ServersSignOut; reply: SignedOut };
  "results.save": { args: ResultsSave; reply: Saved };
  "servers.trustLabels": { args: ServersTrustLabels; reply: null };
  "servers.switchOff": { args: ServersSwitchOff; reply: null };
  "servers.switchOn": { args: ServersSwitchOn; reply: null };
  "servers.reset": { args: ServersReset; reply: Array<ServerView> };
  "tools.list": { args: ToolsList; reply: Array<ToolView> };
  "tools.classify": { args: ToolsClassify; reply: null };
  "call": { args: Call; reply: CallReply };
  "clients.list": { args: ClientsList; reply: Array<ClientView> };
  "clients.add": { args: ClientsAdd; reply: MintedClient };
  "clients.rotate": { args: ClientsRotate; reply: MintedClient };
  "clients.revoke": { args: ClientsRevoke; reply: null };
  "approvals.list": { args: ApprovalsList; reply: Array<PendingAsk> };
  "approvals.reveal": { args: ApprovalsReveal; reply: RevealedArgument };
  "approvals.answer": { args: ApprovalsAnswer; reply: null };
  "policy.show": { args: PolicyShow; reply: PolicyView };
  "policy.autoApprove": { args: PolicyAutoApprove; reply: null };
  "policy.rehearse": { args: PolicyRehearse; reply: Rehearsal };
  "policy.grant": { args: PolicyGrant; reply: null };
  "policy.deny": { args: PolicyDeny; reply: null };
  "policy.revoke": { args: PolicyRevoke; reply: null };
  "policy.unblock": { args: PolicyUnblock; reply: null };
  "events.list": { args: EventsList; reply: Array<Envelope> };
  "calls.list": { args: CallsList; reply: Array<CallRecord> };
  "audit.list": { args: AuditList; reply: Array<AuditEntry> };
  "audit.verify": { args: AuditVerify; reply: AuditVerdict };
  "audit.export": { args: AuditExport; reply: Exported };
  "settings.show": { args: SettingsShow; reply: Settings };
  "settings.set": { args: SettingsSet; reply: Settings };
  "pause": { args: Pause; reply: null };
  "resume": { args: Resume; reply: null };
};
