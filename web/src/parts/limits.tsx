/* Limits by key: what each allows, what runs and waits for each key, changed by a person. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { inPath, post, send } from "../api/client";
import { useFresh, useLook, useMay } from "../api/queries";
import type { Limit, LimitNumbers, Limits } from "../api/types";
import { useSpeech } from "../i18n";
import { Button, Card } from "./basic";
import { ActionDialog } from "./dialog";
import { useActor } from "./status";

const EVERY = 5000; // ms

/** Nothing where no program has declared a limit. */
export function LimitCard() {
  const { t, num, clock } = useSpeech();
  const actor = useActor();
  const may = useMay("operator");
  const says = useAllows();
  const [asked, setAsked] = useState<Limit | null>(null);
  const found = useLook<Limits>("limits", {}, { every: EVERY }).data?.limits ?? [];
  if (found.length === 0) return null;
  return (
    <Card title={t("limits.title")}>
      <table className="t cards stack">
        <thead>
          <tr>
            <th scope="col">{t("limits.name")}</th>
            <th scope="col">{t("limits.allows")}</th>
            <th scope="col" className="num">
              {t("status.running")}
            </th>
            <th scope="col" className="num">
              {t("limits.waiting")}
            </th>
            <th scope="col" className="num">
              {t("limits.next")}
            </th>
            <th scope="col">
              <span className="vh">{t("queues.steer")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {found.flatMap((limit) => [
            <tr key={limit.name}>
              <td>
                <b>{limit.name}</b>
              </td>
              <td data-th={t("limits.allows")}>
                {says(limit.now)}
                {limit.actor && (
                  <span className="dim small"> {[actor(limit.actor), limit.reason].filter(Boolean).join(": ")}</span>
                )}
              </td>
              <td data-th={t("status.running")} className={`num ${limit.running ? "" : "dim"}`}>
                {num(limit.running)}
              </td>
              <td data-th={t("limits.waiting")} className={`num ${limit.waiting ? "" : "dim"}`}>
                {num(limit.waiting)}
              </td>
              <td data-th={t("limits.next")} className="num dim">
                –
              </td>
              <td className="num">
                <Button off={!may} onClick={() => setAsked(limit)}>
                  {t("limits.change")}
                </Button>
              </td>
            </tr>,
            ...limit.keys
              .filter((one) => one.key !== limit.name || one.next_at)
              .slice(0, 20)
              .map((one) => (
                <tr key={`${limit.name} ${one.key}`}>
                  <td className="soft">{one.key}</td>
                  <td />
                  <td data-th={t("status.running")} className={`num ${one.running ? "" : "dim"}`}>
                    {num(one.running)}
                  </td>
                  <td data-th={t("limits.waiting")} className={`num ${one.waiting ? "" : "dim"}`}>
                    {num(one.waiting)}
                  </td>
                  <td data-th={t("limits.next")} className={`num nowrap ${one.next_at ? "" : "dim"}`}>
                    {one.next_at ? clock(one.next_at) : "–"}
                  </td>
                  <td />
                </tr>
              )),
          ])}
        </tbody>
      </table>
      {asked && <Change limit={asked} onClose={() => setAsked(null)} />}
    </Card>
  );
}

/** The way from a waiting job to what helps it. */
export function ToLimits({ name }: { name: string }) {
  const { t } = useSpeech();
  return <Link to="/workers">{t("limits.see", { name })}</Link>;
}

function useAllows() {
  const { t, num } = useSpeech();
  return (allowed: LimitNumbers) =>
    [
      allowed.running !== null && t("limits.running", { n: num(allowed.running) }),
      allowed.rate !== null && t("limits.rate", { n: num(allowed.rate), s: num(allowed.per) }),
    ]
      .filter(Boolean)
      .join(", ") || t("limits.any");
}

function Change({ limit, onClose }: { limit: Limit; onClose: () => void }) {
  const { t } = useSpeech();
  const fresh = useFresh();
  const says = useAllows();
  const [running, setRunning] = useState(String(limit.now.running ?? ""));
  const [rate, setRate] = useState(String(limit.now.rate ?? ""));
  const [per, setPer] = useState(String(limit.now.per));
  const [reset, setReset] = useState(false);
  const path = `limits/${inPath(limit.name)}`;
  const whole = (text: string) => (text.trim() === "" ? null : Number(text));
  const field = (label: string, value: string, set: (text: string) => void) => (
    <label className="line-field">
      <span>{label}</span>
      <input
        className="input"
        type="number"
        min={0}
        step="any"
        value={value}
        disabled={reset}
        onChange={(event) => set(event.target.value)}
      />
    </label>
  );
  return (
    <ActionDialog
      title={t("limits.change.title", { name: limit.name })}
      says={t("limits.change.words")}
      verb={t("limits.change.verb")}
      run={(act) =>
        reset
          ? post(`${path}/reset`, { reason: act.reason || null }, act.key)
          : send(
              "PUT",
              path,
              { running: whole(running), rate: whole(rate), per: Number(per), reason: act.reason || null },
              act.key,
            )
      }
      onDone={() => void fresh()}
      onClose={onClose}
    >
      {field(t("limits.field.running"), running, setRunning)}
      {field(t("limits.field.rate"), rate, setRate)}
      {field(t("limits.field.per"), per, setPer)}
      {limit.declared && limit.actor && (
        <label className="opt">
          <input
            className="check"
            type="checkbox"
            checked={reset}
            onChange={(event) => setReset(event.target.checked)}
          />
          <span>{t("limits.reset", { declared: says(limit.declared) })}</span>
        </label>
      )}
    </ActionDialog>
  );
}
