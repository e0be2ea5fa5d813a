import { Alert, Stack } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactNode } from "react";

import type { UserError } from "../generated/types";
import { ErrorDetails, ErrorTitle } from "./ErrorDetails";

/** An error with its message, cause and hint. */
export function ErrorAlert({ error, children }: { error: UserError; children?: ReactNode }) {
  return (
    <Alert
      color="red"
      title={<ErrorTitle error={error} />}
      role="alert"
      icon={<IconAlertTriangle size={18} aria-hidden />}
    >
      <Stack gap="xs" align="flex-start">
        <ErrorDetails error={error} />
        {children}
      </Stack>
    </Alert>
  );
}
