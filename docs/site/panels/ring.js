// The panel "ring": a collective on a topology, its clock and costs, and the replay of a trace.
'use strict';

(function () {
  const {el, byId, number, choice, clock, fileBox, scrolling, widthFor, onResize} = Lockstep.ui;
  const {readableTime, readableBinary, shortNumber, withDigits} = Lockstep.numbers;
  const costs = Lockstep.costModel, model = Lockstep.collectiveModel, real = Lockstep.ringModel, drawing = Lockstep.ringDrawing;

  const kOwnLink = 'own', kMiB = 2 ** 20;
  let replay = null;    // what a trace holds, in place of the model
  let traced = null;    // {ranks, calls}
  let schedule, cost;   // of the collective that is chosen
  let startOfStep;      // seconds at which each step begins; the last is the end

  const redraw = () => { rebuild(); time.refresh(); showCosts(); };
  const controls = byId('controls'), costControls = byId('cost-controls');
  const collective = choice(controls, {id: 'collective', label: 'Collective', value: 'all_reduce', options: model.collectives, change: redraw});
  const topology = choice(controls, {id: 'topology', label: 'Topology', value: 'ring', options: model.topologies, change: redraw});
  const ranks = number(controls, {id: 'ranks', label: 'Ranks', min: 2, max: 8, value: 4, integer: true, change: redraw});
  const size = number(costControls, {id: 'size', label: 'Buffer', min: 0.001, max: 4096, value: 100, scale: 'log', unit: 'MiB', change: redraw});
  const links = costs.knownLinks.map(({name}) => [name, name]);
  const link = choice(costControls, {id: 'link', label: 'Link', value: 'PCIe 3 x16', options: [...links, [kOwnLink, 'my own alpha and beta']],
                                     change: name => { takeLink(name); redraw(); }});
  const own = () => { link.value = kOwnLink; redraw(); };
  const alpha = number(costControls, {id: 'alpha', label: 'Alpha: latency of a message', min: 0.1, max: 10000, value: 5.7,
                                      scale: 'log', unit: 'µs', change: own});
  const beta = number(costControls, {id: 'beta', label: 'Beta: bandwidth one way', min: 0.01, max: 1000, value: 15.75, scale: 'log',
                                     unit: 'GB/s', change: own});
  const nameOf = (list, wanted) => list.find(([key]) => key === wanted)[1];
  const bytesNow = () => Math.round(size.value * kMiB);

  function takeLink(name) {
    const known = costs.knownLinks.find(each => each.name === name);
    if (!known) return;
    alpha.value = known.alphaUs;
    beta.value = Number(known.oneWayGbS.toPrecision(4));
  }

  // A known link has more digits than its field shows.
  function linkNow() {
    const known = costs.knownLinks.find(({name}) => name === link.value);
    return known ? costs.linkOf(known.alphaUs, known.oneWayGbS) : costs.linkOf(alpha.value, beta.value);
  }

  function rebuild() {
    schedule = replay ? model.scheduleOf('all_reduce', 'ring', replay.worldSize) : model.scheduleOf(collective.value, topology.value, ranks.value);
    cost = model.costOf(schedule, bytesNow(), linkNow());
    startOfStep = [0];
    for (const seconds of cost.stepSeconds) startOfStep.push(startOfStep.at(-1) + seconds);
  }

  // --- The clock: a turn of the model is a unit; a real run's unit is a second ---

  function stops() {
    if (!replay) return [...Array(schedule.turns.length + 1).keys()];
    const ends = replay.events.filter(event => event.segment === event.segments - 1).map(({end}) => end);
    return [...new Set([0, ...ends, ...replay.spans.map(span => span.end)])].sort((a, b) => a - b);
  }

  // At t: turns that are done, the turn under way, and the share of it that has passed.
  function momentOf(t) {
    const done = Math.min(Math.floor(t + 1e-9), schedule.turns.length);
    return {done, turn: schedule.turns[done], share: Math.max(0, t - done)};
  }

  function secondsAt(t) {
    const {turn, share} = momentOf(t);
    if (!turn) return cost.seconds;
    return startOfStep[turn.step] + cost.stepSeconds[turn.step] * (turn.turn + share) / schedule.steps[turn.step].turns.length;
  }

  function underWayAt(t) {
    if (!replay) {
      const {turn, share} = momentOf(t);
      return turn ? turn.messages.map(message => ({message, share})) : [];
    }
    const first = new Map();  // of the segments on one link, the one that left first
    for (const event of replay.events) {
      if (event.begin <= t && t < event.end && !(first.get(event.from)?.begin <= event.begin)) first.set(event.from, event);
    }
    return [...first.values()].map(({from, to, chunk, sum, begin, end}) =>
        ({message: {from, to, first: chunk, count: 1, sums: [sum]}, share: (t - begin) / (end - begin)}));
  }

  // Two short lines for the middle of a ring whose messages all go round it.
  function wordsAt(t) {
    if (replay) return ['real run', readableTime(t)];
    if (schedule.topology !== 'ring' || schedule.turns.length !== schedule.steps.length || schedule.worldSize === 2) return [];
    const {turn} = momentOf(t);
    if (!turn) return ['complete', `${cost.steps} steps`];
    const {phase, inPhase, ofPhase} = schedule.steps[turn.step];
    return [phase.toLowerCase(), `step ${inPhase} of ${ofPhase}`];
  }

  function showHoldings(t) {
    const {worldSize, partCount} = schedule;
    if (replay) {
      const before = stops().findLast(stop => stop < t - 1e-9) ?? t, {table, isNew} = real.holdingsAt(worldSize, replay.events, t, before);
      const goals = table.map((_, part) => model.goalOf('all_reduce', part, worldSize));
      return drawing.holdings(byId('holdings'), {sums: table, isNew, goals});
    }
    const {done} = momentOf(t), sums = done === 0 ? schedule.start : schedule.turns[done - 1].after;
    const before = done > 1 ? schedule.turns[done - 2].after : schedule.start, goals = sums[0].map((_, part) => model.goalOf(schedule.collective, part, worldSize));
    const sent = model.trafficOf(schedule, schedule.turns.slice(0, done).flatMap(({messages}) => messages), bytesNow());
    return drawing.holdings(byId('holdings'), {sums, isNew: sums.map((row, rank) => row.map((sum, part) => sum !== before[rank][part])), goals,
        sent: sent.map(each => readableBinary(each.sent)), head: partCount === worldSize ? undefined : 'has heard of'});
  }

  function draw(t) {
    const underWay = underWayAt(t), at = replay ? readableTime(t) : readableTime(secondsAt(t));
    const what = `${nameOf(model.collectives, schedule.collective)} on a ${schedule.topology} of ${schedule.worldSize} ranks`;
    byId('picture').replaceChildren(drawing.network(schedule, underWay, `${what}, after ${at}; ${underWay.length} messages under way`, wordsAt(t)));
    showHoldings(t);
    byId('replay').hidden = !replay;
    if (replay) byId('timeline').replaceChildren(drawing.timeline(replay, t, widthFor(byId('timeline'), 1000)));
    byId('status').textContent = describe(t);
  }

  const kStart = {
    scatter: 'only rank 0 has values, a part for each rank', broadcast: 'only rank 0 has the values', gather: 'every rank has its own part',
    all_gather: 'every rank has its own part', barrier: 'every rank knows only that it has arrived itself',
  };
  const kEnd = {
    all_reduce: 'all ranks hold the same sums', reduce_scatter: 'each rank has the sum of its part', all_gather: 'all ranks have all parts',
    broadcast: 'all ranks have the root\u2019s values', reduce: 'rank 0 has the sums', scatter: 'each rank has its part', gather: 'rank 0 has all parts',
    barrier: 'every rank knows that all have arrived',
  };

  function arrivalOf({adds}) {
    if (schedule.collective === 'barrier') return 'a message says which ranks have arrived';
    return `the values that arrive ${adds ? 'are added to' : 'replace'} the rank\u2019s own`;
  }

  function describe(t) {
    if (replay) {
      const arrived = replay.events.filter(event => event.end <= t && event.segment === event.segments - 1).length, at = `${readableTime(t)} of ${readableTime(replay.end)}`;
      const all = 2 * (replay.worldSize - 1) * replay.worldSize;
      return replay.hasMessages ? `Real run, ${at}: ${arrived} of ${all} chunks have arrived.` : `Real run, ${at}.`;
    }
    const {done, turn, share} = momentOf(t), at = `${readableTime(secondsAt(t))} of ${readableTime(cost.seconds)}`;
    if (t < 1e-9) return `Start: ${kStart[schedule.collective] ?? 'every rank has only its own values'}. It will take ${readableTime(cost.seconds)}.`;
    if (!turn) return `Complete after ${readableTime(cost.seconds)}: ${kEnd[schedule.collective]}.`;
    const shown = share > 1e-9 ? turn : schedule.turns[done - 1], {phase, inPhase, ofPhase, turns} = schedule.steps[shown.step];
    const step = `${phase}, ${ofPhase > 1 ? `step ${inPhase} of ${ofPhase}` : 'one step'}${turns.length > 1 ? `, message ${shown.turn + 1} of ${turns.length}` : ''}`;
    return `${at}. ${step}${share > 1e-9 ? '' : ' is done'}: ${arrivalOf(shown.messages[0])}.`;
  }

  // --- Costs of the chosen collective on all topologies ---

  function rowOf(name) {
    const each = name === schedule.topology ? schedule : model.scheduleOf(schedule.collective, name, schedule.worldSize);
    return {name, ...model.costOf(each, bytesNow(), linkNow())};
  }

  // "25.0", or "25.0 to 100" if steps differ.
  function perStep(all) {
    const [least, most] = [Math.min(...all), Math.max(...all)].map(bytes => shortNumber(bytes / kMiB));
    return least === most ? most : `${least} to ${most}`;
  }

  function showCosts() {
    byId('costs').hidden = byId('controls').hidden = byId('legend').hidden = replay !== null;
    if (replay) return;
    const rows = costs.algorithms.map(rowOf), longest = Math.max(...rows.map(row => row.seconds)), best = Math.min(...rows.map(row => row.seconds));
    const head = ['algorithm', 'steps', 'MiB a step', 'MiB each way, busiest', 'latency ms', 'bytes ms', 'together ms', 'µs', ''];
    const body = rows.map(row => el('tr', {class: `${row.seconds === best ? 'best' : ''} ${row.name === schedule.topology ? 'chosen' : ''}`, 'data-algorithm': row.name},
        el('th', {scope: 'row'}, row.name),
        [String(row.steps), perStep(row.perStep), shortNumber(row.oneWayBytes / kMiB), shortNumber(row.latencySeconds * 1e3),
         shortNumber(row.bytesSeconds * 1e3), shortNumber(row.seconds * 1e3), withDigits(row.seconds * 1e6, 0)].map(text => el('td', {}, text)),
        el('td', {class: 'bar-cell', 'aria-hidden': true}, el('span', {class: 'bar', style: `width: ${100 * row.seconds / longest}%`}))));
    byId('cost-table').replaceChildren(scrolling('Costs of the algorithms', el('table', {id: 'cost-rows'},
        el('caption', {}, `${nameOf(model.collectives, schedule.collective)} of ${readableBinary(bytesNow())} among ${schedule.worldSize} ranks, by t = alpha + bytes / beta in each step`),
        el('thead', {}, el('tr', {}, head.map(text => el('th', {scope: 'col'}, text || el('span', {class: 'hidden-text'}, 'time as a bar'))))),
        el('tbody', {}, body))));
    byId('crossover').replaceChildren(...crossoverWords());
  }

  function crossoverWords() {
    if (schedule.collective !== 'all_reduce') return ['Parts are equal, and a rank sends and receives at the same time. Messages without values by which a program\u2019s ranks confirm the root are left out.'];
    if (schedule.worldSize === 2) return ['With 2 ranks the ring has no more steps than the star: it is never slower.'];
    const bytes = costs.crossoverBytes(schedule.worldSize, linkNow());
    return [`The ring of ${schedule.worldSize} ranks is faster than the star from ${shortNumber(bytes / kMiB)} MiB (`,
            el('strong', {id: 'crossover-bytes'}, withDigits(bytes, 0)), ' bytes) up. That is about alpha times beta.'];
  }

  const time = clock(byId('clock'), {stops, perSecond: () => (replay ? replay.end / 12 : 0.9), draw, describe});

  // --- Real runs ---

  function showCall(index) {
    const next = real.replayOf(traced.ranks, traced.calls[index]);
    replay = next;
    rebuild();
    time.go(0);
    showCosts();
    return next;
  }

  function readFiles(files) {
    const read = Lockstep.traceFile.read(files), calls = real.callsOf(read);
    if (calls.length === 0) throw new Error('The trace has no all-reduce that all ranks took part in. Choose the files of all ranks.');
    real.replayOf(read, calls[0]);  // throws before anything changes
    traced = {ranks: read, calls};
    byId('calls').replaceChildren();
    if (calls.length > 1) {
      choice(byId('calls'), {id: 'call', label: 'Which all-reduce', value: '0', options: calls.slice(0, 500).map((call, i) => [String(i), call.name]),
                             change: index => showCall(Number(index))});
    }
    const shown = showCall(0), what = `${calls.length} all-reduce${calls.length > 1 ? 's' : ''} of ${read.length} ranks`;
    return shown.hasMessages ? `${what}. Press Play above to replay ${calls[0].name}: ${readableTime(shown.end)}.` :
        `${what}. The trace has no messages of them, so only entering and leaving is shown; ring_trace records messages.`;
  }

  fileBox(byId('file'), {id: 'trace', label: 'Trace files', hint: 'choose them, or drop them here.', read: readFiles,
                         leave: () => { replay = traced = null; byId('calls').replaceChildren(); rebuild(); time.go(0); showCosts(); }});
  const kRanksAsked = 4;
  Lockstep.question.ask({
    when: 'Before you press Play:', text: `how many chunks does each of ${kRanksAsked} ranks send in a ring\u2019s all-reduce, until all ranks hold all sums?`, unit: 'chunks',
    truth: () => {
      const sends = model.scheduleOf('all_reduce', 'ring', kRanksAsked).turns.flatMap(({messages}) => messages).filter(({from}) => from === 0);
      const added = sends.filter(({adds}) => adds).length, chunks = sends.reduce((sum, {count}) => sum + count, 0);
      return {value: chunks, sentence: `Each rank sends ${chunks} chunks: ${added} that the next rank adds to its own, then ${chunks - added} complete ones. ` +
          `That is ${shortNumber(chunks / kRanksAsked)} times the buffer.`};
    }});
  takeLink(link.value);
  onResize(() => time.refresh());
  redraw();
})();
