/** A label and its neighbours as a small graph: the label on the left, and a line to each, the nearer the wider. */

import { drawn, short } from "./dom.js";

const WIDTH = 360; // of the drawing, which is scaled to the page
const STEP = 26;
const MIDDLE = 14; // x of the label
const RING = 92; // x of its neighbours
const WIDEST = 7;
const LONGEST_NAME = 26;

/** The drawing; each neighbour has a name and a weight, the strongest first. */
export function neighbourGraph(name, neighbours) {
  const height = STEP * neighbours.length + 8;
  const told = neighbours.map((one) => `${one.name} ${figure(one.weight)}`).join(", ");
  const svg = drawn("svg", {
    role: "img",
    viewBox: `0 0 ${WIDTH} ${height}`,
    "aria-label": `${name} and its neighbours: ${told}`,
  });
  const strongest = Math.max(...neighbours.map((one) => one.weight));
  const y = (number) => STEP * number + STEP / 2 + 4;
  neighbours.forEach((one, number) => {
    const wide = strongest > 0 ? Math.max((WIDEST * one.weight) / strongest, 0.8) : 0.8;
    svg.append(line(height / 2, y(number), wide));
  });
  neighbours.forEach((one, number) => {
    svg.append(
      drawn("circle", { class: "series-2", cx: RING, cy: y(number), r: 6 }),
      drawn("text", { x: RING + 12, y: y(number) + 4 }, short(one.name, LONGEST_NAME)),
      drawn("text", { x: WIDTH - 2, y: y(number) + 4, "text-anchor": "end" }, figure(one.weight)),
    );
  });
  svg.append(drawn("circle", { class: "series-1", cx: MIDDLE, cy: height / 2, r: 9 }));
  return svg;
}

/** `84`, `0.45`: a graph may have counts of walks or similarities. */
const figure = (weight) => String(Number(weight.toPrecision(3)));

const line = (from, to, wide) =>
  drawn("line", {
    class: "edge-strong",
    x1: MIDDLE,
    y1: from.toFixed(1),
    x2: RING,
    y2: to.toFixed(1),
    "stroke-width": wide.toFixed(1),
  });
