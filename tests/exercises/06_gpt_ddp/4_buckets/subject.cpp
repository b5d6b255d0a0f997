#include "exercise/subject.hpp"

#include "../../never_awaited.hpp"
#include "06_gpt_ddp/4_buckets/buckets.hpp"

namespace lockstep::exercise {
namespace {

using Numbers = std::vector<std::int64_t>;

// Buckets as three arrays: parameters and begins one after another, and for each bucket how many and its count.
Answer lay_out(Question& question) {
  const auto buckets = ddp::lay_out_buckets(
      question.numbers<std::int64_t>("counts"),
      {.first_bytes = question.get<std::int64_t>("first_bytes"), .bytes = question.get<std::int64_t>("bytes")});
  Numbers parameters, begins, sizes;
  for (const ddp::BucketLayout& bucket : buckets) {
    parameters.insert(parameters.end(), bucket.parameters.begin(), bucket.parameters.end());
    begins.insert(begins.end(), bucket.begins.begin(), bucket.begins.end());
    sizes.insert(sizes.end(), {static_cast<std::int64_t>(bucket.parameters.size()),
                               static_cast<std::int64_t>(bucket.begins.size()), bucket.count});
  }
  Answer result;
  result.set_numbers<std::int64_t>("parameters", parameters);
  result.set_numbers<std::int64_t>("begins", begins);
  result.set_numbers<std::int64_t>("sizes", sizes);
  return result;
}

std::vector<ddp::BucketLayout> buckets_in(Question& question) {
  const Numbers parameters = question.numbers<std::int64_t>("parameters"),
                begins = question.numbers<std::int64_t>("begins"), sizes = question.numbers<std::int64_t>("sizes");
  std::vector<ddp::BucketLayout> buckets;
  auto parameter = parameters.begin(), begin = begins.begin();
  for (std::size_t b = 0; b < sizes.size(); b += 3) {
    buckets.push_back({{parameter, parameter + sizes[b]}, {begin, begin + sizes[b]}, sizes[b + 2]});
    parameter += sizes[b];
    begin += sizes[b];
  }
  return buckets;
}

// Passes everything on, and keeps what all-reduces were issued with.
class RecordingCollectives final : public Collectives {
 public:
  explicit RecordingCollectives(Collectives& group) : group_(group) {}

  [[nodiscard]] int rank() const noexcept override { return group_.rank(); }
  [[nodiscard]] int world_size() const noexcept override { return group_.world_size(); }
  [[nodiscard]] Work all_reduce(std::span<float> values) override {
    sent.insert(sent.end(), values.begin(), values.end());
    return group_.all_reduce(values);
  }
  [[nodiscard]] Work broadcast(std::span<float> values, int root) override { return group_.broadcast(values, root); }
  [[nodiscard]] Numbers gather_rows(std::span<const std::int64_t> row, const std::source_location& where) override {
    return group_.gather_rows(row, where);
  }

  std::vector<float> sent;

 private:
  Collectives& group_;
};

Answer average(Question& question) {
  std::vector<float> values = question.numbers<float>("values");
  std::vector<std::span<float>> gradients;
  std::span<float> rest = values;
  for (const std::int64_t count : question.numbers<std::int64_t>("counts")) {
    gradients.push_back(rest.first(static_cast<std::size_t>(count)));
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  RecordingCollectives group(question.collectives());
  ddp::average_in_buckets(gradients, buckets_in(question), group);
  Answer result;
  result.set(kNeverAwaited, never_awaited(question.collectives()));
  result.set_numbers<float>("values", values);
  result.set_numbers<std::int64_t>("all_reduces", question.collectives().issued("all_reduce"));
  result.set_numbers<float>("sent", group.sent);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  return question.get<std::string>("what") == "lay out" ? lay_out(question) : average(question);
}

}  // namespace lockstep::exercise
