import { Stack, Text } from "@mantine/core";

import type { UserError } from "../generated/types";

/** Why it happened and what to do; what happened is the title above. */
export function ProblemText({ problem }: { problem: UserError }) {
  return (
    <Stack gap={4}>
      {problem.cause && <Text size="sm">{problem.cause}</Text>}
      {problem.hint && <Text size="sm">{problem.hint}</Text>}
    </Stack>
  );
}
