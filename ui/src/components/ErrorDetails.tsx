import { Button, Stack, Text } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";

import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { errorReport } from "../messages/errorReport";
import { userErrorText } from "../messages/userError";

/** What happened, and how often if the same error is repeated. */
export function ErrorTitle({ error, count = 1 }: { error: UserError; count?: number }) {
  const t = useMessages();
  const { title } = userErrorText(t, error);
  return count > 1 ? t("appShell.repeated", { title, count }) : title;
}

/** Why it happened and what to do, with everything to copy; what happened is the title above. */
export function ErrorDetails({ error }: { error: UserError }) {
  const t = useMessages();
  const { details } = userErrorText(t, error);
  const clipboard = useClipboard({ timeout: 1500 });
  return (
    <Stack gap={4} align="flex-start">
      {details.map((text, at) => (
        <Text key={at} size="sm">
          {text}
        </Text>
      ))}
      <Button
        size="compact-xs"
        variant="subtle"
        color="red"
        onClick={() => void errorReport(error).then(clipboard.copy)}
      >
        {t(clipboard.copied ? "appShell.copied" : "appShell.copyDetails")}
      </Button>
    </Stack>
  );
}
