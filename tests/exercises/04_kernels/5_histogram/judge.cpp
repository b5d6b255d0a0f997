#include <algorithm>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/kernel_checks.hpp"

namespace lockstep::exercise {
namespace checks_04_5 {

using Bytes = std::vector<std::uint8_t>;

// Before, all bits of the counts are ones: what is added to them passes through 0.
void expect_counts(Check& check, const Outcome& outcome, const std::vector<std::int64_t>& expected, int blocks) {
  constexpr std::int64_t kBefore = 0xffffffff;
  const auto got = check.numbers<std::int64_t>(outcome, 0, "counts_of_values");
  check.expect(got.size() == expected.size(), "counts changed its length");
  for (std::size_t value = 0; value < got.size(); ++value) {
    if (got[value] == expected[value]) continue;
    const std::string what = concat("counts, element ", value, ": expected ", expected[value], ", got ", got[value]);
    if (got[value] == ((kBefore + expected[value]) & kBefore))
      check.wrong(concat(what, ": it was added to what the memory held before"),
                  "set all counts to 0, in the stream, before any block adds to them");
    if (std::ranges::all_of(got, [&](std::int64_t count) { return count == blocks; }))
      check.wrong(concat(what, ": each block has added 1 to every count"),
                  "a block passes on what it has counted: of_block[value]");
    check.wrong(what);
  }
}

const Outcome& check_counts(Check& check, const Bytes& bytes, int blocks) {
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"bytes", to_message(std::span<const std::uint8_t>(bytes))}, {"blocks", blocks}};
  }});
  std::vector<std::int64_t> expected(256);
  for (const std::uint8_t byte : bytes) ++expected[byte];
  expect_counts(check, outcome, expected, blocks);
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

}  // namespace checks_04_5

void judge_04_5(Examination& exam) {
  using namespace checks_04_5;
  exam.check("one block, all bytes different", [](Check& check) { check_counts(check, different_values(), 1); });
  exam.check("one block, all bytes equal", [](Check& check) { check_counts(check, Bytes(128, 'e'), 1); });
  exam.check("three blocks", [](Check& check) { check_counts(check, random_bytes(check.seed(), 384), 3); });
  exam.check("700 bytes, two blocks: not the same number for each thread",
             [](Check& check) { check_counts(check, random_bytes(check.seed(), 700), 2); });
  exam.check("100 bytes, one block: some threads have none",
             [](Check& check) { check_counts(check, random_bytes(check.seed(), 100), 1); });
  exam.check("no bytes", [](Check& check) { check_counts(check, {}, 1); });
  exam.check("blocks count in shared memory", [](Check& check) {
    const Outcome& outcome = check_counts(check, random_bytes(check.seed(), 8000), 2);
    const KernelCounts counts = counts_of(outcome);
    // Two blocks add 256 counts each, 32 with a request. A byte at a time, it would be 8000.
    expect_at_most(check, outcome, "threads add to device memory", counts.stores.bytes / sizeof(unsigned), 2 * 256,
                   "times", "count in shared memory, and add one number per block and value to device memory");
    // 250 requests load each byte once, by all lanes; some kernels read a byte more than once. One thread needs 8000.
    expect_at_most(check, outcome, "warps load bytes", counts.loads.requests, 1000, "times",
                   "all threads of the block should count: thread t takes byte t, and goes on in steps of all threads");
    expect_at_most(check, outcome, "warps add to device memory", counts.stores.requests, 16, "times",
                   "let all threads of the block pass on its counts: neighbouring threads, neighbouring counts");
  });
  exam.full_check("20,000 bytes, five blocks",
                  [](Check& check) { check_counts(check, random_bytes(check.seed(), 20'000), 5); });
}

}  // namespace lockstep::exercise
