/* The pages and their addresses. They stand behind a hash, so that the console works under any path without knowing it. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createHashHistory, createRootRoute, createRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { Problem } from "./api/client";
import { askForJobs, askForOverview, askWhoIAm } from "./api/queries";
import { Broken, Gone } from "./parts/gone";
import { later } from "./parts/later";
import { Shell } from "./shell";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      retry: (times, error) => !(error instanceof Problem && error.status > 0 && error.status !== 503) && times < 2,
      refetchOnWindowFocus: true,
    },
  },
});

/** Searches are words, as people write them: no JSON in the address. */
export function readSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function writeSearch(search: Record<string, unknown>): string {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(search))
    if (value !== undefined && value !== "") words.set(key, String(value));
  const text = words.toString().replace(/%3A/g, ":").replace(/%2F/g, "/");
  return text ? `?${text}` : "";
}

type Words<K extends string> = { [key in K]?: string };

function words<K extends string>(...keys: K[]) {
  return (search: Record<string, unknown>): Words<K> =>
    Object.fromEntries(
      keys.filter((key) => typeof search[key] === "string").map((key) => [key, search[key]]),
    ) as Words<K>;
}

/** The whole search of a plug-in's page: what its words mean is known to the page alone. */
function anyWords(search: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(search).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
}

const root = createRootRoute({
  loader: () => askWhoIAm(client),
  component: Shell,
  notFoundComponent: () => <Gone />,
  errorComponent: Broken,
});
const at = <P extends string>(path: P) => ({ getParentRoute: () => root, path });

const routeTree = root.addChildren([
  createRoute({
    ...at("/"),
    loader: () => askForOverview(client),
    component: later(async () => (await import("./pages/overview")).Overview),
  }),
  createRoute({
    ...at("/jobs"),
    validateSearch: words("q"),
    loaderDeps: ({ search }) => ({ q: search.q ?? "" }),
    loader: ({ deps }) => askForJobs(client, deps.q),
    component: later(async () => (await import("./pages/jobs")).Jobs),
  }),
  createRoute({
    ...at("/jobs/$id"),
    validateSearch: words("items"),
    component: later(async () => (await import("./pages/job")).Job),
  }),
  createRoute({ ...at("/groups/$id"), component: later(async () => (await import("./pages/group")).Group) }),
  createRoute({
    ...at("/coverage"),
    validateSearch: words("task", "zoom", "at"),
    component: later(async () => (await import("./pages/coverage")).Coverage),
  }),
  createRoute({
    ...at("/questions"),
    validateSearch: words("show"),
    component: later(async () => (await import("./pages/questions")).Questions),
  }),
  createRoute({ ...at("/questions/$id"), component: later(async () => (await import("./pages/question")).Question) }),
  createRoute({ ...at("/schedules"), component: later(async () => (await import("./pages/schedules")).Schedules) }),
  createRoute({
    ...at("/schedules/$name"),
    component: later(async () => (await import("./pages/schedule")).Schedule),
  }),
  createRoute({
    ...at("/errors"),
    validateSearch: words("since", "task", "show"),
    component: later(async () => (await import("./pages/errors")).Errors),
  }),
  createRoute({ ...at("/workers"), component: later(async () => (await import("./pages/workers")).Workers) }),
  createRoute({
    ...at("/audit"),
    validateSearch: words("actor", "name"),
    component: later(async () => (await import("./pages/audit")).Audit),
  }),
  createRoute({ ...at("/tasks"), component: later(async () => (await import("./pages/tasks")).Tasks) }),
  createRoute({
    ...at("/tasks/$name"),
    validateSearch: words("from", "source", "period"),
    component: later(async () => (await import("./pages/task")).Task),
  }),
  createRoute({
    ...at("/pages/$plugin/$name"),
    validateSearch: anyWords,
    component: later(async () => (await import("./pages/plugin")).PluginPlace),
  }),
]);

export const router = createRouter({
  routeTree,
  history: createHashHistory(),
  parseSearch: readSearch,
  stringifySearch: writeSearch,
  defaultPreload: "intent",
  defaultErrorComponent: Broken,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

export function App() {
  return (
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  );
}
