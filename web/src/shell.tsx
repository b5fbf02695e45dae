/* What stands around every page: where one can go, whether it is live, language, light or dark, who one is. */
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { post } from "./api/client";
import { renew, useLive, useTopic } from "./api/live";
import { useCounts, useFresh, useMe, usePluginPages } from "./api/queries";
import { speak, useSpeech } from "./i18n";
import { useKeys } from "./lib/keys";
import { useTheme } from "./lib/theme";
import { Choice, Icon, IconButton } from "./parts/basic";
import { openErrors, useCrumbs } from "./parts/crumbs";
import { KeysDialog } from "./parts/keyhelp";
import { Login } from "./parts/login";
import type { Shape } from "./parts/shapes";

interface Place {
  to: string;
  text: string;
  icon: Shape;
  count?: number;
  tone?: string;
}

function NavLink({ place, onGo }: { place: Place; onGo?: () => void }) {
  const { num } = useSpeech();
  return (
    <Link
      to={place.to}
      activeOptions={{ exact: place.to === "/" }}
      activeProps={{ "aria-current": "page" }}
      onClick={onGo}
    >
      <Icon of={place.icon} />
      <span>{place.text}</span>
      {place.count ? <span className={`count tint ${place.tone}`}>{num(place.count)}</span> : null}
    </Link>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2">
      <path d="M4 18C4 11 12 15 12 11S20 12 20 5" />
      <circle cx="4" cy="19" r="2.5" fill="currentColor" />
      <circle cx="12" cy="11.5" r="2" fill="var(--surface)" />
      <circle cx="20" cy="5" r="2.5" fill="var(--surface)" />
    </svg>
  );
}

function Side() {
  const { t } = useSpeech();
  const counts = useCounts();
  useEffect(() => openErrors.set(counts.errors), [counts.errors]);
  const pages = usePluginPages().data?.pages ?? [];
  useTopic("stats", {});
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const more = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the page changes
  useEffect(() => setOpen(false), [path]);
  const work: Place[] = [
    { to: "/", text: t("nav.overview"), icon: "overview" },
    { to: "/jobs", text: t("nav.jobs"), icon: "jobs" },
    { to: "/coverage", text: t("nav.coverage"), icon: "coverage" },
    {
      to: "/questions",
      text: t("nav.questions"),
      icon: "awaiting_input",
      count: counts.questions,
      tone: "awaiting_input",
    },
  ];
  const system: Place[] = [
    ...pages.map((page): Place => ({ to: `/pages/${page.plugin}/${page.name}`, text: page.title, icon: "modules" })),
    { to: "/schedules", text: t("nav.schedules"), icon: "schedules" },
    { to: "/errors", text: t("nav.errors"), icon: "errors", count: counts.errors, tone: "failed" },
    { to: "/workers", text: t("nav.workers"), icon: "workers" },
    { to: "/tasks", text: t("nav.tasks"), icon: "tasks" },
    { to: "/audit", text: t("nav.audit"), icon: "audit" },
  ];
  return (
    <aside className="side" aria-label="jobtrail">
      <Link className="brand" to="/">
        <Mark />
        <span>
          <b>jobtrail</b>
          <small>{t("brand")}</small>
        </span>
      </Link>
      <nav className="nav main" aria-label={t("nav.work")}>
        <ul className="main-list">
          {work.map((place) => (
            <li key={place.to}>
              <NavLink place={place} />
            </li>
          ))}
          <li className="more-link">
            <button type="button" ref={more} aria-expanded={open} aria-controls="more" onClick={() => setOpen(!open)}>
              <Icon of="more" />
              <span>{t("nav.more")}</span>
            </button>
          </li>
        </ul>
      </nav>
      <nav className={`nav system ${open ? "open" : ""}`} id="more" aria-label={t("nav.system")}>
        <p className="nav-title">{t("nav.system")}</p>
        <ul>
          {system.map((place) => (
            <li key={place.to}>
              <NavLink place={place} />
            </li>
          ))}
        </ul>
      </nav>
      <SideFoot />
    </aside>
  );
}

function SideFoot() {
  const { t } = useSpeech();
  const me = useMe();
  return (
    <div className="side-foot">
      <div>{me.data ? `jobtrail ${me.data.version}` : " "}</div>
      <div>
        {t("utc")} · <kbd>?</kbd> {t("keys")}
      </div>
    </div>
  );
}

function LiveMark() {
  const { t, clock } = useSpeech();
  const live = useLive();
  const text = {
    live: t("live.on"),
    held: t(live.waiting ? "live.held" : "live.held.none", { n: live.waiting }),
    lost: t("live.lost", { at: live.since ? clock(live.since) : "–" }),
    starting: t("live.starting"),
  }[live.state];
  return (
    <span className={`live ${live.state}`} role="status">
      <i aria-hidden="true" />
      <span>{text}</span>
    </span>
  );
}

function Top({ onKeys }: { onKeys: () => void }) {
  const { t, lang, tWord } = useSpeech();
  const crumbs = useCrumbs();
  const [theme, turn] = useTheme();
  const me = useMe();
  const fresh = useFresh();
  const leave = async () => {
    await post("logout");
    await fresh();
  };
  return (
    <header className="top">
      <div className="crumb">
        {crumbs.slice(0, -1).map((crumb) => (
          <span key={crumb.text}>
            <Link to={crumb.to ?? "/"}>{crumb.text}</Link>
            <span className="sl"> /</span>
          </span>
        ))}
        <b>{crumbs.at(-1)?.text ?? ""}</b>
      </div>
      <div className="top-right">
        <LiveMark />
        <Choice
          label="Language / Язык"
          value={lang}
          options={[
            ["en", "EN"],
            ["ru", "RU"],
          ]}
          onChange={(next) => void speak(next).then(renew)}
        />
        <IconButton icon={theme === "dark" ? "moon" : "sun"} label={t("theme")} onClick={turn} />
        <button
          type="button"
          className="icon-btn keys-btn"
          aria-label={t("keys.all")}
          title={t("keys.all")}
          onClick={onKeys}
        >
          <kbd>?</kbd>
        </button>
        {me.data?.name && (
          <span className="who">
            <Icon of="person" />
            <span>
              {me.data.how === "local" ? tWord("actor", "local") : me.data.name}
              <span className="dim"> · {tWord("role", me.data.role ?? "")}</span>
            </span>
          </span>
        )}
        {me.data?.how === "session" && <IconButton icon="leave" label={t("logout")} onClick={() => void leave()} />}
      </div>
    </header>
  );
}

export function Shell() {
  const { t } = useSpeech();
  const me = useMe();
  const [keys, setKeys] = useState(false);
  const main = useRef<HTMLElement>(null);
  useKeys({ "?": () => setKeys(true) });
  if (me.data && me.data.role === null) return <Login ways={me.data.login} />;
  return (
    <>
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        {t("skip")}
      </a>
      <div className="app">
        <Side />
        <Top onKeys={() => setKeys(true)} />
        <main id="main" ref={main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      {keys && <KeysDialog onClose={() => setKeys(false)} />}
    </>
  );
}
