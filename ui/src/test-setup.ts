// What the interface expects of a browser and the test environment lacks.

import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(cleanup);
