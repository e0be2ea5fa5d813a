import { Alert, Stack } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";

import type { UserError } from "../generated/types";
import { ProblemText } from "./ErrorDetails";

/** One error in words: what happened, why, what to do. */
export function ProblemAlert({ problem, children }: { problem: UserError; children?: ReactNode }) {
  return (
    <Alert color="red" title={problem.message} role="alert" icon={<IconAlertTriangle size={18} aria-hidden />}>
      <Stack gap="xs" align="flex-start">
        <ProblemText problem={problem} />
        {children}
      </Stack>
    </Alert>
  );
}
