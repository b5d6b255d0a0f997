// Memory of rank 0 over one training step of chapters/09_sharded: units (common/train/nn/unit_layout.cpp), the window of whole units
// (shard/unit_window.cpp), slots for gradients (shard/gradient_slots.cpp), and what each move sends. It walks through a
// steady step: the order of the units is known. Pure: a page and node load it.
'use strict';

(function () {
  const isNode = typeof module === 'object' && module.exports;
  const {modelNamed, models, parametersOf, layOutBuckets} = isNode ? require('./overlap_model.js') : Lockstep.overlapModel;

  const kValueBytes = 4, kMomentBytes = 8, kLine = 16, kKept = 2, kSlotsOfOneSize = 2;  // a line: float32 in 64 bytes
  const kNoStage = 0;  // DDP
  const kVectors = 'vectors';
  const roundUp = (count, unit) => Math.ceil(count / unit) * unit;
  const sumOf = (list, pick) => list.reduce((sum, each) => sum + pick(each), 0);

  // Names and elements of the parameters of each unit, in the order of the model.
  function membersOf({vocabulary: V, channels: C, blocks, context: T}) {
    const vectors = [...Array(blocks)].flatMap(() => [C, C, 3 * C, C, C, C, 4 * C, C]);  // ln_1, c_attn, c_proj, ln_2, c_fc, c_proj
    const matrices = [3 * C * C, C * C, 4 * C * C, 4 * C * C];
    return [{name: 'wte', counts: [V * C]}, {name: 'wpe', counts: [T * C]}, {name: kVectors, counts: [...vectors, C, C]},
            ...[...Array(blocks).keys()].map(block => ({name: `h.${block}`, counts: matrices}))];
  }

  // A unit: elements with and without gaps, those of a rank's part, and the parameters' elements that rank 0 owns.
  function layOut({name, counts}, worldSize) {
    let end = 0;
    const begins = counts.map(count => {
      const begin = end;
      end = roundUp(begin + count, kLine);
      return begin;
    });
    const count = roundUp(end, kLine * worldSize), part = count / worldSize;
    const owned = sumOf(counts.map((each, i) => Math.max(0, Math.min(part, begins[i] + each) - begins[i])), each => each);
    return {name, count, part, owned, elements: sumOf(counts, each => each), bytes: kValueBytes * count, partBytes: kValueBytes * part};
  }

  const unitsOf = (shape, worldSize) => membersOf(shape).map(members => layOut(members, worldSize));

  // What the model does in one micro-batch: the units whose values an operation needs, in its order, the gradients that
  // it adds to, and those that are complete after it.
  function operationsOf({blocks}) {
    const order = [...Array(blocks).keys()], block = i => `h.${i}`;
    return [
      {kind: 'forward', name: 'embeddings', needs: ['wte', 'wpe']},
      ...order.map(i => ({kind: 'forward', name: block(i), needs: [block(i)]})),
      {kind: 'forward', name: 'head', needs: ['wte']},
      {kind: 'backward', name: 'head', needs: ['wte'], writes: ['wte', kVectors]},
      ...order.reverse().map(i => ({kind: 'backward', name: block(i), needs: [block(i)], writes: [block(i), kVectors],
                                    completes: i === 0 ? [block(i), kVectors] : [block(i)]})),
      {kind: 'backward', name: 'embeddings', needs: [], writes: ['wpe', 'wte'], completes: ['wpe', 'wte']},
    ];
  }

  // UnitWindow::use(): adopt, release all but the last two, gather the next in advance. `order` is the record of a
  // former step; without it nothing is gathered in advance.
  class UnitWindow {
    constructor(order) { Object.assign(this, {order, alive: [], coming: null, fetched: []}); }
    has(unit) { return this.alive.includes(unit); }
    use(unit) {
      this.fetched.push(unit);
      this.coming = null;
      this.alive.push(unit);
      const released = this.alive.splice(0, Math.max(0, this.alive.length - kKept)), next = this.order?.[this.fetched.length];
      if (next !== undefined && !this.has(next)) this.coming = next;
      return released;
    }
  }

  // The units that a step fetches, in order.
  function fetchOrderOf(shape, microBatches) {
    const window = new UnitWindow(null);
    for (let i = 0; i < microBatches; ++i) {
      for (const {needs} of operationsOf(shape)) for (const unit of needs) if (!window.has(unit)) window.use(unit);
    }
    return window.fetched;
  }

  // GradientSlots, and the parts of further micro-batches that arrive beside those that they are added to.
  class Gradients {
    constructor(units) {
      Object.assign(this, {launchOrder: [...units].reverse(), slots: [], slotOf: new Map(), onTheirWay: new Map()});
      const numberOf = new Map();
      for (const {bytes} of units) numberOf.set(bytes, (numberOf.get(bytes) ?? 0) + 1);
      for (const [bytes, number] of numberOf) {
        for (let i = 0; i < Math.min(number, kSlotsOfOneSize); ++i) this.slots.push({bytes, isFree: true});
      }
    }
    place(unit) {
      if (this.slotOf.has(unit.name)) return;
      const free = () => this.slots.find(slot => slot.isFree && slot.bytes === unit.bytes);
      for (const other of this.launchOrder) {
        if (free()) break;
        if (other.bytes === unit.bytes) this.wait(other);
      }
      let slot = free();
      if (!slot) this.slots.push(slot = {bytes: unit.bytes, isExtra: true});
      slot.isFree = false;
      this.slotOf.set(unit.name, slot);
    }
    launch(unit, isFurther) { this.onTheirWay.set(unit.name, isFurther ? unit.partBytes : 0); }
    wait(unit) {
      if (!this.onTheirWay.delete(unit.name)) return;
      const slot = this.slotOf.get(unit.name);
      slot.isFree = true;
      this.slotOf.delete(unit.name);
      if (slot.isExtra) this.slots.splice(this.slots.indexOf(slot), 1);
    }
    waitForAll() { this.launchOrder.forEach(unit => this.wait(unit)); }
    get slotBytes() { return sumOf(this.slots, ({bytes}) => bytes); }
    get arrivingBytes() { return sumOf([...this.onTheirWay.values()], bytes => bytes); }
  }

  // What stays in memory throughout the step.
  function stayingBytes(units, parameterCount, bucketBytes, stage) {
    if (stage === kNoStage) return {moments: kMomentBytes * parameterCount, values: kValueBytes * parameterCount, gradients: bucketBytes};
    const whole = sumOf(units, ({bytes}) => bytes), parts = sumOf(units, ({partBytes}) => partBytes);
    const values = stage < 3 ? whole : sumOf(units, unit => (unit.name === kVectors ? unit.bytes : unit.partBytes));
    return {moments: kMomentBytes * sumOf(units, ({owned}) => owned), values, gradients: stage < 2 ? whole : parts};
  }

  // Bytes that leave rank 0 when the gradients of a pass leave that are complete after the operation `name`.
  function bucketBytesSent(shape, buckets, parameters, worldSize, name) {
    const partOf = {embeddings: 'embedding'}[name] ?? name;
    const leaving = buckets.filter(bucket => parameters[bucket.parameters.at(-1)].part === partOf);
    return sumOf(leaving, ({bytes}) => 2 * bytes * (worldSize - 1) / worldSize);
  }

  // The events of one step, each with the bytes of every kind that rank 0 holds during it.
  // shape: {vocabulary, channels, blocks, context}; stage 0 is DDP.
  function stepOf({shape, worldSize, stage, microBatches, prefetch}) {
    const units = unitsOf(shape, worldSize), unitOf = name => units.find(unit => unit.name === name);
    const parameterCount = sumOf(units, ({elements}) => elements), parameters = parametersOf(shape), buckets = layOutBuckets(parameters);
    const staying = stayingBytes(units, parameterCount, sumOf(buckets, ({bytes}) => bytes), stage);
    const window = new UnitWindow(prefetch ? fetchOrderOf(shape, microBatches) : null), gradients = stage >= 2 ? new Gradients(units) : null;
    const sendBytes = unit => (worldSize - 1) * unit.partBytes;  // of a reduce-scatter or an all-gather
    const events = [];
    let sent = 0, released = [], mostWhole = 0;

    function note(event, held, leaving = []) {
      const whole = stage < 3 ? [] : [...new Set([...window.alive, ...held])], coming = stage < 3 ? null : event.gathers ?? window.coming;
      const all = coming === null ? whole : [...whole, coming];
      const bytes = {...staying, slots: gradients?.slotBytes ?? 0, whole: sumOf(all, name => unitOf(name).bytes)};
      bytes.gradients += gradients?.arrivingBytes ?? 0;
      mostWhole = Math.max(mostWhole, all.length);
      events.push({...event, bytes, total: sumOf(Object.values(bytes), each => each), whole, coming, begins: coming !== events.at(-1)?.coming, released, leaving, sent,
                   slots: gradients ? [...gradients.slotOf.keys()] : []});
      released = [];
    }

    // Stage 3: brings what an operation needs. A unit that is not on its way yet is waited for.
    function bring(operation, microBatch) {
      const held = [];
      for (const name of operation.needs) {
        if (!window.has(name)) {
          if (window.coming !== name) {
            sent += sendBytes(unitOf(name));
            note({kind: 'gather', name: operation.name, gathers: name, pass: operation.kind, microBatch}, held);
          }
          released = window.use(name);
          if (window.coming !== null) sent += sendBytes(unitOf(window.coming));
        }
        held.push(name);
      }
      return held;
    }

    for (let microBatch = 0; microBatch < microBatches; ++microBatch) {
      const isLast = microBatch === microBatches - 1;
      for (const operation of operationsOf(shape)) {
        const held = stage === 3 ? bring(operation, microBatch) : [];
        if (gradients) (operation.writes ?? []).forEach(name => gradients.place(unitOf(name)));
        const leaving = stage >= 2 || (stage === 1 && isLast) ? operation.completes ?? [] : [];
        for (const name of leaving) {
          gradients?.launch(unitOf(name), microBatch > 0);
          sent += sendBytes(unitOf(name));
        }
        if (stage === kNoStage && isLast && operation.kind === 'backward') sent += bucketBytesSent(shape, buckets, parameters, worldSize, operation.name);
        note({kind: operation.kind, name: operation.name, microBatch, isLast}, held, leaving);
      }
      gradients?.waitForAll();
    }
    note({kind: 'update', name: 'update'}, []);
    if (stage !== kNoStage) {
      released = window.alive.splice(0);
      sent += sumOf(units.filter(({name}) => stage < 3 || name === kVectors), sendBytes);
      note({kind: 'values', name: 'values'}, []);
    }
    return {units, events, parameterCount, sent, mostWhole, peak: Math.max(...events.map(({total}) => total))};
  }

  const stages = [[0, 'DDP'], [1, 'stage 1'], [2, 'stage 2'], [3, 'stage 3']].map(([stage, name]) => ({stage, name}));
  const api = {models, modelNamed, stages, unitsOf, fetchOrderOf, stepOf};
  if (isNode) module.exports = api;
  else (globalThis.Lockstep ??= {}).shardedModel = api;
})();
