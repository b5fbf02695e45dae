import { expect, test } from "vitest";
import { BOX, curve, cut, drawn, type Node } from "./graph";

const node = (key: string, ...next: Node[]): Node => ({
  key,
  name: key,
  about: "",
  status: "pending",
  kind: "job",
  id: key,
  next,
});

test("what follows stands one column to the right, and a job in the middle of what follows it", () => {
  const found = drawn([node("a", node("b"), node("c", node("d")), node("e"))]);
  const at = Object.fromEntries(found.placed.map((one) => [one.node.key, [one.x, one.y]]));
  const [column, row] = [BOX.width + BOX.gap, BOX.height + BOX.row];
  expect(at).toEqual({
    a: [0, row],
    b: [column, 0],
    c: [column, row],
    d: [2 * column, row],
    e: [column, 2 * row],
  });
  expect(found.edges.map((one) => one.from.node.key + one.to.node.key)).toEqual(["cd", "ab", "ac", "ae"]);
  expect([found.width, found.height]).toEqual([2 * column + BOX.width, 2 * row + BOX.height]);
});

test("no two boxes of a large tree overlap", () => {
  const many = Array.from({ length: 100 }, (_, n) => node(`n${n}`, ...(n % 3 ? [node(`m${n}`), node(`o${n}`)] : [])));
  const places = drawn([node("root", ...many)]).placed.map((one) => `${one.x} ${one.y}`);
  expect(new Set(places).size).toBe(places.length);
});

test("an empty drawing has no size, a line joins the sides of two boxes, a long text is cut", () => {
  expect(drawn([])).toEqual({ placed: [], edges: [], width: 0, height: 0 });
  const [from, to] = drawn([node("a", node("b"))]).placed;
  expect(curve(from!, to!)).toMatch(/^M190 23C.* 234 23$/);
  expect([cut("short", 9), cut("rather long", 7)]).toEqual(["short", "rather…"]);
});
