// The panel "ring": settings, clock, costs, and the replay of a trace.
'use strict';

(function () {
  const {el, byId, number, choice, clock, fileBox, scrolling, widthFor, onResize} = Lockstep.ui;
  const {readableTime, readableBytes, shortNumber, withDigits} = Lockstep.numbers;
  const costs = Lockstep.costModel, model = Lockstep.ringModel, drawing = Lockstep.ringDrawing;

  const kOwnLink = 'own';
  let replay = null;   // what a trace holds, in place of the model
  let traced = null;   // {ranks, calls}
  let scene = null;    // what is drawn at present

  const redraw = () => { rebuild(); time.refresh(); showCosts(); };
  const controls = byId('controls');
  const ranks = number(controls, {id: 'ranks', label: 'Ranks', min: 2, max: 8, value: 4, integer: true, change: redraw});
  const bytes = number(controls, {id: 'bytes', label: 'Bytes in the buffer', min: 4, max: 4e9, value: 100e6, scale: 'log',
                                  integer: true, unit: 'B', change: redraw});
  const links = costs.knownLinks.map(({name}) => [name, name]);
  const link = choice(controls, {id: 'link', label: 'Link', value: 'PCIe 3 x16', options: [...links, [kOwnLink, 'my own alpha and beta']],
                                 change: name => { takeLink(name); redraw(); }});
  const own = () => { link.value = kOwnLink; redraw(); };
  const alpha = number(controls, {id: 'alpha', label: 'Alpha: latency of a message', min: 0.1, max: 10000, value: 5.7,
                                  scale: 'log', unit: 'µs', change: own});
  const beta = number(controls, {id: 'beta', label: 'Beta: bandwidth one way', min: 0.01, max: 1000, value: 15.75, scale: 'log',
                                 unit: 'GB/s', change: own});

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
    if (replay) {
      const ends = replay.events.filter(event => event.segment === event.segments - 1).map(({end}) => end);
      const stops = [...new Set([0, ...ends, ...replay.spans.map(span => span.end)])].sort((a, b) => a - b);
      scene = {worldSize: replay.worldSize, ring: replay.events, end: replay.end, stops, toSeconds: t => t,
               perSecond: replay.end / 12};
      return;
    }
    const worldSize = ranks.value, now = linkNow(), bytesNow = bytes.value;
    const steps = 2 * (worldSize - 1), seconds = costs.messageSeconds(now, bytesNow / worldSize);
    const ring = model.ringEvents(worldSize, bytesNow, now);
    const star = model.starEvents(worldSize, bytesNow, now);
    const mesh = model.meshEvents(worldSize, bytesNow, now);
    const endOf = events => Math.max(...events.map(event => event.end));
    const ringEnd = steps * seconds, longest = Math.max(ringEnd, endOf(star), endOf(mesh));
    // One unit of the clock is one step of the ring; what is left after its end is four units more.
    const rest = longest > ringEnd * (1 + 1e-9) ? 4 : 0;
    const toSeconds = t => (t <= steps ? t * seconds : ringEnd + (longest - ringEnd) * (t - steps) / 4);
    scene = {worldSize, ring, star, mesh, ends: {ring: ringEnd, star: endOf(star), mesh: endOf(mesh)}, steps, end: longest,
             stops: [...Array(steps + rest + 1).keys()], toSeconds, perSecond: 0.9};
  }

  const progress = (kind, seconds) => {
    const end = scene.ends[kind];
    return seconds >= end * (1 - 1e-9) ? `done after ${readableTime(end)}` : `needs ${readableTime(end)}`;
  };

  function figure(kind, title, seconds) {
    const isDone = scene.ends && seconds >= scene.ends[kind] * (1 - 1e-9);
    const said = scene.ends ? progress(kind, seconds) : `${readableTime(seconds)} of ${readableTime(scene.end)}`;
    const events = scene[kind];
    return el('figure', {class: `card${isDone ? ' done' : ''}`, id: `figure-${kind}`},
        el('figcaption', {}, el('strong', {}, title), el('span', {}, said)),
        drawing.network(kind, scene.worldSize, events, seconds,
                        `${title} of ${scene.worldSize} ranks, ${said}; ` +
                        `${events.filter(event => event.begin <= seconds && seconds < event.end).length} messages under way`, kind === 'ring' ? phaseAt(seconds) : []));
  }

  // Two short lines for the middle of the ring.
  function phaseAt(seconds) {
    if (replay) return ['real run', readableTime(seconds)];
    const others = scene.worldSize - 1, step = Math.floor(seconds / scene.ends.ring * scene.steps + 1e-9);
    if (step >= scene.steps) return ['complete', `${scene.steps} steps`];
    return step < others ? ['reduce-scatter', `step ${step + 1} of ${others}`] : ['all-gather', `step ${step - others + 1} of ${others}`];
  }

  function draw(t) {
    const seconds = scene.toSeconds(t), before = scene.stops.findLast(stop => stop < t - 1e-9) ?? -1;
    const figures = [figure('ring', 'Ring', seconds)];
    if (!replay) figures.push(figure('star', 'Star', seconds), figure('mesh', 'Mesh', seconds));
    byId('drawings').replaceChildren(...figures);
    byId('drawings').classList.toggle('alone', replay !== null);
    drawing.holdings(byId('holdings'), model.holdingsAt(scene.worldSize, scene.ring, seconds, before < 0 ? seconds : scene.toSeconds(before)));
    byId('replay').hidden = !replay;
    if (replay) byId('timeline').replaceChildren(drawing.timeline(replay, seconds, widthFor(byId('timeline'), 1000)));
    byId('status').textContent = describe(t);
  }

  function describe(t) {
    const seconds = scene.toSeconds(t), at = `${readableTime(seconds)} of ${readableTime(scene.end)}`;
    if (replay) {
      const arrived = scene.ring.filter(event => event.end <= seconds && event.segment === event.segments - 1).length;
      const all = 2 * (scene.worldSize - 1) * scene.worldSize;
      return replay.hasMessages ? `Real run, ${at}: ${arrived} of ${all} chunks have arrived.` : `Real run, ${at}.`;
    }
    const others = scene.worldSize - 1, step = Math.floor(t + 1e-9);
    if (t < 1e-9) return 'Start: every rank has only its own values. The ring begins with reduce-scatter.';
    if (step >= scene.steps) {
      const slower = ['star', 'mesh'].filter(kind => scene.ends[kind] > seconds * (1 + 1e-9));
      const rest = slower.length ? ` The ${slower.join(' and the ')} ${slower.length > 1 ? 'are' : 'is'} still sending.` : '';
      return `${at}. The ring is complete: all ranks hold the same sums.${rest}`;
    }
    const isFirst = step < others, inPhase = (isFirst ? step : step - others) + 1;
    const phase = isFirst ? 'Reduce-scatter' : 'All-gather';
    const isStop = Math.abs(t - step) < 1e-9;
    if (isStop && step === others) return `${at}. Reduce-scatter is done: each rank holds one complete chunk. All-gather begins.`;
    const done = isStop ? `step ${inPhase - 1} of ${others} is done` : `step ${inPhase} of ${others}`;
    return `${at}. ${phase}, ${done}: the chunk that arrives ${isFirst ? 'is added to the rank\u2019s own' : 'replaces the rank\u2019s own'}.`;
  }

  function showCosts() {
    byId('costs').hidden = byId('controls').hidden = replay !== null;
    const now = linkNow(), worldSize = ranks.value;
    const rows = costs.algorithms.map(name => ({name, ...costs.allReduceTime(name, worldSize, bytes.value, now)}));
    const longest = Math.max(...rows.map(row => row.seconds)), best = Math.min(...rows.map(row => row.seconds));
    const head = ['algorithm', 'steps', 'MB a step', 'MB each way, busiest', 'latency ms', 'bytes ms', 'together ms', 'µs', ''];
    const body = rows.map(row => el('tr', {class: row.seconds === best ? 'best' : null, 'data-algorithm': row.name},
        el('th', {scope: 'row'}, row.name),
        [String(row.steps), shortNumber(row.bytesPerStep / 1e6), shortNumber(row.oneWayBytes / 1e6),
         shortNumber(row.latencySeconds * 1e3), shortNumber(row.bytesSeconds * 1e3), shortNumber(row.seconds * 1e3),
         withDigits(row.seconds * 1e6, 0)].map(text => el('td', {}, text)),
        el('td', {class: 'bar-cell', 'aria-hidden': true}, el('span', {class: 'bar', style: `width: ${100 * row.seconds / longest}%`}))));
    byId('cost-table').replaceChildren(scrolling('Costs of the algorithms', el('table', {id: 'cost-rows'},
        el('caption', {}, `${readableBytes(bytes.value)} on each of ${worldSize} ranks, by t = alpha + bytes / beta`),
        el('thead', {}, el('tr', {}, head.map(text => el('th', {scope: 'col'}, text || el('span', {class: 'hidden-text'}, 'time as a bar'))))),
        el('tbody', {}, body))));
    const crossover = costs.crossoverBytes(worldSize, now);
    byId('crossover').replaceChildren(worldSize === 2 ?
        'With 2 ranks the ring has no more steps than the star: it is never slower.' :
        el('span', {}, 'The ring of ', `${worldSize} ranks is faster than the star from `,
           el('strong', {id: 'crossover-bytes'}, withDigits(crossover, 0)), ' bytes up. That is about alpha times beta.'));
  }

  const time = clock(byId('clock'), {stops: () => scene.stops, perSecond: () => scene.perSecond, draw, describe});

  function showCall(index) {
    const next = model.replayOf(traced.ranks, traced.calls[index]);
    replay = next;
    rebuild();
    time.go(0);
    showCosts();
    return next;
  }

  function readFiles(files) {
    const read = Lockstep.traceFile.read(files), calls = model.callsOf(read);
    if (calls.length === 0) throw new Error('The trace has no all-reduce that all ranks took part in. Choose the files of all ranks.');
    model.replayOf(read, calls[0]);  // throws before anything changes
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
  const asked = {ranks: 4, bytes: 100e6};
  Lockstep.question.ask({
    when: 'Before you press Play:', text: `how many chunks does each of ${asked.ranks} ranks send, until all ranks hold all sums?`, unit: 'chunks',
    truth: () => {
      const sends = model.ringEvents(asked.ranks, asked.bytes, linkNow()).filter(({from}) => from === 0);
      const added = sends.filter(({step}) => model.isReduceScatter(step, asked.ranks)).length;
      const buffers = sends.reduce((sum, each) => sum + each.bytes, 0) / asked.bytes;
      return {value: sends.length, sentence: `Each rank sends ${sends.length} chunks: ${added} that the next rank adds to its own, then ` +
          `${sends.length - added} complete ones. That is ${shortNumber(buffers)} times the buffer.`};
    }});
  takeLink(link.value);
  onResize(() => time.refresh());
  redraw();
})();
