// The panel "grid": a grid of ranks on hosts, a rank that is chosen, a step that plays, and all stages in a table.
'use strict';

(function () {
  const {el, byId, number, choice, clock, scrolling, table, widthFor, onResize, announce} = Lockstep.ui;
  const {readableBytes} = Lockstep.numbers;
  const model = Lockstep.gridModel, drawing = Lockstep.gridDrawing;

  let grid = null, chart = null, time = null, chosen = 0;
  const redraw = () => { rebuild(); drawChart(); time.refresh(); };
  const where = byId('controls'), what = byId('work');
  const whole = (parent, id, label, value, max) => number(parent, {id, label, min: 1, max, value, integer: true, change: redraw});
  const ranks = whole(where, 'ranks', 'Ranks in all', 8, 64);
  const tensor = whole(where, 'tensor', '--tensor (divides matrices)', 2, 8);
  const pipeline = whole(where, 'pipeline', '--pipeline (divides blocks)', 2, 16);
  const perHost = whole(where, 'per-host', 'Ranks on each host', 4, 64);
  const size = choice(what, {id: 'model', label: 'Model', value: '350m', change: redraw,
                             options: model.models.map(({name, blocks, channels}) => [name, `${name}: ${blocks} blocks, ${channels} channels`])});
  const microBatches = whole(what, 'micro-batches', 'Micro-batches of a rank in a step', 8, 32);
  const samples = whole(what, 'samples', 'Samples of a micro-batch', 4, 32);

  const count = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;
  const listed = list => (list.length > 1 ? `${list.slice(0, -1).join(', ')} and ${list.at(-1)}` : `${list[0]}`);
  // What the ranks of a line share, and what they send.
  const carries = {tensor: ['parts of the same matrices: ', 'sums in every block'], data: ['the same weights, other samples: ', 'gradients once a step'],
                   pipeline: ['other blocks: ', 'activations in every micro-batch']};

  // What is to be shown, or why it cannot be: {shape, problem, bytes}. Without a shape there is nothing to draw.
  function gridOf({worldSize, tensorRanks, stages, hostRanks, trained, training}) {
    const found = {shape: null, problem: '', bytes: null, moments: [{kind: 'overview'}], hostRanks, trained};
    try {
      found.shape = model.shapeOf(worldSize, tensorRanks, stages);
      model.requireDivisible(trained, found.shape);
      found.bytes = Array.from({length: worldSize}, (_, rank) => model.bytesOf(trained, found.shape, training, rank));
      model.requireTensorOnOneHost(found.shape, hostRanks);
      found.moments = model.momentsOf(found.shape, training.microBatches);
    } catch (error) {
      if (!(error instanceof model.GridError)) throw error;
      found.problem = error.message;
    }
    return found;
  }

  function settings() {
    const trained = model.modelNamed(size.value);
    return {worldSize: ranks.value, tensorRanks: tensor.value, stages: pipeline.value, hostRanks: perHost.value, trained,
            training: {microBatches: microBatches.value, rows: samples.value * trained.context}};
  }

  const hostOf = rank => model.hostOf(rank, grid.hostRanks);
  const labelOf = rank => `rank ${rank}: ${model.placeText(model.placeOf(grid.shape, rank))}, on host ${hostOf(rank)}`;
  const sentOn = (rank, axis) => (grid.bytes ? readableBytes(grid.bytes[rank][axis]) : 'not possible');

  function reachOf(line) {
    const hosts = model.hostsOf(line, grid.hostRanks);
    if (hosts.length === 1) return {isAcross: false, text: `within host ${hosts[0]}`};
    return {isAcross: true, text: hosts.length > 3 ? `across ${hosts.length} hosts` : `across hosts ${listed(hosts)}`};
  }

  // The chosen rank's lines: name, bytes, where.
  const linesOfChosen = () => model.axes.map(axis => {
    const line = model.lineOf(grid.shape, chosen, axis);
    return {axis, line, name: model.groupName(axis, line), sent: sentOn(chosen, axis), reach: reachOf(line), isAlone: line.length === 1};
  });

  function showChosen() {
    byId('chosen').textContent = `In a step, ${labelOf(chosen).replace(/^(rank \d+): (.*), on (host \d+)$/, '$1 on $3 ($2)')} sends:`;
    const most = grid.bytes ? Math.max(1, ...model.axes.map(axis => grid.bytes[chosen][axis])) : 1;
    byId('axes').replaceChildren(...linesOfChosen().map(({axis, name, sent, reach, isAlone}) => el('li', {class: `axis-${axis}`, id: `axis-${axis}`},
        el('strong', {}, name), el('span', {class: 'sent'}, isAlone ? 'nothing' : sent),
        el('span', {class: isAlone || !reach.isAcross ? 'reach-text' : 'reach-text across'}, isAlone ? 'the rank is alone' : reach.text),
        el('span', {class: 'bar', 'aria-hidden': 'true'}, el('span', {style: `width: ${grid.bytes ? 100 * grid.bytes[chosen][axis] / most : 0}%`})),
        el('span', {class: 'soft'}, el('span', {class: 'shared'}, carries[axis][0]), carries[axis][1]))));
  }

  function choose(rank) {
    chosen = rank;
    showChosen();
    time.refresh();
    const lines = linesOfChosen().map(({name, sent, reach, isAlone}) => `${name}: ${isAlone ? 'alone' : `${sent}, ${reach.text}`}`);
    announce(`${[labelOf(rank), ...lines].join('. ')}.`);
  }

  const momentAt = t => grid.moments[Math.min(grid.moments.length - 1, Math.floor(t + 1e-6))];
  const passText = (pass, stage) => (pass ? `stage ${stage}: ${pass.pass}${pass.microBatch}` : `stage ${stage} waits`);

  function describePasses({stages, messages}) {
    const {shape} = grid, sentences = [`${stages.map(passText).join(', ').replace(/^s/, 'S')}.`];
    if (shape.tensor > 1) sentences.push('Tensor lines of the stages that compute add up activations in each block.');
    if (messages.length > 0) {
      const one = ({pass, from, to}) => `${pass === 'F' ? 'activations' : 'gradients of activations'} go from stage ${from} to ${to}`;
      sentences.push(messages.length > 2 ? `Pipeline lines hand on ${messages.length} messages.` : `Pipeline lines: ${messages.map(one).join(', ')}.`);
    }
    const last = stages.flatMap((pass, stage) => (pass?.isLast ? [stage] : []));
    if (shape.data > 1 && last.length > 0) {
      sentences.push(`Last pass of ${last.length > 1 ? 'stages' : 'stage'} ${listed(last)}: gradients leave along data lines, as they become complete.`);
    }
    return sentences.join(' ');
  }

  function describe(t) {
    if (!grid.shape || grid.problem) return '';
    const moment = momentAt(t), isAlone = grid.shape.data === 1;
    switch (moment.kind) {
      case 'overview': return 'Before the step: all lines, and those of the rank that is chosen in full colour.';
      case 'passes': return describePasses(moment);
      case 'norm': return ranks.value === 1 ? 'The norm of the gradients: one rank has them all.' :
        `The norm of the gradients: all ${ranks.value} ranks add up one number, of 8 bytes.`;
      case 'update': return isAlone ? 'Each rank updates its weights. Nobody talks.' : 'Each rank updates its share of its weights (ZeRO 1). Nobody talks.';
      case 'gather': return isAlone ? 'There are no other data ranks to get new weights from.' : 'Data lines: all-gather of the new weights.';
      default: return 'Pipeline lines: the first stage sends the last one the new values of the token table.';
    }
  }

  function draw(t) {
    chart?.show({chosen, moment: momentAt(t), talks: (axis, line) => model.talks(grid.shape, momentAt(t), axis, line)});
    byId('status').textContent = describe(t);
  }

  function blocksText(stage) {
    const [begin, end] = model.blocksOf(grid.trained, grid.shape, stage);
    return end - begin > 1 ? `blocks ${begin} to ${end - 1}` : `block ${begin}`;
  }

  // Once for each grid and width: what is highlighted changes in place, so that a rank keeps the focus.
  function drawChart() {
    const focused = document.activeElement?.dataset?.rank !== undefined;
    chart = grid.shape && drawing.chart({shape: grid.shape, ranksPerHost: grid.hostRanks, labelOf, choose, name: byId('grid-name').textContent,
        bytes: (axis, line) => (grid.bytes ? Math.max(...line.map(rank => grid.bytes[rank][axis])) : 0),
        blocks: grid.bytes && blocksText}, widthFor(byId('chart'), 1000));
    byId('chart').replaceChildren(...(chart ? [chart.picture] : []));
    if (focused) requestAnimationFrame(() => byId('chart').querySelector('[tabindex="0"]')?.focus());
  }

  function showStages() {
    const {shape} = grid, stages = Array.from({length: shape.pipeline}, (_, stage) => stage);
    const reach = axis => (shape[axis] === 1 ? 'alone' : model.isWithinHosts(shape, axis, grid.hostRanks) ? 'within hosts' : 'across hosts');
    const rows = stages.map(stage => {
      const [begin, end] = model.blocksOf(grid.trained, shape, stage), rank = model.rankAt(shape, {pipeline: stage, data: 0, tensor: 0});
      return [`stage ${stage}`, `${end - begin}`, ...model.axes.map(axis => sentOn(rank, axis))];
    });
    byId('stages').replaceChildren(scrolling('Stage by stage', table(byId('grid-name').textContent, ['', 'blocks', ...model.axes],
        [...rows, ['lines are', '', ...model.axes.map(reach)]])));
  }

  function rebuild() {
    grid = gridOf(settings());
    const {shape, problem} = grid, isPlayable = !problem;
    byId('problem').textContent = problem;
    byId('clock').hidden = byId('status').hidden = !isPlayable;
    for (const id of ['grid-name', 'details', 'legend', 'stages']) byId(id).hidden = !shape;
    if (!shape) return;
    chosen = Math.min(chosen, model.ranksOf(shape) - 1);
    byId('grid-name').textContent = `${count(ranks.value, 'rank')} = pipeline ${shape.pipeline} x data ${shape.data} x tensor ${shape.tensor}, on ` +
        count(hostOf(ranks.value - 1) + 1, 'host');
    showChosen();
    if (grid.bytes) showStages();
    else byId('stages').replaceChildren(el('p', {class: 'note'}, problem));
  }

  const legend = [['tensor', 'r0', 'tensor lines'], ['data', 'r2', 'data lines'], ['pipeline', 'r1', 'pipeline lines'], ['host', 'sunken', 'a host']];
  byId('legend').replaceChildren(...legend.map(([name, colour, text]) =>
      el('li', {}, el('span', {class: `swatch ${name}-key`, style: `background: var(--${colour})`}), text)));
  rebuild();
  time = clock(byId('clock'), {stops: () => [...grid.moments.keys()], perSecond: () => Math.min(6, Math.max(1.2, grid.moments.length / 16)), draw, describe,
                               ticks: () => Math.max(1, grid.moments.length - 1)});
  drawChart();
  const asked = gridOf({worldSize: 8, tensorRanks: 2, stages: 2, hostRanks: 4, trained: model.modelNamed('350m'), training: {microBatches: 8, rows: 4 * 1024}});
  const most = axis => Math.max(...asked.bytes.map(bytes => bytes[axis]));
  const names = {tensor: 'the tensor axis', data: 'the data axis', pipeline: 'the pipeline axis'};
  Lockstep.question.ask({
    when: 'Before you press Play:', choices: model.axes.map(axis => [axis, names[axis]]),
    text: 'eight ranks on two hosts of four train GPT-2 with 350 million parameters, two ranks along each axis. The lines of two axes ' +
        'fit within the hosts, and those of the third go across. Which axis should that be?',
    truth: () => {
      const least = model.axes.reduce((best, axis) => (most(axis) < most(best) ? axis : best)), sent = axis => readableBytes(most(axis));
      return {value: least, sentence: `A rank sends ${sent('tensor')} in a step for the sums of its tensor line, ${sent('data')} of gradients and ` +
          `new weights, and ${sent('pipeline')} along the pipeline. So it is ${names[least]}, which sends least.`};
    }});
  onResize(() => { drawChart(); time.refresh(); });
  time.refresh();
})();
