// Written by `cargo xtask codegen` from crates/model; changes here are lost.

import type {
  ApprovalsAnswer,
  ApprovalsList,
  ApprovalsReveal,
  AuditAcknowledge,
  AuditEntryView,
  AuditExport,
  AuditLatest,
  AuditList,
  AuditVerdict,
  AuditVerify,
  AutoApproveCoverage,
  Call,
  CallRecord,
  CallReply,
  CallsCancel,
  CallsList,
  CallsRunning,
  ClientView,
  ClientsAdd,
  ClientsList,
  ClientsRevoke,
  ClientsRotate,
  Completion,
  EventEnvelope,
  EventsList,
  ExportedText,
  LogLine,
  MintedClient,
  OmittedTool,
  OperatorKeyRotate,
  Pause,
  PendingApproval,
  PolicyAutoApprove,
  PolicyConfirm,
  PolicyDeny,
  PolicyGrant,
  PolicyRevoke,
  PolicyShow,
  PolicySimulate,
  PolicySuspended,
  PolicyUnblock,
  PolicyView,
  ResultView,
  ResultsSave,
  Resume,
  RevealedArgument,
  RotatedKey,
  RuleView,
  RunningCall,
  SavedFile,
  ServerCatalog,
  ServerView,
  ServersAdd,
  ServersCallTool,
  ServersCancelSignIn,
  ServersCatalog,
  ServersComplete,
  ServersDuplicate,
  ServersEdit,
  ServersGetPrompt,
  ServersList,
  ServersLog,
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
  ServersValidate,
  ServersWatchResource,
  Settings,
  SettingsSet,
  SettingsShow,
  SignInStart,
  SignOutResult,
  SimulationReport,
  Status,
  StatusReport,
  TestReport,
  ToolView,
  ToolsClassify,
  ToolsList,
  ToolsOmitted,
  ValidationReport,
} from "./types";

/** Arguments and reply of every command by its name. */
export type Commands = {
  "status": { args: Status; reply: StatusReport };
  "servers.list": { args: ServersList; reply: Array<ServerView> };
  "servers.add": { args: ServersAdd; reply: ServerView };
  "servers.edit": { args: ServersEdit; reply: ServerView };
  "servers.duplicate": { args: ServersDuplicate; reply: ServerView };
  "servers.test": { args: ServersTest; reply: TestReport };
  "servers.validate": { args: ServersValidate; reply: ValidationReport };
  "servers.remove": { args: ServersRemove; reply: null };
  "servers.start": { args: ServersStart; reply: null };
  "servers.stop": { args: ServersStop; reply: null };
  "servers.reconnect": { args: ServersReconnect; reply: null };
  "servers.log": { args: ServersLog; reply: Array<LogLine> };
  "servers.catalog": { args: ServersCatalog; reply: ServerCatalog };
  "servers.readResource": { args: ServersReadResource; reply: ResultView };
  "servers.watchResource": { args: ServersWatchResource; reply: null };
  "servers.getPrompt": { args: ServersGetPrompt; reply: ResultView };
  "servers.complete": { args: ServersComplete; reply: Completion };
  "servers.callTool": { args: ServersCallTool; reply: ResultView };
  "servers.stopTool": { args: ServersStopTool; reply: null };
  "servers.setLogLevel": { args: ServersSetLogLevel; reply: null };
  "servers.signIn": { args: ServersSignIn; reply: SignInStart };
  "servers.pasteAddress": { args: ServersPasteAddress; reply: null };
  "servers.cancelSignIn": { args: ServersCancelSignIn; reply: null };
  "servers.signOut": { args: ServersSignOut; reply: SignOutResult };
  "results.save": { args: ResultsSave; reply: SavedFile };
  "servers.trustLabels": { args: ServersTrustLabels; reply: null };
  "servers.switchOff": { args: ServersSwitchOff; reply: null };
  "servers.switchOn": { args: ServersSwitchOn; reply: null };
  "servers.reset": { args: ServersReset; reply: Array<ServerView> };
  "tools.list": { args: ToolsList; reply: Array<ToolView> };
  "tools.omitted": { args: ToolsOmitted; reply: Array<OmittedTool> };
  "tools.classify": { args: ToolsClassify; reply: null };
  "call": { args: Call; reply: CallReply };
  "clients.list": { args: ClientsList; reply: Array<ClientView> };
  "clients.add": { args: ClientsAdd; reply: MintedClient };
  "clients.rotate": { args: ClientsRotate; reply: MintedClient };
  "clients.revoke": { args: ClientsRevoke; reply: null };
  "approvals.list": { args: ApprovalsList; reply: Array<PendingApproval> };
  "approvals.reveal": { args: ApprovalsReveal; reply: RevealedArgument };
  "approvals.answer": { args: ApprovalsAnswer; reply: null };
  "policy.show": { args: PolicyShow; reply: PolicyView };
  "policy.autoApprove": { args: PolicyAutoApprove; reply: AutoApproveCoverage };
  "policy.simulate": { args: PolicySimulate; reply: SimulationReport };
  "policy.grant": { args: PolicyGrant; reply: null };
  "policy.deny": { args: PolicyDeny; reply: null };
  "policy.suspended": { args: PolicySuspended; reply: Array<RuleView> };
  "policy.confirm": { args: PolicyConfirm; reply: null };
  "policy.revoke": { args: PolicyRevoke; reply: null };
  "policy.unblock": { args: PolicyUnblock; reply: null };
  "events.list": { args: EventsList; reply: Array<EventEnvelope> };
  "calls.list": { args: CallsList; reply: Array<CallRecord> };
  "calls.running": { args: CallsRunning; reply: Array<RunningCall> };
  "calls.cancel": { args: CallsCancel; reply: null };
  "audit.list": { args: AuditList; reply: Array<AuditEntryView> };
  "audit.latest": { args: AuditLatest; reply: Array<AuditEntryView> };
  "audit.verify": { args: AuditVerify; reply: AuditVerdict };
  "audit.acknowledge": { args: AuditAcknowledge; reply: null };
  "audit.export": { args: AuditExport; reply: ExportedText };
  "settings.show": { args: SettingsShow; reply: Settings };
  "settings.set": { args: SettingsSet; reply: Settings };
  "operatorKey.rotate": { args: OperatorKeyRotate; reply: RotatedKey };
  "pause": { args: Pause; reply: null };
  "resume": { args: Resume; reply: null };
};
