import { Stack, Text } from "@mantine/core";

import type { UserError } from "../generated/types";
import { useMessages } from "../messages";
import { userErrorText } from "../messages/userError";

/** What happened. */
export function ErrorTitle({ error }: { error: UserError }) {
  return userErrorText(useMessages(), error).title;
}

/** Why it happened and what to do; what happened is the title above. */
export function ErrorDetails({ error }: { error: UserError }) {
  const { details } = userErrorText(useMessages(), error);
  return (
    <Stack gap={4}>
      {details.map((text, at) => (
        <Text key={at} size="sm">
          {text}
        </Text>
      ))}
    </Stack>
  );
}
