import { useAction } from "../core/useAction";
import { useLatestRun } from "../core/useLatestRun";
import { useNamedRun } from "../core/useNamedRun";
import type { ModelInfo, ProviderId } from "../generated/types";

/** The models that a provider lists, read when `read` is called. Reading them also shows that address and key are right. */
export function useModelList() {
  const { request } = useAction("models.list");
  const { latest, run, forget } = useLatestRun<ModelInfo[]>(useNamedRun());
  return {
    list: latest,
    read: (provider: ProviderId) => run((name) => request({ provider, run: name })),
    forget,
  };
}
