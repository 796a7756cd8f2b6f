/** A change of a sensor, as the subscription tells of it. */
export interface Change {
  kind: "CREATED" | "UPDATED" | "DELETED" | "ENTERED" | "LEFT" | "SNAPSHOT";
  id: string;
  at: string;
  sensor: Reading | null;
}

export interface Reading {
  name: string;
  unit: string;
  value: number;
  measuredAt: string;
  version: number;
}

export interface Point {
  at: number; // ms, by the service's clock
  value: number;
  version: number;
  how: "live" | "caught up" | "before"; // before: what a snapshot or the history told
}

export interface Sensor {
  id: string;
  name: string;
  unit: string;
  version: number; // of the latest reading
  points: Point[]; // in their order
}

/** A time without a connection. */
export interface Return {
  cut: number; // ms, by this machine's clock
  back: number; // 0: not yet
  caughtUp: number; // events that happened meanwhile, and came afterwards
  missing: number; // and that never came
  anew: boolean; // too long for the log: the records were told anew
}

const kept = 15 * 60_000; // ms: how much of the past is kept

/** All that the page knows. Every change of a sensor counts its version up by one, so it knows what it has missed. */
export class Readings {
  sensors = new Map<string, Sensor>();
  returns: Return[] = [];
  events = 0;
  missing = 0;
  twice = 0;
  ahead = Infinity; // ms: this machine's clock less the service's, and the shortest way of an event

  cut(now: number): void {
    if (this.returns.at(-1)?.back !== 0) this.returns.push({ cut: now, back: 0, caughtUp: 0, missing: 0, anew: false });
  }

  back(now: number): void {
    const last = this.returns.at(-1);
    if (last) last.back ||= now;
  }

  anew(): void {
    const last = this.returns.at(-1);
    if (last) last.anew = true;
  }

  /** @returns the sensor, if it was not known before. */
  take({ kind, id, at, sensor }: Change, now: number): Sensor | undefined {
    this.ahead = Math.min(this.ahead, now - Date.parse(at));
    if (kind !== "SNAPSHOT") this.events++;
    if (!sensor) {
      this.sensors.delete(id);
      return;
    }
    const known = this.sensors.get(id);
    const one = known ?? { id, name: "", unit: "", version: kind === "CREATED" ? 0 : sensor.version - 1, points: [] };
    this.sensors.set(id, one);
    if (sensor.version <= one.version) {
      if (kind !== "SNAPSHOT") this.twice++;
      return;
    }
    const last = this.returns.at(-1), missed = kind === "SNAPSHOT" ? 0 : sensor.version - one.version - 1;
    this.missing += missed;
    if (last) last.missing += missed;
    const late = kind !== "SNAPSHOT" && !!last?.back && Date.parse(at) + this.ahead < last.back;
    if (late) last.caughtUp++;
    Object.assign(one, { name: sensor.name, unit: sensor.unit, version: sensor.version });
    one.points.push(point(sensor, kind === "SNAPSHOT" ? "before" : late ? "caught up" : "live"));
    one.points.splice(0, one.points.findIndex(p => p.at + kept > now - this.ahead));
    return known ? undefined : one;
  }

  /** What was before the page was opened; those that it has already are left out. */
  before(one: Sensor, history: Reading[]): void {
    const first = one.points[0]?.version ?? Infinity;
    one.points.unshift(...history.filter(r => r.version < first).map(r => point(r, "before")));
  }
}

function point({ measuredAt, value, version }: Reading, how: Point["how"]): Point {
  return { at: Date.parse(measuredAt), value, version, how };
}
