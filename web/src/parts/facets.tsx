/* How many of what is asked for are in each state; a press asks for that state alone. */
import { useQuery } from "@tanstack/react-query";
import { get } from "../api/client";
import type { JobPage } from "../api/types";
import { useSpeech } from "../i18n";
import { valuesOf, withKey, word } from "../lib/filter";
import { STATUSES } from "../lib/words";
import { Icon } from "./basic";

const SHOWN = [
  "running",
  "pending",
  "awaiting_input",
  "awaiting_mapping",
  "interrupted",
  "cancelling",
  "partial",
  "failed",
  "completed",
  "cancelled",
] as const;

type Counts = Record<string, { number: number; more: boolean }>;

async function counted(rest: string, signal: AbortSignal): Promise<Counts> {
  const found = await Promise.all(
    ["", ...STATUSES].map(async (status) => {
      const q = status ? withKey(rest, "status", [word("status", status)]) : rest;
      const page = await get<JobPage>("jobs", { q, limit: 1, count: true }, signal);
      return [status, page.count ?? { number: 0, more: false }] as const;
    }),
  );
  return Object.fromEntries(found);
}

export function Facets({ q, onChange }: { q: string; onChange: (q: string) => void }) {
  const { t, tWord, count } = useSpeech();
  const rest = withKey(q, "status", []);
  const asked = valuesOf(q, "status");
  const counts = useQuery({
    queryKey: ["facets", rest],
    queryFn: ({ signal }) => counted(rest, signal),
    refetchInterval: 10_000,
    placeholderData: (before) => before,
  });
  const numbers = counts.data;
  const told = (status: string) => (numbers?.[status] ? count(numbers[status].number, !numbers[status].more) : "…");
  const shown = SHOWN.filter(
    (status) => asked.includes(status) || !numbers || (numbers[status]?.number ?? 0) > 0 || status === "failed",
  );
  return (
    <nav className="facets" aria-label={t("col.status")}>
      <button type="button" aria-current={asked.length === 0 ? "true" : undefined} onClick={() => onChange(rest)}>
        {t("jobs.all")} <b>{told("")}</b>
      </button>
      {shown.map((status) => (
        <button
          key={status}
          type="button"
          className={status}
          aria-current={asked.length === 1 && asked[0] === status ? "true" : undefined}
          onClick={() => onChange(withKey(q, "status", [word("status", status)]))}
        >
          <Icon of={status} />
          {tWord("status", status)} <b>{told(status)}</b>
        </button>
      ))}
    </nav>
  );
}
