/* Run with changed arguments: the form of the task, filled; what is masked stays what it was. */
import { useRef, useState } from "react";
import { inPath, keyAfter, newKey, post } from "../api/client";
import { useLook } from "../api/queries";
import type { JobWhole, Stored, TaskShape } from "../api/types";
import { useSpeech } from "../i18n";
import { withNulls } from "../lib/check";
import { Button, Note, Waiting } from "./basic";
import { Dialog } from "./dialog";
import SchemaForm from "./form";
import { ProblemNote } from "./problem";

export default function ChangedDialog({
  job,
  says,
  onClose,
  onDone,
}: {
  job: JobWhole;
  says: string;
  onClose: () => void;
  onDone: (stored: Stored) => void;
}) {
  const { t, tWord } = useSpeech();
  const task = useLook<TaskShape>(`tasks/${inPath(job.task)}`, {}, { every: 60_000 });
  const [value, setValue] = useState<unknown>(job.arguments);
  const [reason, setReason] = useState("");
  const [problem, setProblem] = useState<unknown>(null);
  const schema = task.data?.arguments;
  const key = useRef(newKey());
  const busy = useRef(false);
  const go = async (args: unknown) => {
    if (busy.current) return;
    busy.current = true;
    try {
      const given = withNulls(schema, args);
      const told = { mode: "full", args: given, reason: reason.trim() || null };
      const stored = await post<Stored>(`jobs/${job.id}/rerun`, told, key.current);
      onClose();
      onDone(stored);
    } catch (error) {
      setProblem(error);
      key.current = keyAfter(key.current, error);
    } finally {
      busy.current = false;
    }
  };
  return (
    <Dialog title={tWord("act", "rerun_changed").replace("…", "")} onClose={onClose} wide>
      <div className="dialog-body">
        <p className="soft">{says}</p>
        {task.error && <ProblemNote problem={task.error} />}
        {!schema && !task.error && <Waiting />}
        {schema && (
          <SchemaForm id="changed" schema={schema} value={value} onChange={setValue} onSubmit={(args) => void go(args)}>
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
            {JSON.stringify(job.arguments).includes("•••") && <Note>{t("form.masked")}</Note>}
            {problem !== null && <ProblemNote problem={problem} />}
            <div className="dialog-foot">
              <button type="submit" className="btn primary">
                {tWord("verb", "rerun_changed")}
              </button>
              <Button look="quiet" onClick={onClose}>
                {t("leave")}
              </Button>
            </div>
          </SchemaForm>
        )}
      </div>
    </Dialog>
  );
}
