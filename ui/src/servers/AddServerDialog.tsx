import { lazyDialog } from "../components/lazyDialog";

/** The dialog that adds a server. */
export const AddServerDialog = lazyDialog(async () => (await import("./AddServerModal")).AddServerModal);
