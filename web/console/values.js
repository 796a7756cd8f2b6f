// How values are written.

const unknown = "–";
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const count = (n) => (n == null ? unknown : Math.abs(n) < 10_000 ? plain.format(n) : compact.format(n));
const whole = (n) => (n == null ? unknown : Math.round(n).toLocaleString("en"));
const rate = (n) => (n == null ? unknown : n >= 100 ? count(Math.round(n)) : plain.format(n));
const bytes = (n) => {
  if (n == null) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${n >= 100 || !i ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
};
const seconds = (s) => (s == null ? unknown : !s ? "0" : s < 0.001 ? `${plain.format(s * 1e6)} µs` : s < 1 ? `${plain.format(s * 1000)} ms` : `${plain.format(s)} s`);
const ago = (s) => (s < 1 ? "now" : s < 90 ? `${Math.round(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : s < 129600 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`);
const since = (time, now) => ago(Math.max(0, (Date.parse(now) - Date.parse(time)) / 1000));
const oneLine = (text) => text.replace(/\s+/g, " ").trim();
const some = (n, of) => `${count(n)} ${of}${n === 1 ? "" : "s"}`;
