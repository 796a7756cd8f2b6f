import type { Point, Return } from "./readings";

const width = 560, height = 190;
const box = { left: 54, right: 8, top: 18, bottom: 22 };

/** What a plot shows, with all times in ms by this machine's clock. */
export interface View {
  points: Point[];
  ahead: number; // of this machine's clock
  returns: Return[];
  from: number;
  to: number;
}

/** Draws the points as a line, with those that were caught up as dots in the time without a connection. */
export function draw(svg: SVGSVGElement, { points, ahead, returns, from, to }: View): void {
  const seen = points.filter(p => p.at + ahead >= from);
  const [low, high] = range(seen.map(p => p.value));
  const x = (t: number) => box.left + Math.max(0, (t - from) / (to - from)) * (width - box.left - box.right);
  const y = (v: number) => box.top + ((high - v) / (high - low)) * (height - box.top - box.bottom);
  const bottom = height - box.bottom, parts: string[] = [];
  for (const v of [low, (low + high) / 2, high]) {
    parts.push(`<line class="grid" x1="${box.left}" x2="${width - box.right}" y1="${y(v)}" y2="${y(v)}"/>`);
    parts.push(`<text class="tick" text-anchor="end" x="${box.left - 6}" y="${y(v) + 4}">${label(v, high - low)}</text>`);
  }
  const seconds = Math.round((to - from) / 1000);
  for (const [part, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]] as const) {
    const text = part === 1 ? "now" : `${Math.round(seconds * (1 - part))} s ago`;
    parts.push(`<text class="tick" text-anchor="${anchor}" x="${x(from + (to - from) * part)}" y="${height - 6}">${text}</text>`);
  }
  let labelled = Infinity; // where the label to the right is
  for (const r of returns.toReversed()) {
    const end = r.back || to;
    if (end < from) continue;
    const middle = Math.min(Math.max((x(r.cut) + x(end)) / 2, box.left + 76), width - 76);
    parts.push(`<rect class="away" x="${x(r.cut)}" width="${Math.max(1, x(end) - x(r.cut))}" y="${box.top}" height="${bottom - box.top}"/>`);
    if (labelled - middle < 120) continue;
    labelled = middle;
    parts.push(`<text class="mark" text-anchor="middle" x="${middle}" y="${box.top - 6}">${r.back ? "reconnected" : "not connected"}</text>`);
  }
  parts.push(`<path class="line" d="${seen.map((p, i) => `${i ? "L" : "M"}${x(p.at + ahead).toFixed(1)} ${y(p.value).toFixed(1)}`).join("")}"/>`);
  for (const p of seen) {
    if (p.how === "caught up") parts.push(`<circle class="caught" r="3" cx="${x(p.at + ahead).toFixed(1)}" cy="${y(p.value).toFixed(1)}"/>`);
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.innerHTML = parts.join(""); // numbers and words of this file alone
}

/** The range of values with some air around it. */
function range(values: number[]): [low: number, high: number] {
  if (values.length === 0) return [0, 1];
  const low = Math.min(...values), high = Math.max(...values), air = Math.max((high - low) * 0.1, Math.abs(high) * 0.002, 0.01);
  return [low - air, high + air];
}

function label(v: number, span: number): string {
  return v.toFixed(span < 0.1 ? 3 : span < 2 ? 2 : 1);
}
