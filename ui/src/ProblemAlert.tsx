import { Alert, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { Problem } from "./gen/types";

/** One error in words: what happened, why, what to do. */
export function ProblemAlert({ problem, children }: { problem: Problem; children?: ReactNode }) {
  return (
    <Alert color="red" title={problem.what} role="alert">
      <Stack gap="xs" align="flex-start">
        {problem.why && <Text size="sm">{problem.why}</Text>}
        {problem.todo && <Text size="sm">{problem.todo}</Text>}
        {children}
      </Stack>
    </Alert>
  );
}
