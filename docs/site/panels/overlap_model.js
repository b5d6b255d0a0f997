// Buckets of gradients that leave while backward still computes: the layout of chapters/06_gpt_ddp/ddp/bucket_layout.cpp
// for the models of common/train/nn/gpt_part.cpp, and a timeline by the alpha-beta model. Also a real run's trace, step by step.
// Pure: a page and node load it.
'use strict';

(function () {
  const isNode = typeof module === 'object' && module.exports;
  const costModel = isNode ? require('./cost_model.js') : Lockstep.costModel;

  const kMiB = 2 ** 20, kValueBytes = 4, kViewAlignment = 64;  // bytes; views of gradients begin at cache lines

  // Name, vocabulary, channels, blocks, context: GptConfig::named().
  const models = [['tiny', 256, 128, 4, 128], ['small', 8192, 256, 6, 256], ['tutorial', 50257, 512, 6, 127], ['124m', 50257, 768, 12, 1024]]
      .map(([name, vocabulary, channels, blocks, context]) => ({name, vocabulary, channels, blocks, context}));
  const modelNamed = name => models.find(model => model.name === name);

  // Parameters in the order in which backward completes them: from the end of the model to its start. The token embedding
  // is also the head, so it is complete only at the very end. `work` is the share of backward that ends with it: twice the
  // multiplications of its matrix.
  function parametersOf({vocabulary: V, channels: C, blocks, context: T}) {
    const all = [];
    const add = (part, name, count, work = 0) => all.push({part, name, count, work});
    const matrix = (part, name, inputs, outputs) => {
      add(part, `${name}.weight`, inputs * outputs, inputs * outputs);
      add(part, `${name}.bias`, outputs);
    };
    const norm = (part, name) => { add(part, `${name}.weight`, C); add(part, `${name}.bias`, C); };
    norm('head', 'ln_f');
    for (let block = blocks - 1; block >= 0; --block) {
      const part = `h.${block}`;
      matrix(part, `${part}.mlp.c_proj`, 4 * C, C);
      matrix(part, `${part}.mlp.c_fc`, C, 4 * C);
      norm(part, `${part}.ln_2`);
      matrix(part, `${part}.attn.c_proj`, C, C);
      matrix(part, `${part}.attn.c_attn`, C, 3 * C);
      norm(part, `${part}.ln_1`);
    }
    add('embedding', 'wte.weight', V * C);
    add('embedding', 'wpe.weight', T * C);
    all[0].work = V * C;  // the head's product comes first; its weight's gradient waits for the embedding's
    return all;
  }

  // A bucket takes parameters up to the limit; one that is larger than the limit has a bucket for itself.
  function layOutBuckets(parameters, {firstBytes = kMiB, bytes = 25 * kMiB} = {}) {
    const buckets = [];
    let inLast = 0;
    parameters.forEach((parameter, index) => {
      const own = parameter.count * kValueBytes, limit = buckets.length <= 1 ? firstBytes : bytes;
      if (buckets.length === 0 || inLast + own > limit) {
        buckets.push({index: buckets.length, parameters: [], bytes: 0});
        inLast = 0;
      }
      const padded = Math.ceil(own / kViewAlignment) * kViewAlignment;
      inLast += padded;
      buckets.at(-1).parameters.push(index);
      buckets.at(-1).bytes += padded;
    });
    return buckets;
  }

  // One step: forward takes half of backward. Buckets travel one after another, by a ring.
  function timelineOf({model, worldSize, link, backwardSeconds, firstBytes, bytes}) {
    const parameters = parametersOf(modelNamed(model)), buckets = layOutBuckets(parameters, {firstBytes, bytes});
    const allWork = parameters.reduce((sum, {work}) => sum + work, 0), forwardSeconds = backwardSeconds / 2;
    let now = forwardSeconds;
    const parts = [];
    for (const parameter of parameters) {
      if (parts.at(-1)?.name !== parameter.part) parts.push({name: parameter.part, begin: now, end: now});
      now += backwardSeconds * parameter.work / allWork;
      parameter.readyAt = parts.at(-1).end = now;
    }
    const backwardEnd = forwardSeconds + backwardSeconds;
    let free = 0;
    for (const bucket of buckets) {
      bucket.readyAt = Math.min(Math.max(...bucket.parameters.map(index => parameters[index].readyAt)), backwardEnd);
      bucket.begin = Math.max(bucket.readyAt, free);
      bucket.seconds = costModel.allReduceTime('ring', worldSize, bucket.bytes, link).seconds;
      free = bucket.end = bucket.begin + bucket.seconds;
    }
    const communication = buckets.reduce((sum, {seconds}) => sum + seconds, 0);
    const end = Math.max(backwardEnd, free), exposed = end - backwardEnd, hidden = communication - exposed;
    return {parts, buckets, parameterCount: parameters.reduce((sum, {count}) => sum + count, 0), forwardSeconds, backwardEnd,
            communication, exposed, hidden: hidden < 1e-9 * communication ? 0 : hidden, end, share: exposed / end,
            withoutOverlap: backwardEnd + communication};
  }

  // --- A real run ---

  const kBucket = /^all_reduce #\d+(?: .*)? \((?:bucket \d+; \w+|mean) of (\d+) (float32|bfloat16)\)$/;  // older runs name none
  const kWidth = {float32: 4, bfloat16: 2};

  // The steps that all ranks have, each with its spans by rank, in milliseconds from the step's begin.
  function stepsOf(ranks) {
    const numbers = ranks.map(rank => new Set(rank.spans.filter(span => span.category === 'backward').map(span => span.step)));
    const common = [...numbers[0]].filter(step => numbers.every(set => set.has(step))).sort((a, b) => a - b);
    return common.map(step => stepOf(ranks, step));
  }

  function stepOf(ranks, step) {
    const ofStep = ranks.map(rank => rank.spans.filter(span => span.step === step && span.category !== 'checkpoint'));
    const origin = Math.min(...ofStep.flat().map(span => span.beginNs));
    const ms = ns => (ns - origin) / 1e6;
    const rows = ranks.map((rank, index) => {
      const spans = ofStep[index].map(span => {
        const bucket = kBucket.exec(span.name);
        return {name: span.name, lane: span.lane, category: span.category, begin: ms(span.beginNs), end: ms(span.endNs),
                bucketBytes: bucket ? Number(bucket[1]) * kWidth[bucket[2]] : null};
      });
      return {rank: rank.rank, spans, ...communicationOf(spans)};
    });
    // What follows the update (validation, say) is no part of the step.
    const last = Math.max(...rows.flatMap(row => row.spans.filter(span => ['backward', 'optimizer'].includes(span.category)).map(span => span.end)));
    for (const row of rows) row.spans = row.spans.filter(span => span.category !== 'other' && span.begin <= last);
    return {step, rows, end: Math.max(...rows.flatMap(row => row.spans.map(span => span.end)))};
  }

  // The last bucket has the gradients that backward completes last. If the bucket before it was through by then, its begin
  // is the end of the computation, and from there to the end of "backward" the rank waits. Else waiting began earlier.
  function communicationOf(spans) {
    const backward = spans.filter(span => span.category === 'backward');
    const first = Math.min(...backward.map(span => span.begin)), last = Math.max(...backward.map(span => span.end));
    const buckets = spans.filter(span => span.lane === 'communication' && span.bucketBytes !== null && span.begin >= first && span.begin <= last);
    const sum = buckets.reduce((total, span) => total + span.end - span.begin, 0);
    if (buckets.length === 0) return {buckets, communication: 0, exposed: 0, isAtLeast: false};
    const closing = buckets.at(-1), before = buckets.at(-2);
    const kQueue = 0.05;  // ms: a bucket that follows this closely was waiting for the one before
    return {buckets, communication: sum, exposed: Math.max(0, last - closing.begin),
            isAtLeast: before !== undefined && closing.begin - before.end < kQueue};
  }

  const api = {kMiB, models, parametersOf, layOutBuckets, timelineOf, stepsOf, modelNamed};
  if (isNode) module.exports = api;
  else Lockstep.overlapModel = api;
})();
