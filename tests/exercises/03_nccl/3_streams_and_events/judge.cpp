#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_03_3 {

constexpr std::int64_t kCompute = 0, kCommunication = 1;

struct Call {
  std::string name;
  std::int64_t stream, object;
};

// Which work in the streams comes before which, as events order it: for each stream the last call that is known to be
// done when the stream comes to its next one (a vector clock).
class StreamOrder {
 public:
  // The number of this call, after which later ones can be asked.
  std::size_t add(std::int64_t stream) {
    clocks_[stream][stream] = ++last_;
    return last_;
  }
  void record(std::int64_t event, std::int64_t stream) { events_[event] = clocks_[stream]; }
  // False if the event has not been recorded.
  bool wait(std::int64_t stream, std::int64_t event) {
    if (!events_.contains(event)) return false;
    for (const auto& [other, done] : events_[event]) clocks_[stream][other] = std::max(clocks_[stream][other], done);
    return true;
  }
  void forget(std::int64_t event) { events_.erase(event); }  // destroyed; another one may get its number
  void wait_for_all() { done_ = last_; }                     // on the host
  // Whether what `stream` gets next comes after call `number` of `other`.
  [[nodiscard]] bool is_after(std::int64_t stream, std::int64_t other, std::size_t number) {
    return stream == other || number <= done_ || clocks_[stream][other] >= number;
  }

 private:
  std::size_t last_ = 0, done_ = 0;
  std::map<std::int64_t, std::map<std::int64_t, std::size_t>> clocks_, events_;
};

// An all-reduce inside a group gets into its stream at the group's end.
std::vector<Call> issued(const std::vector<Call>& calls) {
  std::vector<Call> in_order, held;
  int depth = 0;
  for (const Call& call : calls) {
    if (call.name == "ncclGroupStart") ++depth;
    if (call.name == "ncclGroupEnd") --depth;
    (depth > 0 && call.name == "ncclAllReduce" ? held : in_order).push_back(call);
    if (depth > 0) continue;
    in_order.insert(in_order.end(), held.begin(), held.end());
    held.clear();
  }
  return in_order;
}

std::vector<Call> calls_of(Check& check, const Outcome& outcome, int rank) {
  std::istringstream names(check.get<std::string>(outcome, rank, "names"));
  const auto streams = check.numbers<std::int64_t>(outcome, rank, "streams");
  const auto objects = check.numbers<std::int64_t>(outcome, rank, "objects");
  std::vector<Call> calls;
  for (std::string name; names >> name && calls.size() < std::min(streams.size(), objects.size());)
    calls.push_back({name, streams[calls.size()], objects[calls.size()]});
  return issued(calls);
}

bool makes_the_host_wait(const std::string& name) {
  return name.ends_with("Synchronize") || name.ends_with("Query") || name == "cudaMemcpy";
}

[[noreturn]] void race(const std::string& summary, const std::string& next) {
  throw CheckFailed{{.verdict = VerdictClass::kRace, .summary = summary, .next = next}};
}

// Positions of the uses of each bucket in the order of the streams.
class Orderings {
 public:
  Orderings(Check& check, std::size_t bucket_count) : check_(check), produced_(bucket_count), reduced_(bucket_count) {}

  void follow(const std::vector<Call>& calls) {
    for (const Call& call : calls) {
      if (call.name == "produce") produced_[call.object] = order_.add(call.stream);
      if (call.name == "ncclAllReduce") add_all_reduce(call);
      if (call.name == "cudaEventRecord") order_.record(call.object, call.stream);
      if (call.name == "cudaStreamWaitEvent" && !order_.wait(call.stream, call.object)) has_early_wait_ = true;
      if (call.name == "cudaEventDestroy") order_.forget(call.object);
      if (makes_the_host_wait(call.name)) order_.wait_for_all();
    }
    for (std::size_t k = 0; k < reduced_.size(); ++k)
      if (!order_.is_after(kCompute, kCommunication, reduced_[k]))
        race(concat("after the function has returned, the compute stream uses bucket ", k,
                    " without waiting for its all-reduce"),
             "which wait leads from the communication stream back to the compute stream, and when was its event "
             "recorded?");
  }

 private:
  void add_all_reduce(const Call& call) {
    const auto bucket = static_cast<std::size_t>(call.object);
    check_.expect(bucket < produced_.size(), "an all-reduce of memory that is no bucket");
    check_.expect(produced_[bucket] != 0, concat("bucket ", bucket, " is reduced before produce(", bucket, ")"));
    check_.expect(call.stream == kCommunication,
                  concat("the all-reduce of bucket ", bucket, " is not in the communication stream"),
                  "in the compute stream it would hold up the next bucket");
    if (!order_.is_after(call.stream, kCompute, produced_[bucket]))
      race(concat("the all-reduce of bucket ", bucket, " does not wait until the bucket has been produced",
                  has_early_wait_ ? ": an event was waited for before it was recorded" : ""),
           "between produce() and ncclAllReduce(): record an event in one stream, and let the other one wait for it");
    reduced_[bucket] = order_.add(call.stream);
  }

  Check& check_;
  StreamOrder order_;
  std::vector<std::size_t> produced_, reduced_;  // numbers of calls; 0: none
  bool has_early_wait_ = false;
};

void check_counts(Check& check, const std::vector<Call>& calls, std::size_t bucket_count) {
  std::size_t produced = 0, reduced = 0;
  for (const Call& call : calls) {
    if (call.name == "ncclAllReduce") ++reduced;
    if (call.name != "produce") continue;
    check.expect(static_cast<std::size_t>(call.object) == produced, "produce() is not called for each bucket in order");
    ++produced;
  }
  check.expect(
      produced == bucket_count && reduced == bucket_count,
      concat(bucket_count, " buckets: produce() was called ", produced, " times, ncclAllReduce() ", reduced, " times"));
}

// Whether producing a bucket waits for the sum of an earlier one.
void check_overlap(Check& check, const std::vector<Call>& calls) {
  StreamOrder order;
  std::vector<std::size_t> reduced;
  for (const Call& call : calls) {
    if (makes_the_host_wait(call.name))
      check.wrong(concat(call.name, "() makes the host wait"),
                  "the streams can wait for each other: cudaEventRecord() and cudaStreamWaitEvent()");
    if (call.name == "produce" && !reduced.empty() && order.is_after(kCompute, kCommunication, reduced.back()))
      check.wrong(concat("bucket ", call.object, " is not produced before bucket ", reduced.size() - 1,
                         " has been reduced: nothing overlaps"),
                  "let the compute stream wait for the sums once, after the last bucket");
    if (call.name == "ncclAllReduce") reduced.push_back(order.add(call.stream));
    if (call.name == "cudaEventRecord") order.record(call.object, call.stream);
    if (call.name == "cudaStreamWaitEvent") order.wait(call.stream, call.object);
  }
}

// Whether an all-reduce waits for a later bucket than its own. Events decide that, not the order of the calls: the host
// may enqueue all buckets first.
void check_early_start(Check& check, const std::vector<Call>& calls) {
  StreamOrder order;
  std::vector<std::size_t> produced;
  for (const Call& call : calls) {
    if (call.name == "produce") produced.push_back(order.add(call.stream));
    if (call.name == "cudaEventRecord") order.record(call.object, call.stream);
    if (call.name == "cudaStreamWaitEvent") order.wait(call.stream, call.object);
    if (call.name == "cudaEventDestroy") order.forget(call.object);
    if (makes_the_host_wait(call.name)) order.wait_for_all();
    if (call.name != "ncclAllReduce") continue;
    for (std::size_t later = produced.size(); later-- > static_cast<std::size_t>(call.object) + 1;)
      if (order.is_after(call.stream, kCompute, produced[later]))
        check.wrong(concat("bucket ", call.object, " is reduced only after bucket ", later, " has been produced"),
                    "let the all-reduce wait for an event that is recorded right after produce() of its bucket; a "
                    "group issues it only at its end");
  }
}

void check_events(Check& check, const std::vector<Call>& calls) {
  std::int64_t made = 0, destroyed = 0;
  for (const Call& call : calls) {
    if (call.name.starts_with("cudaEventCreate")) ++made;
    if (call.name == "cudaEventDestroy") ++destroyed;
  }
  check.expect(made == destroyed,
               concat(made, made == 1 ? " event was made and " : " events were made and ", destroyed, " destroyed"),
               "cudaEventDestroy() may be called as soon as the wait has been issued");
}

double share_of(int rank) { return static_cast<double>(std::int64_t{1} << (3 * rank)); }

// Rank r's gradients are 8^r, so that the sum says who is in it; -1 before they are produced.
// @param count  Elements of the first bucket; each has 3 more than the one before.
const Outcome& run_buckets(Check& check, TrialOptions options, std::size_t bucket_count, std::size_t count,
                           bool wants_sums) {
  std::vector<std::int64_t> counts;
  for (std::size_t k = 0; k < bucket_count; ++k) counts.push_back(static_cast<std::int64_t>(count + 3 * k));
  const auto total = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  options.question = [&](int rank) {
    const std::vector<float> values(total, static_cast<float>(share_of(rank)));
    return nlohmann::json{{"values", to_message(std::span<const float>(values))},
                          {"counts", to_message(std::span<const std::int64_t>(counts))},
                          {"is_host_memory", false},
                          {"wants_sums", wants_sums}};
  };
  return check.run(options);
}

void check_refusal(Check& check) {
  const Outcome& outcome = check.run({.question = [](int) {
    return nlohmann::json{{"values", to_message(std::span<const float>())}, {"is_host_memory", true}};
  }});
  check.expect(
      check.get<bool>(outcome, 0, "has_thrown"),
      "NCCL refused to reduce memory that is not the device's, and the function returned as if nothing was wrong",
      "every call of NCCL and CUDA returns a code: pass it to nccl_check() or cuda_check()");
}

void check_order(Check& check, int world_size, std::size_t bucket_count) {
  const Outcome& outcome = run_buckets(check, {.world_size = world_size}, bucket_count, 4, false);
  for (int rank = 0; rank < world_size; ++rank) {
    const std::vector<Call> calls = calls_of(check, outcome, rank);
    check_counts(check, calls, bucket_count);
    Orderings(check, bucket_count).follow(calls);
    check_early_start(check, calls);
    check_overlap(check, calls);
    check_events(check, calls);
  }
}

void check_sums(Check& check, const TrialOptions& options, std::size_t bucket_count, std::size_t count) {
  const Outcome& outcome = run_buckets(check, options, bucket_count, count, true);
  double sum = 0;
  for (int rank = 0; rank < options.world_size; ++rank) sum += share_of(rank);
  for (int rank = 0; rank < options.world_size; ++rank)
    check.compare(concat("rank ", rank, "'s buckets of ", count, " and more in the compute stream"),
                  check.numbers<float>(outcome, rank, "sums"),
                  std::vector<double>(bucket_count * count + 3 * bucket_count * (bucket_count - 1) / 2, sum),
                  {.explain = [&](std::size_t, double got, double) { return explain_sum(got, options.world_size); }});
}

}  // namespace checks_03_3

void judge_03_3(Examination& exam) {
  using namespace checks_03_3;
  exam.check("the order of the calls: one bucket", [](Check& check) { check_order(check, 1, 1); });
  exam.check("the order of the calls: three buckets", [](Check& check) { check_order(check, 1, 3); });
  exam.check("an error of NCCL becomes an exception", check_refusal);
  exam.check("no buckets", [](Check& check) { check_order(check, 2, 0); });
  exam.check("sums of 2 ranks", [](Check& check) { check_sums(check, {.world_size = 2}, 3, 100); });
  exam.check("sums of 4 ranks, the streams with delays", [](Check& check) {
    check_sums(check, {.world_size = 4, .variables = {"LOCKSTEP_EMULATOR_DELAYS=7"}}, 2, 1000);
  });
  exam.full_check("many delays", [](Check& check) {
    check_order(check, 3, 5);
    for (int seed = 1; seed <= 6; ++seed)
      check_sums(check, {.world_size = 2, .variables = {concat("LOCKSTEP_EMULATOR_DELAYS=", seed)}}, 5, 1000);
  });
}

}  // namespace lockstep::exercise
