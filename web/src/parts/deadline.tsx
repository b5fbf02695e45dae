/* Until when a question can be answered, and what happens then. */
import { useSpeech } from "../i18n";
import { useNow } from "../lib/pulse";

export function Deadline({ at, fallback }: { at: string | null; fallback: boolean }) {
  const { t, span, moment } = useSpeech();
  const now = useNow();
  if (!at) return <span>{t("deadline.none")}</span>;
  const left = (Date.parse(at) - now) / 1000;
  if (left <= 0) return <span>{t("deadline.over")}</span>;
  return (
    <span title={moment(at, now)}>
      {t("deadline.left", { span: span(left) })}, {t(fallback ? "deadline.default" : "deadline.fails")}
    </span>
  );
}
