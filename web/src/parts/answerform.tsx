/* The form of a question that is no mapping. */
import { useRef, useState } from "react";
import { post } from "../api/client";
import { useFresh } from "../api/queries";
import type { Question } from "../api/types";
import { useSpeech } from "../i18n";
import { begin, withNulls } from "../lib/check";
import SchemaForm from "./form";
import { ProblemNote } from "./problem";

export default function AnswerForm({ question, onDone }: { question: Question; onDone?: () => void }) {
  const { t } = useSpeech();
  const fresh = useFresh();
  const bare = question.form.type !== "object";
  // A question for one plain value is shown as a form with one field.
  const schema = bare
    ? { type: "object", properties: { value: { title: question.name, ...question.form } }, required: ["value"] }
    : question.form;
  const first = question.default ?? begin(question.form);
  const [value, setValue] = useState<unknown>(bare ? (first === undefined ? {} : { value: first }) : (first ?? {}));
  const [remember, setRemember] = useState(question.remember);
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const busy = useRef(false);
  const go = async (given: unknown) => {
    if (busy.current) return;
    busy.current = true;
    try {
      const answer = withNulls(schema, given);
      const sent = bare ? (answer as { value: unknown }).value : answer;
      await post(`questions/${question.id}/answer`, { value: sent, reason: reason.trim() || null, remember });
      await fresh();
      onDone?.();
    } catch (error) {
      setProblem(error);
    } finally {
      busy.current = false;
    }
  };
  return (
    <div className="card-body">
      <SchemaForm
        id={`answer-${question.id}`}
        schema={schema}
        value={value}
        onChange={setValue}
        onSubmit={(given) => void go(given)}
      >
        <Remember on={remember} onChange={setRemember} />
        <label className="line-field">
          <span>{t("reason")}</span>
          <input
            className="input"
            value={reason}
            maxLength={500}
            placeholder={t("reason.hint")}
            onChange={(event) => setReason(event.target.value)}
          />
        </label>
        {problem !== null && <ProblemNote problem={problem} />}
        <div className="dialog-foot">
          <button type="submit" className="btn primary">
            {t("question.send")}
          </button>
          <span className="small dim">{t("question.after")}</span>
        </div>
      </SchemaForm>
    </div>
  );
}

export function Remember({ on, onChange }: { on: boolean; onChange: (on: boolean) => void }) {
  const { t } = useSpeech();
  return (
    <label className="opt">
      <input className="check" type="checkbox" checked={on} onChange={(event) => onChange(event.target.checked)} />
      <span>
        <b>{t("question.remember")}</b> <span className="soft">{t("question.remember.how")}</span>
      </span>
    </label>
  );
}
