import { useState } from "react";

import type { CallApprovalRequest, GrantChoice } from "../../generated/types";
import { useMessages, useRender } from "../../messages";
import { initialAllow, selectedGrant, lastingChoices } from "./grantChoices";
import { GrantOptions } from "./GrantOptions";
import { AnswerPanel } from "./AnswerPanel";

type Props = { call: CallApprovalRequest; onAllow: (choice: GrantChoice) => void; onBack: () => void };

/** Allow for longer than once: scope, lifetime, clients, and condition. */
export function AllowPanel({ call, onAllow, onBack }: Props) {
  const t = useMessages();
  const render = useRender();
  const offered = lastingChoices(call.choices);
  const [picked, setPicked] = useState(() => initialAllow(offered));
  const answer = selectedGrant(offered, picked, call.conditions);
  return (
    <AnswerPanel
      label={t("ask.allowMore")}
      deed={answer && render(answer.sentence)}
      onDo={() => {
        if (answer) onAllow(answer.choice);
      }}
      onBack={onBack}
    >
      <GrantOptions call={call} offered={offered} picked={picked} onPick={setPicked} />
    </AnswerPanel>
  );
}
