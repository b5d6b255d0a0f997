#include "support/collective_checks.hpp"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "support/catch.hpp"
#include "support/collective_elements.hpp"

namespace lockstep::test {
namespace {

// One element of any dtype. All values are small integers, which every dtype represents exactly.
void store_element(std::byte* at, DType dtype, double value) {
  const auto put = [at](auto element) { std::memcpy(at, &element, sizeof element); };
  switch (dtype) {
    case DType::kFloat32:
      return put(static_cast<float>(value));
    case DType::kFloat64:
      return put(value);
    case DType::kBFloat16: {
      const auto single = static_cast<float>(value);
      std::uint32_t bits = 0;
      std::memcpy(&bits, &single, sizeof bits);
      return put(static_cast<std::uint16_t>(bits >> 16));
    }
    case DType::kInt32:
      return put(static_cast<std::int32_t>(value));
    case DType::kInt64:
      return put(static_cast<std::int64_t>(value));
    case DType::kUInt8:
      return put(static_cast<std::uint8_t>(value));
    case DType::kFloat16:
      break;  // moved as any 2 bytes, not reduced
  }
}

std::vector<std::byte> fill(std::int64_t count, DType dtype, const std::function<double(std::int64_t)>& value_of) {
  const std::size_t width = bytes_of(dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * width);
  for (std::int64_t i = 0; i < count; ++i) {
    store_element(bytes.data() + static_cast<std::size_t>(i) * width, dtype, value_of(i));
  }
  return bytes;
}

struct Case {
  std::int64_t count;
  DType dtype;
  ReduceOp op;
};

std::vector<Case> cases_for(int world_size, std::int64_t largest_count) {
  std::vector<Case> cases;
  for (const std::int64_t count : std::set<std::int64_t>{0, 1, world_size - 1, world_size, world_size + 1, 1000}) {
    for (const DType dtype : kDTypes) {
      for (const ReduceOp op : kOps) cases.push_back({count, dtype, op});
    }
  }
  if (largest_count <= 1000) return cases;
  for (const DType dtype : kDTypes) cases.push_back({largest_count, dtype, ReduceOp::kSum});
  for (const ReduceOp op : kOps) cases.push_back({largest_count, DType::kFloat32, op});
  return cases;
}

// Describes the first wrong case of one rank, or "". Ranks do not call Catch2: they return text.
std::string run_cases(ProcessGroup& group, const std::vector<Case>& cases) {
  const int world_size = group.world_size();
  for (const Case& test : cases) {
    std::vector<std::byte> values = fill(test.count, test.dtype, [&](std::int64_t i) {
      return contribution(group.rank(), i, world_size, test.dtype, test.op);
    });
    group.all_reduce(Buffer{values.data(), test.count, test.dtype, {}, nullptr}, test.op).synchronize();
    const std::vector<std::byte> wanted =
        fill(test.count, test.dtype, [&](std::int64_t i) { return expected(i, world_size, test.dtype, test.op); });
    if (values == wanted) continue;
    const auto at = std::mismatch(values.begin(), values.end(), wanted.begin()).first - values.begin();
    return concat("rank ", group.rank(), ": ", name_of(test.op), " of ", test.count, " ", test.dtype,
                  ": wrong from element ", at / static_cast<std::ptrdiff_t>(bytes_of(test.dtype)));
  }
  return "";
}

// The reducing collectives: with rounding, the order of the ranks shows in the bits.
enum class Way { kAllReduce, kReduce, kReduceScatter };

struct RandomCase {
  Way way;
  DType dtype;
  ReduceOp op;
  std::size_t count;  // of one rank's result
};

std::vector<RandomCase> random_cases() {
  std::vector<RandomCase> cases;
  for (const Way way : {Way::kAllReduce, Way::kReduce, Way::kReduceScatter}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kProduct}) {
        for (const std::size_t count : {37U, 4099U}) cases.push_back({way, dtype, op, count});
      }
    }
  }
  return cases;
}

std::string describe(const RandomCase& test) {
  constexpr const char* kNames[] = {"all_reduce", "reduce", "reduce_scatter"};
  return concat(kNames[static_cast<int>(test.way)], ", ", name_of(test.op), " of ", test.count, " ", test.dtype);
}

int root_of(int world_size) { return world_size - 1; }

std::size_t input_count(const RandomCase& test, int world_size) {
  return test.way == Way::kReduceScatter ? test.count * static_cast<std::size_t>(world_size) : test.count;
}

// Exact: a double holds every float and every bfloat16.
template <typename T>
std::vector<double> as_doubles(const std::vector<T>& values) {
  std::vector<double> doubles(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, BFloat16>)
      doubles[i] = std::bit_cast<float>(std::uint32_t{values[i].bits} << 16);
    else
      doubles[i] = values[i];
  }
  return doubles;
}

// This rank's result; nothing if only the root has it.
template <typename T>
std::vector<double> reduce_random(ProcessGroup& group, const RandomCase& test) {
  std::vector<T> values = random_values<T>(group.rank(), input_count(test, group.world_size()));
  const int root = root_of(group.world_size());
  if (test.way == Way::kAllReduce) {
    group.all_reduce(buffer_of(values), test.op).synchronize();
  } else if (test.way == Way::kReduce) {
    group.reduce(buffer_of(values), root, test.op).synchronize();
    if (group.rank() != root) values.clear();
  } else {
    std::vector<T> part(test.count);
    group.reduce_scatter(buffer_of(part), buffer_of(values), test.op).synchronize();
    values = part;
  }
  return as_doubles(values);
}

using Results = std::vector<std::vector<double>>;  // one rank's, by case

std::vector<Results> reduce_random_cases(const GroupFactory& make_group, int world_size) {
  return run_ranks_for<Results>(world_size, [&](JobContext context) {
    const auto group = make_group(std::move(context));
    Results results;
    for (const RandomCase& test : random_cases()) {
      const bool is_float = test.dtype == DType::kFloat32;
      results.push_back(is_float ? reduce_random<float>(*group, test) : reduce_random<BFloat16>(*group, test));
    }
    return results;
  });
}

bool have_same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// The result of all ranks together.
std::vector<double> whole_result(const RandomCase& test, const std::vector<Results>& ranks, std::size_t number) {
  if (test.way == Way::kAllReduce) return ranks.front()[number];
  std::vector<double> whole;
  for (const Results& rank : ranks) whole.insert(whole.end(), rank[number].begin(), rank[number].end());
  return whole;
}

// The largest error, relative to the bound for rounding; correct if below 1. Each of the P - 1 operations and the
// division changes a value by at most the fraction u of it (half a unit in the last place), so the result is off by
// less than (1 + u)^(P + 1) - 1 of the sum of all magnitudes, or of the product (Higham, "Accuracy and Stability of
// Numerical Algorithms", 2002, chapter 4; one more for a division by way of 1 / P).
double worst_error(const RandomCase& test, int world_size, const std::vector<double>& result) {
  const bool is_float = test.dtype == DType::kFloat32, is_product = test.op == ReduceOp::kProduct;
  const double share = std::pow(1 + (is_float ? 0x1.0p-24 : 0x1.0p-8), world_size + 1) - 1;
  std::vector<double> exact(result.size(), is_product ? 1 : 0), magnitude = exact;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto values = is_float ? as_doubles(random_values<float>(rank, result.size()))
                                 : as_doubles(random_values<BFloat16>(rank, result.size()));
    for (std::size_t i = 0; i < result.size(); ++i) {
      exact[i] = is_product ? exact[i] * values[i] : exact[i] + values[i];
      magnitude[i] = is_product ? std::abs(exact[i]) : magnitude[i] + std::abs(values[i]);
    }
  }
  const double divisor = test.op == ReduceOp::kMean ? world_size : 1;
  double worst = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double allowed = share * magnitude[i] / divisor;
    worst = std::max(worst, std::abs(result[i] - exact[i] / divisor) / std::max(allowed, 1e-300));
  }
  return worst;
}

}  // namespace

void check_all_reduce(const GroupFactory& make_group, std::int64_t largest_count) {
  for (const int world_size : kWorldSizes) {
    const std::vector<Case> cases = cases_for(world_size, largest_count);
    const auto problems = run_ranks_for<std::string>(
        world_size, [&](JobContext context) { return run_cases(*make_group(std::move(context)), cases); });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

void check_bits_repeat(const GroupFactory& make_group) {
  const std::vector<RandomCase> cases = random_cases();
  for (const int world_size : {2, 3, 5}) {
    const auto first = reduce_random_cases(make_group, world_size);
    const auto second = reduce_random_cases(make_group, world_size);
    for (std::size_t number = 0; number < cases.size(); ++number) {
      CAPTURE(world_size, describe(cases[number]));
      const std::vector<double> whole = whole_result(cases[number], first, number);
      CHECK(whole.size() == input_count(cases[number], world_size));
      CHECK(worst_error(cases[number], world_size, whole) < 1);
      for (int rank = 0; rank < world_size; ++rank) {
        CHECK(have_same_bits(second[rank][number], first[rank][number]));
        if (cases[number].way == Way::kAllReduce) CHECK(have_same_bits(first[rank][number], whole));
      }
    }
  }
}

void check_nan_propagates(const GroupFactory& make_group) {
  const auto problems = run_ranks_for<std::string>(3, [&](JobContext context) -> std::string {
    const auto group = make_group(std::move(context));
    for (const ReduceOp op : kOps) {
      for (int culprit = 0; culprit < 3; ++culprit) {
        std::vector<float> values{1, 2, 3, 4, 5, 6, 7};
        if (group->rank() == culprit) values[4] = std::numeric_limits<float>::quiet_NaN();
        group->all_reduce(comm::host_buffer(std::span(values)), op).synchronize();
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(values[i]) != (i == 4)) return concat(name_of(op), ", NaN on rank ", culprit, ": element ", i);
        }
      }
    }
    return "";
  });
  for (const std::string& problem : problems) CHECK(problem == "");
}

void check_broadcast(const GroupFactory& make_group) {
  for (const int world_size : kWorldSizes) {
    const auto problems = run_ranks_for<std::string>(world_size, [&](JobContext context) -> std::string {
      const auto group = make_group(std::move(context));
      for (int root = 0; root < world_size; ++root) {
        for (const std::int64_t count : {0, 1, world_size + 1, 1000}) {
          for (const DType dtype : {DType::kFloat32, DType::kUInt8}) {
            const auto of_root =
                fill(count, dtype, [&](std::int64_t i) { return static_cast<double>((i + root) % 97); });
            auto values = group->rank() == root ? of_root : fill(count, dtype, [](std::int64_t) { return 111.0; });
            group->broadcast(Buffer{values.data(), count, dtype, {}, nullptr}, root).synchronize();
            if (values != of_root) return concat("rank ", group->rank(), ": root ", root, ", ", count, " ", dtype);
          }
        }
      }
      return "";
    });
    for (const std::string& problem : problems) CHECK(problem == "");
  }
}

void check_barrier(const GroupFactory& make_group) {
  for (const int world_size : kWorldSizes) {
    std::atomic<int> entered{0};
    const auto too_early = run_ranks_for<int>(world_size, [&](JobContext context) {
      const auto group = make_group(std::move(context));
      int seen_too_early = 0;
      for (int round = 1; round <= 20; ++round) {
        ++entered;
        group->barrier().synchronize();
        if (entered < round * world_size) ++seen_too_early;
      }
      return seen_too_early;
    });
    CHECK(too_early == std::vector<int>(static_cast<std::size_t>(world_size), 0));
  }
}

void check_issue_order(const GroupFactory& make_group) {
  const auto results = run_ranks_for<std::vector<float>>(3, [&](JobContext context) {
    const auto group = make_group(std::move(context));
    std::vector<float> values{1, 2, 3};
    const comm::Buffer buffer = comm::host_buffer(std::span(values));
    comm::Work sum = group->all_reduce(buffer);                          // 3, 6, 9
    comm::Work product = group->all_reduce(buffer, ReduceOp::kProduct);  // 27, 216, 729
    comm::Work mean = group->all_reduce(buffer, ReduceOp::kMean);        // the same
    mean.synchronize();
    product.synchronize();
    sum.synchronize();
    return values;
  });
  for (const auto& values : results) CHECK(values == std::vector<float>{27, 216, 729});
}

}  // namespace lockstep::test
