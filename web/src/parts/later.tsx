/* Code that comes when it is wanted: prefetched once the first page is shown, asked for again while the server is away. */
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Waiting } from "./basic";
import { Away } from "./gone";

type Load<P> = () => Promise<ComponentType<P>>;

const RETRY = 1500; // ms between two tries
const PAUSE = 30_000; // ms: the page is loaded again for missing code at most once in so long
const RELOADED = "jobtrail.reloaded";
const all: (() => Promise<unknown>)[] = [];

/** A component in a file of its own. It is shown as soon as its file is there, however long the server is away. */
export function later<P extends object>(load: Load<P>, waiting: ReactNode = <Waiting />) {
  let code: ComponentType<P> | undefined;
  const preload = async () => {
    try {
      code ??= await load();
    } catch {
      /* asked for again when it is drawn */
    }
  };
  all.push(preload);
  function Later(props: P) {
    const [Code, setCode] = useState<ComponentType<P> | undefined>(() => code);
    const [away, setAway] = useState(false);
    useEffect(() => {
      let on = !code;
      if (code) setCode(() => code);
      const ask = async () => {
        while (on) {
          await preload();
          if (!on) return;
          if (code) return setCode(() => code);
          if (await answers()) reload();
          setAway(true);
          await new Promise((resolve) => window.setTimeout(resolve, RETRY));
        }
      };
      void ask();
      return () => {
        on = false;
      };
    }, []);
    if (Code) return <Code {...props} />;
    return away ? <Away /> : waiting;
  }
  Later.preload = preload;
  return Later;
}

/** Everything that is not here yet, one after the other; what fails is asked for when it is needed. */
export async function prefetch(): Promise<void> {
  for (const preload of all) await preload();
}

async function answers(): Promise<boolean> {
  try {
    return (await fetch("api/me", { headers: { Accept: "application/json" } })).status < 500;
  } catch {
    return false;
  }
}

/** The server answers but not with this file: it has been updated. The address keeps its place over a new load. */
function reload(): void {
  try {
    const last = Number(window.sessionStorage.getItem(RELOADED) ?? 0);
    if (Date.now() - last < PAUSE) return;
    window.sessionStorage.setItem(RELOADED, String(Date.now()));
  } catch {
    return;
  }
  window.location.reload();
}
