/* Asking the server: addresses relative to the page, problems as errors with a sentence for people. */
import { parse, stringify } from "../lib/exact";

export interface FieldProblem {
  path: string;
  detail: string;
}

/** What the server refuses (RFC 9457), or that it does not answer at all (status 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  get job(): string | null {
    return typeof this.more.job === "string" ? this.more.job : null;
  }

  get fields(): FieldProblem[] {
    return Array.isArray(this.more.errors) ? (this.more.errors as FieldProblem[]) : [];
  }
}

export type Query = Record<string, string | number | boolean | string[] | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) asked.append(key, String(one));
  }
  const text = asked.toString();
  return `api/${path}${text ? `?${text}` : ""}`;
}

/** A name as part of a path: slashes stay, all else that an address gives a meaning does not. */
export const inPath = (name: string) => name.split("/").map(encodeURIComponent).join("/");

async function problemOf(answer: Response): Promise<Problem> {
  try {
    const body = (await answer.json()) as Record<string, unknown>;
    const detail = typeof body.detail === "string" ? body.detail : answer.statusText;
    return new Problem(answer.status, String(body.code ?? answer.status), detail, body);
  } catch {
    return new Problem(answer.status, String(answer.status), answer.statusText || `HTTP ${answer.status}`);
  }
}

type Read = (text: string) => unknown;

async function ask<T>(path: string, init: RequestInit, read: Read = parse): Promise<T> {
  let answer: Response;
  try {
    const headers = { ...init.headers, "Accept-Language": document.documentElement.lang || "en" };
    answer = await fetch(path, { credentials: "same-origin", ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", error instanceof Error ? error.message : String(error));
  }
  if (!answer.ok) throw await problemOf(answer);
  if (answer.status === 204) return undefined as T;
  const kind = answer.headers.get("content-type") ?? "";
  return (kind.includes("json") ? read(await answer.text()) : await answer.text()) as T;
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return ask<T>(address(path, query), { signal, headers: { Accept: "application/json" } });
}

/** Something that changes things; `key` makes it safe to press twice. */
export function send<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  key?: string,
  read?: Read,
) {
  const headers: Record<string, string> = { "X-Jobtrail": "1", Accept: "application/json" };
  const raw = body instanceof FormData || body instanceof Blob;
  if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const init = { method, headers, body: raw ? body : body === undefined ? undefined : stringify(body) };
  return ask<T>(address(path), init, read);
}

/** As `get`, with numbers as a browser reads them: for code that does not know exact ones. */
export function getPlain<T>(path: string): Promise<T> {
  return ask<T>(address(path), { headers: { Accept: "application/json" } }, JSON.parse);
}

export const post = <T>(path: string, body: unknown = {}, key?: string) => send<T>("POST", path, body, key);

/** One for each opened form or dialog: the second press of its button is the first one's answer. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** For the next press: what was refused may be sent otherwise; what perhaps was done must be found again. */
export function keyAfter(key: string, error: unknown): string {
  return error instanceof Problem && error.status > 0 && error.status < 500 ? newKey() : key;
}
