// The pair that is being read. Nothing in this file touches the page: rate.js measures it and reports what the rater does.

const MOST = 0.9; // the share of a pair that is as good as all of it
const BRIEF = 1000; // ms at a pair that are no more than the mouse's way to its choices

const visible = (pair, area) => Math.max(0, Math.min(pair.bottom, area.bottom) - Math.max(pair.top, area.top));
/** Tell whether this share of a pair is in view, or half of the area is filled with it. */
const isInView = (pair, area, share) =>
  visible(pair, area) >= Math.max(1, Math.min((pair.bottom - pair.top) * share, (area.bottom - area.top) / 2));
/** Tell whether all of a pair is in view, or as much of it as the area holds. */
const isWhole = (pair, area) => visible(pair, area) >= Math.min(pair.bottom - pair.top, (area.bottom - area.top) * MOST);
const find = (pairs, name) => pairs.find((pair) => pair.name === name);

// pairs   : {name, top, bottom, done} of each, from the first; `bottom` is the end of its choices
// area    : {top, bottom} of the window's part between the page's bars
// alone   : whether only the marked pair is displayed
// turned  : {name, seen, sure}: the pair turned to, the most pixels of it in view since, and whether the rater did; or null
// hint    : {name, byMouse}: the pair that the mouse has moved over since, or that the rater has scrolled into view; or null
// before  : name of the pair marked before, or null
/**
 * Choose the marked pair, which keys answer, and the pair that gets the time.
 * `others` are those that may be read instead, `next` is the one to be read by who goes from top to bottom.
 */
export function currentPairs({ pairs, area, alone }, { turned, hint, before }) {
  if (alone) {
    const { name } = find(pairs, turned?.name) ?? find(pairs, before) ?? pairs.find((pair) => !pair.done) ?? pairs[0];
    return { marked: name, timed: name, others: [] };
  }
  const readable = pairs.filter((pair) => isInView(pair, area, MOST));
  const open = readable.filter((pair) => !pair.done);
  const held = pairs.find((pair) => pair.name === turned?.name && visible(pair, area) >= Math.max(1, turned.seen * MOST));
  const fuller = (best, pair) => (visible(best, area) >= visible(pair, area) ? best : pair);
  const marked = held ?? open[0] ?? find(readable, before) ?? pairs.reduce(fuller, find(pairs, before) ?? pairs[0]);

  const hinted = find(open.length ? open : readable, hint?.name);
  const timed = hinted ?? marked;
  const isSure = timed === held && turned.sure;
  const others = isSure ? [] : pairs.filter((pair) => pair !== timed && !pair.done && isInView(pair, area, 0.5));
  const next = (marked.done && open[0]) || marked;
  const byMouse = Boolean(hinted && hint.byMouse);
  return { marked: marked.name, timed: timed.name, others: others.map(({ name }) => name), byMouse, next: next.name };
}

/** The rater's last inputs on a HIT, as far as they tell which pair is being read. */
export class Reading {
  #turned = null;
  #hint = null;
  #current = null; // what `look` returned last
  #place = null; // names of the open pairs wholly in view, and where the first pair began; null where the page has moved
  #times = new Map(); // since the last choice: what `look` returned → active and wall milliseconds, and whether it was left
  byPointer = false; // whether the last press was of a mouse or a finger, not of a key

  begin() {
    this.#turned = this.#hint = this.#current = this.#place = null;
    this.#times.clear();
  }

  /** Turn to a pair; `sure` where the rater did, not the page. */
  turnTo(name, sure = true) {
    if (sure && name !== this.#current?.timed) this.#leave(() => true);
    this.#turned = { name, seen: 0, sure };
    this.#hint = this.#place = null;
  }

  press(byPointer) {
    this.byPointer = byPointer;
    if (!byPointer) this.#hint = null;
  }

  /** Note that the mouse was moved over a pair, and tell whether that is news. */
  moveOver(name) {
    if (this.#hint?.byMouse && this.#hint.name === name) return false;
    this.#hint = { name, byMouse: true };
    return true;
  }

  /** Note that the rater has read the pairs timed until now, and went on to another. */
  #leave(isLeft) {
    for (const [{ timed }, time] of this.#times) time.isLeft ||= isLeft(timed);
  }

  /** Take the pair that came wholly into view, at the edge where it did, for the one scrolled to. */
  #findScrolledTo({ pairs, area }) {
    const [open, top] = [pairs.filter((pair) => !pair.done && isWhole(pair, area)).map(({ name }) => name), pairs[0].top];
    const shown = this.#place ? open.filter((name) => !this.#place.open.includes(name)) : [];
    if (shown.length) {
      this.#hint = { name: shown.at(top > this.#place.top ? 0 : -1), byMouse: false };
      this.#leave((name) => !find(pairs, name)?.done);
    }
    this.#place = { open, top };
  }

  look(view) {
    if (!view.alone) this.#findScrolledTo(view);
    const current = currentPairs(view, { turned: this.#turned, hint: this.#hint, before: this.#current?.marked ?? null });
    this.#current = current;
    if (this.#turned?.name !== current.marked) this.#turned = null;
    else if (!view.alone) {
      this.#turned.seen = Math.max(this.#turned.seen, visible(find(view.pairs, current.marked), view.area));
    }
    return current;
  }

  /** Note the time that a pair got, by what `look` returned. */
  spend(current, active, wall) {
    const before = this.#times.get(current) ?? { active: 0, wall: 0, isLeft: false };
    this.#times.set(current, { ...before, active: before.active + active, wall: before.wall + wall });
  }

  /** Note a choice; return the times of other pairs, [name, active, wall], that by this choice were its pair's. */
  choose(name, done) {
    const times = [...this.#times].map(([current, time]) => ({ ...current, ...time }));
    const arrival = times.findLastIndex(({ timed }) => timed !== name) + 1;
    const isBrief = times.slice(arrival).reduce((sum, { active }) => sum + active, 0) < BRIEF;
    const isWrong = ({ byMouse, isLeft, next }) => (byMouse ? isBrief && next === name : isBrief || !isLeft);
    const wrong = times.filter((time) => time.others.includes(name) && isWrong(time));
    this.#times.clear();
    this.#hint = null;
    if (this.#turned?.name === name) this.#turned.sure = false;
    if (this.byPointer && done) this.#turned = null; // a click ends the work on its pair
    return wrong.map(({ timed, active, wall }) => [timed, active, wall]);
  }
}
