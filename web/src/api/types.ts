/* The shapes of the API under short names. */
import type { components } from "./schema";

type Shapes = components["schemas"];

export type JobLine = Shapes["JobLine"];
export type JobPage = Shapes["JobPage"];
export type Me = Shapes["Me"];
export type Progress = Shapes["Progress"];
