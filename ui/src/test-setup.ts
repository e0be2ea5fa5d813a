// What the interface expects of a browser and the test environment lacks.

import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

import { loadCatalogue } from "./messages/loadCatalogue";

// As the page does before it renders.
await Promise.all([loadCatalogue("en"), loadCatalogue("zh-CN")]);

// Fields that grow with their text listen for fonts. Some tests have no document.
if (typeof document !== "undefined") Object.defineProperty(document, "fonts", { value: new EventTarget() });

// On a busy machine, the first import of a part that is loaded late takes longer than the usual second.
configure({ asyncUtilTimeout: 4000 });

afterEach(cleanup);
