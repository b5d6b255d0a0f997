// What training needs: the arithmetic of chapters/00_why_many_gpus/budget.cpp and strategies.cpp. Bytes, FLOP and seconds.
// Pure: a page and node load it.
'use strict';

(function () {
  const isNode = typeof module === 'object' && module.exports;
  const {withDigits} = isNode ? require('./numbers.js') : Lockstep.numbers;

  const kFloat32Bytes = 4;
  const optimizerValues = {sgd: 0, momentum: 1, adam: 2};  // float32 values per weight
  const shardings = [['nothing', 'data parallel'], ['optimizer', 'ZeRO 1: optimizer split'], ['gradients', 'ZeRO 2: and gradients'],
                     ['weights', 'ZeRO 3: and weights']].map(([key, name], level) => ({key, name, level}));
  const bytesPerValue = precision => (precision === 'mixed' ? 2 : kFloat32Bytes);

  // Bytes that one layer leaves for backward, after Korthikanti et al. 2022: s b h (16 e + 2) + a s s b (2 e + 1).
  function activationBytesPerLayer(model, training, tensorRanks = 1) {
    const value = bytesPerValue(training.precision);
    const positions = model.sequence * training.microBatch * model.hidden;
    const scores = model.heads * model.sequence * model.sequence * training.microBatch;
    if (training.recompute === 'everything') return positions * value;
    const whole = positions * (4 * value + 2), split = positions * 12 * value;
    const pairs = training.recompute === 'attention' ? 0 : scores * (2 * value + 1);
    return whole + (split + pairs) / tensorRanks;
  }

  function withTotal(use) {
    return {...use, total: use.weights + use.gradients + use.masterWeights + use.optimizer + use.activations};
  }

  // level: 0 nothing is split, 1 the optimizer's values, 2 also the gradients, 3 also the weights.
  function memoryUse(model, training, level, worldSize) {
    const value = bytesPerValue(training.precision), optimizerShards = level >= 1 ? worldSize : 1;
    return withTotal({
      weights: model.parameters * value / (level >= 3 ? worldSize : 1),
      gradients: model.parameters * value / (level >= 2 ? worldSize : 1),
      masterWeights: training.precision === 'mixed' ? model.parameters * kFloat32Bytes / optimizerShards : 0,
      optimizer: model.parameters * kFloat32Bytes * optimizerValues[training.optimizer] / optimizerShards,
      activations: model.layers * activationBytesPerLayer(model, training),
    });
  }

  // The fewest GPUs with which each needs at most that many bytes, or null.
  function smallestWorldSize(model, training, level, usableBytes) {
    for (let worldSize = 1; worldSize <= 4096; ++worldSize) {
      if (memoryUse(model, training, level, worldSize).total <= usableBytes) return worldSize;
    }
    return null;
  }

  const speedup = (worldSize, efficiency) => (worldSize === 1 ? 1 : worldSize * efficiency);
  const trainingFlops = work => work.flopsPerParameterAndToken * work.parameters * work.tokens;
  const trainingSeconds = (work, worldSize) =>
      trainingFlops(work) / (work.peakFlops * work.utilisation * speedup(worldSize, work.efficiency));

  function readableHours(hours) {
    if (hours < 48) return `${withDigits(hours, 1)} hours`;
    if (hours < 2 * 365 * 24) return `${withDigits(hours / 24, 1)} days`;
    return `${withDigits(hours / (365 * 24), 1)} years`;
  }

  // --- Strategies: schedules in units, where one unit is the forward pass of a micro-batch through 1/P of the model ---

  class ShapeError extends Error {}
  const kBackward = 2;

  class Builder {
    constructor(worldSize) { Object.assign(this, {worldSize, tasks: [], freeFrom: Array(worldSize).fill(0)}); }
    add(rank, microBatch, isForward, units, earliest = 0) {
      const begin = Math.max(earliest, this.freeFrom[rank]), end = begin + units;
      this.freeFrom[rank] = end;
      this.tasks.push({rank, microBatch, isForward, begin, end});
      return end;
    }
    finish() {
      const duration = Math.max(0, ...this.tasks.map(task => task.end)), all = duration * this.worldSize;
      const busy = this.tasks.reduce((sum, task) => sum + task.end - task.begin, 0);
      return {worldSize: this.worldSize, tasks: this.tasks, duration, idleShare: all > 0 ? 1 - busy / all : 0};
    }
  }

  function dataSchedule(worldSize, microBatches) {
    if (microBatches % worldSize !== 0) {
      throw new ShapeError(`${microBatches} micro-batches cannot be dealt evenly to ${worldSize} ranks; take a multiple of ${worldSize}`);
    }
    const builder = new Builder(worldSize);
    for (let each = 0; each < microBatches; ++each) {
      builder.add(each % worldSize, each, true, worldSize);
      builder.add(each % worldSize, each, false, kBackward * worldSize);
    }
    return builder.finish();
  }

  function tensorSchedule(worldSize, microBatches) {
    const builder = new Builder(worldSize);
    for (let each = 0; each < microBatches; ++each) {
      for (let rank = 0; rank < worldSize; ++rank) {
        builder.add(rank, each, true, 1);
        builder.add(rank, each, false, kBackward);
      }
    }
    return builder.finish();
  }

  // In groups: one group of all micro-batches is plain model parallelism, groups of one are the pipeline.
  function layeredSchedule(worldSize, microBatches, group) {
    const builder = new Builder(worldSize), ranks = [...Array(worldSize).keys()];
    for (const [isForward, order, units] of [[true, ranks, 1], [false, [...ranks].reverse(), kBackward]]) {
      for (let first = 0; first < microBatches; first += group) {
        let arrived = 0;
        for (const rank of order) {
          let done = arrived;
          for (let i = 0; i < group; ++i) done = builder.add(rank, first + i, isForward, units, arrived);
          arrived = done;
        }
      }
    }
    return builder.finish();
  }

  const strategies = ['data', 'model', 'tensor', 'pipeline'];
  function scheduleOf(strategy, worldSize, microBatches) {
    switch (strategy) {
      case 'data': return dataSchedule(worldSize, microBatches);
      case 'model': return layeredSchedule(worldSize, microBatches, microBatches);
      case 'tensor': return tensorSchedule(worldSize, microBatches);
      default: return layeredSchedule(worldSize, microBatches, 1);
    }
  }

  // One line per rank: 'a' is the forward pass of micro-batch 0, 'A' its backward pass, '.' is idle.
  function pictureOf(schedule) {
    const lines = Array.from({length: schedule.worldSize}, () => Array(schedule.duration).fill('.'));
    for (const {rank, microBatch, isForward, begin, end} of schedule.tasks) {
      lines[rank].fill(String.fromCharCode((isForward ? 97 : 65) + microBatch % 26), begin, end);
    }
    return lines.map(line => line.join(''));
  }

  const ringBytes = (bytes, worldSize) => 2 * (worldSize - 1) / worldSize * bytes;

  function checkDivides(parts, whole, what) {
    if (whole % parts === 0) return;
    throw new ShapeError(`${whole} ${what} cannot be cut into ${parts} equal parts; take a divisor of ${whole} as the number of ranks`);
  }

  // What one rank holds and sends in a step; of the rank with the most.
  function loadOf(strategy, model, training, worldSize, microBatches) {
    if (strategy === 'data') {
      const memory = memoryUse(model, training, 0, worldSize);
      return {memory, sentBytes: ringBytes(memory.gradients, worldSize)};
    }
    checkDivides(worldSize, strategy === 'tensor' ? model.heads : model.layers, strategy === 'tensor' ? 'heads' : 'layers');
    const memory = memoryUse({...model, parameters: model.parameters / worldSize}, training, 0, 1);
    const boundary = training.microBatch * model.sequence * model.hidden * bytesPerValue(training.precision);
    if (strategy === 'tensor') {
      memory.activations = model.layers * activationBytesPerLayer(model, training, worldSize);
      return {memory: withTotal(memory), sentBytes: 4 * model.layers * microBatches * ringBytes(boundary, worldSize)};
    }
    memory.activations = microBatches * (model.layers / worldSize) * activationBytesPerLayer(model, training);
    return {memory: withTotal(memory), sentBytes: Math.min(worldSize - 1, 2) * microBatches * boundary};
  }

  const api = {shardings, memoryUse, smallestWorldSize, activationBytesPerLayer, speedup, trainingFlops, trainingSeconds, readableHours,
               strategies, scheduleOf, pictureOf, loadOf, ShapeError};
  if (isNode) module.exports = api;
  else Lockstep.budgetModel = api;
})();
