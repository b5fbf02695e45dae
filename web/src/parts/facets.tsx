/* How many of what is asked for are in each state; a press asks for that state alone. */
import { useQuery } from "@tanstack/react-query";
import { jobCounts } from "../api/queries";
import { useSpeech } from "../i18n";
import { valuesOf, withKey, word } from "../lib/filter";
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

export function Facets({ q, onChange }: { q: string; onChange: (q: string) => void }) {
  const { t, tWord, count } = useSpeech();
  const rest = withKey(q, "status", []);
  const asked = valuesOf(q, "status");
  const counts = useQuery({
    ...jobCounts(q),
    refetchInterval: 10_000,
    placeholderData: (before) => before,
  });
  const numbers = counts.data?.status;
  const told = (one?: { number: number; more: boolean }) => (one ? count(one.number, !one.more) : "…");
  const shown = SHOWN.filter(
    (status) => asked.includes(status) || !numbers || (numbers[status]?.number ?? 0) > 0 || status === "failed",
  );
  return (
    <nav className="facets" aria-label={t("col.status")}>
      <button type="button" aria-current={asked.length === 0 ? "true" : undefined} onClick={() => onChange(rest)}>
        {t("jobs.all")} <b>{told(counts.data?.all)}</b>
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
          {tWord("status", status)} <b>{told(numbers?.[status])}</b>
        </button>
      ))}
    </nav>
  );
}
