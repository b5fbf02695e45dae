/* States as the server names them, in the order in which people read them. */
import type { Shape } from "../parts/shapes";

export const STATUSES = [
  "pending",
  "running",
  "awaiting_input",
  "awaiting_mapping",
  "cancelling",
  "interrupted",
  "completed",
  "partial",
  "failed",
  "cancelled",
] as const;

export type Status = (typeof STATUSES)[number];

const FINAL = new Set<string>(["completed", "partial", "failed", "cancelled"]);

export const isFinal = (status: string) => FINAL.has(status);
export const isWaiting = (status: string) => status === "awaiting_input" || status === "awaiting_mapping";
export const isStatus = (word: string): word is Status => (STATUSES as readonly string[]).includes(word);

export function shapeOf(status: string): Shape {
  return isStatus(status) ? status : "gap";
}

/** `person:ann` is ann; `token:ci`, `schedule:nightly` say what they are. */
export function actorParts(actor: string | null | undefined): { kind: string; name: string } | null {
  if (!actor) return null;
  const colon = actor.indexOf(":");
  return colon < 0 ? { kind: actor, name: "" } : { kind: actor.slice(0, colon), name: actor.slice(colon + 1) };
}

/** As it stands at the beginning of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** An error without the modules that its type stands in: `PermanentError: the source answered 503`. */
export const errorText = (text: string) => text.replace(/^(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_]\w*(?::|$))/, "");
