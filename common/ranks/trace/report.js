// Draws the timelines of a report and shows values under the pointer or a finger. Plain JavaScript, no library, no
// network.
'use strict';

const tooltip = document.createElement('div');
tooltip.className = 'tooltip';
tooltip.hidden = true;
document.body.append(tooltip);

let unmark = () => {};  // takes away what was marked for the tooltip

function hideTooltip() {
  tooltip.hidden = true;
  unmark();
  unmark = () => {};
}

// Shows `text` until hideTooltip(), which then calls `undo`: beside the pointer or, if `free` is given and the screen has
// room, above or below that element, so that nothing of it is covered.
function showTooltip(event, text, undo, free) {
  hideTooltip();
  unmark = undo;
  tooltip.textContent = text;
  tooltip.hidden = false;
  const {width, height} = tooltip.getBoundingClientRect(), area = free?.getBoundingClientRect();
  const tops = area ? [area.top - height - 6, area.bottom + 6] : [];
  const top = [...tops, event.clientY + 18].find(each => each >= 0 && each + height < innerHeight);
  tooltip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4)) + 'px';
  tooltip.style.top = (top ?? event.clientY - height - 10) + 'px';
}

// A finger's tooltip stays until the next touch, or until the page moves below it.
document.addEventListener('pointerdown', hideTooltip, {capture: true});
addEventListener('scroll', hideTooltip, {passive: true});

function svgElement(name, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function formatTime(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(2) + ' s';
  if (us >= 1000) return (us / 1000).toFixed(us >= 1e5 ? 0 : 2) + ' ms';
  return us.toFixed(us >= 100 ? 0 : 1) + ' \u00b5s';
}

// `name` in at most `count` characters. A collective, "all_reduce #5 (bucket 1; mean of 96 float32)", shrinks to its
// label ("bucket 1"), or if it has none to "all_reduce #5"; then to the label's number; then to a beginning, or nothing.
function shorten(name, count) {
  const [, call, label] = name.match(/^(\w+ #\d+)(?: \(([^;()]+);)?/) ?? [];
  const number = (label ?? name).match(/\d+$/);
  const fitting = [name, label ?? call, number?.[0]].find(text => text !== undefined && text.length <= count);
  return fitting ?? (count >= 4 && !number ? name.slice(0, count - 1) + '\u2026' : '');
}

// In these, no rank has its result before all ranks have begun.
const needsAllRanks = /^(all_reduce|all_gather|reduce_scatter|all_to_all|barrier) /;

// Who waited for whom in one collective; `begins` are pairs of a rank and the time when it began.
function whoWaited(name, begins) {
  const [last, ...others] = [...begins].sort((a, b) => b[1] - a[1]);
  const early = others.map(([rank, begin]) => [rank, last[1] - begin]).reverse();  // the longest wait first
  if (early[0][1] < 50) return `all ranks began within ${formatTime(early[0][1])}`;
  if (!needsAllRanks.test(name)) return `rank ${last[0]} began last, ${formatTime(early[0][1])} after rank ${early[0][0]}`;
  const waits = early.slice(0, 3).map(([rank, us]) => `rank ${rank} waited ${formatTime(us)} for it`);
  if (early.length > 3) waits.push(`${early.length - 3} more ranks waited at most ${formatTime(early[3][1])}`);
  return [`rank ${last[0]} came last`, ...waits].join('\n');
}

// The largest of 1, 2, 5 times a power of ten that gives at least `count` ticks.
function tickStep(extent, count) {
  const power = 10 ** Math.floor(Math.log10(extent / count));
  const mantissa = extent / count / power;
  return power * (mantissa >= 5 ? 5 : mantissa >= 2 ? 2 : 1);
}

// One timeline: `view` is the visible stretch of time in microseconds.
class Timeline {
  static narrow = 560;  // below this width, a rank's name stands above its lanes, not before them
  static top = 34;
  static rowHeight = 20;
  static lanePadding = 5;
  static communication = 3;  // categories of spans
  static wait = 4;           // for other ranks

  constructor(container, data) {
    this.container = container;
    this.data = data;
    this.end = data.spans.reduce((last, span) => Math.max(last, span[4]), 1);  // of any number of them
    this.view = {begin: 0, end: this.end};
    this.collectives = new Map();  // by callOf(): the spans of all ranks
    for (const span of data.spans) {
      if (span[2] !== Timeline.communication || data.lanes[span[0]].name !== 'communication') continue;
      const call = Timeline.callOf(span);
      this.collectives.set(call, [...this.collectives.get(call) ?? [], span]);
    }
    this.svg = svgElement('svg', {});
    container.replaceChildren(this.svg);
    this.addTools();
    this.addKeysAndWheel();
    this.addPointers();
    new ResizeObserver(() => this.draw()).observe(container);
    this.draw();
  }

  // Equal for the spans of one collective, whose name has its number.
  static callOf([, , , , , step, name]) { return `${step} ${name}`; }

  // Places lanes for the width; isFirst: a rank's first lane.
  arrange() {
    this.width = Math.max(this.container.clientWidth, 320);
    this.isNarrow = this.width < Timeline.narrow;
    this.left = this.isNarrow ? 100 : 176;
    const lanes = this.data.lanes;
    this.isFirst = lanes.map((lane, index) => index === 0 || lanes[index - 1].rank !== lane.rank);
    let y = Timeline.top;
    this.laneTops = lanes.map((lane, index) => {
      if (this.isFirst[index]) y += this.isNarrow ? 20 : index > 0 ? 10 : 0;
      const top = y;
      y += lane.rows * Timeline.rowHeight + 2 * Timeline.lanePadding;
      return top;
    });
    this.height = y + 6;
  }

  x(us) {
    const share = (us - this.view.begin) / (this.view.end - this.view.begin);
    return this.left + share * (this.width - this.left);
  }

  draw() {
    this.arrange();
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    const plot = svgElement('g', {});
    this.drawTicks(plot);
    for (const span of this.data.spans) this.drawSpan(plot, span);
    this.drawSteps(plot);
    const labels = svgElement('g', {});
    this.drawLabels(labels);
    this.plot = plot;
    this.svg.replaceChildren(Timeline.hatching(), plot, labels);
  }

  // The pattern of the spans of waiting, which lie on the span that they are a part of.
  static hatching() {
    const pattern = svgElement('pattern',
        {id: 'hatched', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'});
    pattern.append(svgElement('rect', {class: 'stripes', width: 5, height: 5}),
                   svgElement('line', {x1: 0, x2: 0, y1: 0, y2: 5}));
    const definitions = svgElement('defs', {});
    definitions.append(pattern);
    return definitions;
  }

  drawTicks(group) {
    const extent = this.view.end - this.view.begin;
    const step = tickStep(extent, Math.max(2, (this.width - this.left) / 160));
    const unit = step >= 1e6 ? [1e6, ' s'] : step >= 10 ? [1e3, ' ms'] : [1, ' \u00b5s'];
    const digits = Math.max(0, -Math.floor(Math.log10(step / unit[0] * 1.0001)));
    for (let us = Math.ceil(this.view.begin / step) * step; us <= this.view.end; us += step) {
      const x = this.x(us);
      group.append(svgElement('line', {class: 'grid', x1: x, x2: x, y1: Timeline.top - 4, y2: this.height}));
      if (x > this.left + 8 && x < this.width - 44)
        group.append(svgElement('text', {x: x + 3, y: Timeline.top - 9}, (us / unit[0]).toFixed(digits) + unit[1]));
    }
  }

  // Where a span is drawn: x from and to, y.
  placeOf([lane, depth, , begin, end]) {
    const x0 = Math.max(this.x(begin), this.left), x1 = Math.min(this.x(end), this.width);
    return [x0, Math.max(x1, x0 + 1), this.laneTops[lane] + Timeline.lanePadding + depth * Timeline.rowHeight];
  }

  drawSpan(group, span) {
    const [, , category, begin, end, , name] = span;
    if (end < this.view.begin || begin > this.view.end) return;
    const [x0, x1, y] = this.placeOf(span), width = x1 - x0;
    const rect = svgElement('rect',
        {class: `span c${category}`, x: x0, y: y, width: width, height: Timeline.rowHeight - 2, rx: Math.min(2, width / 3)});
    rect.span = span;
    group.append(rect);
    if (category === Timeline.wait) return;  // no text on stripes
    const label = shorten(name, Math.floor((width - 6) / 6.2));  // 6.2 units: a character of the 11 px font
    if (label) group.append(svgElement('text', {class: 'inside', x: x0 + 3, y: y + 13}, label));
  }

  // The spans of all ranks in the collective that `span` belongs to; empty if it is none.
  partnersOf(span) {
    const partners = this.collectives.get(Timeline.callOf(span)) ?? [];
    return partners.length > 1 && partners.includes(span) ? partners : [];
  }

  describe(span) {
    const [lane, , category, begin, end, step, name] = span, where = this.data.lanes[lane], partners = this.partnersOf(span);
    const lines = [name, `${this.data.categories[category]}, ${formatTime(end - begin)}`,
                   `step ${step}, rank ${where.rank}, ${where.name}`, `from ${formatTime(begin)} to ${formatTime(end)}`];
    if (partners.length > 0) lines.push(whoWaited(name, partners.map(([on, , , began]) => [this.data.lanes[on].rank, began])));
    return lines.join('\n');
  }

  // Lights up `spans`, one collective on all ranks, and hatches how long each rank waited for the last to begin.
  light(spans) {
    if (spans.length === 0) return;
    const isOne = new Set(spans), last = Math.max(...spans.map(span => span[3]));
    for (const rect of this.plot.querySelectorAll('.span')) if (isOne.has(rect.span)) rect.classList.add('lit');
    for (const span of spans) {
      const [x0, , y] = this.placeOf(span), x1 = Math.min(this.x(Math.min(last, span[4])), this.width);
      if (x1 - x0 < 1) continue;
      this.plot.append(svgElement('rect', {class: 'waited', x: x0, y: y, width: x1 - x0, height: Timeline.rowHeight - 2}));
    }
    this.plot.classList.add('dimmed');
  }

  unlight() {
    this.plot.classList.remove('dimmed');
    for (const rect of this.plot.querySelectorAll('.lit')) rect.classList.remove('lit');
    for (const rect of this.plot.querySelectorAll('.waited')) rect.remove();
  }

  // The tooltip of the span at the pointer, if there is one.
  showSpanAt(event) {
    const {span} = document.elementFromPoint(event.clientX, event.clientY) ?? {};
    if (!span) return hideTooltip();
    const partners = this.partnersOf(span);
    showTooltip(event, this.describe(span), () => this.unlight(), partners.length > 0 ? this.container : undefined);
    this.light(partners);
  }

  // A step without room for its number has a line only.
  drawSteps(group) {
    let free = 0;
    for (const [step, begin] of this.data.steps) {
      const x = this.x(begin);
      if (x < this.left - 1 || x > this.width) continue;
      group.append(svgElement('line', {class: 'step', x1: x, x2: x, y1: 4, y2: this.height}));
      const text = 'step ' + step;
      if (x < free) continue;
      group.append(svgElement('text', {class: 'rank', x: x + 4, y: 12}, text));
      free = x + 8 + 7.5 * text.length;  // 7.5 units: a bold character of the 12 px font
    }
  }

  drawLabels(group) {
    this.data.lanes.forEach((lane, index) => {
      const y = this.laneTops[index], height = lane.rows * Timeline.rowHeight + 2 * Timeline.lanePadding;
      group.append(svgElement('rect', {class: 'band', x: 0, y: y, width: this.left - 4, height: height}));
      const middle = y + height / 2 + 4;
      if (this.isFirst[index]) {
        const place = {class: 'rank', x: this.isNarrow ? 6 : 10, y: this.isNarrow ? y - 6 : middle};
        group.append(svgElement('text', place, 'rank ' + lane.rank));
      }
      const most = this.isNarrow ? 13 : 16;
      const name = lane.name.length <= most ? lane.name : lane.name.slice(0, most - 1) + '\u2026';
      group.append(svgElement('text', {x: this.isNarrow ? 6 : 70, y: middle}, name));
    });
  }

  // Zooms by `factor` around `center` (microseconds) and moves by `shift`, staying inside the recording.
  change(factor, center, shift = 0) {
    const extent = Math.min(this.end, Math.max(1, (this.view.end - this.view.begin) * factor));
    const share = (center - this.view.begin) / (this.view.end - this.view.begin);
    const begin = Math.max(0, Math.min(center - share * extent + shift, this.end - extent));
    this.view = {begin: begin, end: begin + extent};
    hideTooltip();
    this.draw();
  }

  zoom(factor) { this.change(factor, (this.view.begin + this.view.end) / 2); }
  move(share) { this.change(1, this.view.begin, share * (this.view.end - this.view.begin)); }
  reset() { this.change(this.end, 0); }

  timeAt(clientX) {
    const box = this.svg.getBoundingClientRect();
    const share = (clientX - box.left - this.left) / (box.width - this.left);
    return this.view.begin + Math.max(0, share) * (this.view.end - this.view.begin);
  }

  addTools() {
    const tools = document.createElement('div');
    tools.className = 'timeline-tools';
    const actions = [['Zoom in', () => this.zoom(0.5)], ['Zoom out', () => this.zoom(2)], ['Whole', () => this.reset()]];
    for (const [label, action] of actions) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = label;
      button.addEventListener('click', action);
      tools.append(button);
    }
    const hint = document.createElement('span');
    hint.className = 'note';
    hint.textContent = matchMedia('(pointer: coarse)').matches ?
        'Tap a collective: who waited for whom. Drag to move; pinch to zoom' :
        'Point at a collective: who waited for whom. Drag to move; Ctrl + wheel zooms; keys: + \u2212 \u2190 \u2192 0';
    tools.append(hint);
    this.container.before(tools);
  }

  addKeysAndWheel() {
    const keys = {'+': () => this.zoom(0.5), '-': () => this.zoom(2), ArrowLeft: () => this.move(-0.2),
                  ArrowRight: () => this.move(0.2), 0: () => this.reset()};
    this.container.addEventListener('keydown', event => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey) return;
      keys[event.key]();
      event.preventDefault();
    });
    this.container.addEventListener('wheel', event => {
      if (!event.ctrlKey) return;  // the plain wheel scrolls the page
      event.preventDefault();
      this.change(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.clientX));
    }, {passive: false});
  }

  // One pointer moves the picture, two fingers zoom it too: the time between them stays between them. A tap shows times.
  addPointers() {
    const kStill = 6;  // pixels that a tap may wander
    const held = new Map();  // clientX by pointer
    let grip = null;
    const middleAndSpread = () => {
      const xs = [...held.values()], least = Math.min(...xs), most = Math.max(...xs);
      return [(least + most) / 2, most - least];
    };
    const take = isStill => {
      const [middle, spread] = middleAndSpread();
      grip = held.size === 0 ? null : {time: this.timeAt(middle), middle, spread, isStill};
    };
    this.container.addEventListener('pointerdown', event => {
      held.set(event.pointerId, event.clientX);
      this.container.setPointerCapture(event.pointerId);
      take(held.size === 1);
    });
    this.container.addEventListener('pointermove', event => {
      if (!held.has(event.pointerId)) return event.pointerType === 'touch' ? undefined : this.showSpanAt(event);
      held.set(event.pointerId, event.clientX);
      const [middle, spread] = middleAndSpread();
      if (grip.isStill && Math.abs(middle - grip.middle) < kStill) return;
      const now = this.timeAt(middle), factor = grip.spread > kStill && spread > kStill ? grip.spread / spread : 1;
      this.change(factor, now, grip.time - now);
      grip = {...grip, spread, isStill: false};
    });
    for (const end of ['pointerup', 'pointercancel']) this.container.addEventListener(end, event => {
      const wasTap = end === 'pointerup' && grip?.isStill;
      held.delete(event.pointerId);
      take(false);
      if (wasTap) this.showSpanAt(event);
    });
    this.container.addEventListener('pointerleave', event => { if (event.pointerType !== 'touch') hideTooltip(); });
  }
}

// Marks the points nearest to the pointer and shows their values.
function followPointer(svg) {
  const chart = JSON.parse(svg.dataset.chart);
  const cursor = svg.querySelector('.cursor');
  const toX = value => chart.left + (value - chart.x0) / (chart.x1 - chart.x0) * (chart.right - chart.left);
  const toY = value => chart.bottom - (value - chart.y0) / (chart.y1 - chart.y0) * (chart.bottom - chart.top);
  const follow = event => {
    const box = svg.getBoundingClientRect();
    const unit = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const wanted = chart.x0 + (unit - chart.left) / (chart.right - chart.left) * (chart.x1 - chart.x0);
    const lines = [];
    const marks = [];
    chart.series.forEach((series, index) => {
      let best = -1;
      series.x.forEach((x, i) => {
        const usable = x !== null && series.y[i] !== null;
        if (usable && (best < 0 || Math.abs(x - wanted) < Math.abs(series.x[best] - wanted))) best = i;
      });
      if (best < 0) return;
      const x = toX(series.x[best]), y = toY(series.y[best]);
      if (marks.length === 0) marks.push(svgElement('line', {x1: x, x2: x, y1: chart.top, y2: chart.bottom}));
      marks.push(svgElement('circle', {class: 's' + index % 6, cx: x, cy: y, r: 4}));
      lines.push(`${series.name}: ${Number(series.y[best].toPrecision(5))}  (${chart.xLabel} ${series.x[best]})`);
    });
    showTooltip(event, lines.join('\n'), () => cursor.replaceChildren());
    cursor.replaceChildren(...marks);
  };
  for (const type of ['pointerdown', 'pointermove']) svg.addEventListener(type, follow);
  svg.addEventListener('pointerleave', event => { if (event.pointerType !== 'touch') hideTooltip(); });
}

const timelines = [...document.querySelectorAll('.timeline-data')].map(
    data => new Timeline(data.parentElement.querySelector('.timeline-view'), JSON.parse(data.textContent)));
for (const svg of document.querySelectorAll('svg[data-chart]')) followPointer(svg);
