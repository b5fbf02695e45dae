/* The filter: finished words are chips, the open one is completed from the grammar and from what is there; views are kept here. */
import { type KeyboardEvent, type RefObject, useId, useMemo, useState } from "react";
import { useNames } from "../api/names";
import { useSpeech } from "../i18n";
import { join, split, suggest, without } from "../lib/filter";
import { kept } from "../lib/store";
import { Button, Icon, IconButton } from "./basic";
import { GrammarDialog } from "./grammar";

const HINTS = [
  "status:failed",
  "period:2013-02",
  "error:timeout",
  "args.airport:EWR",
  "label:tenant=acme",
  '"free text"',
];

interface View {
  name: string;
  q: string;
}

const views = kept<View[]>("jobtrail.views", []);

export function Filter({
  q,
  onChange,
  inputRef,
}: {
  q: string;
  onChange: (q: string) => void;
  inputRef: RefObject<HTMLInputElement | null>;
}) {
  const { t } = useSpeech();
  const [typed, setTyped] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [grammar, setGrammar] = useState(false);
  const list = useId();
  const names = useNames(open);
  const last = split(typed).at(-1) ?? "";
  const fresh = typed === "" || typed.endsWith(" ");
  const found = useMemo(() => (open ? suggest(fresh ? "" : last, names) : []), [open, fresh, last, names]);
  const words = split(q);

  const submit = (text: string) => {
    setTyped("");
    setOpen(false);
    setAt(-1);
    if (text.trim()) onChange(join([...words, ...split(text)]));
  };
  const take = (text: string) => {
    const before = fresh ? typed : typed.slice(0, typed.length - last.length);
    if (text.endsWith(":") || text.endsWith(".")) {
      setTyped(before + text);
      setAt(-1);
    } else submit(before + text);
    inputRef.current?.focus();
  };
  const keyed = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      setAt((place) =>
        found.length === 0 ? -1 : (place + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length,
      );
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (found[at]) take(found[at].text);
      else submit(typed);
    } else if (event.key === "Tab" && typed && open && found.length > 0) {
      event.preventDefault();
      take(found[Math.max(0, at)]!.text);
    } else if (event.key === "Escape") {
      setOpen(false);
      setAt(-1);
      if (!open || found.length === 0) event.currentTarget.blur();
    } else if (event.key === "Backspace" && typed === "" && words.length > 0) onChange(without(q, words.at(-1)!));
  };

  return (
    <div className="filter">
      <div className="filter-row">
        <div className="query">
          <Icon of="search" />
          {words.map((text, index) => (
            <Chip key={`${text}${index}`} text={text} onRemove={() => onChange(without(q, text))} />
          ))}
          <input
            ref={inputRef}
            role="combobox"
            aria-expanded={open && found.length > 0}
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
            aria-label={t("jobs.filter")}
            placeholder={words.length === 0 ? t("filter.placeholder") : ""}
            spellCheck={false}
            autoComplete="off"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              setOpen(true);
              setAt(-1);
            }}
            onFocus={() => setOpen(true)}
            onBlur={() => setOpen(false)}
            onKeyDown={keyed}
          />
          {words.length > 0 ? (
            <IconButton icon="x" label={t("jobs.clear")} onClick={() => onChange("")} />
          ) : (
            <kbd aria-hidden="true">/</kbd>
          )}
          <ul
            className="suggest"
            id={list}
            role="listbox"
            aria-label={t("filter.suggest")}
            hidden={!open || found.length === 0}
          >
            {found.map((one, index) => (
              <li
                key={one.text}
                id={`${list}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === at}
                onMouseDown={(event) => {
                  event.preventDefault();
                  take(one.text);
                }}
              >
                <code>{one.text}</code>
                {one.hint && <span className="dim">{t(`filter.${one.hint.replace(".", "")}` as "filter.status")}</span>}
              </li>
            ))}
          </ul>
        </div>
        <Views q={q} onChange={onChange} />
      </div>
      <p className="hints">
        <span>{t("filter.hint")}</span>{" "}
        {HINTS.map((hint) => (
          <code key={hint}>{hint}</code>
        ))}
        <button type="button" className="link" onClick={() => setGrammar(true)}>
          {t("filter.grammar")}
        </button>
      </p>
      {grammar && <GrammarDialog onClose={() => setGrammar(false)} />}
    </div>
  );
}

function Chip({ text, onRemove }: { text: string; onRemove: () => void }) {
  const { t } = useSpeech();
  const colon = text.indexOf(":");
  return (
    <span className="tok">
      {colon > 0 && !text.startsWith('"') ? (
        <>
          <b>{text.slice(0, colon + 1)}</b>
          {text.slice(colon + 1)}
        </>
      ) : (
        text
      )}
      <button type="button" aria-label={t("filter.remove", { word: text })} onClick={onRemove}>
        ×
      </button>
    </span>
  );
}

/** Views that were kept in this browser; each is an address that can be sent to others. */
function Views({ q, onChange }: { q: string; onChange: (q: string) => void }) {
  const { t } = useSpeech();
  const all = views.use();
  const current = all.find((view) => view.q === q);
  const [naming, setNaming] = useState<string | null>(null);
  const keep = () => {
    const name = naming?.trim();
    if (name) views.set([...all.filter((view) => view.name !== name), { name, q }]);
    setNaming(null);
  };
  if (naming !== null)
    return (
      <form
        className="view-name"
        onSubmit={(event) => {
          event.preventDefault();
          keep();
        }}
      >
        <input
          className="input"
          // biome-ignore lint/a11y/noAutofocus: the field appears because it was asked for
          autoFocus
          aria-label={t("views.name")}
          placeholder={t("views.name")}
          value={naming}
          maxLength={60}
          onChange={(event) => setNaming(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setNaming(null)}
        />
        <button type="submit" className="btn">
          {t("views.keep")}
        </button>
      </form>
    );
  return (
    <div className="views">
      {all.length > 0 && (
        <select
          className="input"
          aria-label={t("views")}
          value={current?.name ?? ""}
          onChange={(event) => {
            const view = all.find((one) => one.name === event.target.value);
            if (view) onChange(view.q);
          }}
        >
          <option value="" disabled>
            {t("views")}
          </option>
          {all.map((view) => (
            <option key={view.name} value={view.name}>
              {view.name}
            </option>
          ))}
        </select>
      )}
      {current ? (
        <Button icon="x" look="quiet" onClick={() => views.set(all.filter((view) => view !== current))}>
          {t("views.forget")}
        </Button>
      ) : (
        <Button icon="star" off={q === ""} onClick={() => setNaming("")}>
          {t("views.save")}
        </Button>
      )}
    </div>
  );
}
