/* The mapping editor: columns with what is in them on the left, fields on the right; selects do it, the wires only show it. */
import { type KeyboardEvent, type ReactNode, useRef, useState } from "react";
import { post } from "../api/client";
import { useFresh } from "../api/queries";
import type { Question } from "../api/types";
import { useSpeech } from "../i18n";
import { changed, type Filled, free, hint, open, rows, start, type Target } from "../lib/mapping";
import { Remember } from "./answerform";
import { Button, Card, Icon } from "./basic";
import { ActionDialog } from "./dialog";
import { ProblemNote } from "./problem";

type Editor = NonNullable<Question["mapping"]>;

export default function MappingEditor({
  asked,
  side,
  onDone,
}: {
  asked: Question;
  side: ReactNode;
  onDone: () => void;
}) {
  const { t } = useSpeech();
  const fresh = useFresh();
  const editor = asked.mapping!;
  const [filled, setFilled] = useState<Filled>(() => start(editor.targets, editor.proposal));
  const [remember, setRemember] = useState(asked.remember);
  const [problem, setProblem] = useState<unknown>(null);
  const [cancel, setCancel] = useState(false);
  const busy = useRef(false);
  const missing = open(editor.targets, filled);
  const mine = changed(filled, editor.proposal);
  const number = Object.values(filled).filter(Boolean).length;
  const send = async () => {
    if (missing.length > 0 || busy.current) return;
    busy.current = true;
    try {
      const value = Object.fromEntries(Object.entries(filled).filter(([, column]) => column !== null));
      await post(`questions/${asked.id}/answer`, { value, remember });
      await fresh();
      onDone();
    } catch (error) {
      setProblem(error);
    } finally {
      busy.current = false;
    }
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of all that is inside
    <div className="grid g-map" onKeyDown={keyed}>
      <div className="grid">
        <p className="verdict-sub">
          {missing.length > 0
            ? t("map.open", { n: number, all: editor.targets.length, names: missing.map((one) => one.name).join(", ") })
            : t("map.ready", { n: number, all: editor.targets.length })}
        </p>
        <section className="card" aria-label={t("map.title")}>
          <div className="card-head">
            <h2>{t("map.title")}</h2>
            <Legend />
          </div>
          <Board
            editor={editor}
            filled={filled}
            mine={mine}
            onFill={(name, column) => setFilled({ ...filled, [name]: column })}
          />
          {problem !== null && <ProblemNote problem={problem} />}
          <div className="send">
            <Button look="primary" press="Ctrl ↵" off={missing.length > 0} onClick={() => void send()}>
              {t("question.send")}
            </Button>
            {missing[0] && (
              <span className="failed fg small">
                {t("map.notyet", { name: missing[0].name })}{" "}
                <button
                  type="button"
                  className="link"
                  onClick={() => document.getElementById(`map-${missing[0]!.name}`)?.focus()}
                >
                  {t("map.go")}
                </button>
              </span>
            )}
          </div>
        </section>
        <Preview editor={editor} filled={filled} />
      </div>
      <div className="grid">
        {side}
        <Card title={t("map.after")}>
          <div className="card-body grid">
            <p className="small soft">{t("map.after.text")}</p>
            <Remember on={remember} onChange={setRemember} />
          </div>
        </Card>
        <section className="card">
          <ul className="acts-list">
            <li>
              <Button
                className="wide"
                icon="rerun"
                off={mine.length === 0}
                onClick={() => setFilled(start(editor.targets, editor.proposal))}
              >
                {t("map.back")}
              </Button>
              <p>{t("map.back.words", { n: mine.length })}</p>
            </li>
            <li>
              <Button className="wide danger" icon="cancelled" onClick={() => setCancel(true)}>
                {t("map.cancel")}
              </Button>
              <p>{t("map.cancel.words")}</p>
            </li>
          </ul>
        </section>
      </div>
      {cancel && (
        <ActionDialog
          title={t("map.cancel").replace("…", "")}
          says={t("map.cancel.words")}
          verb={t("verb.cancel")}
          danger
          run={(act) => post(`jobs/${asked.job}/cancel`, { reason: act.reason || null }, act.key)}
          onDone={() => {
            void fresh();
            onDone();
          }}
          onClose={() => setCancel(false)}
        />
      )}
    </div>
  );
}

function Legend() {
  const { t } = useSpeech();
  return (
    <span className="end legend">
      <span>
        <i className="sw ln sure-l" />
        {t("map.mine")}
      </span>
      <span>
        <i className="sw ln pending" />
        {t("map.proposed")}
      </span>
      <span className="failed">
        <i className="sw ln dash" />
        {t("map.still")}
      </span>
    </span>
  );
}

function Board({
  editor,
  filled,
  mine,
  onFill,
}: {
  editor: Editor;
  filled: Filled;
  mine: string[];
  onFill: (name: string, column: string | null) => void;
}) {
  const { t } = useSpeech();
  const unused = new Set(free(editor.columns, filled).map((column) => column.name));
  return (
    <div className="map">
      <div className="map-head l">{t("map.column")}</div>
      <div className="map-head m" />
      <div className="map-head">{t("map.field")}</div>
      <div className="map-col left">
        {editor.columns.map((column) => (
          <div key={column.name} className={`row src ${unused.has(column.name) ? "free" : ""}`}>
            <b className="ell">{column.name}</b>
            <small className="ell">{column.samples.slice(0, 3).join(" · ") || "–"}</small>
          </div>
        ))}
      </div>
      <Wires editor={editor} filled={filled} mine={mine} />
      <div className="map-col right">
        {editor.targets.map((target) => (
          <Field
            key={target.name}
            target={target}
            editor={editor}
            filled={filled}
            mine={mine.includes(target.name)}
            onFill={onFill}
          />
        ))}
      </div>
    </div>
  );
}

const alike = (a: string, b: string) => a.toLowerCase().replace(/[\s_]/g, "") === b.toLowerCase().replace(/[\s_]/g, "");
const ROW = 60;
const middle = (index: number) => index * ROW + 35;

function Wires({ editor, filled, mine }: { editor: Editor; filled: Filled; mine: string[] }) {
  const place = new Map(editor.columns.map((column, index) => [column.name, index]));
  const height = Math.max(editor.columns.length, editor.targets.length) * ROW + 10;
  const way = (from: number, to: number) => `M4 ${middle(from)}C44 ${middle(from)} 44 ${middle(to)} 84 ${middle(to)}`;
  return (
    <svg className="wires" viewBox={`0 0 88 ${height}`} height={height} aria-hidden="true">
      {editor.targets.map((target, index) => {
        const column = filled[target.name];
        const from = column ? place.get(column) : undefined;
        if (from !== undefined) {
          const sure = mine.includes(target.name) ? "sure" : "";
          return (
            <g key={target.name}>
              <path className={sure} d={way(from, index)} />
              <circle className={sure} cx="4" cy={middle(from)} r="3.5" />
              <circle className={sure} cx="84" cy={middle(index)} r="3.5" />
            </g>
          );
        }
        const near = target.required ? hint(target, editor.columns, filled) : null;
        return near ? <path key={target.name} className="hint" d={way(place.get(near.name)!, index)} /> : null;
      })}
    </svg>
  );
}

function Field({
  target,
  editor,
  filled,
  mine,
  onFill,
}: {
  target: Target;
  editor: Editor;
  filled: Filled;
  mine: boolean;
  onFill: (name: string, column: string | null) => void;
}) {
  const { t } = useSpeech();
  const column = filled[target.name];
  const missing = target.required && !column;
  const near = missing ? hint(target, editor.columns, filled) : null;
  const samples = editor.columns.find((one) => one.name === column)?.samples ?? [];
  return (
    <div className={`row tgt ${missing ? "miss" : ""}`}>
      <div>
        <b>{target.name}</b> {target.required && <span className="req">* {t("map.required")}</span>}
        <small title={target.description ?? undefined}>
          {near ? (
            t("map.near", { name: near.name })
          ) : (
            <>
              {target.type}
              {target.title && !alike(target.title, target.name) ? ` · ${target.title}` : ""}
              {column && " · "}
              {column && (
                <span className="how">
                  {mine && <Icon of="check" />}
                  {t(mine ? "map.mine" : "map.proposed")}
                </span>
              )}
            </>
          )}
        </small>
      </div>
      <div>
        <select
          className="field"
          id={`map-${target.name}`}
          aria-label={target.name}
          value={column ?? ""}
          onChange={(event) => onFill(target.name, event.target.value || null)}
        >
          <option value="">{t(target.required ? "map.choose" : "map.nothing")}</option>
          {editor.columns.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
        <span className="pick">{samples.slice(0, 3).join(" · ")}</span>
      </div>
    </div>
  );
}

function Preview({ editor, filled }: { editor: Editor; filled: Filled }) {
  const { t } = useSpeech();
  const lines = rows(editor.targets, editor.columns, filled).slice(0, 5);
  if (lines.length === 0) return null;
  return (
    <Card title={t("map.preview")} sub={t("map.preview.sub", { n: lines.length })}>
      <div className="scroll-x" tabIndex={0} role="group" aria-label={t("map.preview")}>
        <table className="t rows">
          <thead>
            <tr>
              {editor.targets.map((target) => (
                <th key={target.name} scope="col">
                  {target.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {lines.map((line, index) => (
              <tr key={index}>
                {line.map((value, place) => (
                  <td
                    key={place}
                    className={value === null ? (editor.targets[place]!.required ? "failed fg" : "dim") : "mono"}
                  >
                    {value === null ? t("map.nocolumn") : value === "" ? <span className="dim">–</span> : value}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
