import type { Commands } from "../generated/commands";
import type {
  ApprovalsReveal,
  SubmittedAnswer,
  ApprovalId,
  CallHash,
  EventEnvelope,
  PendingApproval,
  ServerId,
  RevealedArgument,
  RiskOpinion,
  SamplingDraft,
  UserError,
} from "../generated/types";

type Theme = "system" | "light" | "dark";
type PreferredLanguage = "system" | "en" | "zh-CN";

/** How the user likes the windows to look, and what was said and shown to them already. */
export type Preferences = {
  theme: Theme;
  language: PreferredLanguage;
  saidKeepsRunning: boolean;
  /** Whether the first steps were finished or skipped. */
  firstRunDone: boolean;
  /** Whether system notifications are shown, and with the desktop's sound. */
  notifications: boolean;
  notificationSound: boolean;
};

/** Until they are read. The first steps are not shown before it is known that they are wanted. */
export const defaultPreferences: Preferences = {
  theme: "system",
  language: "system",
  saidKeepsRunning: false,
  firstRunDone: true,
  notifications: true,
  notificationSound: false,
};

/** What the shell tells the main window. */
type MainSignal =
  | "closing"
  | { open: "approvals" | "servers" | "settings" | { server: ServerId } }
  /** A `gatehouse://` link that was opened. */
  | { add_server: string }
  /** The path of a bundle file that was dropped on the window. */
  | { add_bundle: string };

/** What the shell tells the prompt: read again, it came up or was raised, its look changed, the user wants a request. */
type PromptSignal = "changed" | "shown" | "preferences" | { open: ApprovalId };

/** The result of trying a passphrase: right, wrong, or a fault of the vault. */
type PassphraseOutcome = "right" | "wrong" | VaultFault;

/** Why no passphrase can open a vault. */
export type VaultFault = "damaged" | "newer";

/**
 * Where secrets are kept, as far as the vault is concerned: there is a keychain; in memory, without a vault
 * or beside one; nothing runs before the vault is open or put aside; in the vault.
 */
export type Vault = {
  state: "keychain" | "absent" | "put_aside" | "locked" | "open";
  fault: VaultFault | null;
  /** Where the vault is, or would be. */
  file: string;
};

/** Where an update of Gatehouse is in its course. */
export type UpdateStatus =
  /** Updates come from where Gatehouse was installed. */
  | { state: "unavailable" }
  | { state: "idle" }
  | { state: "checking" }
  | { state: "up_to_date" }
  | { state: "available"; version: string }
  | { state: "downloading"; version: string; received: number; total: number | null }
  /** It counts from the next start on. */
  | { state: "installed"; version: string }
  | { state: "failed"; error: UserError };

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** What the main window needs from outside of the page. Every failure is a `UserError`. */
export type Platform = {
  /** Runs a command of the core. */
  command<Name extends keyof Commands>(name: Name, args: Commands[Name]["args"]): Promise<Commands[Name]["reply"]>;
  /** Hears every event from now on; `null` says that some were missed and all has to be read again. */
  events(heard: (envelope: EventEnvelope | null) => void): Unsubscribe;
  signals(heard: (signal: MainSignal) => void): Unsubscribe;
  /** Starts the core once more if it could not be started. */
  startAgain(): Promise<void>;
  vault(): Promise<Vault>;
  /** Opens the vault, and starts the core with it. */
  unlockVault(passphrase: string): Promise<PassphraseOutcome>;
  /** Starts the core with secrets in memory, for this time. */
  putVaultAside(): Promise<void>;
  /** Makes a vault in the place of memory, and starts the core with it. */
  makeVault(passphrase: string): Promise<void>;
  changePassphrase(old: string, wanted: string): Promise<PassphraseOutcome>;
  preferences(): Promise<Preferences>;
  setPreferences(preferences: Preferences): Promise<void>;
  /** What the page before left unfinished: JSON by name. */
  pageState(): Promise<Record<string, string>>;
  /** Keeps something of that in memory for the next page; `null` removes it. */
  setPageState(name: string, value: string | null): Promise<void>;
  updateStatus(): Promise<UpdateStatus>;
  /** Looks for an update; resolves to what came of it. */
  checkUpdate(): Promise<UpdateStatus>;
  /** Downloads and installs the update that was found; resolves to what came of it. */
  installUpdate(): Promise<UpdateStatus>;
  /** Ends the search for an update, or its download. */
  cancelUpdate(): Promise<void>;
  /** Whether the shortcut that pauses everything works in every application; `null` before that is known. */
  hasPauseShortcut(): Promise<boolean | null>;
  /** Whether Gatehouse starts at login, as the system says now. */
  startsAtLogin(): Promise<boolean>;
  /** Makes it start at login, or no longer. Resolves to what the system says then. */
  setStartsAtLogin(starts: boolean): Promise<boolean>;
  /** Opens an address in the user's browser, after a check. */
  openLink(address: string): Promise<void>;
  /** Lets the user choose a file with one of these endings; `null` if none was chosen. */
  pickFile(endings: string[]): Promise<string | null>;
  /** Brings the prompt window to the front. */
  showPrompt(): Promise<void>;
  /** Closes the window, which ends this page; Gatehouse keeps running. */
  close(): Promise<void>;
  quit(): Promise<void>;
  /** Says that the page shows something useful for the first time. */
  painted(): Promise<void>;
};

/** All that the prompt window may do. */
export type PromptPlatform = {
  /** Pending approvals; known ones come without details. */
  pending(known: ApprovalId[]): Promise<PendingApproval[]>;
  answer(answers: SubmittedAnswer[]): Promise<void>;
  /** Trusts the read-only labels of the server of a pending call, or ceases to. */
  trustLabels(which: { id: ApprovalId; hash: CallHash; trusted: boolean }): Promise<void>;
  /** One argument of a pending call, unmasked. */
  reveal(which: ApprovalsReveal): Promise<RevealedArgument>;
  /** Lets the model for sampling write an answer to a pending request, under a name that can be stopped. */
  generate(id: ApprovalId, run: string): Promise<SamplingDraft>;
  /** Stops a model that writes. */
  stopGenerating(run: string): Promise<void>;
  /** A model's opinion about a pending call; `null` where there is none. */
  opinion(which: { id: ApprovalId; hash: CallHash }): Promise<RiskOpinion | null>;
  signals(heard: (signal: PromptSignal) => void): Unsubscribe;
  preferences(): Promise<Preferences>;
  /** Hides the window and decides nothing. */
  putAway(): Promise<void>;
  /** Gives the window the height that its content needs, in CSS pixels. */
  fit(height: number): Promise<void>;
  openMain(): Promise<void>;
  /** Opens an address that a server asked for in the user's browser, after a check. */
  openLink(address: string): Promise<void>;
};
