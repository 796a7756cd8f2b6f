// A plot of one or two series over the last minutes, drawn as SVG.

const svg = (name, attributes = {}, ...children) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children);
  return e;
};

const spans = [60_000, 120_000, 180_000]; // ms: the least that has all, or the last
const gapAt = 4_000; // ms without a look that are no line

// ticksUpto are round numbers from 0 to at least the value.
const ticksUpto = (value, least) => {
  const most = Math.max(value, least);
  const power = 10 ** Math.floor(Math.log10(most / 3));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s * 3 >= most);
  return [0, step, 2 * step, 3 * step];
};

class Plot {
  // series are names; format writes a value.
  constructor(title, series, format, least = 3) {
    Object.assign(this, { series, format, least, points: [] });
    this.values = series.map(() => document.createElement("i"));
    const caption = document.createElement("figcaption");
    const heading = document.createElement("b");
    heading.textContent = title;
    caption.append(heading, ...series.map((name, i) => {
      const key = document.createElement("span");
      key.append(name + " ", this.values[i]);
      return key;
    }));
    this.svg = svg("svg", { role: "img", "aria-label": title });
    this.tip = Object.assign(document.createElement("div"), { className: "tip", hidden: true });
    this.figure = document.createElement("figure");
    this.figure.append(caption, this.svg, this.tip);
    this.svg.addEventListener("pointermove", (e) => { this.at = e.offsetX; this.draw(); });
    this.svg.addEventListener("pointerleave", () => { this.at = undefined; this.draw(); });
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // set draws points: {t, v: [number or null, …]}, oldest first.
  set(points) {
    this.points = points;
    const last = points.at(-1);
    this.values.forEach((e, i) => { e.textContent = last && last.v[i] != null ? this.format(last.v[i]) : "–"; });
    this.draw();
  }

  draw() {
    const width = this.svg.clientWidth, height = this.svg.clientHeight;
    if (!width) return;
    const left = 54, right = 8, top = 8, bottom = 20;
    const end = this.points.at(-1)?.t ?? Date.now();
    const span = spans.find((s) => end - (this.points[0]?.t ?? end) <= s) ?? spans.at(-1);
    const shown = this.points.filter((p) => p.t >= end - span);
    const ticks = ticksUpto(Math.max(0, ...shown.flatMap((p) => p.v.map((v) => v ?? 0))), this.least);
    const x = (t) => left + (width - left - right) * (1 - (end - t) / span);
    const y = (v) => top + (height - top - bottom) * (1 - v / ticks.at(-1));
    const parts = [];
    for (const t of ticks) {
      parts.push(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(t), y2: y(t) }));
      parts.push(svg("text", { x: left - 7, y: y(t) + 4, "text-anchor": "end" }, this.format(t)));
    }
    for (const part of [3, 2, 1, 0]) {
      const ago = (span * part) / 3, text = !part ? "now" : (ago % 60_000 ? `${ago / 1000} s` : `${ago / 60_000} min`) + (part === 3 ? " ago" : "");
      parts.push(svg("text", { x: x(end - ago), y: height - 5, "text-anchor": part === 3 ? "start" : part ? "middle" : "end" }, text));
    }
    this.series.forEach((_, i) => parts.push(...this.lines(shown, i, x, y)));
    parts.push(...this.cross(shown, x, y, top, height - bottom));
    this.svg.replaceChildren(...parts);
  }

  // lines are as many as there are runs of looks without a gap.
  lines(shown, i, x, y) {
    const runs = [[]];
    for (const p of shown) {
      const run = runs.at(-1);
      if (p.v[i] == null || (run.length && p.t - run.at(-1).t > gapAt)) runs.push([]);
      if (p.v[i] != null) runs.at(-1).push(p);
    }
    const two = i ? " two" : "";
    return runs.filter((r) => r.length).flatMap((run) => {
      const d = "M" + run.map((p) => `${x(p.t).toFixed(1)} ${y(p.v[i]).toFixed(1)}`).join("L");
      const list = [svg("path", { class: "line" + two, d: run.length > 1 ? d : d + "h.1" })];
      if (!i && run.length > 1) list.unshift(svg("path", { class: "area", d: `${d}V${y(0)}H${x(run[0].t).toFixed(1)}Z` }));
      return list;
    });
  }

  // cross shows the look that is nearest to the pointer.
  cross(shown, x, y, top, bottom) {
    this.tip.hidden = this.at === undefined || !shown.length;
    if (this.tip.hidden) return [];
    const p = shown.reduce((a, b) => (Math.abs(x(b.t) - this.at) < Math.abs(x(a.t) - this.at) ? b : a));
    const when = document.createElement("b");
    when.textContent = new Date(p.t).toLocaleTimeString();
    this.tip.replaceChildren(when, ...this.series.flatMap((name, i) => (p.v[i] == null ? [] : [`${name} ${this.format(p.v[i])}`, document.createElement("br")])));
    const beside = x(p.t) > this.svg.clientWidth / 2 ? x(p.t) - this.tip.offsetWidth - 4 : x(p.t) + 28;
    this.tip.style.left = `${Math.max(4, beside)}px`;
    return [
      svg("line", { class: "cross", x1: x(p.t), x2: x(p.t), y1: top, y2: bottom }),
      ...p.v.flatMap((v, i) => (v == null ? [] : [svg("circle", { class: "dot" + (i ? " two" : ""), cx: x(p.t), cy: y(v), r: 4.5 })])),
    ];
  }
}
