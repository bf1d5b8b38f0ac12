// A simulated rater at a simulated page, which reports to reading.js what rate.js would report of a real one.

const TICK = 250; // ms, as rate.js looks at least each second
const GAP = 20;
const MARGIN = 10; // pixels that a rater leaves beside a pair

/** Return numbers in [0, 1), the same for the same seed. */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A HIT's page: pairs of random heights below a head, a bar at the window's lower edge. */
class Page {
  constructor(random, { width, height }) {
    this.height = height;
    this.area = { top: width < 900 ? 0.1 * height : 0, bottom: height - (width < 900 ? 0 : 71) };
    let y = this.area.top + 100 + 100 * random();
    const count = 2 + Math.floor(6 * random());
    const column = width < 700 ? width : width / 3; // texts are stacked on a phone, beside each other elsewhere
    this.pairs = Array.from({ length: count }, (_, index) => {
      const words = 5 + Math.floor(random() * (random() < 0.5 ? 60 : 200));
      const text = Math.ceil((words * 48) / column) * 24;
      const size = 150 + text * (width < 700 ? 2 : 1);
      const pair = { name: `p${index}`, start: y, end: y + size, done: false };
      y += size + 60 + GAP; // the line of the report and the card's edge
      return pair;
    });
    this.end = y + 80;
    this.scrolled = 0;
  }

  scrollTo(y) {
    this.scrolled = this.bounded(y);
  }

  view() {
    const pairs = this.pairs.map(({ name, start, end, done }) => {
      return { name, done, top: start - this.scrolled, bottom: end - this.scrolled };
    });
    return { pairs, area: this.area, alone: false };
  }

  fits = ({ start, end }) => end - start <= this.area.bottom - this.area.top;

  /** Return how far to scroll, no farther than needed, to see a pair, or its first or last part where it is too high. */
  placeFor(pair, part = "all", from = this.scrolled) {
    const [top, bottom] = [pair.start - MARGIN - this.area.top, pair.end + MARGIN - this.area.bottom];
    if (part === "end") return this.bounded(Math.max(from, bottom));
    return this.bounded(this.fits(pair) ? Math.max(Math.min(from, top), bottom) : top);
  }

  bounded = (y) => Math.max(0, Math.min(y, this.end - this.height));

  /** Tell whether scrolling shows when a pair begins to be read, and when the next one does: a few pixels show nothing. */
  isTold(pair, next) {
    const place = this.placeFor(pair, "end", this.placeFor(pair));
    return Math.abs(place - this.scrolled) > MARGIN && Math.abs(this.placeFor(next, "all", place) - place) > MARGIN;
  }

  /** Scroll as rate.js does to the pair that the page turns to. */
  show(pair) {
    const [top, bottom] = [pair.start - this.scrolled, pair.end - this.scrolled];
    if (top < this.area.top || bottom > this.area.bottom) this.scrollTo(pair.start - this.area.top - 8);
  }
}

/** A HIT being rated; `recorded` and `spent` are milliseconds by pair, but for those of `untold` visits, which no input shows. */
class Session {
  constructor({ Reading }, random, page, advance) {
    Object.assign(this, { random, page, advance, reading: new Reading(), recorded: {}, spent: {}, wrongKeys: 0 });
    for (const { name } of page.pairs) this.recorded[name] = this.spent[name] = 0;
    this.open(page.pairs.find((pair) => !pair.done));
  }

  open(pair) {
    this.page.show(pair);
    this.reading.turnTo(pair.name, false);
    this.look();
    this.arrival = this.current.marked;
  }

  look() {
    this.current = this.reading.look(this.page.view());
  }

  turnTo(pair, sure) {
    this.reading.turnTo(pair.name, sure);
    this.look();
  }

  /** Let time pass at a pair. */
  read(pair, ms) {
    for (let rest = ms; rest > 0; rest -= TICK) {
      const passed = Math.min(rest, TICK);
      const told = this.untold ? 0 : passed;
      this.spent[pair.name] += told;
      this.recorded[this.current.timed] += told;
      this.reading.spend(this.current, passed, told);
      this.look();
    }
  }

  wheelTo(y) {
    const from = this.page.scrolled;
    if (y === from) return;
    for (const part of [0.25, 0.5, 0.75, 1]) {
      this.page.scrollTo(from + (y - from) * part);
      this.look();
    }
  }

  bringIntoView(pair, part) {
    this.wheelTo(this.page.placeFor(pair, part));
  }

  /** Move the mouse from pair to pair in view, as a hand does. */
  moveMouse(from, to) {
    const [first, last] = [from, to].map((pair) => this.page.pairs.indexOf(pair));
    const step = Math.sign(last - first);
    for (let index = first; ; index += step) {
      if (this.reading.moveOver(this.page.pairs[index].name)) this.look();
      if (index === last) break;
    }
    this.mouse = to;
  }

  choose(pair) {
    pair.done = true;
    this.look();
    for (const [name, , told] of this.reading.choose(pair.name, true)) {
      this.recorded[name] -= told;
      this.recorded[pair.name] += told;
    }
    const next = this.page.pairs[this.page.pairs.indexOf(pair) + 1];
    if (this.advance && next) {
      this.page.show(next);
      this.turnTo(next, false);
    } else this.look();
  }

  click(pair) {
    this.reading.press(true);
    this.turnTo(pair, true);
    this.choose(pair);
  }

  press(pair) {
    this.reading.press(false);
    if (this.current.marked !== pair.name) this.wrongKeys += 1;
    this.turnTo(pair, true);
    this.choose(pair);
  }

  /** Step from the marked pair to another by Enter and Backspace. */
  stepTo(pair) {
    const { pairs } = this.page;
    let index = pairs.findIndex(({ name }) => name === this.current.marked);
    while (pairs[index] !== pair) {
      index += Math.sign(pairs.indexOf(pair) - index);
      this.reading.press(false);
      this.page.show(pairs[index]);
      this.turnTo(pairs[index], true);
    }
  }

  /** Read a pair, by mouse, keys or touch; `parked` is where the mouse lies meanwhile. */
  visit(pair, input, dwell, parked) {
    const { page } = this;
    if (input === "keys") this.stepTo(pair);
    else this.bringIntoView(pair);
    const parts = page.fits(pair) ? [1] : [0.6, 0.4];
    parts.forEach((share, index) => {
      if (index && input !== "keys") this.bringIntoView(pair, "end");
      else if (index) this.wheelTo(pair.end + MARGIN - page.area.bottom);
      if (input === "mouse") {
        const before = Math.min(dwell * share, 1500 * this.random());
        this.read(pair, before);
        this.moveMouse(this.mouse ?? pair, parked ?? pair);
        this.read(pair, dwell * share - before);
      } else this.read(pair, dwell * share);
    });
  }

  answer(pair, input) {
    if (input === "keys") this.press(pair);
    else {
      if (input === "mouse") this.moveMouse(this.mouse, pair);
      this.read(pair, 300); // on the way to the choice
      this.click(pair);
    }
  }
}

/** Rate a random HIT in a random window; return the misattributed share of the time and what the page marked. */
function simulate(module, seed, { input, jumps, undecided, advance }) {
  const random = randomNumbers(seed);
  const [width, height] = [320 * 12 ** random(), 480 + 1680 * random()].map(Math.round);
  const page = new Page(random, { width, height });
  for (const pair of page.pairs) pair.done = random() < 0.1; // a HIT taken up again
  if (page.pairs.every(({ done }) => done)) page.pairs[0].done = false;
  const first = page.pairs.find(({ done }) => !done);
  const session = new Session(module, random, page, advance);
  const order = page.pairs.filter(({ done }) => !done).map((pair) => [jumps ? random() : 0, pair]);
  order.sort(([one], [other]) => one - other);
  const parks = !jumps && random() < 0.25;
  const dwell = () => 2000 + 18000 * random();
  for (const [, pair] of order) {
    const glanced = undecided && random() < 0.3 && page.pairs[Math.floor(random() * page.pairs.length)];
    if (glanced && !glanced.done) {
      session.untold = input === "touch" && glanced !== pair && !page.isTold(glanced, pair);
      session.visit(glanced, input, dwell(), null);
      session.untold = false;
    }
    session.visit(pair, input, dwell(), parks ? page.pairs[Math.floor(random() * page.pairs.length)] : null);
    session.answer(pair, input);
  }
  const total = Object.values(session.spent).reduce((sum, ms) => sum + ms, 0);
  const off = page.pairs.reduce((sum, { name }) => sum + Math.abs(session.recorded[name] - session.spent[name]), 0);
  const { wrongKeys, arrival } = session;
  return { seed, width, height, share: off / 2 / total, wrongKeys, arrivedAtFirst: arrival === first.name };
}
