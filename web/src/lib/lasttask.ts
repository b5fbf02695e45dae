/* The task whose coverage was looked at last, in this browser. */
import { kept } from "./store";

export const lastTask = kept("jobtrail.coverage", "");
