// Written by `cargo xtask codegen` from crates/model; changes here are lost.

import type {
  AppView,
  ApprovalsAnswer,
  ApprovalsGenerate,
  ApprovalsList,
  ApprovalsOpinion,
  ApprovalsPractice,
  ApprovalsReveal,
  AuditAcknowledge,
  AuditEntryView,
  AuditExport,
  AuditLatest,
  AuditList,
  AuditVerdict,
  AuditVerify,
  AutoApproveCoverage,
  BridgeBind,
  BridgeBinding,
  BundlePreview,
  BundleServer,
  BundlesConfigure,
  BundlesRead,
  Call,
  CallRecord,
  CallReply,
  CallStatistics,
  CallsCancel,
  CallsExport,
  CallsList,
  CallsRunning,
  CallsStatistics,
  ChatCreate,
  ChatExport,
  ChatList,
  ChatRemove,
  ChatRetry,
  ChatSend,
  ChatSet,
  ChatShow,
  ChatStop,
  ClientView,
  ClientsAdd,
  ClientsApps,
  ClientsConnect,
  ClientsConnectPreview,
  ClientsDisconnect,
  ClientsIdentify,
  ClientsKeepToken,
  ClientsList,
  ClientsRevoke,
  ClientsRotate,
  ClientsSet,
  Completion,
  ConfigurationContent,
  ConfigurationExport,
  ConfigurationImport,
  ConfigurationOutcome,
  ConfigurationPreview,
  ConnectPreview,
  ConnectResult,
  Conversation,
  ConversationSummary,
  DisconnectResult,
  EventEnvelope,
  EventsList,
  ExportedCalls,
  ExportedConfiguration,
  ExportedConversation,
  ExportedText,
  FindingsReport,
  ImportOutcome,
  ImportPreview,
  ImportSource,
  ImportsPreview,
  ImportsRun,
  ImportsRunByName,
  ImportsSources,
  LinkContent,
  LinksRead,
  LogLine,
  MintedClient,
  ModelInfo,
  ModelsAddProvider,
  ModelsAssign,
  ModelsList,
  ModelsRemoveProvider,
  ModelsSetProvider,
  ModelsShow,
  ModelsView,
  OmittedTool,
  OperatorKeyRotate,
  Pause,
  PendingApproval,
  PolicyAutoApprove,
  PolicyConfirm,
  PolicyDeny,
  PolicyFindings,
  PolicyGrant,
  PolicyNarrow,
  PolicyRevoke,
  PolicyShow,
  PolicySimulate,
  PolicySuspended,
  PolicyUnblock,
  PolicyView,
  PracticeResult,
  ProfileView,
  ProfilesAdd,
  ProfilesAddServers,
  ProfilesList,
  ProfilesRemove,
  ProfilesSet,
  ProjectFileReport,
  ProviderView,
  RegistryCheck,
  RegistryDraft,
  RegistryFill,
  RegistryPage,
  RegistryReport,
  RegistrySearch,
  RegistryVersions,
  Removal,
  RemovalsUndo,
  ResultView,
  ResultsSave,
  Resume,
  RevealedArgument,
  RiskOpinion,
  RotatedKey,
  RuleView,
  RunningCall,
  SamplingDraft,
  SavedFile,
  ServerCatalog,
  ServerImage,
  ServerView,
  ServersAdd,
  ServersCallTool,
  ServersCancelSignIn,
  ServersCatalog,
  ServersComplete,
  ServersDuplicate,
  ServersEdit,
  ServersGetPrompt,
  ServersIcon,
  ServersList,
  ServersLog,
  ServersPasteAddress,
  ServersReadResource,
  ServersReconnect,
  ServersRemove,
  ServersReset,
  ServersSet,
  ServersSetLogLevel,
  ServersSettingsText,
  ServersSignIn,
  ServersSignOut,
  ServersStart,
  ServersStop,
  ServersStopRun,
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
  "servers.set": { args: ServersSet; reply: ServerView };
  "servers.duplicate": { args: ServersDuplicate; reply: ServerView };
  "servers.test": { args: ServersTest; reply: TestReport };
  "servers.settingsText": { args: ServersSettingsText; reply: ExportedText };
  "servers.validate": { args: ServersValidate; reply: ValidationReport };
  "bundles.read": { args: BundlesRead; reply: BundlePreview };
  "bundles.configure": { args: BundlesConfigure; reply: BundleServer };
  "imports.sources": { args: ImportsSources; reply: Array<ImportSource> };
  "imports.preview": { args: ImportsPreview; reply: ImportPreview };
  "imports.run": { args: ImportsRun; reply: Array<ImportOutcome> };
  "imports.runByName": { args: ImportsRunByName; reply: Array<ImportOutcome> };
  "servers.remove": { args: ServersRemove; reply: Removal | null };
  "servers.start": { args: ServersStart; reply: null };
  "servers.stop": { args: ServersStop; reply: null };
  "servers.reconnect": { args: ServersReconnect; reply: null };
  "servers.log": { args: ServersLog; reply: Array<LogLine> };
  "servers.icon": { args: ServersIcon; reply: ServerImage };
  "servers.catalog": { args: ServersCatalog; reply: ServerCatalog };
  "servers.readResource": { args: ServersReadResource; reply: ResultView };
  "servers.watchResource": { args: ServersWatchResource; reply: null };
  "servers.getPrompt": { args: ServersGetPrompt; reply: ResultView };
  "servers.complete": { args: ServersComplete; reply: Completion };
  "servers.callTool": { args: ServersCallTool; reply: ResultView };
  "servers.stopRun": { args: ServersStopRun; reply: null };
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
  "registry.search": { args: RegistrySearch; reply: RegistryPage };
  "registry.versions": { args: RegistryVersions; reply: RegistryPage };
  "registry.fill": { args: RegistryFill; reply: RegistryDraft };
  "registry.report": { args: RegistryCheck; reply: RegistryReport };
  "links.read": { args: LinksRead; reply: LinkContent };
  "tools.list": { args: ToolsList; reply: Array<ToolView> };
  "tools.omitted": { args: ToolsOmitted; reply: Array<OmittedTool> };
  "tools.classify": { args: ToolsClassify; reply: null };
  "call": { args: Call; reply: CallReply };
  "clients.list": { args: ClientsList; reply: Array<ClientView> };
  "clients.identify": { args: ClientsIdentify; reply: ClientView };
  "clients.add": { args: ClientsAdd; reply: MintedClient };
  "clients.rotate": { args: ClientsRotate; reply: MintedClient };
  "clients.keepToken": { args: ClientsKeepToken; reply: null };
  "clients.revoke": { args: ClientsRevoke; reply: null };
  "clients.apps": { args: ClientsApps; reply: Array<AppView> };
  "clients.connectPreview": { args: ClientsConnectPreview; reply: ConnectPreview };
  "clients.connect": { args: ClientsConnect; reply: ConnectResult };
  "clients.disconnect": { args: ClientsDisconnect; reply: DisconnectResult };
  "bridge.bind": { args: BridgeBind; reply: BridgeBinding };
  "clients.set": { args: ClientsSet; reply: ClientView };
  "profiles.list": { args: ProfilesList; reply: Array<ProfileView> };
  "profiles.add": { args: ProfilesAdd; reply: ProfileView };
  "profiles.set": { args: ProfilesSet; reply: ProfileView };
  "profiles.addServers": { args: ProfilesAddServers; reply: Array<ProjectFileReport> };
  "profiles.remove": { args: ProfilesRemove; reply: Removal | null };
  "approvals.list": { args: ApprovalsList; reply: Array<PendingApproval> };
  "approvals.reveal": { args: ApprovalsReveal; reply: RevealedArgument };
  "approvals.answer": { args: ApprovalsAnswer; reply: null };
  "approvals.generate": { args: ApprovalsGenerate; reply: SamplingDraft };
  "approvals.opinion": { args: ApprovalsOpinion; reply: RiskOpinion | null };
  "approvals.practice": { args: ApprovalsPractice; reply: PracticeResult };
  "policy.show": { args: PolicyShow; reply: PolicyView };
  "policy.autoApprove": { args: PolicyAutoApprove; reply: AutoApproveCoverage };
  "policy.simulate": { args: PolicySimulate; reply: SimulationReport };
  "policy.grant": { args: PolicyGrant; reply: null };
  "policy.deny": { args: PolicyDeny; reply: null };
  "policy.suspended": { args: PolicySuspended; reply: Array<RuleView> };
  "policy.confirm": { args: PolicyConfirm; reply: null };
  "policy.revoke": { args: PolicyRevoke; reply: Removal | null };
  "policy.findings": { args: PolicyFindings; reply: FindingsReport };
  "policy.narrow": { args: PolicyNarrow; reply: Removal | null };
  "policy.unblock": { args: PolicyUnblock; reply: Removal | null };
  "removals.undo": { args: RemovalsUndo; reply: null };
  "events.list": { args: EventsList; reply: Array<EventEnvelope> };
  "calls.list": { args: CallsList; reply: Array<CallRecord> };
  "calls.statistics": { args: CallsStatistics; reply: CallStatistics };
  "calls.export": { args: CallsExport; reply: ExportedCalls };
  "calls.running": { args: CallsRunning; reply: Array<RunningCall> };
  "calls.cancel": { args: CallsCancel; reply: null };
  "audit.list": { args: AuditList; reply: Array<AuditEntryView> };
  "audit.latest": { args: AuditLatest; reply: Array<AuditEntryView> };
  "audit.verify": { args: AuditVerify; reply: AuditVerdict };
  "audit.acknowledge": { args: AuditAcknowledge; reply: null };
  "audit.export": { args: AuditExport; reply: ExportedText };
  "models.show": { args: ModelsShow; reply: ModelsView };
  "models.addProvider": { args: ModelsAddProvider; reply: ProviderView };
  "models.setProvider": { args: ModelsSetProvider; reply: ProviderView };
  "models.removeProvider": { args: ModelsRemoveProvider; reply: null };
  "models.list": { args: ModelsList; reply: Array<ModelInfo> };
  "models.assign": { args: ModelsAssign; reply: null };
  "chat.list": { args: ChatList; reply: Array<ConversationSummary> };
  "chat.show": { args: ChatShow; reply: Conversation };
  "chat.create": { args: ChatCreate; reply: Conversation };
  "chat.set": { args: ChatSet; reply: null };
  "chat.remove": { args: ChatRemove; reply: null };
  "chat.send": { args: ChatSend; reply: null };
  "chat.retry": { args: ChatRetry; reply: null };
  "chat.stop": { args: ChatStop; reply: null };
  "chat.export": { args: ChatExport; reply: ExportedConversation };
  "settings.show": { args: SettingsShow; reply: Settings };
  "settings.set": { args: SettingsSet; reply: Settings };
  "configuration.export": { args: ConfigurationExport; reply: ExportedConfiguration };
  "configuration.preview": { args: ConfigurationPreview; reply: ConfigurationContent };
  "configuration.import": { args: ConfigurationImport; reply: ConfigurationOutcome };
  "operatorKey.rotate": { args: OperatorKeyRotate; reply: RotatedKey };
  "pause": { args: Pause; reply: null };
  "resume": { args: Resume; reply: null };
};
