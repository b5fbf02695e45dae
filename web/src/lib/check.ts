/* What in an answer does not fit its schema, checked without building code from text (the page's policy forbids that). Pure. */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isExact, rounded } from "./exact";

/** A keyword of the schema that a value does not fit; `wanted` is what the schema says there, of `required` the missing name. */
export interface Misfit {
  path: string[];
  keyword: string;
  wanted: unknown;
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

/** Words of which one branch is to fit; what is told is what the nearest branch misses. */
const CHOICES = new Set(["oneOf", "anyOf"]);

export function misfits(schema: unknown, value: unknown): Misfit[] {
  const found = new Validator(withDoubles(schema) as Schema, "2020-12", false).validate(withDoubles(value)).errors;
  const chosen = found.filter((unit) => CHOICES.has(unit.keyword)).map((unit) => `${unit.keywordLocation}/`);
  const told = found.filter(
    (unit) => !ABOVE.has(unit.keyword) && !chosen.some((above) => unit.keywordLocation.startsWith(above)),
  );
  const deepest = told.length > 0 ? told : found;
  const seen = new Set<string>();
  return deepest
    .flatMap((unit) => misfitsOf(unit, schema, value))
    .filter((one) => {
      if (one.keyword === "multipleOf" && isExact(at(value, one.path))) return false; // of a double nobody can say it
      const key = [...one.path, one.keyword].join("/");
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

function misfitsOf(unit: OutputUnit, schema: unknown, value: unknown): Misfit[] {
  const path = parts(unit.instanceLocation);
  const wanted = keywordAt(schema, parts(unit.keywordLocation));
  const nearest = CHOICES.has(unit.keyword) ? nearestMisfits(wanted, schema, at(value, path)) : [];
  if (nearest.length > 0) return nearest.map((one) => ({ ...one, path: [...path, ...one.path] }));
  if (unit.keyword !== "required") return [{ path, keyword: unit.keyword, wanted }];
  const held = at(value, path) as object;
  const missing = (wanted as string[]).filter((name) => !(name in held));
  return missing.map((name) => ({ path: [...path, name], keyword: unit.keyword, wanted: name }));
}

/** What the branch misses that fits best: one of the right type and constants, then with the fewest misfits. */
function nearestMisfits(branches: unknown, root: unknown, value: unknown): Misfit[] {
  const definitions = (root as { $defs?: unknown }).$defs;
  const found = (Array.isArray(branches) ? branches : []).map((branch) =>
    misfits(definitions ? { $defs: definitions, ...(branch as object) } : branch, value),
  );
  const apart = (list: Misfit[]) =>
    list.length +
    100 * list.filter((one) => one.keyword === "const" || (one.keyword === "type" && !one.path.length)).length;
  return found.filter((list) => list.length > 0).sort((a, b) => apart(a) - apart(b))[0] ?? [];
}

const parts = (pointer: string) =>
  pointer
    .replace(/^#\/?/, "")
    .split("/")
    .filter(Boolean)
    .map((part) => decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~"));

/** What stands at a place of the schema; the place leads through local references. */
function keywordAt(schema: unknown, path: string[]): unknown {
  return path.reduce<unknown>((found, part) => {
    const next = (found as Record<string, unknown> | undefined)?.[part];
    return part === "$ref" ? at(schema, parts(String(next))) : next;
  }, schema);
}

/** The schema as a form shows it: what is only written is not shown while it is typed. */
export function concealed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(concealed);
  if (typeof schema !== "object" || schema === null) return schema;
  const found = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, concealed(one)]));
  return found.writeOnly === true && found.type === "string" && !found.format && !found.enum
    ? { ...found, format: "password" }
    : found;
}

interface Beginning {
  default?: unknown;
  type?: string;
  enum?: unknown[];
  required?: string[];
  properties?: Record<string, unknown>;
}

/** A value that a form can begin with: defaults where the schema has them, and the first form of a choice that must be made. */
export function begin(schema: unknown, required = false): unknown {
  const found = schema as Beginning;
  if (found?.default !== undefined) return found.default;
  if (required && found?.enum?.length) return found.enum[0];
  if (found?.type === "object" && found.properties) {
    const entries = Object.entries(found.properties).map(
      ([name, part]) => [name, begin(part, found.required?.includes(name))] as const,
    );
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
