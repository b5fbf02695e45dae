/* Dialogs: the browser's own, which keeps the focus in and closes by Escape; and the one that every action goes through. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { keyAfter, newKey, Problem } from "../api/client";
import { useSpeech } from "../i18n";
import { Button, IconButton, Note } from "./basic";
import { ProblemNote } from "./problem";

export function Dialog({
  title,
  onClose,
  wide,
  children,
}: {
  title: ReactNode;
  onClose: () => void;
  wide?: boolean;
  children: ReactNode;
}) {
  const { t } = useSpeech();
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  const typed = useRef(false);
  const [warned, setWarned] = useState(false);
  useEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={box}
      className={`dialog ${wide ? "wide" : ""}`}
      aria-labelledby={id}
      onInput={() => {
        typed.current = true;
      }}
      onCancel={(event) => {
        if (event.target !== event.currentTarget) return; // of a file field, say
        if (!typed.current || warned) return onClose();
        event.preventDefault();
        setWarned(true);
      }}
      onClose={onClose}
    >
      <header className="card-head">
        <h2 id={id}>{title}</h2>
        <span className="end">
          <IconButton icon="x" label={t("close")} onClick={onClose} />
        </span>
      </header>
      {warned && (
        <div className="dialog-warned" role="alert">
          <Note>{t("dialog.typed")}</Note>
        </div>
      )}
      {children}
    </dialog>
  );
}

export interface Act {
  reason: string;
  key: string;
}

interface ActionProps {
  title: string;
  says: ReactNode;
  verb: string;
  danger?: boolean;
  off?: boolean;
  wantsReason?: boolean;
  run: (act: Act) => Promise<unknown>;
  onDone?: (result: unknown) => void;
  onClose: () => void;
  children?: ReactNode;
}

/** What an action makes and leaves alone, why it is done, and then its verb. The second press is the first one's. */
export function ActionDialog({
  title,
  says,
  verb,
  danger,
  off,
  wantsReason = true,
  run,
  onDone,
  onClose,
  children,
}: ActionProps) {
  const { t } = useSpeech();
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const key = useRef(newKey());
  const go = async () => {
    if (busy || off) return;
    setBusy(true);
    setProblem(null);
    try {
      const result = await run({ reason: reason.trim(), key: key.current });
      onClose();
      onDone?.(result);
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, "broken", String(error)));
      key.current = keyAfter(key.current, error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault();
          void go();
        }}
      >
        <div className="soft">{says}</div>
        {children}
        {wantsReason && (
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
        )}
        {problem && <ProblemNote problem={problem} />}
        <div className="dialog-foot">
          <button
            type="submit"
            className={`btn ${danger ? "danger" : "primary"} ${off || busy ? "off" : ""}`}
            aria-disabled={off || busy || undefined}
          >
            {verb}
          </button>
          <Button look="quiet" onClick={onClose}>
            {t("leave")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
