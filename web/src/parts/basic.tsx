/* Small parts without any knowledge of jobs: shapes, buttons, cards, bars, notes. */
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { useId } from "react";
import { type Key, useSpeech } from "../i18n";
import { stringify } from "../lib/exact";
import { type Shape, shapes } from "./shapes";

export function Icon({ of }: { of: Shape }) {
  return (
    <svg className="i" viewBox="0 0 16 16" aria-hidden="true">
      {shapes[of]}
    </svg>
  );
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "danger" | "quiet" | "wide";
  icon?: Shape;
  press?: string;
  off?: boolean;
}

/** What cannot be done stays, dashed; whoever hovers or focuses it reads why beside it. */
export function Button({ look, icon, press, off, children, className = "", onClick, ...rest }: ButtonProps) {
  const classes = ["btn", look, off ? "off" : "", className].filter(Boolean).join(" ");
  return (
    <button
      type="button"
      className={classes}
      aria-disabled={off || undefined}
      onClick={off ? undefined : onClick}
      {...rest}
    >
      {icon && <Icon of={icon} />}
      {children !== undefined && <span>{children}</span>}
      {press && <kbd aria-hidden="true">{press}</kbd>}
    </button>
  );
}

export function IconButton({
  icon,
  label,
  ...rest
}: { icon: Shape; label: string } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button type="button" className="icon-btn" aria-label={label} title={label} {...rest}>
      <Icon of={icon} />
    </button>
  );
}

export function Card({
  title,
  sub,
  end,
  className = "",
  children,
}: {
  title?: ReactNode;
  sub?: ReactNode;
  end?: ReactNode;
  className?: string;
  children?: ReactNode;
}) {
  const id = useId();
  return (
    <section className={`card ${className}`} aria-labelledby={title ? id : undefined}>
      {title && (
        <div className="card-head">
          <h2 id={id}>{title}</h2>
          {sub && <span className="dim small">{sub}</span>}
          {end && <span className="end">{end}</span>}
        </div>
      )}
      {children}
    </section>
  );
}

/** A bar of parts, widths as attributes of the drawing (no style attributes). */
export function Bar({ parts, thick }: { parts: { name: string; share: number }[]; thick?: boolean }) {
  const height = thick ? 12 : 6;
  let at = 0;
  return (
    <svg
      className={`bar ${thick ? "thick" : ""}`}
      viewBox={`0 0 100 ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {parts.map(({ name, share }) => {
        const width = Math.max(0, Math.min(100 - at, share * 100));
        const rect = <rect key={name} className={name} x={at} width={width} height={height} />;
        at += width;
        return rect;
      })}
    </svg>
  );
}

export function Note({
  tone,
  icon = "info",
  children,
  live,
}: {
  tone?: string;
  icon?: Shape;
  children: ReactNode;
  live?: boolean;
}) {
  return (
    <p className={`note ${tone ?? ""}`} role={live ? "alert" : undefined}>
      <Icon of={icon} />
      <span>{children}</span>
    </p>
  );
}

export function Rows({ rows }: { rows: [ReactNode, ReactNode][] }) {
  return (
    <dl className="kv">
      {rows.map(([name, value], index) => (
        <div key={index} className="kv-row">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Json({ value }: { value: unknown }) {
  const text = typeof value === "string" ? stringify(value) : stringify(value, 1);
  const flat = stringify(value);
  const shown = flat === undefined ? "–" : flat.length < 60 ? spaced(flat) : text;
  return <div className="json">{shown}</div>;
}

function spaced(flat: string): string {
  return flat.replace(/("(?:\\.|[^"\\])*")|([:,])/g, (_whole, text?: string, sign?: string) => text ?? `${sign} `);
}

/** What is chosen of a few; the chosen one is pressed. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: [T, ReactNode][];
  onChange: (next: T) => void;
}) {
  return (
    <fieldset className="seg">
      <legend className="vh">{label}</legend>
      {options.map(([name, word]) => (
        <button key={name} type="button" aria-pressed={name === value} onClick={() => onChange(name)}>
          {word}
        </button>
      ))}
    </fieldset>
  );
}

export function Empty({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon of="gap" />
      <p>
        <b>{title}</b>
        {children && <span> {children}</span>}
      </p>
    </div>
  );
}

export function Waiting() {
  const { t } = useSpeech();
  return <p className="waiting dim small">{t("loading")}</p>;
}

export function Check({
  checked,
  some,
  label,
  onChange,
}: {
  checked: boolean;
  some?: boolean;
  label: string;
  onChange: (on: boolean, shift: boolean) => void;
}) {
  return (
    <input
      className="check"
      type="checkbox"
      aria-label={label}
      checked={checked}
      ref={(box) => {
        if (box) box.indeterminate = Boolean(some);
      }}
      onChange={(event) => onChange(event.target.checked, (event.nativeEvent as MouseEvent).shiftKey === true)}
    />
  );
}

export function Head({
  title,
  sub,
  end,
  before,
}: {
  title: ReactNode;
  sub?: ReactNode;
  end?: ReactNode;
  before?: ReactNode;
}) {
  return (
    <div className="page-head">
      <div>
        <div className="job-title">
          {before}
          <h1>{title}</h1>
        </div>
        {sub && <p>{sub}</p>}
      </div>
      {end && <div className="head-end">{end}</div>}
    </div>
  );
}

export function Hint({ text }: { text: Key }) {
  const { t } = useSpeech();
  return <p className="small dim">{t(text)}</p>;
}
