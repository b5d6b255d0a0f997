// The panel "tensor_block": settings, a block with its cursor, and three ways to divide it side by side.
'use strict';

(function () {
  const {el, byId, number, choice, toggle, clock, scrolling, table, widthFor, onResize} = Lockstep.ui;
  const {readableBytes} = Lockstep.numbers;
  const model = Lockstep.tensorBlockModel, drawing = Lockstep.tensorBlockDrawing;

  let block = null, time = null;
  const controls = byId('controls');
  const redraw = () => { rebuild(); time.refresh(); };
  const ranks = choice(controls, {id: 'ranks', label: 'Ranks', value: '2', change: redraw, options: ['1', '2', '4', '8'].map(n => [n, n])});
  const size = choice(controls, {id: 'model', label: 'Model', value: '124m', change: redraw,
                                 options: model.models.map(({name, channels}) => [name, `${name}: ${channels} channels`])});
  const rows = number(controls, {id: 'rows', label: 'Rows: samples times positions', min: 64, max: 65536, scale: 'log', value: 8192, integer: true, change: redraw});
  const sequence = toggle(controls, {id: 'sequence', label: 'Sequence parallelism', value: false, change: redraw});

  const settings = () => ({channels: model.modelNamed(size.value).channels, rows: rows.value, worldSize: Number(ranks.value)});
  const blockWith = isSequence => model.blockOf({...settings(), isSequence});

  const capital = text => text[0].toUpperCase() + text.slice(1);
  const places = {whole: 'every rank computes the same on all rows', rows: 'each rank computes it on its own rows',
                  columns: 'each rank computes its own columns and heads'};

  function describe(t) {
    const event = block.events[Math.min(block.events.length - 1, Math.floor(t + 1e-6))];
    if (event.is === 'compute') return `${capital(event.pass)}, ${event.pair}: ${event.text}; ${places[event.holds]}.`;
    return `${capital(event.pass)}, ${event.pair}: ${event.kind} of ${event.carries}; each rank sends ${readableBytes(Math.round(event.bytes))}, and the next operation waits.`;
  }

  function draw(t) {
    const index = Math.min(block.events.length - 1, Math.floor(t + 1e-6));
    byId('chart').replaceChildren(drawing.chart(block.events, index, Number(ranks.value), widthFor(byId('chart'), 1000), i => time.go(i)));
    byId('status').textContent = describe(t);
    byId('sent-so-far').textContent = readableBytes(Math.round(block.events[index].sent));
  }

  function rebuild() {
    block = blockWith(sequence.value);
    const figures = [['collectives of the block', block.events.filter(({is}) => is === 'collective').length, 'collectives'],
                     ['sent by one rank', readableBytes(Math.round(block.sent)), 'sent'], ['so far', '', 'sent-so-far'],
                     ['matrices on one rank', readableBytes(block.matrixBytes), 'matrices'], ['stream on one rank', readableBytes(block.streamBytes), 'stream']];
    byId('figures').replaceChildren(...figures.map(([name, value, id]) => el('div', {}, el('dt', {}, name), el('dd', {id}, value))));
    const tensor = blockWith(false), both = blockWith(true), alone = model.blockOf({...settings(), worldSize: 1, isSequence: false});
    byId('ways').replaceChildren(scrolling('Side by side', table(`${ranks.value} ${ranks.value === '1' ? 'rank' : 'ranks'}, ${rows.value} rows in all`,
        ['', 'all-reduces', 'all-gathers', 'reduce-scatters', 'sent by one rank', 'matrices on one rank', 'stream on one rank'],
        [['DDP', '1', '0', '0', readableBytes(Math.round(block.sentByDdp)), readableBytes(alone.matrixBytes), readableBytes(alone.streamBytes / Number(ranks.value))],
         ...[['tensor', tensor], ['tensor and sequence', both]].map(([name, each]) =>
            [name, `${each.allReduces}`, `${each.allGathers}`, `${each.reduceScatters}`, readableBytes(Math.round(each.sent)),
             readableBytes(each.matrixBytes), readableBytes(each.streamBytes)])], {classes: [null, sequence.value ? null : 'best', sequence.value ? 'best' : null]})));
  }

  rebuild();
  time = clock(byId('clock'), {stops: () => [...block.events.keys()], perSecond: () => 1.4, draw, describe, ticks: () => block.events.length - 1});
  const asked = model.modelNamed('124m');
  Lockstep.question.ask({
    when: 'Before you press Play:', unit: 'rows', tolerance: 0.15,
    text: `DDP sends the gradients of all parameters once a step, whatever the batch. A block of ${asked.name} has 12 C\u00b2 of them, with C = ${asked.channels}. ` +
        'Tensor parallelism sends 4 all-reduces of R rows of C numbers. At how many rows R is that as much as DDP sends?',
    truth: () => ({value: model.rowsLikeDdp(asked.channels), sentence: `At about 3 C, ${Math.round(model.rowsLikeDdp(asked.channels))} rows: little more than two ` +
        'samples of 1024 positions. Any larger batch sends more than DDP would, and no computation hides it.'})});
  onResize(() => time.refresh());
  time.refresh();
})();
