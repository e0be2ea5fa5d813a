// What the user decides about servers that can be imported, and what of it is sent to the core.

import type { ImportCandidate, ImportChoice, ImportInput } from "../generated/types";

/** What is done with one server. */
type ImportPlan = "skip" | "add" | "overwrite" | "rename";

/** The decisions about one server. */
type CandidateChoice = { plan: ImportPlan; newName: string; autoApprove: boolean };

export type ImportDecisions = {
  /** By the candidate's index. */
  servers: ReadonlyMap<number, CandidateChoice>;
  /** Values of inputs by their ids, as far as the user entered them. */
  inputs: ReadonlyMap<string, string>;
  toKeychain: boolean;
};

/** Everything that is new is imported; what has the name of another server is left to the user. */
export function initialDecisions(candidates: readonly ImportCandidate[]): ImportDecisions {
  const choice = (candidate: ImportCandidate): [number, CandidateChoice] => [
    candidate.index,
    {
      plan: isImportable(candidate) && candidate.conflict === null ? "add" : "skip",
      newName: candidate.conflict?.freeName ?? candidate.name,
      autoApprove: false,
    },
  ];
  return { servers: new Map(candidates.map(choice)), inputs: new Map(), toKeychain: true };
}

export const isImportable = ({ problems }: ImportCandidate) => problems.length === 0;

/** The choice about one server; one that is not known is skipped. */
export function choiceOf({ servers }: ImportDecisions, { index, name }: ImportCandidate): CandidateChoice {
  return servers.get(index) ?? { plan: "skip", newName: name, autoApprove: false };
}

export function withChoice(
  decisions: ImportDecisions,
  candidate: ImportCandidate,
  part: Partial<CandidateChoice>,
): ImportDecisions {
  const choice = { ...choiceOf(decisions, candidate), ...part };
  return { ...decisions, servers: new Map(decisions.servers).set(candidate.index, choice) };
}

/** Ticks or unticks a server. Where its name is taken, it gets another one first. */
export function withTick(decisions: ImportDecisions, candidate: ImportCandidate, ticked: boolean): ImportDecisions {
  const plan = candidate.conflict === null ? "add" : "rename";
  return withChoice(decisions, candidate, { plan: ticked ? plan : "skip" });
}

/** Ticks all servers that can be imported and are not here yet, or unticks all. */
export function withAllTicked(
  decisions: ImportDecisions,
  candidates: readonly ImportCandidate[],
  ticked: boolean,
): ImportDecisions {
  const meant = candidates.filter((one) => isImportable(one) && !(ticked && one.conflict?.isSame === true));
  return meant.reduce((before, candidate) => {
    const isTicked = choiceOf(before, candidate).plan !== "skip";
    return isTicked === ticked ? before : withTick(before, candidate, ticked);
  }, decisions);
}

export function pickedServers(
  decisions: ImportDecisions,
  candidates: readonly ImportCandidate[],
): readonly ImportCandidate[] {
  return candidates.filter((candidate) => choiceOf(decisions, candidate).plan !== "skip");
}

/** The inputs of some servers, each once. */
export function inputsOf(candidates: readonly Pick<ImportCandidate, "inputs">[]): readonly ImportInput[] {
  const inputs = new Map(candidates.flatMap(({ inputs }) => inputs).map((input) => [input.id, input]));
  return [...inputs.values()];
}

export const inputValue = (values: ReadonlyMap<string, string>, { id, default: usual }: ImportInput) =>
  values.get(id) ?? usual ?? "";

/** Whether the settings have a value that is used where nothing is entered, but that is a secret. */
export const hasHiddenValue = ({ default: usual, hasDefault }: ImportInput) => hasDefault && usual === null;

/** Whether something is still to be entered before the servers can be imported. */
export function isIncomplete(decisions: ImportDecisions, picked: readonly ImportCandidate[]): boolean {
  const isNameless = (candidate: ImportCandidate) => {
    const { plan, newName } = choiceOf(decisions, candidate);
    return plan === "rename" && newName.trim() === "";
  };
  return picked.some(isNameless) || isInputMissing(inputsOf(picked), decisions.inputs);
}

/** Whether an input has no value. */
export function isInputMissing(inputs: readonly ImportInput[], values: ReadonlyMap<string, string>): boolean {
  return inputs.some((input) => inputValue(values, input) === "" && !hasHiddenValue(input));
}

/** How many values of these servers look like secrets. */
export const secretCount = (picked: readonly ImportCandidate[]) =>
  picked.reduce((count, { secrets }) => count + secrets.length, 0);

/** The choices as the core takes them. */
export function toImportChoices(
  decisions: ImportDecisions,
  candidates: readonly ImportCandidate[],
): readonly ImportChoice[] {
  return candidates.flatMap((candidate) => {
    const { plan, newName, autoApprove } = choiceOf(decisions, candidate);
    if (plan === "skip") return [];
    return [
      {
        index: candidate.index,
        action: plan === "rename" ? { rename: newName.trim() } : plan,
        keepPlain: !decisions.toKeychain,
        autoApprove: autoApprove && candidate.autoApprove !== null,
        inputs: candidate.inputs.map((input) => ({ id: input.id, value: inputValue(decisions.inputs, input) })),
      },
    ];
  });
}
