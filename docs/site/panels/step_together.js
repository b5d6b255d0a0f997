// The panel "step together": ranks that compute, reduce and step.
'use strict';

(function () {
  const {el, byId, number, toggle, announce, widthFor, onResize, wantsStillness} = Lockstep.ui;
  const {general} = Lockstep.numbers;
  const {Data, Job, lossAndGradient, ruleOf} = Lockstep.linearModel;
  const drawing = Lockstep.stepDrawing;

  // Five digits that matter: single and double precision agree in these.
  const digits = value => (Number.isFinite(value) ? general(Number(value.toPrecision(5))) : 'not finite');
  const rule = ruleOf(), validation = new Data(2).slice(0, 64);

  // before: each rank's gradient before the all-reduce, and weights before the step; trails: where the weights have been.
  let job, before, trails;
  // How much of the mean is in the gradients that are shown, and how much of the step in the weights: 0 to 1.
  let mixed = 1, moved = 1, frame = 0;
  const controls = byId('controls');
  const ranks = number(controls, {id: 'ranks', label: 'Ranks', min: 1, max: 8, value: 4, integer: true, change: () => restart()});
  const perRank = number(controls, {id: 'samples', label: 'Samples of a rank in each step', min: 1, max: 24, value: 6, integer: true,
                                    change: () => restart()});
  const rate = number(controls, {id: 'rate', label: 'Learning rate', min: 0.01, max: 0.6, step: 0.01, value: 0.1,
                                 change: value => { job.learningRate = value; }});
  const reduce = toggle(byId('bar'), {id: 'reduce', label: 'All-reduce the gradients', value: true, change: () => show()});
  const slowly = toggle(byId('speed'), {id: 'slowly', label: 'Slowly', value: false});

  const phases = [['computed', 'Own gradients'], ['reduced', 'All-reduce: the mean'], ['ready', 'The step']];

  function restart(text) {
    job = new Job({worldSize: ranks.value, batchPerRank: perRank.value, learningRate: rate.value});
    trails = job.replicas.map(({parameters}) => [[...parameters]]);
    still();
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
      before = job.replicas.map(({gradient}) => [...gradient]);
      job.allReduce();
      return 'All-reduce: all ranks hold the same gradient, the mean of all slices.';
    }
    const wasReduced = job.phase === 'reduced';
    before = job.replicas.map(({parameters}) => [...parameters]);
    job.update();
    job.replicas.forEach(({parameters}, rank) => trails[rank].push([...parameters]));
    return `Step ${job.step} is taken with ${wasReduced ? 'the shared gradient' : 'each rank\u2019s own gradient'}. ${replicasText()}`;
  }

  function lossesOnNewData() {
    const [saved, ...others] = job.replicas.map(({parameters}) => lossAndGradient(parameters, validation).loss);
    return job.drift === 0 ? digits(saved) : `${digits(saved)} (others up to ${digits(Math.max(...others))})`;
  }

  function figures() {
    const last = job.losses.at(-1);
    const all = [['steps taken', String(job.step)],
                 ['data per step', `${job.batchPerRank} × ${job.worldSize} = ${job.batch} samples`],
                 ['loss of the batch', last ? digits(last.mean) : '–', 'loss'],
                 ['loss on new data of the model that rank 0 saves', lossesOnNewData(), 'saved'],
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

  const mix = (from, to, share) => to.map((value, i) => from[i] + share * (value - from[i]));

  // What is drawn of a replica while gradients become the mean, or weights move.
  function between({gradient, parameters}, rank) {
    return {shownGradient: job.phase === 'reduced' && mixed < 1 ? mix(before[rank], gradient, mixed) : gradient, isMean: mixed === 1,
            shownWeights: job.phase === 'ready' && moved < 1 ? mix(before[rank], parameters, moved) : parameters};
  }

  // At once what a movement would end with.
  function still() {
    cancelAnimationFrame(frame);
    mixed = moved = 1;
  }

  // Draws from 0 to 1, within a second or so. Without motion: only the end.
  function play(set) {
    if (wantsStillness()) return;
    const begin = performance.now(), milliseconds = slowly.value ? 5000 : 1100;
    const tick = now => {
      const share = Math.min(1, (now - begin) / milliseconds);
      set(share);
      show.redraw();
      if (share < 1) frame = requestAnimationFrame(tick);
    };
    set(0);
    frame = requestAnimationFrame(tick);
  }

  function show(text) {
    const hasGradient = job.phase !== 'ready';
    const mostGradient = hasGradient ? Math.max(...job.replicas.flatMap(({loss, gradient}) => (loss === null ? [1] : gradient.map(Math.abs))), 1e-12) : 1;
    if (job.phase !== 'reduced') show.scale = mostGradient;  // own and shared gradients of a step share a scale
    const mostWeight = Math.max(1.1, ...job.replicas.flatMap(({parameters}) => parameters.map(Math.abs)).filter(Number.isFinite).map(value => Math.min(value, 4)));
    figures();
    showPhases();
    byId('batch').replaceChildren(drawing.batch(job));
    show.redraw = () => {
      byId('replicas').replaceChildren(...job.replicas.map((replica, rank) =>
          drawing.replica(job, rank, {mostGradient: show.scale, mostWeight, rule, digits, ...between(replica, rank)})));
      byId('mix').value = job.phase === 'reduced' ? 100 * mixed : 0;
    };
    show.redraw();
    byId('mix').setAttribute('aria-disabled', String(job.phase !== 'reduced'));
    byId('plane').replaceChildren(drawing.plane(trails, rule, widthFor(byId('plane'), 420)));
    byId('chart').replaceChildren(drawing.losses(job, digits, widthFor(byId('chart'), 420)));
    byId('next').textContent = nextLabel();
    const isEqual = job.drift === 0;
    byId('broadcast').setAttribute('aria-disabled', String(isEqual));
    byId('status').textContent = text ?? `${reduce.value ? 'The all-reduce is on' : 'The all-reduce is off'}. ${replicasText()} Next: ${nextLabel().toLowerCase()}.`;
    announce(byId('status').textContent);
  }

  // How far apart replicas are after some steps without the all-reduce, and after as many more with it.
  function driftWithout(settings, steps) {
    const trial = new Job(settings);
    return [false, true].map(isReduced => {
      for (let i = 0; i < steps; ++i) {
        trial.compute();
        if (isReduced) trial.allReduce();
        trial.update();
      }
      return trial.drift;
    });
  }

  byId('next').addEventListener('click', () => {
    still();
    const said = advance();
    if (job.phase === 'reduced') play(share => { mixed = share; });
    if (job.phase === 'ready') play(share => { moved = share; });
    show(said);
  });
  byId('mix').addEventListener('input', () => {
    cancelAnimationFrame(frame);
    mixed = job.phase === 'reduced' ? Number(byId('mix').value) / 100 : 1;  // before the all-reduce there is no mean
    show.redraw();
  });
  byId('ten').addEventListener('click', () => {
    still();
    if (job.phase !== 'ready') while (job.phase !== 'ready') advance();
    const last = job.step + 10;
    while (job.step < last) advance();
    show(`Step ${job.step}: the loss of the batch was ${digits(job.losses.at(-1).mean)}. ${replicasText()}`);
  });
  byId('broadcast').addEventListener('click', () => {
    if (job.drift === 0) return show('All replicas are equal already: there is nothing to broadcast.');
    job.broadcast();
    job.replicas.forEach(({parameters}, rank) => trails[rank].push([...parameters]));
    return show('Rank 0 has sent its weights to all ranks. All replicas are equal.');
  });
  byId('over').addEventListener('click', () => restart('Start: all ranks have the same weights.'));
  const asked = {worldSize: 4, batchPerRank: 6}, kStepsAsked = 10;
  Lockstep.question.ask({
    below: document.querySelector('.mixing'),
    when: 'Before you switch the all-reduce off:', text: `${asked.worldSize} ranks take ${kStepsAsked} steps without the all-reduce, then ${kStepsAsked} steps with it. ` +
        'What has the all-reduce done to the differences between the replicas?',
    choices: [['gone', 'They are gone'], ['smaller', 'They are smaller'], ['same', 'They are the same']],
    truth: () => {
      const [apart, together] = driftWithout(asked, kStepsAsked), ratio = together / apart;
      return {value: together === 0 ? 'gone' : ratio < 0.99 ? 'smaller' : 'same', sentence: `After the first ${kStepsAsked} steps the replicas ` +
          `differ by up to ${drawing.magnitudeOf(apart)}, and after the ${kStepsAsked} steps with the all-reduce by up to ${drawing.magnitudeOf(together)}. Equal steps from different places end in different places.`};
    }});
  onResize(() => show(byId('status').textContent));
  restart();
})();
