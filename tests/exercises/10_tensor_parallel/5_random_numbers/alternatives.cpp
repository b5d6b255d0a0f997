#include "exercise/alternatives.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "10_tensor_parallel/5_random_numbers/random_numbers.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"whole_sample_drawn", "std::seed_seq makes seeds, and a generator with a state draws each sample as a whole"},
    {"counters_of_philox", "a table of purposes, and words of a Philox stream for each sample"},
    {"by_coordinates", "an FNV hash of all bytes, and for an element, of sample, head, row and column"},
    {"part_by_part", "one switch, and a loop over the samples that have elements in the part"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::tensor_parallel {

using exercise::is_alternative;

namespace {

using Numbers = std::vector<std::int64_t>;

// The data rank and the tensor rank, or -1 for one that does not matter.
Numbers coordinates_of(Purpose purpose, const Place& place) {
  switch (purpose) {
    case Purpose::kOrder:
    case Purpose::kWholeWeights:
      return {-1, -1};
    case Purpose::kCutWeights:
      return {-1, place.tensor_rank};
    case Purpose::kStreamDropout:
      return {place.data_rank, -1};
    case Purpose::kRowsDropout:
    case Purpose::kAttentionDropout:
      break;
  }
  return {place.data_rank, place.tensor_rank};
}

std::uint64_t fnv_of(const Numbers& numbers) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::int64_t number : numbers)
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ ((static_cast<std::uint64_t>(number) >> shift) & 0xFF)) * 1099511628211U;
  return hash;
}

// FNV's last byte changes few of the upper bits.
std::uint64_t stirred(std::uint64_t hash) {
  hash ^= hash >> 33;
  hash *= 0xFF51AFD7ED558CCDU;
  hash ^= hash >> 33;
  hash *= 0xC4CEB9FE1A85EC53U;
  return hash ^ (hash >> 33);
}

std::uint64_t seed_from_sequence(const Numbers& numbers) {
  std::vector<std::uint32_t> words;
  for (const std::int64_t number : numbers) {
    words.push_back(static_cast<std::uint32_t>(number));
    words.push_back(static_cast<std::uint32_t>(static_cast<std::uint64_t>(number) >> 32));
  }
  std::seed_seq sequence(words.begin(), words.end());
  std::uint32_t result[2];
  sequence.generate(result, result + 2);
  return (static_cast<std::uint64_t>(result[0]) << 32) | result[1];
}

// Sample and place within it of an element.
struct Element {
  std::int64_t sample, place;
};

Element element_of(const Part& part, std::int64_t index, std::int64_t count) {
  const std::int64_t T = part.positions;
  if (part.cut != Cut::kHeads) {
    const std::int64_t in_batch = index + (part.cut == Cut::kRows ? part.rank * count : 0);
    return {in_batch / (T * part.width), in_batch % (T * part.width)};
  }
  const std::int64_t heads = part.width / part.ranks, square = index % (T * T), head = index / (T * T);
  return {head / heads, (part.rank * heads + head % heads) * T * T + square};
}

// A uniform number in [0, 1) for each element of a whole sample, one after another.
std::vector<double> sample_of_generator(const Dropout& dropout, std::int64_t sample, std::int64_t count) {
  const Numbers numbers{static_cast<std::int64_t>(dropout.seed), dropout.step, dropout.layer, sample};
  std::mt19937_64 generator(seed_from_sequence(numbers));
  std::vector<double> uniform(static_cast<std::size_t>(count));
  for (double& number : uniform) number = static_cast<double>(generator() >> 11) * 0x1.0p-53;
  return uniform;
}

double uniform_of(const Dropout& dropout, std::int64_t sample, std::int64_t place, const Part& part) {
  const auto own_sample = static_cast<std::uint64_t>(part.samples[static_cast<std::size_t>(sample)]);
  if (is_alternative("by_coordinates")) {
    const std::int64_t T = part.cut == Cut::kHeads ? part.positions : part.width;
    const std::uint64_t hash = fnv_of({static_cast<std::int64_t>(dropout.seed), dropout.layer, dropout.step,
                                       static_cast<std::int64_t>(own_sample), place / T, place % T});
    return static_cast<double>(stirred(hash) >> 11) * 0x1.0p-53;
  }
  const std::uint64_t key =
      mix64(mix64(static_cast<std::uint64_t>(dropout.layer), static_cast<std::uint64_t>(dropout.step)), dropout.seed);
  const PhiloxWords words = philox4x32(key, own_sample, static_cast<std::uint64_t>(place / 4));
  return static_cast<double>(words[static_cast<std::size_t>(place % 4)]) * 0x1.0p-32;
}

void set(float& element, double uniform, float probability) {
  element = uniform < static_cast<double>(probability) ? 0.0F : element / (1 - probability);
}

// The first and the last sample of a rank's rows may be cut.
void drop_runs(std::span<float> elements, const Dropout& dropout, const Part& part) {
  const bool has_heads = part.cut == Cut::kHeads;
  const std::int64_t T = part.positions, count = std::ssize(elements);
  const std::int64_t per_sample = has_heads ? part.width / part.ranks * T * T : T * part.width;
  std::int64_t at = 0, begin = part.cut == Cut::kRows ? part.rank * count : 0;
  while (at < count) {
    const std::int64_t sample = begin / per_sample, end = std::min(begin + count - at, (sample + 1) * per_sample);
    for (; begin < end; ++begin, ++at) {
      const std::int64_t place = begin - sample * per_sample + (has_heads ? part.rank * per_sample : 0);
      set(elements[static_cast<std::size_t>(at)], uniform_of(dropout, sample, place, part), dropout.probability);
    }
  }
}

}  // namespace

std::uint64_t seed_for(const Draw& draw, const Place& place) {
  Numbers numbers = coordinates_of(draw.purpose, place);
  numbers.insert(numbers.end(), {static_cast<std::int64_t>(draw.seed), static_cast<std::int64_t>(draw.purpose),
                                 draw.layer, draw.step, draw.micro_batch});
  if (is_alternative("whole_sample_drawn")) return seed_from_sequence(numbers);
  if (is_alternative("by_coordinates")) return fnv_of(numbers);
  std::uint64_t seed = 7;
  for (const std::int64_t number : numbers) seed = mix64(static_cast<std::uint64_t>(number), seed);
  return seed;
}

void drop_part(std::span<float> elements, const Dropout& dropout, const Part& part) {
  if (is_alternative("part_by_part")) return drop_runs(elements, dropout, part);
  const std::int64_t T = part.positions, count = std::ssize(elements);
  std::vector<std::vector<double>> drawn;
  if (is_alternative("whole_sample_drawn"))
    for (const std::int64_t sample : part.samples)
      drawn.push_back(
          sample_of_generator(dropout, sample, part.cut == Cut::kHeads ? part.width * T * T : T * part.width));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [sample, place] = element_of(part, i, count);
    const double uniform = drawn.empty() ? uniform_of(dropout, sample, place, part)
                                         : drawn[static_cast<std::size_t>(sample)][static_cast<std::size_t>(place)];
    set(elements[static_cast<std::size_t>(i)], uniform, dropout.probability);
  }
}

}  // namespace lockstep::tensor_parallel
