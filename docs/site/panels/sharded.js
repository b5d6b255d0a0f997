// The panel "sharded": settings, the chart of a step with its cursor, and the four stages side by side.
'use strict';

(function () {
  const {el, byId, number, choice, toggle, clock, scrolling, table, widthFor, onResize} = Lockstep.ui;
  const {readableBytes, shortNumber} = Lockstep.numbers;
  const model = Lockstep.shardedModel, drawing = Lockstep.shardedDrawing;

  const kSecondsOfAStep = 15;
  let step = null, most = 0, time = null;

  const controls = byId('controls');
  const redraw = () => { rebuild(); time.refresh(); };
  const stage = choice(controls, {id: 'stage', label: 'What is divided', value: '1', change: redraw, options: [
    ['0', 'DDP: nothing'], ['1', 'stage 1: moments'], ['2', 'stage 2: gradients too'], ['3', 'stage 3: weights too']]});
  const ranks = number(controls, {id: 'ranks', label: 'Ranks', min: 1, max: 16, value: 4, integer: true, change: redraw});
  const size = choice(controls, {id: 'model', label: 'Model', value: '124m', options: model.models.map(({name}) => [name, name]),
                                 change: name => { takeModel(name); redraw(); }});
  const blocks = number(controls, {id: 'blocks', label: 'Blocks', min: 1, max: 48, value: 12, integer: true, change: redraw});
  const channels = number(controls, {id: 'channels', label: 'Channels', min: 64, max: 2048, step: 64, value: 768, integer: true, change: redraw});
  const microBatches = number(controls, {id: 'micro-batches', label: 'Micro-batches of a step', min: 1, max: 8, value: 1, integer: true, change: redraw});
  const prefetch = toggle(controls, {id: 'prefetch', label: 'Gather the next unit in advance', value: true, change: redraw});
  const oneScale = toggle(controls, {id: 'one-scale', label: 'One scale for all stages', value: true, change: redraw});

  function takeModel(name) {
    const named = model.modelNamed(name);
    blocks.value = named.blocks;
    channels.value = named.channels;
  }

  const shapeNow = () => ({...model.modelNamed(size.value), blocks: blocks.value, channels: channels.value});
  const stepAt = number => model.stepOf({shape: shapeNow(), worldSize: ranks.value, stage: number, microBatches: microBatches.value, prefetch: prefetch.value});
  const stageNow = () => Number(stage.value);

  const nameOf = unit => unit.replace(/^h\./, 'block ');
  const capital = text => text[0].toUpperCase() + text.slice(1);
  const listed = names => (names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`);
  const workOf = {
    'embeddings forward': 'the embeddings of the tokens are looked up in wte and wpe', 'head forward': 'the head multiplies by wte and computes the loss',
    'head backward': 'the head computes backward, with wte', 'embeddings backward': 'the embeddings get their gradients, which need no weights',
  };

  function computing({kind, name, coming, begins, released, leaving, microBatch, isLast}) {
    const work = workOf[`${name} ${kind}`] ?? `${nameOf(name)} computes ${kind}`;
    const meanwhile = coming !== null && begins ? `${nameOf(coming)} is gathered while ${work}` : work;
    const gone = released.length > 0 ? `; ${listed(released.map(nameOf))} ${released.length > 1 ? 'go' : 'goes'}` : '';
    const left = leaving.length > 0 ? `; the gradients of ${listed(leaving.map(nameOf))} leave for their reduce-scatter` : '';
    const added = kind === 'backward' && stageNow() < 2 && !isLast ? `; gradients stay and wait for the next micro-batch` : '';
    const which = microBatches.value > 1 ? `Micro-batch ${microBatch + 1}: ` : '', text = `${meanwhile}${gone}${left}${added}.`;
    return which ? which + text : capital(text);
  }

  function sentenceOf(event) {
    const isSharded = stageNow() > 0;
    switch (event.kind) {
      case 'gather': return `${event.whole.length > 0 ? `${capital(listed(event.whole.map(nameOf)))} ${event.whole.length > 1 ? 'are' : 'is'} whole; n` : 'N'}othing computes until ${nameOf(event.gathers)} is gathered.`;
      case 'update': return isSharded ? 'Each rank updates the weights of its own parts, with the moments that only it has.' :
        'Every rank updates all weights, and all ranks do the same.';
      case 'values': return stageNow() === 3 ? 'Whole units go, for their parts have changed; only the vectors are gathered now.' :
        'All ranks gather the new weights of the others\u2019 parts.';
      default: return computing(event);
    }
  }

  const eventAt = t => step.events[Math.min(step.events.length - 1, Math.floor(t + 1e-6))];
  const describe = t => sentenceOf(eventAt(t));
  const perParameter = bytes => shortNumber(bytes / step.parameterCount);

  function draw(t) {
    const event = eventAt(t), index = step.events.indexOf(event);
    byId('chart').replaceChildren(drawing.chart(step, index, most, widthFor(byId('chart'), 1000), i => time.go(i)));
    byId('status').textContent = describe(t);
    byId('units').replaceChildren(...drawing.units(step, event, stageNow(), nameOf));
    const cells = drawing.parts.map(([key]) => readableBytes(event.bytes[key]));
    byId('moment').replaceChildren(scrolling('Bytes at this moment', table(`Event ${index + 1} of ${step.events.length}`,
        ['', ...drawing.parts.map(([, name]) => name), 'together', 'sent so far'], [['now', ...cells, readableBytes(event.total), readableBytes(event.sent)]])));
  }

  function rebuild() {
    const all = model.stages.map(each => ({...each, step: stepAt(each.stage)}));
    step = all[stageNow()].step;
    most = 1.04 * (oneScale.value ? Math.max(...all.map(each => each.step.peak)) : step.peak);
    byId('prefetch').closest('.control').hidden = stageNow() !== 3;
    const figures = [['peak of one rank', readableBytes(step.peak), 'peak'], ['bytes a parameter at the peak', perParameter(step.peak), 'per-parameter'],
                     ['sent in the step by one rank', readableBytes(Math.round(step.sent)), 'sent'],
                     ['parameters', `${shortNumber(step.parameterCount / 1e6)} million`, 'parameters']];
    byId('figures').replaceChildren(...figures.map(([name, value, id]) => el('div', {}, el('dt', {}, name), el('dd', {id}, value))));
    byId('legend').replaceChildren(...drawing.parts.filter(([key]) => step.events.some(({bytes}) => bytes[key] > 0)).map(([key, name]) =>
        el('li', {}, el('span', {class: `swatch part-${key}`}), name)));
    byId('stages').replaceChildren(scrolling('All stages', table(`${ranks.value} ${ranks.value === 1 ? 'rank' : 'ranks'}; the event with the most bytes`,
        ['', ...drawing.parts.map(([, name]) => name), 'together', 'bytes a parameter', 'sent in the step'],
        all.map(({name, step: {peak, events, sent}}) => {
          const {bytes} = events.find(({total}) => total === peak);
          return [name, ...drawing.parts.map(([key]) => readableBytes(bytes[key])), readableBytes(peak), perParameter(peak), readableBytes(Math.round(sent))];
        }), {classes: all.map(each => (each.stage === stageNow() ? 'best' : null))})));
  }

  rebuild();
  time = clock(byId('clock'), {stops: () => [...step.events.keys()], perSecond: () => Math.max(1.5, step.events.length / kSecondsOfAStep), draw, describe,
                               ticks: () => step.events.length - 1});
  const ranksAsked = 4;
  Lockstep.question.ask({
    when: 'Before you press Play:', unit: 'bytes a parameter', tolerance: 0.1,
    text: `with DDP each rank holds 16 bytes a parameter. Stage 3 divides all of them among ${ranksAsked} ranks. What does a rank of the 124m model need at the peak?`,
    truth: () => {
      const {peak, parameterCount, mostWhole} = model.stepOf({shape: model.modelNamed('124m'), worldSize: ranksAsked, stage: 3, microBatches: 1, prefetch: true});
      const plain = model.stepOf({shape: model.modelNamed('124m'), worldSize: ranksAsked, stage: 0, microBatches: 1, prefetch: true});
      return {value: peak / parameterCount, sentence: `A rank needs ${shortNumber(peak / parameterCount)} bytes a parameter, not ` +
          `${shortNumber(plain.peak / plain.parameterCount / ranksAsked)}: up to ${mostWhole} units are whole at the same time, and so are some gradients.`};
    }});
  onResize(() => time.refresh());
  time.refresh();
})();
