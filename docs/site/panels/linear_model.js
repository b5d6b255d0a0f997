// The model, the data and the training of chapters/01_mini_all_reduce/programs/train_linear_*.cpp: a linear layer, 10
// inputs to 2 outputs, plain SGD. Data and first weights have the programs' bits (Philox, common/base/philox.hpp); sums
// are in double precision. Pure: a page and node load it.
'use strict';

(function () {
  const kInputs = 10, kOutputs = 2, kCount = kInputs * kOutputs + kOutputs;  // weights [2, 10], then biases [2]

  // High and low word of a product of two 32-bit words.
  function multiply(a, b) {
    const product = BigInt(a) * BigInt(b);
    return [Number(product >> 32n), Number(product & 0xffffffffn)];
  }

  // Ten rounds of Philox4x32. key: BigInt of 64 bits; counter: four words.
  function philox4x32(key, counter) {
    let [w0, w1, w2, w3] = counter, key0 = Number(key & 0xffffffffn), key1 = Number(key >> 32n & 0xffffffffn);
    for (let round = 0; round < 10; ++round) {
      const [high0, low0] = multiply(0xD2511F53, w0), [high1, low1] = multiply(0xCD9E8D57, w2);
      [w0, w1, w2, w3] = [(high1 ^ w1 ^ key0) >>> 0, low1, (high0 ^ w3 ^ key1) >>> 0, low0];
      key0 = (key0 + 0x9E3779B9) >>> 0;
      key1 = (key1 + 0xBB67AE85) >>> 0;
    }
    return [w0, w1, w2, w3];
  }
  const split = value => [Number(value & 0xffffffffn), Number(value >> 32n & 0xffffffffn)];
  const philoxBlock = (key, stream, block) => philox4x32(key, [...split(block), ...split(stream)]);

  function mix64(a, b) {
    const words = philoxBlock(a, b, 0n);
    return BigInt(words[1]) << 32n | BigInt(words[0]);
  }

  // FNV-1a: the name of a parameter as a key.
  function hash(text) {
    let value = 0xcbf29ce484222325n;
    for (const character of text) value = BigInt.asUintN(64, (value ^ BigInt(character.charCodeAt(0))) * 0x100000001b3n);
    return value;
  }

  function uniform(name, seed, count, bound) {
    const key = mix64(BigInt(seed), hash(name)), scale = Math.fround(bound), values = [];
    for (let block = 0n; values.length < count; ++block) {
      for (const word of philoxBlock(key, 0n, block)) {
        values.push(Math.fround(scale * Math.fround(2 * ((word >>> 8) / 2 ** 24) - 1)));
      }
    }
    return values.slice(0, count);
  }

  const firstParameters = seed =>
      [...uniform('weight', seed, kInputs * kOutputs, 1 / Math.sqrt(kInputs)), ...uniform('bias', seed, kOutputs, 1 / Math.sqrt(kInputs))];

  // The weights of the rule that made the data.
  const ruleOf = () => {
    const rule = Array(kCount).fill(0);
    for (let j = 0; j < kOutputs; ++j) for (let i = 0; i < kInputs; ++i) rule[j * kInputs + i] = ((3 * i + 7 * j) % 11 - 5) / 5;
    return rule;
  };

  // Samples one after another, as many as are asked for: row n is the same however many rows there are.
  class Data {
    constructor(seed) {
      this.key = BigInt(seed);
      this.block = 0n;
      this.words = [];
      this.rows = [];
    }

    nextWord() {
      if (this.words.length === 0) this.words = philoxBlock(this.key, 0n, this.block++);
      return this.words.shift();
    }

    normal() {
      const radius = Math.sqrt(-2 * Math.log((this.nextWord() + 1) * 2 ** -32));
      return Math.fround(radius * Math.cos(2 * Math.PI * this.nextWord() * 2 ** -32));
    }

    row(index) {
      while (this.rows.length <= index) {
        const targets = [], inputs = [];
        for (let j = 0; j < kOutputs; ++j) targets.push(Math.fround(Math.fround(0.01) * this.normal()));
        for (let i = 0; i < kInputs; ++i) {
          inputs.push(this.normal());
          for (let j = 0; j < kOutputs; ++j) {
            const weight = Math.fround(((3 * i + 7 * j) % 11 - 5) / 5);
            targets[j] = Math.fround(targets[j] + weight * inputs[i]);
          }
        }
        this.rows.push({inputs, targets});
      }
      return this.rows[index];
    }

    slice(begin, end) {
      this.row(end - 1);
      return this.rows.slice(begin, end);
    }
  }

  // Mean squared error of a slice, and its gradient.
  function lossAndGradient(parameters, samples) {
    const gradient = Array(kCount).fill(0), elements = samples.length * kOutputs;
    let loss = 0;
    for (const {inputs, targets} of samples) {
      for (let j = 0; j < kOutputs; ++j) {
        let output = parameters[kInputs * kOutputs + j];
        for (let i = 0; i < kInputs; ++i) output += parameters[j * kInputs + i] * inputs[i];
        const error = output - targets[j];
        loss += error * error / elements;
        for (let i = 0; i < kInputs; ++i) gradient[j * kInputs + i] += 2 * error * inputs[i] / elements;
        gradient[kInputs * kOutputs + j] += 2 * error / elements;
      }
    }
    return {loss, gradient};
  }

  const meanOf = lists => lists[0].map((_, i) => lists.reduce((sum, list) => sum + list[i], 0) / lists.length);
  const largestDifference = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

  // Ranks that step together, or not. One step is compute(), allReduce() or not, update().
  class Job {
    constructor({worldSize, batchPerRank, learningRate = 0.1, seed = 1}) {
      Object.assign(this, {worldSize, batchPerRank, learningRate, step: 0, phase: 'ready'});
      this.data = new Data(seed);
      this.replicas = [...Array(worldSize).keys()].map(() => ({parameters: firstParameters(seed), gradient: null, loss: null}));
      this.losses = [];  // of each step: the mean, and each rank's
    }

    get batch() { return this.worldSize * this.batchPerRank; }
    sliceOf(rank, step = this.step) {
      const begin = step * this.batch + rank * this.batchPerRank;
      return {begin, end: begin + this.batchPerRank};
    }

    compute() {
      this.replicas.forEach((replica, rank) => {
        const {begin, end} = this.sliceOf(rank);
        Object.assign(replica, lossAndGradient(replica.parameters, this.data.slice(begin, end)));
      });
      this.losses.push({mean: meanOf(this.replicas.map(({loss}) => [loss]))[0], ranks: this.replicas.map(({loss}) => loss)});
      this.phase = 'computed';
    }

    allReduce() {
      const mean = meanOf(this.replicas.map(({gradient}) => gradient));
      for (const replica of this.replicas) replica.gradient = [...mean];
      this.phase = 'reduced';
    }

    update() {
      for (const {parameters, gradient} of this.replicas) {
        gradient.forEach((slope, i) => { parameters[i] -= this.learningRate * slope; });
      }
      this.step += 1;
      this.phase = 'ready';
    }

    broadcast() {
      for (const replica of this.replicas) replica.parameters = [...this.replicas[0].parameters];
    }

    // Of any replica from rank 0's; 0 where all have the same bits.
    driftOf(rank) { return largestDifference(this.replicas[rank].parameters, this.replicas[0].parameters); }
    get drift() { return Math.max(...this.replicas.map((_, rank) => this.driftOf(rank))); }
  }

  const api = {kInputs, kOutputs, kCount, philox4x32, firstParameters, ruleOf, Data, lossAndGradient, Job};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).linearModel = api;
})();
