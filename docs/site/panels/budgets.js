// The panel "budgets": chapter 00's four calculators.
'use strict';

(function () {
  const {el, byId, number, choice, toggle, table, scrolling, announce, widthFor, onResize} = Lockstep.ui;
  const {withDigits, general, shortNumber, percent} = Lockstep.numbers;
  const costs = Lockstep.costModel, budget = Lockstep.budgetModel, drawing = Lockstep.budgetDrawing;

  const kCards = [24, 40, 80, 141], kUsableShare = 0.9, kWorldSizes = [1, 2, 4, 8, 16, 64], kMb = 1e6;
  const gb = bytes => withDigits(bytes / 1e9, 1);
  const sections = [showMemory, showTime, showLinks, showStrategies];
  const showAll = () => sections.forEach(show => show());

  const at = byId('model');
  const whole = (id, label, min, max, value, change = showAll) => number(at, {id, label, min, max, value, scale: 'log', integer: true, change});
  const parameters = number(at, {id: 'parameters', label: 'Parameters', min: 0.001, max: 2000, value: 7, scale: 'log', unit: 'billion', change: showAll});
  const layers = whole('layers', 'Layers', 1, 200, 32), hidden = whole('hidden', 'Channels', 64, 32768, 4096), heads = whole('heads', 'Attention heads', 1, 256, 32);
  const sequence = whole('sequence', 'Positions per sample', 16, 131072, 1024), microBatch = whole('micro-batch', 'Samples at once on each GPU', 1, 256, 1);
  const precision = choice(at, {id: 'precision', label: 'Precision', value: 'fp32', options: [['fp32', 'float32'], ['mixed', 'mixed: 16 bits and a float32 copy']], change: showAll});
  const optimizer = choice(at, {id: 'optimizer', label: 'Optimizer', value: 'adam', options: [['sgd', 'SGD'], ['momentum', 'SGD with momentum'], ['adam', 'Adam']], change: showAll});
  const recompute = choice(at, {id: 'recompute', label: 'Activations computed again', value: 'nothing',
                                options: [['nothing', 'none'], ['attention', 'those of attention'], ['everything', 'all but a layer\u2019s input']], change: showAll});

  const memoryGpus = number(byId('memory-controls'), {id: 'memory-gpus', label: 'GPUs in the picture', min: 1, max: 512, value: 8, scale: 'log', integer: true, change: showMemory});

  const timeAt = byId('time-controls');
  const knows = choice(timeAt, {id: 'knows', label: 'Known', isOpen: true, value: 'tokens', options: [['tokens', 'the tokens to train on'], ['hours', 'the hours on one GPU']], change: showTime});
  const tokens = number(timeAt, {id: 'tokens', label: 'Tokens', min: 0.001, max: 100000, value: 140, scale: 'log', unit: 'billion', change: showTime});
  const hours = number(timeAt, {id: 'hours', label: 'Hours on one GPU', min: 0.1, max: 100000, value: 24, scale: 'log', unit: 'hours', change: showTime});
  const tflops = number(timeAt, {id: 'tflops', label: 'Peak of one GPU', min: 1, max: 5000, value: 312, scale: 'log', unit: 'TFLOP/s', change: showTime});
  const utilisation = number(timeAt, {id: 'utilisation', label: 'Share of the peak that is reached', min: 0.01, max: 1, step: 0.01, value: 0.4, change: showTime});
  const efficiency = number(timeAt, {id: 'efficiency', label: 'What a GPU is worth among others', min: 0.01, max: 1, step: 0.01, value: 0.9, change: showTime});
  const timeGpus = number(timeAt, {id: 'time-gpus', label: 'GPUs', min: 1, max: 100000, value: 16, scale: 'log', integer: true, change: showTime});
  const twice = toggle(timeAt, {id: 'twice', label: 'Forward is computed twice (8 N D)', value: false, change: showTime});

  const linkAt = byId('link-controls');
  const megabytes = number(linkAt, {id: 'megabytes', label: 'Buffer on each GPU', min: 0.001, max: 100000, value: 100, scale: 'log', unit: 'MB', change: showLinks});
  const linkGpus = number(linkAt, {id: 'link-gpus', label: 'GPUs', min: 1, max: 1024, value: 4, scale: 'log', integer: true, change: showLinks});
  const stepMs = number(linkAt, {id: 'step-ms', label: 'Computing of one step', min: 0.1, max: 100000, value: 50, scale: 'log', unit: 'ms', change: showLinks});
  const link = choice(linkAt, {id: 'link', label: 'Link of the table below', value: 'PCIe 3 x16', options: costs.knownLinks.map(({name}) => [name, name]), change: showLinks});

  const strategyAt = byId('strategy-controls');
  const worldSize = number(strategyAt, {id: 'ranks', label: 'Ranks', min: 1, max: 16, value: 4, integer: true, change: showStrategies});
  const microBatches = number(strategyAt, {id: 'micro-batches', label: 'Micro-batches in a batch', min: 1, max: 32, value: 4, integer: true, change: showStrategies});

  const modelNow = () => ({parameters: parameters.value * 1e9, layers: layers.value, hidden: hidden.value, heads: heads.value, sequence: sequence.value});
  const trainingNow = () => ({precision: precision.value, optimizer: optimizer.value, recompute: recompute.value, microBatch: microBatch.value});
  // Of the model that the question is about: the settings at the start, whatever they are now.
  const atStart = [modelNow(), trainingNow()];
  const plainUse = (gpus, level = 0) => budget.memoryUse(...atStart, level, gpus);
  const named = (id, caption, head, rows) => {
    const made = table(caption, head, rows);
    made.id = id;
    return scrolling(caption, made);
  };

  function showMemory() {
    const model = modelNow(), training = trainingNow();
    const rows = budget.shardings.map(({name, level}) => ({name, use: budget.memoryUse(model, training, level, memoryGpus.value)}));
    byId('memory-picture').replaceChildren(drawing.memory(rows, kCards.map(card => ({card, usable: card * kUsableShare})), widthFor(byId('memory-picture'), 1000)));
    byId('memory-legend').replaceChildren(...drawing.parts.map(([key, name]) => el('li', {}, el('span', {class: `swatch part-${key}`}), name)));
    const [full, mixed] = ['fp32', 'mixed'].map(each => budget.memoryUse(model, {...training, precision: each}, 0, 1));
    const fit = ({level}) => kCards.map(card => budget.smallestWorldSize(model, training, level, card * 1e9 * kUsableShare) ?? 'never');
    byId('memory-tables').replaceChildren(
        named('more-gpus', `GB on each of P GPUs, ${precision.value}`, ['P =', ...kWorldSizes.map(String)],
              budget.shardings.map(({name, level}) => [name, ...kWorldSizes.map(count => gb(budget.memoryUse(model, training, level, count).total))])),
        named('parts', 'GB on one GPU', ['', 'fp32', 'mixed'], [...drawing.parts, ['total', 'together']].map(([key, name]) => [name, gb(full[key]), gb(mixed[key])])),
        named('fit', 'The fewest GPUs that hold it, of', ['', ...kCards.map(card => `${card} GB`)], budget.shardings.map(way => [way.name, ...fit(way).map(String)])));
    announce(`${memoryGpus.value} ${memoryGpus.value === 1 ? 'GPU' : 'GPUs'}: ${rows.map(({name, use}) => `${name} ${gb(use.total)} GB`).join('; ')}`);
  }

  function showTime() {
    const isHours = knows.value === 'hours';
    const work = {parameters: parameters.value * 1e9, tokens: tokens.value * 1e9, peakFlops: tflops.value * 1e12, utilisation: utilisation.value,
                  efficiency: efficiency.value, flopsPerParameterAndToken: twice.value ? 8 : 6};
    const alone = isHours ? hours.value : budget.trainingSeconds(work, 1) / 3600;
    for (const [control, isUsed] of [[tokens, !isHours], [tflops, !isHours], [utilisation, !isHours], [hours, isHours]]) {
      control.slider.closest('.control').hidden = !isUsed;
    }
    byId('twice').closest('.control').hidden = isHours;
    byId('time-status').textContent = isHours ?
        `a job of ${general(hours.value)} hours on one GPU; each of several does ${general(work.efficiency)} of what it does alone` :
        `${work.flopsPerParameterAndToken} x ${general(work.parameters / 1e9)} billion parameters x ${general(work.tokens / 1e9)} billion tokens = ` +
        `${general(budget.trainingFlops(work))} FLOP; a GPU does ${general(work.utilisation)} x ${general(tflops.value)} TFLOP per second`;
    const counts = [...new Set([1, 8, 64, 512, timeGpus.value])].sort((a, b) => a - b);
    byId('time-table').replaceChildren(named('times', 'Time and bill', ['GPUs', 'speedup', 'time', 'GPU-hours'], counts.map(count => {
      const faster = budget.speedup(count, work.efficiency), needed = alone / faster;
      return [String(count), withDigits(faster, 1), budget.readableHours(needed), withDigits(needed * count, 1)];
    })));
  }

  function showLinks() {
    const bytes = megabytes.value * kMb, gpus = linkGpus.value, ring = costs.allReduceCost('ring', gpus, bytes);
    const known = costs.knownLinks.find(({name}) => name === link.value), chosen = costs.linkOf(known.alphaUs, known.oneWayGbS);
    const all = costs.knownLinks.map(each => {
      const envelopeMs = bytes / (each.labelGbS * 1e9) * 1e3;
      const ringMs = ring.steps * costs.messageSeconds(costs.linkOf(each.alphaUs, each.oneWayGbS), ring.bytesPerStep) * 1e3;
      return [each.name, shortNumber(each.labelGbS), shortNumber(each.oneWayGbS), shortNumber(envelopeMs), shortNumber(ringMs),
              withDigits(ringMs / envelopeMs, 1), percent(ringMs / (stepMs.value + ringMs))];
    });
    const rows = costs.algorithms.map(name => {
      const cost = costs.allReduceCost(name, gpus, bytes), latencyMs = cost.steps * chosen.alphaSeconds * 1e3;
      const allMs = cost.steps * costs.messageSeconds(chosen, cost.bytesPerStep) * 1e3;
      return [name, String(cost.steps), shortNumber(cost.bytesPerStep / kMb), shortNumber(cost.oneWayBytes / kMb), shortNumber(latencyMs),
              shortNumber(allMs - latencyMs), shortNumber(allMs)];
    });
    const envelope = costs.backOfTheEnvelope(bytes, known.labelGbS, stepMs.value);
    byId('link-words').replaceChildren(
        el('p', {id: 'envelope'}, `${known.name}: ${general(megabytes.value)} MB / ${general(known.labelGbS)} GB/s = ${shortNumber(envelope.exactMs)} ms, about ` +
            `${general(envelope.roundedMs)}; ${general(envelope.roundedMs)} / (${general(stepMs.value)} + ${general(envelope.roundedMs)}) = ${percent(envelope.share)} of the step`),
        el('p', {id: 'ring-words'}, `A ring of ${gpus} GPUs: each sends ${shortNumber(ring.oneWayBytes / kMb)} MB and receives as much at the same time, in ` +
            `${ring.steps} steps of ${shortNumber(ring.bytesPerStep / kMb)} MB`));
    byId('all-links').replaceChildren(
        named('every-link', 'A ring on every link', ['link', 'label GB/s', 'one way GB/s', 'envelope ms', 'ring ms', 'ring/envelope', 'share of step'], all));
    byId('chosen-link').replaceChildren(
        named('algorithms', `On ${known.name}, with an alpha for every step`, ['algorithm', 'steps', 'MB a step', 'MB each way, busiest', 'latency ms', 'bytes ms', 'together ms'], rows));
  }

  const explanations = {
    data: 'each rank has the whole model and its part of the batch; at the end gradients are added up',
    model: 'each rank has some of the layers; the batch goes through rank after rank, and back',
    tensor: 'each rank has a part of every layer; in each layer all meet twice in a forward pass and twice in a backward pass',
    pipeline: 'as model, but the batch comes in micro-batches that follow one another',
  };

  // What `make` returns, or the sentence that says why there is nothing.
  function attempt(make) {
    try {
      return make();
    } catch (error) {
      if (error instanceof budget.ShapeError) return el('p', {class: 'message error'}, error.message);
      throw error;
    }
  }

  // Two beside each other if there is room (budgets.css).
  const pictureWidth = () => (innerWidth >= 640 ? widthFor(byId('strategy-pictures'), 1000) / 2 - 12 : widthFor(byId('strategy-pictures'), 1000));

  function strategyPicture(name) {
    return el('div', {class: 'strategy', id: `strategy-${name}`}, el('p', {}, el('strong', {}, name), `: ${explanations[name]}`), attempt(() => {
      const schedule = budget.scheduleOf(name, worldSize.value, microBatches.value);
      const words = `${schedule.duration} units, ${withDigits(100 * schedule.idleShare, 0)} % idle`;
      return [drawing.schedule(schedule, pictureWidth(), `${name}: ${words}`), el('p', {class: 'soft'}, words)];
    }));
  }

  function showStrategies() {
    byId('strategy-pictures').replaceChildren(...budget.strategies.map(strategyPicture));
    const rows = budget.strategies.map(name => {
      try {
        const {memory, sentBytes} = budget.loadOf(name, modelNow(), trainingNow(), worldSize.value, microBatches.value);
        return [name, gb(memory.weights), gb(memory.gradients), gb(memory.masterWeights + memory.optimizer), gb(memory.activations), gb(memory.total),
                withDigits(sentBytes / 1e9, 2)];
      } catch (error) {
        if (!(error instanceof budget.ShapeError)) throw error;
        return [name, error.message, '', '', '', '', ''];
      }
    });
    byId('strategy-table').replaceChildren(named('loads', 'GB of a rank', ['', 'weights', 'gradients', 'optimizer', 'activations', 'together', 'sent in a step'], rows));
  }

  const kGpusAsked = 8;
  Lockstep.question.ask({
    when: 'Before you move a slider:', unit: 'GB', tolerance: 0.02, text: `plain data parallelism, ${general(atStart[0].parameters / 1e9)} billion parameters, ` +
        `float32 and Adam. One GPU would need ${gb(plainUse(1).total)} GB. How much does each of ${kGpusAsked} GPUs need?`,
    truth: () => {
      const use = plainUse(kGpusAsked), isSame = use.total === plainUse(1).total;
      return {value: use.total / 1e9, sentence: `Each of ${kGpusAsked} GPUs needs ${gb(use.total)} GB${isSame ? ', as much as one alone' : ''}. ` +
          `If the optimizer\u2019s values, gradients and weights are split, it is ${gb(plainUse(kGpusAsked, budget.shardings.length - 1).total)} GB.`};
    }});
  onResize(showAll);
  showAll();
})();
