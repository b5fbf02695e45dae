/* A chain or a group as a drawing: boxes with states, lines from each job to what follows it. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Following, GroupShape, JobWhole } from "../api/types";
import { useSpeech } from "../i18n";
import { tail } from "../lib/format";
import { BOX, curve, cut, drawn, type Node } from "../lib/graph";
import { shapeOf } from "../lib/words";
import { shapes } from "./shapes";

const LETTERS = 21; // of a name in a box
const SMALL = 25; // of the line below it

type Group = Pick<GroupShape, "id" | "name" | "total" | "ended" | "outcome" | "status" | "successors">;

/** What the boxes of a job say. */
export function useNodes() {
  const { t, tWord } = useSpeech();
  const what = (one: { source?: string | null; period?: string | null; file?: string | null }) =>
    [one.source, one.period ?? one.file].filter(Boolean).join(" · ");
  const follower = (one: Following, index: number, path: string): Node => {
    const key = `${path}/${one.job ?? `${one.task} ${index}`}`;
    return {
      key,
      name: one.task,
      about: one.status
        ? [tWord("status", one.status), what(one)].filter(Boolean).join(" · ")
        : `${tWord("chain", one.state)}, ${one.on.map((word) => tWord("on", word)).join(", ")}`,
      status: one.status ?? (one.state === "waiting" ? "waiting" : "skipped"),
      kind: "job",
      id: one.job,
      next: one.successors.map((below, place) => follower(below, place, key)),
    };
  };
  const group = (one: Group, here = false): Node => ({
    key: one.id,
    name: t("chain.group", { name: one.name ?? tail(one.id) }),
    about: t("chain.ended", { n: one.ended, all: one.total }),
    status: standing(one),
    kind: "group",
    id: one.id,
    here,
    next: one.successors.map((below, place) => follower(below, place, one.id)),
  });
  const ofJob = (job: JobWhole): Node[] => {
    let mine: Node = {
      key: job.id,
      name: job.task,
      about: [tWord("status", job.status), what(job)].filter(Boolean).join(" · "),
      status: job.status,
      kind: "job",
      id: job.id,
      here: true,
      next: [
        ...job.successors.map((below, place) => follower(below, place, job.id)),
        ...job.groups.map((one) => group(one)),
      ],
    };
    for (const one of [...job.ancestors].reverse())
      mine = {
        key: one.id,
        name: one.group ? t("chain.group", { name: one.name ?? tail(one.id) }) : (one.name ?? tail(one.id)),
        about: [one.status && tWord(one.group ? "outcome" : "status", one.status), what(one)]
          .filter(Boolean)
          .join(" · "),
        status: one.group ? ofOutcome(one.status) : (one.status ?? "waiting"),
        kind: one.group ? "group" : "job",
        id: one.id,
        next: [mine],
      };
    return [mine];
  };
  return { ofJob, group };
}

/** The state that a group is shown in. */
export function standing(group: Pick<GroupShape, "outcome" | "status" | "ended" | "total">): string {
  if (group.ended < group.total) return group.status.running || group.ended > 0 ? "running" : "pending";
  return ofOutcome(group.outcome);
}

const ofOutcome = (outcome: string | null) =>
  ({ success: "completed", partial: "partial", error: "failed" })[outcome ?? ""] ?? "running";

export function Graph({ roots, label }: { roots: Node[]; label: string }) {
  const { placed, edges, width, height } = drawn(roots);
  return (
    <div className="scroll-x graph" tabIndex={0} role="group" aria-label={label}>
      <svg width={width + 4} height={height + 4} viewBox={`-2 -2 ${width + 4} ${height + 4}`}>
        <title>{label}</title>
        {edges.map(({ from, to }) => (
          <path key={`${from.node.key}>${to.node.key}`} className="edge" d={curve(from, to)} />
        ))}
        {placed.map(({ node, x, y }) => (
          <g
            key={node.key}
            transform={`translate(${x} ${y})`}
            className={`node ${node.status} ${node.here ? "here" : ""}`}
          >
            <title>{`${node.name}: ${node.about}`}</title>
            <Where node={node}>
              {node.kind === "group" && (
                <rect className="behind" x="4" y="4" width={BOX.width - 4} height={BOX.height - 4} rx="6" />
              )}
              <rect className="box" width={BOX.width - 4} height={BOX.height - 4} rx="6" />
              <svg x="8" y="13" width="16" height="16" viewBox="0 0 16 16" className="i" aria-hidden="true">
                {shapes[shapeOf(node.status)]}
              </svg>
              <text x="32" y="18">
                {cut(node.name, LETTERS)}
              </text>
              <text x="32" y="34" className="about">
                {cut(node.about, SMALL)}
              </text>
            </Where>
          </g>
        ))}
      </svg>
    </div>
  );
}

/** A link to what is there already and is not shown by this page. */
function Where({ node, children }: { node: Node; children: ReactNode }) {
  if (node.here || node.id === null) return children;
  return (
    <Link to={node.kind === "group" ? "/groups/$id" : "/jobs/$id"} params={{ id: node.id }}>
      {children}
    </Link>
  );
}
