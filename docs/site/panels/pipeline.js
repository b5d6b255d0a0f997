// The panel "pipeline": a schedule, its time table with a cursor, and all schedules side by side.
'use strict';

(function () {
  const {el, byId, number, choice, clock, scrolling, table, widthFor, onResize} = Lockstep.ui;
  const {withDigits} = Lockstep.numbers;
  const model = Lockstep.pipelineModel, drawing = Lockstep.pipelineDrawing;

  const kSecondsOfAStep = 14;
  let line = null, time = null;

  const controls = byId('controls');
  const redraw = () => { rebuild(); time.refresh(); };
  const kind = choice(controls, {id: 'schedule', label: 'Schedule', value: '1f1b', options: model.kinds, change: redraw});
  const ranks = number(controls, {id: 'ranks', label: 'Ranks, each with a stage', min: 1, max: 8, value: 4, integer: true, change: redraw});
  const microBatches = number(controls, {id: 'micro-batches', label: 'Micro-batches of a step', min: 1, max: 32, value: 8, integer: true, change: redraw});
  const backward = number(controls, {id: 'backward', label: 'A backward pass takes', unit: 'forwards', min: 0.5, max: 4, step: 0.5, value: 2, change: redraw});
  const message = number(controls, {id: 'message', label: 'A message takes', unit: 'forwards', min: 0, max: 4, step: 0.25, value: 0, change: redraw});

  const costs = () => ({forward: 1, backward: backward.value, message: message.value});
  const timelineOf = name => model.timelineOf(name, ranks.value, microBatches.value, costs());
  const units = value => String(Number(withDigits(value, 2)));
  const percent = share => `${withDigits(100 * share, 1)} %`;

  const momentsAt = t => line.ranks.map(timed => model.momentOf(timed, t));
  const doing = ({action}, rank) => (action === null ? `rank ${rank} waits` : `rank ${rank}: ${action.pass}${action.microBatch}`);

  function describe(t) {
    if (t >= line.duration - 1e-9) return `After ${units(line.duration)} units all gradients are there, and every rank updates its stage.`;
    return `At ${units(t)}: ${momentsAt(t).map(doing).join(', ')}.`;
  }

  function draw(t) {
    byId('chart').replaceChildren(drawing.chart(line, t, momentsAt(t), widthFor(byId('chart'), 1000), at => time.go(at)));
    byId('status').textContent = describe(t);
  }

  const stops = () => [...new Set(line.ranks.flat().flatMap(({begin, end}) => [begin, end]))].sort((a, b) => a - b);

  function rebuild() {
    line = timelineOf(kind.value);
    const figures = [['units of a step', units(line.duration), 'duration'], ['bubble: idle per busy time', percent(line.idlePerBusy), 'bubble'],
                     ['rank 0 holds at most', `${line.mostHeld[0]}`, 'held-first'], ['the last rank holds at most', `${line.mostHeld.at(-1)}`, 'held-last'],
                     ['messages of a step', `${line.messages}`, 'messages']];
    byId('figures').replaceChildren(...figures.map(([name, value, id]) => el('div', {}, el('dt', {}, name), el('dd', {id}, value))));
    byId('legend').replaceChildren(...[['forward', 'forward pass of a micro-batch'], ['backward', 'backward pass'], ['idle', 'idle: the bubble']].map(([name, text]) =>
        el('li', {}, el('span', {class: `swatch ${name}-key`}), text)));
    const all = model.kinds.map(([name]) => timelineOf(name));
    byId('schedules').replaceChildren(scrolling('All schedules', table(
        `${ranks.value} ${ranks.value === 1 ? 'rank' : 'ranks'}, ${microBatches.value} ${microBatches.value === 1 ? 'micro-batch' : 'micro-batches'}`,
        ['', 'units of a step', 'idle per busy', 'held, by rank'],
        all.map((each, i) => [model.kinds[i][1].split(':')[0], units(each.duration), percent(each.idlePerBusy), each.mostHeld.join(' ')]),
        {classes: all.map(each => (each.kind === kind.value ? 'best' : null))})));
  }

  rebuild();
  time = clock(byId('clock'), {stops, perSecond: () => line.duration / kSecondsOfAStep, draw, describe});
  const asked = {ranks: 4, microBatches: 8, costs: {forward: 1, backward: 2, message: 0}};
  const askedAbout = name => model.timelineOf(name, asked.ranks, asked.microBatches, asked.costs);
  Lockstep.question.ask({
    when: 'Before you press Play:', unit: 'units', tolerance: 0.01,
    text: `a forward pass takes 1 unit and a backward pass ${asked.costs.backward}. GPipe needs ${askedAbout('gpipe').duration} units for ` +
        `${asked.microBatches} micro-batches on ${asked.ranks} ranks. How many does 1F1B need?`,
    truth: () => {
      const [all, turns] = [askedAbout('gpipe'), askedAbout('1f1b')];
      return {value: turns.duration, sentence: `As many as GPipe, ${turns.duration}: the bubble is the same. What 1F1B saves is memory: rank 0 holds at most ` +
          `${turns.mostHeld[0]} micro-batches in place of ${all.mostHeld[0]}.`};
    }});
  onResize(() => time.refresh());
  time.refresh();
})();
