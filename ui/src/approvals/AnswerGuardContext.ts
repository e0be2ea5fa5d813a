import { createContext } from "react";

/** Whether buttons that answer take presses yet (PERM-9). Only they read it: nothing else is drawn anew when they wake. */
export const AwakeContext = createContext(false);
