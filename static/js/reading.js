// The pair that is being read. Nothing in this file touches the page: rate.js measures it and reports what the rater does.

const MOST = 0.9; // the share of a pair that is as good as all of it
const BRIEF = 1500; // ms at a pair that are no more than the mouse's way to its choices

const visible = (pair, area) => Math.max(0, Math.min(pair.bottom, area.bottom) - Math.max(pair.top, area.top));
/** Tell whether this share of a pair is in view, or half of the area is filled with it. */
const isInView = (pair, area, share) =>
  visible(pair, area) >= Math.max(1, Math.min((pair.bottom - pair.top) * share, (area.bottom - area.top) / 2));
const find = (pairs, name) => pairs.find((pair) => pair.name === name);

// pairs   : {name, top, bottom, done} of each, from the first; `bottom` is the end of its choices
// area    : {top, bottom} of the window's part between the page's bars
// alone   : whether only the marked pair is displayed
// turned  : {name, seen, sure}: the pair turned to, the most pixels of it in view since, and whether the rater did; or null
// pointed : name of the pair that the mouse has moved over since, or null
// before  : name of the pair marked before, or null
/** Choose the marked pair, which keys answer, and the pair that gets the time; `others` are those that may be read instead. */
export function currentPairs({ pairs, area, alone }, { turned, pointed, before }) {
  if (alone) {
    const { name } = find(pairs, turned?.name) ?? find(pairs, before) ?? pairs.find((pair) => !pair.done) ?? pairs[0];
    return { marked: name, timed: name, others: [] };
  }
  const readable = pairs.filter((pair) => isInView(pair, area, MOST));
  const open = readable.filter((pair) => !pair.done);
  const held = pairs.find((pair) => pair.name === turned?.name && visible(pair, area) >= Math.max(1, turned.seen * MOST));
  const fuller = (best, pair) => (visible(best, area) >= visible(pair, area) ? best : pair);
  const marked = held ?? open[0] ?? find(readable, before) ?? pairs.reduce(fuller, find(pairs, before) ?? pairs[0]);

  const underMouse = find(open.length ? open : readable, pointed);
  const timed = underMouse ?? marked;
  const isSure = timed === held && turned.sure;
  const others = isSure ? [] : pairs.filter((pair) => pair !== timed && !pair.done && isInView(pair, area, 0.5));
  return { marked: marked.name, timed: timed.name, others: others.map(({ name }) => name), byMouse: Boolean(underMouse) };
}

/** The rater's last inputs on a HIT, as far as they tell which pair is being read. */
export class Reading {
  #turned = null;
  #pointed = null;
  #before = null;
  #times = new Map(); // since the last choice: what `look` returned → active and wall milliseconds
  byPointer = false; // whether the last press was of a mouse or a finger, not of a key

  begin() {
    this.#turned = this.#pointed = this.#before = null;
    this.#times.clear();
  }

  /** Turn to a pair; `sure` where the rater did, not the page. */
  turnTo(name, sure = true) {
    this.#turned = { name, seen: 0, sure };
    this.#pointed = null;
  }

  press(byPointer) {
    this.byPointer = byPointer;
    if (!byPointer) this.#pointed = null;
  }

  /** Note that the mouse was moved over a pair, and tell whether that is news; beside keys it may lie anywhere. */
  moveOver(name) {
    if (!this.byPointer || this.#pointed === name) return false;
    this.#pointed = name;
    return true;
  }

  look(view) {
    const current = currentPairs(view, { turned: this.#turned, pointed: this.#pointed, before: this.#before });
    this.#before = current.marked;
    if (this.#turned?.name !== current.marked) this.#turned = null;
    else if (!view.alone) {
      this.#turned.seen = Math.max(this.#turned.seen, visible(find(view.pairs, current.marked), view.area));
    }
    return current;
  }

  /** Note the time that a pair got, by what `look` returned. */
  spend(current, active, wall) {
    const before = this.#times.get(current) ?? [0, 0];
    this.#times.set(current, [before[0] + active, before[1] + wall]);
  }

  /** Note a choice; return the times of other pairs, [name, active, wall], that by this choice were its pair's. */
  choose(name, done) {
    const times = [...this.#times].map(([current, [active, wall]]) => ({ ...current, active, wall }));
    const arrival = times.findLastIndex(({ timed }) => timed !== name) + 1;
    const isBrief = times.slice(arrival).reduce((sum, { active }) => sum + active, 0) < BRIEF;
    const wrong = times.filter(({ others, byMouse }) => others.includes(name) && (!byMouse || isBrief));
    this.#times.clear();
    this.#pointed = null;
    if (this.#turned?.name === name) this.#turned.sure = false;
    if (this.byPointer && done) this.#turned = null; // a click ends the work on its pair
    return wrong.map(({ timed, active, wall }) => [timed, active, wall]);
  }
}
