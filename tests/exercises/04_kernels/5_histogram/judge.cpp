#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace {

using Bytes = std::vector<std::uint8_t>;

const Outcome& check_counts(Check& check, const Bytes& bytes, int blocks) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"bytes", to_message(std::span<const std::uint8_t>(bytes))}, {"blocks", blocks}};
  }});
  std::vector<std::int64_t> expected(256);
  for (const std::uint8_t byte : bytes) ++expected[byte];
  check.compare("counts", check.numbers<std::int64_t>(outcome, 0, "counts_of_values"), expected);
  return outcome;
}

// Thread t's byte is value 255 - t: it occurs once, and another thread clears it and passes it on.
Bytes different_values() {
  Bytes bytes(128);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(255 - i);
  return bytes;
}

Bytes random_bytes(std::uint64_t seed, std::size_t count) {
  PhiloxSequence random(seed);
  Bytes bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>('a' + random.next_below(26));
  return bytes;
}

}  // namespace

void judge_04_5(Examination& exam) {
  exam.check("one block, all bytes different", [](Check& check) { check_counts(check, different_values(), 1); });
  exam.check("one block, all bytes equal", [](Check& check) { check_counts(check, Bytes(128, 'e'), 1); });
  exam.check("three blocks", [](Check& check) { check_counts(check, random_bytes(check.seed(), 384), 3); });
  exam.check("700 bytes, two blocks: not the same number for each thread",
             [](Check& check) { check_counts(check, random_bytes(check.seed(), 700), 2); });
  exam.check("no bytes", [](Check& check) { check_counts(check, {}, 1); });
  exam.check("blocks count in shared memory", [](Check& check) {
    const Outcome& outcome = check_counts(check, random_bytes(check.seed(), 8000), 2);
    const KernelCounts counts = counts_of(outcome);
    // Stores to device memory by warps: at most 8 per block, for 256 values. A byte at a time, it would be 250.
    expect_at_most(check, outcome, "warps add to device memory", counts.stores.requests, 16, "times",
                   "count in shared memory, and add one number per block and value to device memory");
  });
  exam.full_check("20,000 bytes, five blocks",
                  [](Check& check) { check_counts(check, random_bytes(check.seed(), 20'000), 5); });
}

}  // namespace lockstep::exercise
