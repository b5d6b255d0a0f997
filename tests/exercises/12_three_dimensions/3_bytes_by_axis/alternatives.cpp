#include "exercise/alternatives.hpp"

#include "12_three_dimensions/3_bytes_by_axis/bytes_by_axis.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"message_by_message", "every collective and message of the step is added up in loops"},
    {"whole_lines", "what all ranks of a line send together is divided by their number"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::bytes_by_axis {

namespace {

using exercise::is_alternative;

// Of a reduce-scatter or an all-gather, as its n - 1 messages.
std::int64_t half(std::int64_t elements, std::int64_t ranks) {
  std::int64_t bytes = 0;
  for (std::int64_t message = 1; message < ranks; ++message) bytes += 4 * (elements / ranks);
  return bytes;
}

// Counts whole matrices and what all ranks of a line send, and divides by the ranks.
BytesByAxis whole_lines(const GridRun& run, std::int64_t stage) {
  const bool is_only = run.pipeline == 1, is_end = stage == 0 || stage + 1 == run.pipeline;
  const std::int64_t ends = is_only ? 2 : is_end ? 1 : 0, owners = stage == 0 ? 1 : 0;
  const std::int64_t share = run.blocks / run.pipeline;

  const std::int64_t sums = 2 * (4 * share + ends) * run.rows * run.channels;
  const std::int64_t losses = stage + 1 == run.pipeline ? 3 * run.rows * run.tensor : 0;
  const std::int64_t elements = share * 12 * run.channels * run.channels + owners * run.vocabulary * run.channels;
  const std::int64_t messages = is_only ? 0 : is_end ? 1 : 2;
  const std::int64_t table = is_end && !is_only ? run.vocabulary * run.channels : 0;
  return {.pipeline = 4 * (run.micro_batches * messages * run.rows * run.channels * run.tensor + table) / run.tensor,
          .data = 8 * elements * (run.data - 1) / (run.data * run.tensor),
          .tensor = 4 * run.micro_batches * (sums + losses) * (run.tensor - 1) / run.tensor};
}

}  // namespace

BytesByAxis bytes_sent(const GridRun& run, std::int64_t stage) {
  if (is_alternative("whole_lines")) return whole_lines(run, stage);
  BytesByAxis bytes;
  const std::int64_t last = run.pipeline - 1, rows = run.rows * run.channels;
  const std::int64_t table = run.vocabulary / run.tensor * run.channels;
  const auto all_reduce = [&] { bytes.tensor += half(rows, run.tensor) + half(rows, run.tensor); };
  const auto update = [&](std::int64_t matrix) { bytes.data += half(matrix, run.data) + half(matrix, run.data); };
  for (std::int64_t i = 0; i < run.micro_batches; ++i) {
    if (stage == 0) all_reduce();
    for (std::int64_t block = 0; block < run.blocks / run.pipeline; ++block)
      for (int sum = 0; sum < 4; ++sum) all_reduce();
    if (stage == last) {
      all_reduce();
      bytes.tensor += half(3 * run.rows * run.tensor, run.tensor);
    }
    if (stage != last) bytes.pipeline += 4 * rows;
    if (stage != 0) bytes.pipeline += 4 * rows;
  }
  if (last > 0 && (stage == 0 || stage == last)) bytes.pipeline += 4 * table;
  std::int64_t own = stage == 0 ? table : 0;
  for (std::int64_t block = 0; block < run.blocks / run.pipeline; ++block)
    own += 12 * run.channels * run.channels / run.tensor;
  update(own);
  return bytes;
}

}  // namespace lockstep::bytes_by_axis
