import { Stack, Text } from "@mantine/core";

import type { UserError } from "../generated/types";

/** Cause and hint of an error; its message is the title above. */
export function ErrorDetails({ error }: { error: UserError }) {
  return (
    <Stack gap={4}>
      {error.cause && <Text size="sm">{error.cause}</Text>}
      {error.hint && <Text size="sm">{error.hint}</Text>}
    </Stack>
  );
}
