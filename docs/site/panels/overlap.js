// The panel "overlap": settings, timeline, table of buckets, and a real run's trace.
'use strict';

(function () {
  const {el, byId, number, choice, fileBox, scrolling, table, announce, widthFor, onResize} = Lockstep.ui;
  const {readableTime, shortNumber, percent} = Lockstep.numbers;
  const costs = Lockstep.costModel, model = Lockstep.overlapModel, drawing = Lockstep.overlapDrawing;

  let run = null;  // {steps, shown} of a trace

  const controls = byId('controls'), redraw = () => show();
  const size = choice(controls, {id: 'model', label: 'Model', value: '124m', change: redraw,
      options: [['tiny', 'tiny: 0.84 million weights'], ['small', 'small: 6.9 million'], ['tutorial', 'tutorial: 44.7 million'], ['124m', '124m: GPT-2, 124 million']]});
  const ranks = number(controls, {id: 'ranks', label: 'Ranks', min: 2, max: 64, value: 32, integer: true, change: redraw});
  const backward = number(controls, {id: 'backward', label: 'Backward pass', min: 1, max: 2000, value: 150, scale: 'log', unit: 'ms', change: redraw});
  const link = choice(controls, {id: 'link', label: 'Link', value: '100 GbE', change: redraw, options: costs.knownLinks.map(({name}) => [name, name])});
  // The sizes of chapters/06_gpt_ddp/ddp/bucket_layout.hpp, and one that holds any of the models.
  const kCourseMiB = {bucket: 25, first: 1}, kMostMiB = 1000;
  const bucket = number(controls, {id: 'bucket', label: 'Bucket size', min: 0.1, max: kMostMiB, value: kCourseMiB.bucket, scale: 'log', unit: 'MiB', change: redraw});
  const first = number(controls, {id: 'first', label: 'Size of the first bucket', min: 0.1, max: kMostMiB, value: kCourseMiB.first, scale: 'log', unit: 'MiB', change: redraw});

  // Both limits at once: a small first bucket leaves early, and with it there are always two buckets or more.
  const takeSizes = (bucketMiB, firstMiB) => { bucket.value = bucketMiB; first.value = firstMiB; show(); };
  byId('sizes').append(
      el('button', {type: 'button', id: 'one-bucket', onclick: () => takeSizes(kMostMiB, kMostMiB)}, 'One bucket'),
      el('button', {type: 'button', id: 'course-sizes', onclick: () => takeSizes(kCourseMiB.bucket, kCourseMiB.first)},
         `The course\u2019s sizes: ${kCourseMiB.bucket} and ${kCourseMiB.first} MiB`));

  function linkNamed(wanted) {
    const {alphaUs, oneWayGbS} = costs.knownLinks.find(({name}) => name === wanted);
    return costs.linkOf(alphaUs, oneWayGbS);
  }

  function settings(bytes) {
    return {model: size.value, worldSize: ranks.value, link: linkNamed(link.value), backwardSeconds: backward.value / 1e3,
            firstBytes: Math.min(first.value * model.kMiB, bytes), bytes};
  }

  const figures = all => byId('figures').replaceChildren(...all.map(([name, value, id]) => el('div', {}, el('dt', {}, name), el('dd', {id}, value))));
  const legend = all => byId('legend').replaceChildren(...all.map(([name, colour, className]) =>
      el('li', {}, el('span', {class: `swatch ${className ?? ''}`, style: colour ? `background: var(--${colour})` : null}), name)));

  function showModel() {
    const bytes = bucket.value * model.kMiB, line = model.timelineOf({...settings(bytes), firstBytes: first.value * model.kMiB});
    figures([['communication in all', readableTime(line.communication), 'communication'], ['hidden behind backward', readableTime(line.hidden), 'hidden'],
             ['exposed', readableTime(line.exposed), 'exposed'], ['share of the step', percent(line.share), 'share']]);
    const gain = line.withoutOverlap / line.end;
    byId('status').textContent = `${line.buckets.length} bucket${line.buckets.length > 1 ? 's' : ''} for ${shortNumber(line.parameterCount / 1e6)} million gradients. ` +
        `A step takes ${readableTime(line.end)}; without overlap it would take ${readableTime(line.withoutOverlap)}, ${shortNumber(gain)} times as long.`;
    byId('timeline').replaceChildren(drawing.step(line, widthFor(byId('timeline'), 1000)));
    legend([['forward', 'r5'], ['backward, by block', 'r0'], ['buckets on their way', 'r1'], ['exposed: everybody waits', null, 'exposed-key']]);
    const points = [];
    for (let power = -1; power <= 3.001; power += 0.05) {
      const each = 10 ** power * model.kMiB;
      points.push({bytes: each, exposed: model.timelineOf({...settings(each), firstBytes: Math.min(first.value * model.kMiB, each)}).exposed});
    }
    byId('sweep').replaceChildren(drawing.sweep(points, {bytes, exposed: line.exposed}, widthFor(byId('sweep'), 1000)));
    const rows = line.buckets.map(each => [String(each.index), String(each.parameters.length), shortNumber(each.bytes / 1e6), ...[each.readyAt, each.begin, each.end].map(readableTime)]);
    byId('buckets').replaceChildren(scrolling('Buckets', table('Buckets in the order in which they leave; times from the start of the step',
        ['bucket', 'tensors', 'MB', 'ready', 'leaves', 'everywhere'], rows)));
    announce(byId('status').textContent);
  }

  function showRun() {
    const step = run.steps[run.shown], {rows} = step, mean = pick => rows.reduce((sum, row) => sum + pick(row), 0) / rows.length;
    const communication = mean(row => row.communication), exposed = mean(row => row.exposed), atLeast = rows.some(row => row.isAtLeast) ? 'at least ' : '';
    figures([['communication of the buckets', readableTime(communication / 1e3), 'communication'], ['exposed, mean of the ranks', atLeast + readableTime(exposed / 1e3), 'exposed'],
             ['share of the step', atLeast + percent(exposed / step.end), 'share']]);
    byId('status').textContent = `Step ${step.step} of a real run on ${rows.length} ranks: ${rows[0].buckets.length} buckets, ${readableTime(step.end / 1e3)}. ` +
        'Exposed is the time from the start of the last bucket, when backward has nothing left to compute, to the end of backward. It includes waiting for slower ranks.';
    byId('timeline').replaceChildren(drawing.realStep(step, widthFor(byId('timeline'), 1000)));
    legend([['forward', 'r5'], ['backward, with waiting at its end', 'r0'], ['buckets', 'r1'], ['update, counts and loss', 'r7']]);
    byId('buckets').replaceChildren(scrolling('Buckets', table('Buckets on each rank; times from the start of the step', ['rank', 'bucket', 'MB', 'began', 'ended', 'took'],
        rows.flatMap(row => row.buckets.map((each, i) => [String(row.rank), String(i), shortNumber(each.bucketBytes / 1e6), ...[each.begin, each.end, each.end - each.begin].map(ms => readableTime(ms / 1e3))])))));
    announce(byId('status').textContent);
  }

  function show() {
    byId('settings').hidden = byId('sweep-section').hidden = run !== null;
    if (run) showRun();
    else showModel();
  }

  function readFiles(files) {
    const ranksRead = Lockstep.traceFile.read(files);
    if (!ranksRead.some(rank => rank.spans.some(span => span.category === 'backward'))) {
      throw new Error('The trace has no backward pass: it is not that of a training run. ./lockstep train leaves one in its run folder.');
    }
    const steps = model.stepsOf(ranksRead);
    if (steps.length === 0) throw new Error('The files have no step in common. Choose the files of one run only.');
    if (steps.every(step => step.rows.every(row => row.buckets.length === 0))) {
      throw new Error('The trace has no averaged gradients: it is that of a single rank. Train with two ranks or more.');
    }
    run = {steps, shown: steps.length - 1};
    byId('steps').replaceChildren();
    choice(byId('steps'), {id: 'step', label: 'Step', value: String(run.shown), options: steps.map((step, i) => [String(i), `step ${step.step}`]),
                           change: index => { run.shown = Number(index); show(); }});
    show();
    return `${steps.length} steps of ${ranksRead.length} ranks. The last is shown above.`;
  }

  fileBox(byId('file'), {id: 'trace', label: 'Trace files', hint: 'of all ranks: choose them, or drop them here.', read: readFiles,
                         leave: () => { run = null; byId('steps').replaceChildren(); show(); }});
  const sizesAsked = [1, 25, 1000];
  Lockstep.question.ask({
    when: 'Before you move a slider:', text: 'GPT-2 trains on 32 ranks that 100 GbE connects. Which bucket size leaves the least communication exposed?',
    choices: sizesAsked.map(mib => [String(mib), `${mib} MiB`]),
    truth: () => {
      const asked = {model: '124m', worldSize: 32, link: linkNamed('100 GbE'), backwardSeconds: 0.15};
      const lines = sizesAsked.map(mib => ({mib, ...model.timelineOf({...asked, firstBytes: model.kMiB, bytes: mib * model.kMiB})}));
      const told = lines.map(({mib, exposed, buckets}) => `${mib} MiB (${buckets.length} buckets) leave ${readableTime(exposed)}`);
      return {value: String(lines.reduce((best, line) => (line.exposed < best.exposed ? line : best)).mib),
              sentence: `Of communication, ${told.slice(0, -1).join(', ')} and ${told.at(-1)} exposed, if backward takes ${readableTime(asked.backwardSeconds)}.`};
    }});
  onResize(show);
  show();
})();
