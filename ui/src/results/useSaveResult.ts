import { notifications } from "@mantine/notifications";

import { showProblem, useAction } from "../core/useAction";
import { useMessages } from "../messages";
import { asProblem } from "../platform";

/** Saves a result, or a part of it, and says where. */
export function useSave(result: string) {
  const t = useMessages();
  const save = useAction("results.save");
  return {
    busy: save.busy,
    run: (part: number | null) => {
      save.ask({ result, part }).then(
        ({ path }) => {
          notifications.show({ title: t("result.saved"), message: path, color: "teal", autoClose: 8000 });
        },
        (thrown: unknown) => {
          showProblem(asProblem(thrown));
        },
      );
    },
  };
}
