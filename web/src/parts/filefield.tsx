/* A file for a job: handed over from this computer, or named on the server below one of its input folders. */
import { useRef, useState } from "react";
import { address, Problem, send } from "../api/client";
import type { Uploaded } from "../api/types";
import { useSpeech } from "../i18n";
import { Choice, Note } from "./basic";
import { ProblemNote } from "./problem";

export type Given = { upload: string } | { path: string };

export function FileField({ onChange }: { onChange: (given: Given | null) => void }) {
  const { t, bytes } = useSpeech();
  const [how, setHow] = useState<"upload" | "path">("upload");
  const [found, setFound] = useState<Uploaded | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const turn = useRef(0);
  const upload = async (file: File) => {
    turn.current += 1;
    const mine = turn.current;
    setBusy(file.name);
    setProblem(null);
    setFound(null);
    onChange(null);
    try {
      const path = address("files", { name: file.name }).slice("api/".length);
      const taken = await send<Uploaded>("POST", path, file);
      if (mine !== turn.current) return;
      setFound(taken);
      onChange({ upload: taken.upload });
    } catch (error) {
      if (mine === turn.current) setProblem(error instanceof Problem ? error : new Problem(0, "broken", String(error)));
    } finally {
      if (mine === turn.current) setBusy(null);
    }
  };
  return (
    <div className="line-field">
      <span>{t("file.title")}</span>
      <Choice
        label={t("file.title")}
        value={how}
        options={[
          ["upload", t("file.upload")],
          ["path", t("file.path")],
        ]}
        onChange={(next) => {
          setHow(next);
          onChange(null);
        }}
      />
      {how === "upload" ? (
        <input
          type="file"
          className="input file"
          aria-label={t("file.title")}
          onChange={(event) => {
            const file = event.target.files?.[0];
            if (file) void upload(file);
          }}
        />
      ) : (
        <input
          className="input mono"
          aria-label={t("file.path")}
          placeholder="incoming/planes.csv"
          onChange={(event) => onChange(event.target.value.trim() ? { path: event.target.value.trim() } : null)}
        />
      )}
      {busy && <Note>{t("file.busy", { name: busy })}</Note>}
      {found && (
        <Note tone="completed" icon="completed">
          {found.name}, {bytes(found.size)}, SHA-256 <span className="mono">{found.sha256.slice(0, 8)}…</span>
        </Note>
      )}
      {problem !== null && <ProblemNote problem={problem} />}
      {how === "path" && <span className="small dim">{t("file.roots")}</span>}
    </div>
  );
}
