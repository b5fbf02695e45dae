/* Run again with a corrected file: only what failed, or all of it. */
import { useState } from "react";
import { post } from "../api/client";
import type { JobWhole, Stored } from "../api/types";
import { useSpeech } from "../i18n";
import { Choice } from "./basic";
import { ActionDialog } from "./dialog";
import { FileField, type Given } from "./filefield";

type Mode = "failed_items" | "full";

export default function FileDialog({
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
  const { tWord } = useSpeech();
  const [file, setFile] = useState<Given | null>(null);
  const [mode, setMode] = useState<Mode>(job.items.failed ? "failed_items" : "full");
  return (
    <ActionDialog
      title={tWord("act", "rerun_file").replace("…", "")}
      says={says}
      verb={tWord("verb", "rerun_file")}
      off={file === null}
      run={(act) => post<Stored>(`jobs/${job.id}/rerun`, { mode, file, reason: act.reason || null }, act.key)}
      onDone={(stored) => onDone(stored as Stored)}
      onClose={onClose}
    >
      <FileField onChange={setFile} />
      <Choice
        label={tWord("act", "rerun_file")}
        value={mode}
        options={[
          ["failed_items", tWord("mode", "failed_items")],
          ["full", tWord("mode", "full")],
        ]}
        onChange={setMode}
      />
    </ActionDialog>
  );
}
