// The panel "step together": ranks that compute, reduce and step.
'use strict';

(function () {
  const {el, byId, number, toggle, announce, widthFor, onResize} = Lockstep.ui;
  const {general} = Lockstep.numbers;
  const {Job, ruleOf} = Lockstep.linearModel;
  const drawing = Lockstep.stepDrawing;

  // Five digits that matter: single and double precision agree in these.
  const digits = value => (Number.isFinite(value) ? general(Number(value.toPrecision(5))) : 'not finite');
  const rule = ruleOf();

  let job;
  const controls = byId('controls');
  const ranks = number(controls, {id: 'ranks', label: 'Ranks', min: 1, max: 8, value: 4, integer: true, change: () => restart()});
  const perRank = number(controls, {id: 'samples', label: 'Samples of a rank in each step', min: 1, max: 24, value: 6, integer: true,
                                    change: () => restart()});
  const rate = number(controls, {id: 'rate', label: 'Learning rate', min: 0.01, max: 0.6, step: 0.01, value: 0.1,
                                 change: value => { job.learningRate = value; }});
  const reduce = toggle(controls, {id: 'reduce', label: 'All-reduce the gradients', value: true, change: () => show()});

  const phases = [['computed', 'Each rank computes the gradient of its slice'], ['reduced', 'All-reduce: everybody gets the mean'],
                  ['ready', 'Each rank takes the step']];

  function restart(text) {
    job = new Job({worldSize: ranks.value, batchPerRank: perRank.value, learningRate: rate.value});
    show(text);
  }

  const nextLabel = () => {
    if (job.phase === 'ready') return 'Compute gradients';
    if (job.phase === 'computed' && reduce.value) return 'All-reduce';
    return 'Take the step';
  };

  const replicasText = () => (job.drift === 0 ? 'All replicas are equal.' :
      `Replicas differ by up to ${drawing.magnitudeOf(job.drift)}.`);

  // One phase. Returns what happened, as a sentence.
  function advance() {
    if (job.phase === 'ready') {
      job.compute();
      return `Step ${job.step + 1}: every rank has its own gradient, of ${job.batchPerRank} samples. Loss of the batch: ${digits(job.losses.at(-1).mean)}.`;
    }
    if (job.phase === 'computed' && reduce.value) {
      job.allReduce();
      return 'All-reduce: all ranks hold the same gradient, the mean of all slices.';
    }
    const wasReduced = job.phase === 'reduced';
    job.update();
    return `Step ${job.step} is taken with ${wasReduced ? 'the shared gradient' : 'each rank\u2019s own gradient'}. ${replicasText()}`;
  }

  function figures() {
    const last = job.losses.at(-1);
    const all = [['steps taken', String(job.step)],
                 ['data per step', `${job.batchPerRank} × ${job.worldSize} = ${job.batch} samples`],
                 ['loss of the batch', last ? digits(last.mean) : '–', 'loss'],
                 ['largest difference between replicas', job.drift === 0 ? '0' : drawing.magnitudeOf(job.drift), 'drift']];
    byId('figures').replaceChildren(...all.map(([name, value, id]) => el('div', {}, el('dt', {}, name), el('dd', {id}, value))));
  }

  function showPhases() {
    const now = phases.findIndex(([phase]) => phase === job.phase);
    byId('phases').replaceChildren(...phases.map(([phase, text], i) => {
      const isNext = i === (now + 1) % 3 || (!reduce.value && job.phase === 'computed' && phase === 'ready');
      const isOff = phase === 'reduced' && !reduce.value && job.phase !== 'reduced';
      return el('li', {class: isOff ? 'off' : i <= now && job.phase !== 'ready' ? 'done' : '',
                       'aria-current': isNext && !isOff ? 'step' : null}, text);
    }));
  }

  function show(text) {
    const hasGradient = job.phase !== 'ready';
    const mostGradient = hasGradient ? Math.max(...job.replicas.flatMap(({loss, gradient}) => (loss === null ? [1] : gradient.map(Math.abs))), 1e-12) : 1;
    if (job.phase !== 'reduced') show.scale = mostGradient;  // own and shared gradients of a step share a scale
    const mostWeight = Math.max(1.1, ...job.replicas.flatMap(({parameters}) => parameters.map(Math.abs)).filter(Number.isFinite).map(value => Math.min(value, 4)));
    figures();
    showPhases();
    byId('batch').replaceChildren(drawing.batch(job));
    byId('replicas').replaceChildren(...job.replicas.map((_, rank) =>
        drawing.replica(job, rank, {mostGradient: show.scale, mostWeight, rule, digits})));
    byId('chart').replaceChildren(drawing.losses(job, digits, widthFor(byId('chart'), 760)));
    byId('next').textContent = nextLabel();
    const isEqual = job.drift === 0;
    byId('broadcast').setAttribute('aria-disabled', String(isEqual));
    byId('status').textContent = text ?? `${reduce.value ? 'The all-reduce is on' : 'The all-reduce is off'}. ${replicasText()} Next: ${nextLabel().toLowerCase()}.`;
    announce(byId('status').textContent);
  }

  byId('next').addEventListener('click', () => show(advance()));
  byId('ten').addEventListener('click', () => {
    if (job.phase !== 'ready') while (job.phase !== 'ready') advance();
    const last = job.step + 10;
    while (job.step < last) advance();
    show(`Step ${job.step}: the loss of the batch was ${digits(job.losses.at(-1).mean)}. ${replicasText()}`);
  });
  byId('broadcast').addEventListener('click', () => {
    if (job.drift === 0) return show('All replicas are equal already: there is nothing to broadcast.');
    job.broadcast();
    return show('Rank 0 has sent its weights to all ranks. All replicas are equal.');
  });
  byId('over').addEventListener('click', () => restart('Start: all ranks have the same weights.'));
  onResize(() => show(byId('status').textContent));
  restart();
})();
