/* What is said of an error: how it stands, and acknowledging, muting, mending or reopening it. */
import { useState } from "react";
import { post } from "../api/client";
import { useFresh, useMay } from "../api/queries";
import type { ErrorKind } from "../api/types";
import { useSpeech } from "../i18n";
import { Button, Icon } from "./basic";
import { ActionDialog } from "./dialog";
import { useActor } from "./status";

const ACTIONS = ["acknowledge", "mute", "mend", "reopen"] as const;
type Action = (typeof ACTIONS)[number];
const HOUR = 3600;
const MUTES = [HOUR, 8 * HOUR, 24 * HOUR, 7 * 24 * HOUR] as const; // seconds

export function ErrorHandling({ kind }: { kind: ErrorKind }) {
  const { t, tWord, moment } = useSpeech();
  const actor = useActor();
  const may = useMay("operator");
  const [asked, setAsked] = useState<Action | null>(null);
  const said = kind.handling;
  const wanted = kind.state === "open" || kind.state === "returned";
  return (
    <div className="error-handling">
      <span className={`st ${wanted ? "failed" : "completed"}`}>
        <Icon of={wanted ? "failed" : "check"} />
        <span>
          {tWord("inbox", kind.state)}
          {kind.state === "muted" && said?.until ? ` ${t("inbox.until", { at: moment(said.until) })}` : ""}
          {said?.version ? ` ${t("inbox.in", { version: said.version })}` : ""}
        </span>
      </span>
      {said && (
        <span className="dim small">
          {[actor(said.actor), moment(said.at), said.reason].filter(Boolean).join(" · ")}
        </span>
      )}
      <span className="acts">
        {ACTIONS.filter((action) => (action === "reopen") !== wanted).map((action) => (
          <Button key={action} look="quiet" off={!may} onClick={() => setAsked(action)}>
            {t(`inbox.${action}`)}
          </Button>
        ))}
      </span>
      {asked && <HandlingDialog kind={kind} action={asked} onClose={() => setAsked(null)} />}
    </div>
  );
}

function HandlingDialog({ kind, action, onClose }: { kind: ErrorKind; action: Action; onClose: () => void }) {
  const { t, span, error } = useSpeech();
  const fresh = useFresh();
  const [seconds, setSeconds] = useState<number>(MUTES[2]);
  const [version, setVersion] = useState("");
  const run = (reason: string, key: string) =>
    post(
      `errors/${kind.fingerprint}/handling`,
      {
        action,
        reason: reason || null,
        until: action === "mute" ? new Date(Date.now() + seconds * 1000).toISOString() : null,
        version: action === "mend" ? version.trim() : null,
      },
      key,
    );
  return (
    <ActionDialog
      title={t(`inbox.${action}`).replace("…", "")}
      says={
        <>
          <p>{kind.error ? error(kind.error) : kind.fingerprint}</p>
          <p>{t(`inbox.${action}.words`)}</p>
        </>
      }
      verb={t(`inbox.${action}`).replace("…", "")}
      off={action === "mend" && version.trim() === ""}
      run={(act) => run(act.reason, act.key)}
      onDone={() => void fresh()}
      onClose={onClose}
    >
      {action === "mute" && (
        <label className="line-field">
          <span>{t("inbox.for")}</span>
          <select className="input" value={seconds} onChange={(event) => setSeconds(Number(event.target.value))}>
            {MUTES.map((one) => (
              <option key={one} value={one}>
                {span(one)}
              </option>
            ))}
          </select>
        </label>
      )}
      {action === "mend" && (
        <label className="line-field">
          <span>{t("inbox.version")}</span>
          <input
            className="input"
            value={version}
            maxLength={100}
            placeholder="2.4.1"
            onChange={(event) => setVersion(event.target.value)}
          />
        </label>
      )}
    </ActionDialog>
  );
}
