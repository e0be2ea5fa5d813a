import { createContext } from "react";

/** Whether answer buttons accept presses (PERM-9). Only the buttons read it, so nothing else renders when it changes. */
export const AnswerGuardContext = createContext(false);
