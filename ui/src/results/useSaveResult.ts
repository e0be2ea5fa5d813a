import { notifications } from "@mantine/notifications";

import { showError, useAction } from "../core/useAction";
import { useMessages } from "../messages";
import { toUserError } from "../platform";

/** Saves a result or a part of it, and reports where. */
export function useSaveResult(result: string) {
  const t = useMessages();
  const save = useAction("results.save");
  return {
    busy: save.busy,
    run: (part: number | null) => {
      save.request({ result, part }).then(
        ({ path }) => {
          notifications.show({ title: t("result.saved"), message: path, color: "teal", autoClose: 8000 });
        },
        (thrown: unknown) => {
          showError(toUserError(thrown));
        },
      );
    },
  };
}
