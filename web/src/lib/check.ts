/* What in an answer does not fit its schema, checked without building code from text (the page's policy forbids that). Pure. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isExact, rounded } from "./exact";

export interface Misfit {
  path: string[];
  message: string;
  keyword: string;
}

/** Words that only say that something below does not fit. */
const ABOVE = new Set([
  "properties",
  "items",
  "$ref",
  "allOf",
  "additionalProperties",
  "prefixItems",
  "patternProperties",
]);

export function misfits(schema: unknown, value: unknown): Misfit[] {
  const found = new Validator(withDoubles(schema) as Schema, "2020-12", false).validate(withDoubles(value)).errors;
  const told = found.filter((unit) => !ABOVE.has(unit.keyword));
  const deepest = told.length > 0 ? told : found;
  const seen = new Set<string>();
  return deepest.map(misfit).filter((one) => {
    if (one.keyword === "multipleOf" && isExact(at(value, one.path))) return false; // of a double nobody can say it
    const key = `${one.path.join("/")}\0${one.message}`;
    return !seen.has(key) && seen.add(key);
  });
}

/** Exact numbers as the nearest doubles, which is near enough for limits; the server checks them as they are. */
function withDoubles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDoubles);
  if (typeof value !== "object" || value === null) return rounded(value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withDoubles(one)]));
}

function at(value: unknown, path: string[]): unknown {
  return path.reduce<unknown>((found, part) => (found as Record<string, unknown> | undefined)?.[part], value);
}

function misfit(unit: OutputUnit): Misfit {
  const path = unit.instanceLocation
    .replace(/^#\/?/, "")
    .split("/")
    .filter(Boolean)
    .map((part) => decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~"));
  const missing = unit.keyword === "required" ? /"([^"]*)"/.exec(unit.error)?.[1] : undefined;
  return { path: missing === undefined ? path : [...path, missing], message: unit.error, keyword: unit.keyword };
}

/** A value that a form can begin with: defaults where the schema has them. */
export function begin(schema: unknown): unknown {
  const found = schema as { default?: unknown; type?: string; properties?: Record<string, unknown> };
  if (found?.default !== undefined) return found.default;
  if (found?.type === "object" && found.properties) {
    const entries = Object.entries(found.properties).map(([name, part]) => [name, begin(part)] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  return undefined;
}

/** Fields that may be null and were left out are null, where null is meant by the schema. */
export function withNulls(schema: unknown, value: unknown): unknown {
  const found = schema as { properties?: Record<string, Record<string, unknown>>; required?: string[] };
  if (!found?.properties || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const filled: Record<string, unknown> = { ...(value as Record<string, unknown>) };
  for (const [name, part] of Object.entries(found.properties)) {
    if (filled[name] === undefined && part["x-nullable"] && found.required?.includes(name)) filled[name] = null;
    else if (filled[name] !== undefined) filled[name] = withNulls(part, filled[name]);
  }
  return filled;
}
